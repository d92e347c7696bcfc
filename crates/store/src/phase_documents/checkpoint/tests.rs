//! Tests that a checkpoint says what it must, and that it is read back.

use super::*;

const HEADER: DocumentHeader<'_> = DocumentHeader {
    number: "3",
    dir: "03-search",
    name: "Search",
    goal: "",
    now: "2026-02-20T10:00:00.000Z",
};
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn facts<'a>(status: &'a str, complete: &'a [CompletePlan]) -> CheckpointFacts<'a> {
    CheckpointFacts {
        status,
        reason: "exit 1: no such file",
        worker: "phase-03-worker",
        worktree: "/p/.worktrees/p03",
        stage: Some("execute"),
        complete,
        plan: Some("03-02"),
        task: Some((2, 3, "Wire it: up")),
        head: "abc",
        changes: " new-file | 1 +\n 1 file changed\n",
        rescue: Some((COMMIT, "run/03-failed/1")),
        ..CheckpointFacts::default()
    }
}

fn render(facts: &CheckpointFacts<'_>) -> String {
    String::from_utf8(render_checkpoint(&HEADER, facts).unwrap()).unwrap()
}

/// Returns the commands of the resume instructions.
fn commands(text: &str) -> Vec<&str> {
    let (_, block) = text.split_once("```sh\n").unwrap();
    block.split_once("```").unwrap().0.lines().collect()
}

#[test]
fn a_checkpoint_is_read_back() {
    let complete = [
        CompletePlan { id: "03-01".to_owned(), commit: Some(COMMIT.to_owned()) },
        CompletePlan { id: "03-00".to_owned(), commit: None },
    ];
    let text = render(&facts("failed", &complete));
    let expected = Checkpoint {
        phase: "03-search".to_owned(),
        status: "failed".to_owned(),
        worker: "phase-03-worker".to_owned(),
        complete: complete.to_vec(),
        plan: Some("03-02".to_owned()),
        task: Some(2),
        error: "exit 1: no such file".to_owned(),
    };
    assert_eq!(parse_checkpoint(text.as_bytes()), Ok(expected), "{text}");
    for words in
        ["**Task name:** Wire it: up\n", "new-file | 1 +", COMMIT, "circuit_breaker_hit: false"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("Warning"), "{text}");
}

#[test]
fn each_status_names_the_commands_that_continue() {
    for status in ["failed", "paused", "cancelled", "timeout"] {
        let text = render(&facts(status, &[]));
        assert_eq!(commands(&text), ["mow resume 3", "mow run --all"], "{text}");
        assert_eq!(text.contains("may be incomplete"), status == "timeout", "{text}");
        assert!(text.contains("continue with plan 03-02, task 2"), "{text}");
    }
    let by = Some("the circuit breaker opened: 2 phases failed");
    let text =
        render(&CheckpointFacts { is_breaker: true, stopped_by: by, ..facts("paused", &[]) });
    assert_eq!(commands(&text), ["mow resume", "mow run --all"], "{text}");
    assert!(text.contains("circuit_breaker_hit: true"), "{text}");
    assert!(text.contains("**Stopped by:** the circuit breaker opened"), "{text}");
}

#[test]
fn checkpoints_of_other_writers_are_read_as_far_as_possible() {
    let text = "---\nphase: 03-search\nplan: 02\nstatus: paused\nworker: kim\n---\n\n\
        ## Completed Plans\n\n- Plan 03-01: Index (deadbeef), 3 tasks\n* `03.1-02`\n- None\n\n\
        ## Current Plan State\n\n**Plan:** {plan-id}\n**Task:** ? of ?\n";
    let read = parse_checkpoint(text.as_bytes()).unwrap();
    let complete = [("03-01", Some("deadbeef")), ("03.1-02", None)];
    let complete = complete
        .map(|(id, commit)| CompletePlan { id: id.to_owned(), commit: commit.map(str::to_owned) });
    assert_eq!(read.complete, complete);
    assert_eq!((read.plan.as_deref(), read.task), (Some("02"), None));
    for broken in ["", "no frontmatter", "---\nplan: 1\n---\n", "---\nstatus:\n---\n"] {
        assert!(parse_checkpoint(broken.as_bytes()).is_err(), "{broken:?}");
    }
}
