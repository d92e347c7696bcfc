//! What the engine writes is what the readers of this crate find again.

use super::*;
use crate::{phase_files, summary as summary_file};

pub(super) const ABOUT: About<'_> = About {
    number: "3",
    dir: "03-search",
    name: "Search",
    goal: "People find things",
    now: "2026-01-02T03:04:05.000Z",
};

fn evidence() -> Evidence {
    let hash = |digit: &str| digit.repeat(40);
    Evidence {
        commit: hash("c"),
        tree: hash("d"),
        code: hash("e"),
        command: "sh a.sh | wc".to_owned(),
        exit: Some(0),
        output: hash("f"),
        at: 0,
        fresh: false,
        seal: String::new(),
    }
}

#[test]
fn a_summary_names_commits_files_and_checks() {
    let tasks = [DoneTask {
        name: "Build: the \"index\"".to_owned(),
        commit: Some("0123456789abcdef".to_owned()),
        checks: vec!["sh test.sh".to_owned()],
    }];
    let plan = DonePlan {
        plan: "01",
        objective: "Index all words",
        tasks: &tasks,
        files: &["src/index.rs".to_owned()],
        requirements: &["SRCH-01".to_owned()],
        answers: &[],
        deviations: &["`extra` is not among files_modified".to_owned()],
        evidence: &[evidence()],
        duration: "3min",
    };
    let bytes = summary(&ABOUT, &plan).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    for wanted in ["phase: 03-search", "`01234567`", "passed: `sh test.sh`", "- `src/index.rs`"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(text.contains("| `sh a.sh \\| wc` | 0 | `dddddddd` | `ffffffff` |"), "{text}");
    assert!(text.contains("## Deviations from Plan\n\n- `extra`"), "{text}");
    let read = summary_file::parse(&bytes);
    assert!(format!("{read:?}").contains("SRCH-01"), "{read:?}");
}

#[test]
fn a_verification_has_gaps_or_is_passed() {
    let good = Check { what: "sh a.sh".to_owned(), gap: None, evidence: Some(evidence()) };
    let gap = Some("exit 1".to_owned());
    let bad = Check { what: "a | b".to_owned(), gap, evidence: None };
    let status = |checks: &[Check]| {
        let bytes = verification(&ABOUT, "abc", checks, &["It grows".to_owned()]).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains("exit 0, tree `dddddddd`, output `ffffffff`"), "{text}");
        assert!(text.contains("## Not Checked by a Machine\n\n- It grows"), "{text}");
        phase_files::parse_verification(&bytes).status
    };
    assert_eq!(status(std::slice::from_ref(&good)).as_deref(), Some("passed"));
    assert_eq!(status(&[good, bad]).as_deref(), Some("gaps_found"));
}

#[test]
fn a_checkpoint_says_where_to_go_on() {
    let left = Left {
        status: "failed",
        reason: "exit 1: no such file",
        worker: "phase-03-worker",
        worktree: ".worktrees/p03",
        done: &["03-01".to_owned()],
        plan: Some("03-02"),
        task: Some((2, 3, "Wire it: up")),
        head: "abc",
        changes: "1 file changed",
        rescue: Some("def"),
    };
    let read = phase_files::parse_checkpoint(&checkpoint(&ABOUT, &left).unwrap());
    assert_eq!(read.status.as_deref(), Some("failed"));
    assert_eq!(read.reason.as_deref(), Some("error"));
    assert_eq!((read.task, read.task_name.as_deref()), (Some((2, 3)), Some("Wire it: up")));
}
