//! Tests which marks count, with real commits and a real journal.

use mow_core::seal::SealChain;
use mow_store::journal::Journal;

use super::*;

/// A repository in which an attempt intended task 1 as effect 3 and task 2 as effect 4.
struct Fixture {
    _dir: tempfile::TempDir,
    git: Git,
    run: RunDir,
    seals: SealChain,
    journal: Journal,
    base: String,
}

impl Fixture {
    fn new(is_sealed: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::new(dir.path());
        git.run(&["init", "-q"]).unwrap();
        let run = RunDir::new(&dir.path().join(".git/mow"), "r1").unwrap();
        run.create().unwrap();
        let header = run.worker_header(&PhaseNumber::whole(1), 1);
        let path = run.worker_journal(&PhaseNumber::whole(1), 1);
        let (mut journal, _) = Journal::open(&path, &header).unwrap();
        let seals = SealChain::new(&[7; 32]);
        if is_sealed {
            let root = seals.root().to_owned();
            journal.append(0, &[Event::Sealed { root: root.clone(), proofs: root }]).unwrap();
        }
        let mut fixture = Self { _dir: dir, git, run, seals, journal, base: String::new() };
        fixture.base = fixture.commit("Begin", "");
        fixture.intend(3, 1);
        fixture.intend(4, 2);
        fixture
    }

    fn intend(&mut self, id: u64, task: usize) {
        let effect = Effect::RunTask { plan: "01-01".to_owned(), task, parallel: false };
        self.journal.append(0, &[Event::Intended { id, effect }]).unwrap();
    }

    fn finish(&mut self, id: u64, commit: &str) {
        let outcome = Outcome::Committed { commit: Some(commit.to_owned()) };
        self.journal.append(0, &[Event::Finished { id, outcome }]).unwrap();
    }

    /// Commits a mark with a seal.
    fn commit(&self, mark: &str, link: &str) -> String {
        let text = format!(
            "Sow\n\n{TASK_KEY}: 01-01/{mark}\n{RUN_KEY}: r1\n{ATTEMPT_KEY}: 1\n{SEAL_KEY}: {link}\n"
        );
        let who = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"];
        let args = [&who[..], &["commit", "-q", "--allow-empty", "-m", &text]].concat();
        self.git.run(&args).unwrap();
        self.git.commit_of("HEAD").unwrap().unwrap()
    }

    fn link(&self, number: u64) -> String {
        self.seals.link(number).unwrap().to_owned()
    }

    fn load(&self) -> SealedCommits {
        let phase = (&self.run, &PhaseNumber::whole(1));
        let range = [self.base.as_str(), "HEAD"];
        SealedCommits::load(&self.git, range, phase, &mut AttemptJournals::new()).unwrap()
    }

    /// Returns the commits that count, and how many do not.
    fn marks(&self) -> (Vec<String>, usize) {
        let marks = self.load();
        assert!(marks.history.starts_at_base);
        (marks.commits, marks.forged.len())
    }
}

#[test]
fn a_commit_counts_although_a_crash_came_before_its_record() {
    let mut fixture = Fixture::new(true);
    let first = fixture.commit("1", &fixture.link(3));
    assert_eq!(fixture.marks(), (vec![first.clone()], 0));
    assert_eq!(
        fixture.load().unproven,
        Some(("01-01".to_owned(), 1)),
        "its checks are not recorded"
    );
    fixture.finish(3, &first);
    assert_eq!(fixture.load().unproven, None);
    let second = fixture.commit("2", &fixture.link(4));
    assert_eq!(fixture.marks(), (vec![second, first], 0));
}

#[test]
fn forged_copied_and_changed_marks_do_not_count() {
    let mut fixture = Fixture::new(true);
    let first = fixture.commit("1", &fixture.link(3));
    fixture.finish(3, &first);
    fixture.commit("2", ""); // no seal
    fixture.commit("2", &fixture.link(3)); // the seal of another effect
    fixture.commit("2", &"0".repeat(64)); // an invented seal
    fixture.commit("1", &fixture.link(3)); // the seal of a recorded commit
    assert_eq!(fixture.marks(), (vec![first.clone()], 4));
    // Records that are appended later do not help.
    fixture.intend(3, 2);
    fixture.finish(3, &fixture.git.commit_of("HEAD").unwrap().unwrap());
    assert_eq!(fixture.marks(), (vec![first], 4));
}

#[test]
fn a_journal_without_seals_proves_its_recorded_commits() {
    let mut fixture = Fixture::new(false);
    let first = fixture.commit("1", "");
    assert_eq!(fixture.marks(), (vec![], 1));
    fixture.finish(3, &first);
    assert_eq!(fixture.marks(), (vec![first], 0));
}

#[test]
fn evidence_counts_once_and_only_with_its_seal() {
    let mut fixture = Fixture::new(true);
    let proved = |seal: String, command: &str| {
        let text = || String::new();
        Event::CheckRan(Evidence {
            commit: text(),
            tree: text(),
            code: text(),
            command: command.to_owned(),
            exit: Some(0),
            output: text(),
            at: 0,
            fresh: false,
            seal,
        })
    };
    let (good, bad) = (proved(fixture.link(1), "good"), proved("0".repeat(64), "bad"));
    let again = proved(fixture.link(1), "again");
    fixture.journal.append(0, &[good, bad, again]).unwrap();
    let facts = AttemptJournal::load(&fixture.run, &PhaseNumber::whole(1), 1).unwrap();
    let commands: Vec<_> = facts.evidence.iter().map(|one| one.command.as_str()).collect();
    assert_eq!(commands, ["good"]);
}
