//! The link to local workers, with real files and processes. Every call is repeated.

#![expect(clippy::disallowed_methods, reason = "tests write files and start processes")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};

use mow_core::report::HaltReason;
use mow_host::git::Git;
use mow_store::project::Project;

use super::*;

/// How long a test waits for an event that must come.
const PATIENCE: Duration = Duration::from_secs(120);

/// A project with a run whose workers are shell scripts.
struct Fixture {
    dir: tempfile::TempDir,
    ctx: Arc<RunContext>,
}

/// The link of one lead process, with its wake-ups.
struct TestLink {
    link: LocalLink,
    woken: Receiver<()>,
}

fn key() -> WorkerKey {
    (PhaseNumber::whole(1), 1).into()
}

fn note(text: &str) -> Report {
    Report::Note { text: text.to_owned() }
}

fn halt(how: HaltReason) -> LeadMessage {
    LeadMessage::Halt(how.into())
}

/// Returns a run id that no test has that runs at the same time: ending a worker ends all processes
/// with its token, in whichever repository they are.
fn unique_run() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let number = std::process::id().wrapping_add(count.wrapping_mul(7_919));
    format!("20260101-000000-{:04x}", number & 0xffff)
}

impl Fixture {
    /// Creates the project; a worker runs the script in the main root, where `$LOCK` is its life
    /// lock.
    fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let git = Git::new(&root);
        git.run(&["init", "-q", "-b", "main"]).unwrap();
        for (name, value) in [("user.name", "T"), ("user.email", "t@example.invalid")] {
            git.run(&["config", name, value]).unwrap();
        }
        fs::create_dir(root.join(".planning")).unwrap();
        fs::write(root.join(".planning/ROADMAP.md"), "# Roadmap\n\n### Phase 1: One\n").unwrap();
        git.run(&["add", "."]).unwrap();
        git.run(&["commit", "-q", "-m", "Begin"]).unwrap();
        let exe = root.join(".git/worker.sh");
        let project = Project::find(&root).unwrap();
        let ctx = RunContext::new(&project, &unique_run(), &exe).unwrap();
        ctx.run.create().unwrap();
        let lock = ctx.run.life_lock(&key().phase, 1);
        let head = format!("#!/bin/sh\nLOCK='{}'\ncd '{}'\n", lock.display(), root.display());
        fs::write(&exe, format!("{head}{script}\n")).unwrap();
        fs::set_permissions(&exe, fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir, ctx: Arc::new(ctx) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the link of a new lead process.
    fn link(&self) -> TestLink {
        let repository = Arc::new(RepositoryLock::new(&self.ctx.project));
        let (sender, woken) = mpsc::channel();
        let wake = move || {
            sender.send(()).ok();
        };
        TestLink { link: LocalLink::new(Arc::clone(&self.ctx), repository, wake).unwrap(), woken }
    }

    /// Prepares the phase and starts its worker.
    fn start(&self, link: &mut TestLink) {
        let base = link.link.prepare(&self.job()).unwrap();
        let brief = serde_json::json!({
            "run": self.ctx.run.run(), "phase": key().phase, "name": "One", "attempt": 1,
            "base": base, "answers": [],
        });
        link.link.spawn(&serde_json::from_value(brief).unwrap()).unwrap();
    }

    fn job(&self) -> PrepareJob {
        let base = Git::new(self.dir.path()).commit_of("HEAD").unwrap().unwrap();
        PrepareJob { key: key(), base, renew: true }
    }

    /// Appends reports to the worker's journal, as the worker would.
    fn report(&self, reports: &[Report]) {
        let (phase, attempt) = (key().phase, key().attempt);
        let header = self.ctx.run.worker_header(&phase, attempt);
        let path = self.ctx.run.worker_journal(&phase, attempt);
        let (mut journal, _) = Journal::open(&path, &header).unwrap();
        let events: Vec<_> = reports.iter().cloned().map(worker::Event::Reported).collect();
        journal.append(0, &events).unwrap();
    }

    /// Returns the messages in the worker's inbox after the brief.
    fn inbox(&self) -> Vec<NumberedMessage> {
        let path = self.ctx.run.worker_inbox(&key().phase, key().attempt);
        let records = JournalReader::new(&path).poll().unwrap();
        let messages = records.iter().map(|record| record.parse::<NumberedMessage>().unwrap());
        messages.filter(|it| !matches!(it.message, LeadMessage::Brief(_))).collect()
    }

    fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.path(name)).unwrap_or_default().lines().count()
    }
}

impl TestLink {
    /// Polls; returns all events but health samples.
    fn poll(&mut self) -> Vec<LinkEvent> {
        let mut events = self.link.poll().unwrap();
        events.retain(|event| !matches!(event, LinkEvent::Health { .. }));
        events
    }

    /// Polls until the worker is gone; returns all events but health samples.
    fn poll_until_gone(&mut self) -> Vec<LinkEvent> {
        let mut all = Vec::new();
        loop {
            all.append(&mut self.poll());
            if all.iter().any(|event| matches!(event, LinkEvent::Gone { .. })) {
                return all;
            }
            self.woken.recv_timeout(PATIENCE).unwrap();
        }
    }
}

fn records(first: u64, reports: &[Report]) -> LinkEvent {
    let reports: Vec<_> = (first..).zip(reports.iter().cloned()).collect();
    let through = first + reports.len() as u64 - 1;
    LinkEvent::Records { key: key(), first, through, reports }
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_worker_is_started_once() {
    let fixture = Fixture::new("echo started >>starts; read line <end");
    make_pipe(&fixture.path("end"));
    let mut link = fixture.link();
    fixture.start(&mut link);
    fixture.start(&mut link);
    // Another lead repeats the call, too.
    fixture.start(&mut fixture.link());
    fixture.report(&[note("I worked")]);
    fs::write(fixture.path("end"), "now\n").unwrap();
    link.link.open(key(), 0).unwrap();
    link.poll_until_gone();
    fixture.start(&mut link);
    link.link.close(key(), Status::Complete).unwrap();
    link.link.open(key(), 0).unwrap();
    link.poll_until_gone();
    assert_eq!(fixture.lines("starts"), 1);
}

#[test]
fn records_come_once_to_each_lead_and_gone_follows_them_once() {
    let fixture = Fixture::new("read line <end");
    make_pipe(&fixture.path("end"));
    let mut link = fixture.link();
    fixture.start(&mut link);
    link.link.open(key(), 0).unwrap();
    assert_eq!(link.poll(), []);
    fixture.report(&[note("one"), note("two")]);
    assert_eq!(link.poll(), [records(1, &[note("one"), note("two")])]);
    link.link.open(key(), 0).unwrap();
    assert_eq!(link.poll(), []);
    // Another lead adopts the worker.
    let mut next = fixture.link();
    next.link.open(key(), 2).unwrap();
    fixture.report(&[note("three")]);
    fs::write(fixture.path("end"), "now\n").unwrap();
    let gone = LinkEvent::Gone { key: key(), last: 3 };
    assert_eq!(link.poll_until_gone(), [records(3, &[note("three")]), gone.clone()]);
    let all = [note("one"), note("two"), note("three")];
    assert_eq!(next.poll_until_gone(), [records(1, &all), gone]);
    for link in [&mut link, &mut next] {
        link.link.open(key(), 3).unwrap();
        assert_eq!(link.poll(), []);
    }
}

#[test]
fn a_closed_worker_sends_no_events() {
    let fixture = Fixture::new("read line <end");
    make_pipe(&fixture.path("end"));
    let mut link = fixture.link();
    fixture.start(&mut link);
    link.link.open(key(), 0).unwrap();
    for _ in 0..2 {
        link.link.close(key(), Status::Complete).unwrap();
        link.link.confirm(key(), 1).unwrap();
    }
    fixture.report(&[note("late")]);
    fs::write(fixture.path("end"), "now\n").unwrap();
    link.woken.recv_timeout(PATIENCE).unwrap();
    assert_eq!(link.link.poll().unwrap(), []);
    assert_eq!(fixture.inbox(), []);
}

#[test]
fn notes_are_written_once_by_number() {
    let fixture = Fixture::new("");
    let (pause, cancel) = (halt(HaltReason::Paused), halt(HaltReason::Cancelled));
    // A lead without numbers wrote the first note.
    let header = fixture.ctx.run.inbox_header(&key().phase, 1);
    let path = fixture.ctx.run.worker_inbox(&key().phase, 1);
    let (mut inbox, _) = Journal::open(&path, &header).unwrap();
    inbox.append(0, &[pause.clone(), LeadMessage::Through { seq: 4 }]).unwrap();
    for is_open in [true, false] {
        let mut link = fixture.link();
        if is_open {
            link.link.open(key(), 0).unwrap();
        }
        for _ in 0..2 {
            link.link.tell(key(), 1, &pause).unwrap();
            link.link.tell(key(), 2, &cancel).unwrap();
        }
    }
    let expected = [
        NumberedMessage::from(pause),
        LeadMessage::Through { seq: 4 }.into(),
        NumberedMessage { n: Some(2), message: cancel },
    ];
    assert_eq!(fixture.inbox(), expected);
}

#[test]
fn a_confirmation_is_written_once_and_never_for_unwritten_records() {
    let fixture = Fixture::new("");
    fixture.report(&[note("one"), note("two")]);
    let mut link = fixture.link();
    link.link.open(key(), 0).unwrap();
    link.poll();
    for through in [1, 1, 2, 1, 9] {
        link.link.confirm(key(), through).unwrap();
    }
    let through = |seq: u64| NumberedMessage::from(LeadMessage::Through { seq });
    assert_eq!(fixture.inbox(), [through(1), through(2)]);
}

#[cfg(target_os = "linux")]
#[test]
fn processes_that_a_worker_leaves_are_ended_before_it_is_gone() {
    // The worker records itself as the holder of its life lock, as a real one does.
    let fixture = Fixture::new(
        "echo $$ $(cut -d ' ' -f 22 /proc/$$/stat) >$LOCK; sleep 600 <&0 & echo $! >left",
    );
    let mut link = fixture.link();
    fixture.start(&mut link);
    link.link.open(key(), 0).unwrap();
    assert_eq!(link.poll_until_gone(), [LinkEvent::Gone { key: key(), last: 0 }]);
    let lock = fixture.ctx.run.life_lock(&key().phase, 1);
    assert!(!life_lock::is_alive(&lock).unwrap());
    let left = fs::read_to_string(fixture.path("left")).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/cmdline", left.trim())).unwrap_or_default();
    assert!(!status.contains("600"), "{status}");
}

#[test]
fn a_worker_is_ended_and_gone_follows() {
    let fixture = Fixture::new("exec sleep 600");
    let mut link = fixture.link();
    fixture.start(&mut link);
    link.link.open(key(), 0).unwrap();
    for _ in 0..2 {
        link.link.end(key()).unwrap();
    }
    assert_eq!(link.poll_until_gone(), [LinkEvent::Gone { key: key(), last: 0 }]);
}

#[test]
fn a_damaged_journal_fails_the_attempt_with_the_same_number_for_each_lead() {
    let fixture = Fixture::new("read line <end");
    make_pipe(&fixture.path("end"));
    fixture.start(&mut fixture.link());
    fixture.report(&[note("one")]);
    let path = fixture.ctx.run.worker_journal(&key().phase, 1);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"{\"seq\":9}\n");
    fs::write(&path, bytes).unwrap();
    for _ in 0..2 {
        let mut link = fixture.link();
        link.link.open(key(), 0).unwrap();
        let events = link.poll();
        let [LinkEvent::Records { first: 1, through, reports, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        let (seq, Report::Failed { reason }) = &reports[reports.len() - 1] else {
            panic!("{reports:?}");
        };
        assert_eq!(seq, through);
        assert!(reason.starts_with("its journal cannot be read"), "{reason}");
        assert_eq!(link.poll(), []);
    }
    fs::write(fixture.path("end"), "now\n").unwrap();
}

#[test]
fn health_shows_heartbeats_and_numbers_its_samples() {
    let fixture = Fixture::new("read line <end");
    make_pipe(&fixture.path("end"));
    let mut link = fixture.link();
    fixture.start(&mut link);
    let mut worker = WorkerConnection::open(&fixture.ctx, key()).unwrap();
    let mut sample = || match worker.sample(&fixture.ctx, key()) {
        LinkEvent::Health { sample, beats, is_stopped, .. } => (sample, beats, is_stopped),
        other => panic!("{other:?}"),
    };
    assert_eq!([sample(), sample()], [(1, 1, false), (2, 1, false)]);
    let lock = fixture.ctx.run.life_lock(&key().phase, 1);
    let file = fs::File::open(&lock).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(sample(), (3, 2, false), "a clock that was set back is a heartbeat, too");
    fs::write(fixture.path("end"), "now\n").unwrap();
}

#[test]
fn a_worktree_is_prepared_twice_with_the_same_result() {
    let fixture = Fixture::new("");
    let mut link = fixture.link();
    let job = fixture.job();
    for _ in 0..2 {
        assert_eq!(link.link.prepare(&job).unwrap(), job.base);
    }
}

#[test]
fn files_of_a_look_ahead_stay_until_they_are_taken() {
    let fixture = Fixture::new("");
    let mut link = fixture.link();
    link.link.prepare(&fixture.job()).unwrap();
    let worktree = fixture.ctx.worktree(&key().phase).unwrap().path;
    let dir = worktree.join(".planning/phases/01-one");
    fs::create_dir_all(&dir).unwrap();
    for name in ["01-CONTEXT.md", "01-RESEARCH.md", "01-01-PLAN.md", "other.txt"] {
        fs::write(dir.join(name), name).unwrap();
    }
    let mut gather = || link.link.gather(key(), Some(Stage::Research)).unwrap();
    let files = gather();
    let names: Vec<_> = files.iter().map(|file| file.path.display().to_string()).collect();
    assert_eq!(names, ["01-CONTEXT.md", "01-RESEARCH.md"]);
    assert_eq!(gather(), files);
    for _ in 0..2 {
        link.link.reset(key(), &files[..1]).unwrap();
        assert!(!dir.exists(), "the worktree is reset");
    }
    // What was not taken is rescued.
    let git = Git::new(fixture.dir.path());
    let refs = git.run(&["for-each-ref", "--format=%(refname)", "refs/mow"]).unwrap().text();
    let kept = git.run(&["ls-tree", "-r", "--name-only", refs.lines().next().unwrap()]).unwrap();
    let kept = kept.text();
    assert!(kept.contains("01-RESEARCH.md") && kept.contains("other.txt"), "{kept}");
    assert!(!kept.contains("01-CONTEXT.md"), "{kept}");
}
