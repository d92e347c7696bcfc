//! Small planned repositories that mow runs for real: phases whose tasks are shell scripts.
//!
//! A script can stop at a named point until the test releases it. So tests need no sleeps: they wait,
//! with a timeout, for an event. [`PlannedProject::assert_consistent`] checks what must hold after any
//! finished run, however often it was disturbed.

mod fixtures;
mod normalized_state;
mod processes;
mod running_command;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mow_store::journal::{JournalReader, Record};
use serde_json::Value;

use crate::program_call::{CommandResult, ProgramCall};
use crate::sandbox::{Sandbox, make_executable};

pub use fixtures::{PhaseFixture, PlanFixture, TaskFixture, phase, plan, task};
pub use processes::{child_page_faults, cpu_time, memory_kb, processes_of_run};
pub use running_command::{RunningCommand, kill, resume, suspend};

/// How long a test waits for anything before it fails.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The arguments that run all unfinished phases.
pub const ALL: [&str; 4] = ["run", "--all", "--yes", "--plain"];

/// A temporary repository with planning files.
#[derive(Debug)]
pub struct PlannedProject {
    /// The sandbox that contains the repository.
    pub sandbox: Sandbox,
    /// The path of the project relative to the sandbox's root.
    below: String,
    /// The path of the repository relative to the sandbox's root.
    top: String,
}

/// Options of a planned repository besides its phases.
#[derive(Clone, Debug, Default)]
pub struct ProjectOptions<'a> {
    /// The path of the repository relative to the sandbox's root; empty for the root.
    pub top: &'a str,
    /// The path of the project relative to the repository.
    pub below: &'a str,
    /// Lines of `config.json`, without the braces.
    pub config: &'a str,
    /// The content of `.gitignore`.
    pub ignore: &'a str,
    /// Whether the repository is on disk instead of in memory.
    pub on_disk: bool,
}

impl PlannedProject {
    /// Creates a repository with these phases, all committed on `main`.
    pub fn new(program: &str, phases: &[PhaseFixture]) -> Self {
        Self::with_options(program, &ProjectOptions::default(), phases)
    }

    /// Creates a repository with options.
    pub fn with_options(
        program: &str,
        options: &ProjectOptions<'_>,
        phases: &[PhaseFixture],
    ) -> Self {
        let make = if options.on_disk { Sandbox::new } else { Sandbox::in_memory };
        let top = if options.top.is_empty() { ".".to_owned() } else { options.top.to_owned() };
        let below = Path::new(&top).join(options.below).to_string_lossy().into_owned();
        let project = Self { sandbox: make(program), below, top };
        fs::create_dir(project.sync_dir()).expect("the sandbox is fresh");
        project.sandbox.make_dir(&project.below);
        project.sandbox.git(&project.top, &["init", "-q", "-b", "main"]);
        project.git(&["config", "user.name", "Test"]);
        project.git(&["config", "user.email", "test@example.invalid"]);
        let more =
            if options.config.is_empty() { String::new() } else { format!(", {}", options.config) };
        let config = format!("{{\"workflow\": {{\"research\": false}}{more}}}\n");
        project.plan(&project.below, phases, &config);
        project.write("README.md", "A field.\n");
        if !options.ignore.is_empty() {
            project.write(".gitignore", options.ignore);
        }
        project.git(&["add", "--all"]);
        project.git(&["commit", "-q", "-m", "Begin"]);
        project
    }

    /// Adds another project to the repository, below the sandbox's root, and commits it.
    pub fn add_project(&self, below: &str, phases: &[PhaseFixture]) {
        self.plan(below, phases, "{\"workflow\": {\"research\": false}}\n");
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "-m", "Begin another"]);
    }

    fn plan(&self, below: &str, phases: &[PhaseFixture], config: &str) {
        for (path, text) in fixtures::files(phases, &self.sync_dir()) {
            self.sandbox.write(&format!("{below}/{path}"), text);
        }
        self.sandbox.write(&format!("{below}/.planning/config.json"), config);
    }

    /// The root directory of the project.
    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.sandbox.root().join(&self.below)).expect("it was made")
    }

    /// The root directory of the repository.
    pub fn repository_root(&self) -> PathBuf {
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

    /// Replaces the first occurrence of a text in a file of the project.
    pub fn edit(&self, path: &str, old: &str, new: &str) {
        let text = self.text(path);
        assert!(text.contains(old), "{path} has no {old:?}:\n{text}");
        self.write(path, text.replacen(old, new, 1));
    }

    /// Installs a git hook; returns its path.
    pub fn hook(&self, name: &str, script: &str) -> PathBuf {
        let hook = self.repository_root().join(".git/hooks").join(name);
        fs::create_dir_all(hook.parent().expect("it is below others")).expect("the disk has room");
        fs::write(&hook, format!("#!/bin/sh\n{script}\n")).expect("the disk has room");
        make_executable(&hook);
        hook
    }

    /// Runs git in the project.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.below, arguments)
    }

    /// Runs git in the project; returns `None` when git fails.
    pub fn try_git(&self, arguments: &[&str]) -> Option<()> {
        self.sandbox.git_output(&self.below, arguments).status.success().then_some(())
    }

    /// Prepares a call in the project.
    pub fn call(&self, arguments: &[&str]) -> ProgramCall {
        self.sandbox.call(arguments).cwd(&self.below)
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> CommandResult {
        self.call(arguments).run()
    }

    /// Runs all phases, which must succeed; returns the transcript.
    #[track_caller]
    pub fn run_all(&self) -> String {
        self.exits_with(&ALL, 0)
    }

    /// Runs a command, which must exit with this code; returns the transcript.
    #[track_caller]
    pub fn exits_with(&self, arguments: &[&str], code: i32) -> String {
        let result = self.run(arguments);
        assert_eq!(result.status.code(), Some(code), "{}", self.transcript_with_logs(&result));
        result.transcript()
    }

    /// Starts a command without waiting for it.
    pub fn start(&self, arguments: &[&str]) -> RunningCommand {
        RunningCommand::start(self.call(arguments))
    }

    /// Returns the transcript of a command and the ends of the run's logs.
    pub fn transcript_with_logs(&self, result: &CommandResult) -> String {
        let mut text = result.transcript();
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
        let runs = self.repository_root().join(".git/mow/runs");
        let names = fs::read_dir(runs).into_iter().flatten().flatten();
        names.map(|entry| entry.path()).max()
    }

    /// The id of the newest run.
    #[track_caller]
    pub fn run_id(&self) -> String {
        let dir = self.run_dir().expect("there is a run");
        dir.file_name().expect("it has a name").to_string_lossy().into_owned()
    }

    /// The records of a journal of the newest run; empty while the file does not exist.
    pub fn records(&self, file: &str) -> Vec<Record> {
        let Some(dir) = self.run_dir() else { return Vec::new() };
        JournalReader::new(&dir.join(file)).without_sync().poll().expect("the journal is sound")
    }

    /// All events in the lead's journal so far.
    pub fn events(&self) -> Vec<Value> {
        let records = self.records("journal.ndjson");
        // All events of one decision are one record.
        let events = |record: &Record| record.parse::<Vec<Value>>().expect("events are JSON");
        records.iter().flat_map(events).collect()
    }

    /// Waits until the lead's journal contains a matching event.
    #[track_caller]
    pub fn wait_for_event(&self, what: &str, matches: impl Fn(&Value) -> bool) {
        self.wait_for(what, || self.events().iter().any(&matches).then_some(()));
    }

    /// Waits until a phase has moved to a status.
    #[track_caller]
    pub fn wait_for_status(&self, phase: &str, to: &str) {
        self.wait_for_event(&format!("phase {phase} {to}"), |event| {
            event["event"] == "moved" && event["phase"] == phase && event["to"] == to
        });
    }

    /// Waits until `look` returns a value; fails after a timeout.
    #[track_caller]
    pub fn wait_for<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let end = Instant::now() + TIMEOUT;
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < end, "timed out waiting for {what}");
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until a script has reached a point with `meet POINT`.
    #[track_caller]
    pub fn wait_for_point(&self, point: &str) {
        let file = self.sync_dir().join(format!("at-{point}"));
        self.wait_for(point, || file.exists().then_some(()));
    }

    /// Lets all scripts pass a point, now and in the future.
    pub fn release_point(&self, point: &str) {
        fs::write(self.sync_dir().join(format!("go-{point}")), "").expect("it is our directory");
    }

    /// Returns the shell function `meet POINT` for scripts outside of plans.
    pub fn meet_function(&self) -> String {
        fixtures::meet_function(&self.sync_dir())
    }

    fn sync_dir(&self) -> PathBuf {
        self.sandbox.outer_dir().join("sync")
    }

    /// The process id of a worker, from its life lock.
    #[track_caller]
    pub fn worker_pid(&self, phase: &str, attempt: u32) -> u32 {
        let dir = self.run_dir().expect("there is a run");
        let lock = dir.join(format!("{phase}-{attempt}.lock"));
        self.wait_for("a worker", || {
            let text = fs::read_to_string(&lock).ok()?;
            text.strip_suffix('\n')?.split_once(' ')?.0.parse().ok()
        })
    }

    /// All files of `main` outside `.planning/`, with mode, type and object id.
    pub fn target_files(&self) -> BTreeMap<String, String> {
        let listing = self.sandbox.git(&self.top, &["ls-tree", "-r", "-z", "main"]);
        let lines = listing.split('\0').filter_map(|line| line.split_once('\t'));
        let files = lines.map(|(about, path)| (path.to_owned(), about.to_owned()));
        files.filter(|(path, _)| !path.contains(".planning/")).collect()
    }

    /// Counts the commits of `main` for each value of a trailer.
    pub fn trailers(&self, key: &str) -> BTreeMap<String, usize> {
        let format = format!("--format=%(trailers:key={key},valueonly)");
        let mut counts = BTreeMap::new();
        for value in self.git(&["log", &format, "main"]).lines().filter(|line| !line.is_empty()) {
            *counts.entry(value.to_owned()).or_default() += 1;
        }
        counts
    }

    /// Asserts that each task was done once, git is intact, and no process, lock or file is left over.
    #[track_caller]
    pub fn assert_consistent(&self) {
        for key in ["Mow-Task", "Mow-Plan"] {
            let undone = self.trailers("Mow-Undone");
            let once = |what: &String| 1 + undone.get(what).copied().unwrap_or_default();
            let twice: Vec<_> =
                self.trailers(key).into_iter().filter(|(what, n)| *n != once(what)).collect();
            assert!(twice.is_empty(), "{key} more than once: {twice:?}");
        }
        let output = self.git(&["fsck", "--no-dangling", "--no-progress"]);
        assert_eq!(output, "", "git fsck complains");
        let run = self.run_id();
        self.wait_for("the end of all processes", || {
            processes_of_run(&run).is_empty().then_some(())
        });
        let mut locks = Vec::new();
        find_locks(&self.repository_root().join(".git"), &mut locks);
        assert!(locks.is_empty(), "left behind: {locks:?}");
        assert_eq!(self.leftover_temporary_files(), Vec::<PathBuf>::new(), "left behind");
        assert_eq!(self.held_locks(), Vec::<PathBuf>::new(), "still locked");
    }

    /// Asserts that the result equals that of an undisturbed run.
    #[track_caller]
    pub fn assert_same_result_as(&self, quiet: &Self) {
        self.assert_consistent();
        assert_eq!(self.target_files(), quiet.target_files());
        for key in ["Mow-Task", "Mow-Plan"] {
            // `assert_consistent` has checked the counts already.
            let all = |project: &Self| project.trailers(key).into_keys().collect::<Vec<_>>();
            assert_eq!(all(self), all(quiet), "{key}");
        }
        assert_eq!(self.git(&["status", "--porcelain"]), quiet.git(&["status", "--porcelain"]));
    }
}

/// Collects lock files that git leaves behind when it is killed.
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
