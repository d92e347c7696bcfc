//! Marks that count and marks that do not, with real commits and a real journal.

use mow_core::seal::Seals;
use mow_store::journal::Journal;

use super::*;

/// A repository in which an attempt has begun task 1 as effect 3 and task 2 as effect 4.
struct Bench {
    _dir: tempfile::TempDir,
    git: Git,
    run: RunDir,
    seals: Seals,
    journal: Journal,
    base: String,
}

impl Bench {
    fn new(is_sealed: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::new(dir.path());
        git.run(&["init", "-q"]).unwrap();
        let run = RunDir::new(&dir.path().join(".git/mow"), "r1").unwrap();
        run.create().unwrap();
        let header = run.worker_header(&PhaseNumber::whole(1), 1);
        let path = run.worker_journal(&PhaseNumber::whole(1), 1);
        let (mut journal, _) = Journal::open(&path, &header).unwrap();
        let seals = Seals::new(&[7; 32]);
        if is_sealed {
            let root = seals.root().to_owned();
            journal.append(0, &[Event::Sealed { root: root.clone(), proofs: root }]).unwrap();
        }
        let mut bench = Self { _dir: dir, git, run, seals, journal, base: String::new() };
        bench.base = bench.commit("Begin", "");
        bench.begin(3, 1);
        bench.begin(4, 2);
        bench
    }

    fn begin(&mut self, id: u64, task: usize) {
        let effect = Effect::RunTask { plan: "01-01".to_owned(), task, beside: false };
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

    fn load(&self) -> Marks {
        let whose = (&self.run, &PhaseNumber::whole(1));
        let range = [self.base.as_str(), "HEAD"];
        Marks::load(&self.git, range, whose, &mut Ledgers::new()).unwrap()
    }

    /// Returns the commits that count, and how many do not.
    fn marks(&self) -> (Vec<String>, usize) {
        let marks = self.load();
        assert!(marks.history.is_based);
        (marks.commits, marks.forged.len())
    }
}

#[test]
fn a_commit_counts_also_when_a_crash_came_before_its_record() {
    let mut bench = Bench::new(true);
    let first = bench.commit("1", &bench.link(3));
    assert_eq!(bench.marks(), (vec![first.clone()], 0));
    assert_eq!(bench.load().unproven, Some(("01-01".to_owned(), 1)), "nobody knows of its check");
    bench.finish(3, &first);
    assert_eq!(bench.load().unproven, None);
    let second = bench.commit("2", &bench.link(4));
    assert_eq!(bench.marks(), (vec![second, first], 0));
}

#[test]
fn forged_copied_and_changed_marks_do_not_count() {
    let mut bench = Bench::new(true);
    let first = bench.commit("1", &bench.link(3));
    bench.finish(3, &first);
    bench.commit("2", ""); // none
    bench.commit("2", &bench.link(3)); // of another effect
    bench.commit("2", &"0".repeat(64)); // of nobody
    bench.commit("1", &bench.link(3)); // of a commit that is known
    assert_eq!(bench.marks(), (vec![first.clone()], 4));
    // Nor do records help that come too late.
    bench.begin(3, 2);
    bench.finish(3, &bench.git.commit_of("HEAD").unwrap().unwrap());
    assert_eq!(bench.marks(), (vec![first], 4));
}

#[test]
fn journals_without_seals_are_taken_at_their_word() {
    let mut bench = Bench::new(false);
    let first = bench.commit("1", "");
    assert_eq!(bench.marks(), (vec![], 1));
    bench.finish(3, &first);
    assert_eq!(bench.marks(), (vec![first], 0));
}

#[test]
fn evidence_counts_once_and_only_with_its_seal() {
    let mut bench = Bench::new(true);
    let proved = |seal: String, command: &str| {
        let text = || String::new();
        Event::Proved(Evidence {
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
    let (good, bad) = (proved(bench.link(1), "good"), proved("0".repeat(64), "bad"));
    let again = proved(bench.link(1), "again");
    bench.journal.append(0, &[good, bad, again]).unwrap();
    let ledger = Ledger::load(&bench.run, &PhaseNumber::whole(1), 1).unwrap();
    let commands: Vec<_> = ledger.evidence.iter().map(|one| one.command.as_str()).collect();
    assert_eq!(commands, ["good"]);
}
