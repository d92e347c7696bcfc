//! Small planned repositories to run for real: phases whose plans are shell scripts.
//!
//! A script can stop at a named point until the test lets it go on, so tests need no sleeps: they
//! wait, within bounds, for something that happens. [`Field::inspect`] is what must hold after any
//! run that came to its end, however often it was disturbed.

mod going;
mod picture;
mod plans;
mod processes;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mow_store::journal::{Record, Tail};
use serde_json::Value;

use crate::call::{Call, Ran};
use crate::sandbox::{Sandbox, make_executable};

pub use going::{Going, go_on, kill, stop};
pub use plans::{Phase, Plan, Task, phase, plan, task};
pub use processes::{cpu, forks, marked, memory_kb};

/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Runs everything that is not done.
pub const ALL: [&str; 4] = ["run", "--all", "--yes", "--plain"];

/// A planned repository.
#[derive(Debug)]
pub struct Field {
    /// The place around it.
    pub sandbox: Sandbox,
    /// Where the project lies below the sandbox's root.
    below: String,
    /// Where the repository lies below the sandbox's root.
    top: String,
}

/// What a repository is like apart from its phases.
#[derive(Clone, Debug, Default)]
pub struct Soil<'a> {
    /// Where the repository lies below the sandbox's root.
    pub top: &'a str,
    /// Where the project lies below the repository.
    pub below: &'a str,
    /// Lines of `config.json`, without the braces.
    pub config: &'a str,
    /// What `.gitignore` says.
    pub ignore: &'a str,
    /// Whether it lies on a disk and not in memory.
    pub on_disk: bool,
}

impl Field {
    /// Makes a repository with these phases, all committed on `main`.
    pub fn new(program: &str, phases: &[Phase]) -> Self {
        Self::on(program, &Soil::default(), phases)
    }

    /// Makes a repository of a certain kind.
    pub fn on(program: &str, soil: &Soil<'_>, phases: &[Phase]) -> Self {
        let make = if soil.on_disk { Sandbox::new } else { Sandbox::in_memory };
        let top = if soil.top.is_empty() { ".".to_owned() } else { soil.top.to_owned() };
        let below = Path::new(&top).join(soil.below).to_string_lossy().into_owned();
        let field = Self { sandbox: make(program), below, top };
        fs::create_dir(field.sync_dir()).expect("the sandbox is fresh");
        field.sandbox.make_dir(&field.below);
        field.sandbox.git(&field.top, &["init", "-q", "-b", "main"]);
        field.git(&["config", "user.name", "Test"]);
        field.git(&["config", "user.email", "test@example.invalid"]);
        let more =
            if soil.config.is_empty() { String::new() } else { format!(", {}", soil.config) };
        let config = format!("{{\"workflow\": {{\"research\": false}}{more}}}\n");
        field.plan(&field.below, phases, &config);
        field.write("README.md", "A field.\n");
        if !soil.ignore.is_empty() {
            field.write(".gitignore", soil.ignore);
        }
        field.git(&["add", "--all"]);
        field.git(&["commit", "-q", "-m", "Begin"]);
        field
    }

    /// Adds another project to the repository, below the sandbox's root, and commits it.
    pub fn add_project(&self, below: &str, phases: &[Phase]) {
        self.plan(below, phases, "{\"workflow\": {\"research\": false}}\n");
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "-m", "Begin another"]);
    }

    fn plan(&self, below: &str, phases: &[Phase], config: &str) {
        for (path, text) in plans::files(phases, &self.sync_dir()) {
            self.sandbox.write(&format!("{below}/{path}"), text);
        }
        self.sandbox.write(&format!("{below}/.planning/config.json"), config);
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.sandbox.root().join(&self.below)).expect("it was made")
    }

    /// The top of the repository.
    pub fn top(&self) -> PathBuf {
        fs::canonicalize(self.sandbox.root().join(&self.top)).expect("it was made")
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        self.sandbox.write(&format!("{}/{path}", self.below), text);
    }

    /// Reads a file of the project.
    pub fn text(&self, path: &str) -> String {
        self.sandbox.text(&format!("{}/{path}", self.below))
    }

    /// Changes a file of the project the way editors do.
    pub fn edit(&self, path: &str, old: &str, new: &str) {
        let text = self.text(path);
        assert!(text.contains(old), "{path} has no {old:?}:\n{text}");
        self.write(path, text.replacen(old, new, 1));
    }

    /// Makes a hook of the user's; returns its file.
    pub fn hook(&self, name: &str, script: &str) -> PathBuf {
        let hook = self.top().join(".git/hooks").join(name);
        fs::create_dir_all(hook.parent().expect("it is below others")).expect("the disk has room");
        fs::write(&hook, format!("#!/bin/sh\n{script}\n")).expect("the disk has room");
        make_executable(&hook);
        hook
    }

    /// Runs git in the project.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.below, arguments)
    }

    /// Runs git in the project; `None` when it is refused.
    pub fn may_git(&self, arguments: &[&str]) -> Option<()> {
        self.sandbox.ask_git(&self.below, arguments).status.success().then_some(())
    }

    /// Prepares a call in the project.
    pub fn call(&self, arguments: &[&str]) -> Call {
        self.sandbox.call(arguments).cwd(&self.below)
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.call(arguments).run()
    }

    /// Runs all phases, which must succeed; returns all that was said.
    #[track_caller]
    pub fn run_all(&self) -> String {
        self.ends(&ALL, 0)
    }

    /// Runs a command, which must end with a code; returns all that was said.
    #[track_caller]
    pub fn ends(&self, arguments: &[&str], code: i32) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.status.code(), Some(code), "{}", self.story(&ran));
        ran.transcript()
    }

    /// Starts a command and lets it go on.
    pub fn start(&self, arguments: &[&str]) -> Going {
        Going::of(self.call(arguments))
    }

    /// What came of a call, and what the logs of the run say.
    pub fn story(&self, ran: &Ran) -> String {
        let mut text = ran.transcript();
        let Some(dir) = self.run_dir() else { return text };
        for entry in fs::read_dir(dir.join("logs")).into_iter().flatten().flatten() {
            let log = fs::read(entry.path()).unwrap_or_default();
            let end = &log[log.len().saturating_sub(2_000)..];
            if !log.is_empty() {
                text += &format!("\n--- {:?}\n{}", entry.file_name(), String::from_utf8_lossy(end));
            }
        }
        text
    }

    /// The directory of the newest run.
    pub fn run_dir(&self) -> Option<PathBuf> {
        let runs = self.top().join(".git/mow/runs");
        let names = fs::read_dir(runs).into_iter().flatten().flatten();
        names.map(|entry| entry.path()).max()
    }

    /// The name of the newest run.
    #[track_caller]
    pub fn run_id(&self) -> String {
        let dir = self.run_dir().expect("there is a run");
        dir.file_name().expect("it has a name").to_string_lossy().into_owned()
    }

    /// The records of a journal of the newest run; none while there is no such file.
    pub fn records(&self, file: &str) -> Vec<Record> {
        let Some(dir) = self.run_dir() else { return Vec::new() };
        Tail::new(&dir.join(file)).without_sync().poll().expect("the journal is sound")
    }

    /// What the lead has written down so far.
    pub fn events(&self) -> Vec<Value> {
        let records = self.records("journal.ndjson");
        // All events of one decision are one record.
        let events = |record: &Record| record.parse::<Vec<Value>>().expect("events are JSON");
        records.iter().flat_map(events).collect()
    }

    /// Waits until the lead has written something down.
    #[track_caller]
    pub fn until_event(&self, what: &str, is_it: impl Fn(&Value) -> bool) {
        self.until(what, || self.events().iter().any(&is_it).then_some(()));
    }

    /// Waits until a phase has moved to a status.
    #[track_caller]
    pub fn until_moved(&self, phase: &str, to: &str) {
        self.until_event(&format!("phase {phase} {to}"), |event| {
            event["event"] == "moved" && event["phase"] == phase && event["to"] == to
        });
    }

    /// Waits for something, within bounds.
    #[track_caller]
    pub fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < end, "waited in vain for {what}");
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until a script has come to a point.
    #[track_caller]
    pub fn reached(&self, point: &str) {
        let file = self.sync_dir().join(format!("at-{point}"));
        self.until(point, || file.exists().then_some(()));
    }

    /// Lets all scripts pass a point, now and later.
    pub fn open(&self, point: &str) {
        fs::write(self.sync_dir().join(format!("go-{point}")), "").expect("it is our directory");
    }

    /// Returns the function `meet POINT` for scripts that are not in a plan.
    pub fn meet(&self) -> String {
        plans::meet(&self.sync_dir())
    }

    fn sync_dir(&self) -> PathBuf {
        self.sandbox.outside().join("sync")
    }

    /// The process of a worker, as its life lock names it.
    #[track_caller]
    pub fn worker(&self, phase: &str, attempt: u32) -> u32 {
        let dir = self.run_dir().expect("there is a run");
        let lock = dir.join(format!("{phase}-{attempt}.lock"));
        self.until("a worker", || {
            let text = fs::read_to_string(&lock).ok()?;
            text.strip_suffix('\n')?.split_once(' ')?.0.parse().ok()
        })
    }

    /// The code in the target: every file outside `.planning/` with its content's name.
    pub fn code(&self) -> BTreeMap<String, String> {
        let listing = self.sandbox.git(&self.top, &["ls-tree", "-r", "-z", "main"]);
        let lines = listing.split('\0').filter_map(|line| line.split_once('\t'));
        let files = lines.map(|(about, path)| (path.to_owned(), about.to_owned()));
        files.filter(|(path, _)| !path.contains(".planning/")).collect()
    }

    /// How many commits of the target carry each value of a trailer.
    pub fn trailers(&self, key: &str) -> BTreeMap<String, usize> {
        let format = format!("--format=%(trailers:key={key},valueonly)");
        let mut counts = BTreeMap::new();
        for value in self.git(&["log", &format, "main"]).lines().filter(|line| !line.is_empty()) {
            *counts.entry(value.to_owned()).or_default() += 1;
        }
        counts
    }

    /// Checks what must hold after a run: everything once, nothing broken, nothing left running.
    #[track_caller]
    pub fn inspect(&self) {
        for key in ["Mow-Task", "Mow-Plan"] {
            let undone = self.trailers("Mow-Undone");
            let once = |what: &String| 1 + undone.get(what).copied().unwrap_or_default();
            let twice: Vec<_> =
                self.trailers(key).into_iter().filter(|(what, n)| *n != once(what)).collect();
            assert!(twice.is_empty(), "{key} more than once: {twice:?}");
        }
        let said = self.git(&["fsck", "--no-dangling", "--no-progress"]);
        assert_eq!(said, "", "git fsck complains");
        let run = self.run_id();
        self.until("the end of all processes", || marked(&run).is_empty().then_some(()));
        let mut locks = Vec::new();
        find_locks(&self.top().join(".git"), &mut locks);
        assert!(locks.is_empty(), "left behind: {locks:?}");
        assert_eq!(self.strays(), Vec::<PathBuf>::new(), "left behind");
        assert_eq!(self.held(), Vec::<PathBuf>::new(), "still locked");
    }

    /// Checks a run against one that nobody disturbed.
    #[track_caller]
    pub fn equals(&self, quiet: &Self) {
        self.inspect();
        assert_eq!(self.code(), quiet.code());
        for key in ["Mow-Task", "Mow-Plan"] {
            // That each is there once, but for what was undone, is known by now.
            let all = |field: &Self| field.trailers(key).into_keys().collect::<Vec<_>>();
            assert_eq!(all(self), all(quiet), "{key}");
        }
        assert_eq!(self.git(&["status", "--porcelain"]), quiet.git(&["status", "--porcelain"]));
    }
}

/// Finds the lock files that git leaves behind when it is killed.
fn find_locks(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.ends_with("mow") || path.ends_with("objects") {
            continue;
        }
        if path.is_dir() {
            find_locks(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            found.push(path);
        }
    }
}
