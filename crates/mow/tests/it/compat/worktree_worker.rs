//! Tests that a worker of a live run does not write shared files, but sends messages to the lead.

use std::thread;
use std::time::Duration;

use mow_core::phase::PhaseNumber;
use mow_store::disk::Lock;
use mow_store::journal::{Header, Journal, JournalReader, Record};
use mow_store::run_files::RunDir;
use mow_testkit::program_call::ProgramCall;
use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::worktree_fixture::{STATE, answer, call, mow, repository};

const BLOCKED: &str = "# State\n\n## Blockers\n\nNone\n";

fn as_worker(project: &Sandbox, arguments: &[&str]) -> ProgramCall {
    let call = call(project, ".", arguments).env("MOW_ROLE", "worker").env("MOW_PHASE", "3");
    call.env("MOW_RUN", "r1").env("MOW_ATTEMPT", "2")
}

fn hold_lead_lock(project: &Sandbox) -> Lock {
    let path = project.root().join(".git/mow/locks/lead.lock");
    Lock::acquire(&path, Duration::ZERO).expect("no other lead holds the lock")
}

/// Reads the messages in the worker's journal.
fn sent_messages(project: &Sandbox) -> Vec<Value> {
    let mut tail = JournalReader::new(&project.root().join(".git/mow/runs/r1/03-2.ndjson"));
    let records = tail.poll().expect("the journal is sound");
    assert_eq!(tail.header(), Some(&Header::worker("r1", "03", 2)));
    let message = |record: &Record| record.parse::<Value>().expect("it is JSON")["message"].clone();
    records.iter().map(message).collect()
}

#[test]
fn a_worker_of_a_live_run_does_not_write_shared_files() {
    let project = repository().file(".planning/STATE.md", BLOCKED);
    let before = project.files();
    let lead = hold_lead_lock(&project);
    let refused = as_worker(&project, &["--raw", "state", "add-blocker", "slow"]).run();
    assert!(refused.stderr.contains("Hint: mow message send blocker"), "{}", refused.stderr);
    refused.refuses("only the lead of run r1 may write");
    let surplus = as_worker(&project, &["state", "update", "Status", "x", "too", "many"]).run();
    assert!(surplus.stderr.contains("only the lead"), "{}", surplus.transcript());
    for file in [".planning/STATE.md", "./.planning/../.planning/ROADMAP.md"] {
        let set = ["frontmatter", "set", file, "--field", "a", "--value", "1"];
        as_worker(&project, &set).run().refuses("only the lead of run r1 may write");
        let merge = ["frontmatter", "merge", file, "--data", "{\"a\": 1}"];
        as_worker(&project, &merge).run().refuses("only the lead of run r1 may write");
    }
    let missing = as_worker(&project, &["init", "--missing", "--yes"]).run();
    assert!(missing.stderr.contains("only the lead of run r1"), "{}", missing.transcript());
    assert_eq!(project.files(), before);
    let own = ".planning/phases/03-auth/03-01-PLAN.md";
    as_worker(&project, &["frontmatter", "set", own, "--field", "wave", "--value", "2"])
        .run()
        .stdout_on_success();
    // A worker may read, and a person may write under the lock as usual.
    as_worker(&project, &["state", "active-phases"]).run().stdout_on_success();
    mow(&project, ".", &["state", "add-blocker", "mine"]).stdout_on_success();
    drop(lead);
    as_worker(&project, &["state", "add-blocker", "slow"]).run().stdout_on_success();
    assert!(project.text(".planning/STATE.md").ends_with("- mine\n- slow\n"));
}

/// Calls that are refused, and whose hints must work.
const REFUSED: [&[&str]; 23] = [
    &["state", "update", "Status", "x"],
    &["state", "patch", "--Status", "x"],
    &["state", "advance-plan"],
    &["state", "record-metric"],
    &["state", "update-progress"],
    &["state", "add-decision", "x"],
    &["state", "add-blocker", "x"],
    &["state", "resolve-blocker", "x"],
    &["state", "record-session"],
    &["state", "update-phase-row", "3"],
    &["team-update"],
    &["roadmap", "update-plan-progress", "3"],
    &["phase", "add", "x"],
    &["phase", "insert", "3", "x"],
    &["phase", "remove", "3"],
    &["phase", "complete", "3"],
    &["requirements", "mark-complete", "A-1"],
    &["milestone", "complete", "v1"],
    &["validate", "health", "--repair"],
    &["worktree", "clean"],
    &["worktree", "merge-state"],
    &["frontmatter", "set", ".planning/STATE.md", "--field", "a", "--value", "1"],
    &["approve", "1"],
];

#[test]
fn every_refusal_of_a_worker_names_a_command_that_works() {
    let project = repository();
    let _lead = hold_lead_lock(&project);
    mow(&project, ".", &["status", "init", "3"]).stdout_on_success();
    let run = RunDir::new(&project.root().join(".git/mow"), "r1").expect("a plain name");
    run.create().expect("the directory can be made");
    let (phase, attempt) = (PhaseNumber::whole(3), 2);
    let path = run.worker_journal(&phase, attempt);
    Journal::open(&path, &run.worker_header(&phase, attempt)).expect("it can be made");
    for words in REFUSED {
        let refused = as_worker(&project, words).run();
        let transcript = refused.transcript();
        assert!(!refused.status.success(), "{transcript}");
        let (_, hint) = refused.stderr.split_once("Hint: mow ").expect(&transcript);
        let given = |word: &str| match word {
            "PHASE" => "3".to_owned(),
            "ID" => "03-01".to_owned(),
            "STATUS" => "complete".to_owned(),
            word if word.chars().all(|c| c.is_ascii_uppercase()) => "x".to_owned(),
            word => word.to_owned(),
        };
        let hint: Vec<_> = hint.trim().split(' ').map(given).collect();
        let hint: Vec<_> = hint.iter().map(String::as_str).collect();
        let done = as_worker(&project, &hint).run();
        assert!(done.status.success(), "{transcript}\n{}", done.transcript());
    }
}

#[test]
fn the_claims_of_a_worker_become_messages() {
    let project = repository();
    let lead = hold_lead_lock(&project);
    let top = project.root().display().to_string();
    let run_as_worker = |call: &[&str]| answer(as_worker(&project, call).run());
    assert_eq!(
        run_as_worker(&["worktree", "claim", "03"]),
        json!({ "claimed": true, "already_claimed": true, "worktree": top, "phase": "03" })
    );
    run_as_worker(&["worktree", "update-plan", "3", "03-01"]);
    run_as_worker(&["worktree", "verify-result", "3", "--tier", "1", "--result", "pass"]);
    run_as_worker(&["worktree", "release", "3"]);
    as_worker(&project, &["worktree", "claim", "4"]).run().refuses("not yours");
    assert_eq!(project.text(".planning/STATE.md"), STATE);
    let kinds: Vec<_> =
        sent_messages(&project).iter().map(|message| message["type"].clone()).collect();
    assert_eq!(kinds, ["claim", "update_plan", "verify_result", "release"]);
    as_worker(&project, &["worktree", "release", "3"])
        .env("MOW_RUN", "../x")
        .run()
        .refuses("MOW_RUN must be a run id");
    as_worker(&project, &["worktree", "release", "3"])
        .env("MOW_ATTEMPT", "2/3")
        .run()
        .refuses("MOW_ATTEMPT a number");
    assert_eq!(sent_messages(&project).len(), 4);
    drop(lead);
    let claimed = answer(as_worker(&project, &["worktree", "claim", "4"]).run());
    assert_eq!(claimed["already_claimed"], false);
}

#[test]
fn messages_sent_at_the_same_time_all_arrive() {
    let project = repository();
    let _lead = hold_lead_lock(&project);
    thread::scope(|scope| {
        for plan in 1..=8 {
            let project = &project;
            scope.spawn(move || {
                let plan = format!("03-0{plan}");
                answer(as_worker(project, &["worktree", "update-plan", "3", &plan]).run());
            });
        }
    });
    let mut plans: Vec<_> =
        sent_messages(&project).iter().map(|message| message["plan"].to_string()).collect();
    plans.sort();
    let expected: Vec<_> = (1..=8).map(|plan| format!("\"03-0{plan}\"")).collect();
    assert_eq!(plans, expected);
}

#[test]
fn a_caller_in_a_worktree_of_a_live_run_counts_as_its_worker() {
    let project = repository().file(".planning/STATE.md", BLOCKED);
    let top = project.root().display().to_string();
    let claim = json!({ "claims": [{
        "worktree": top, "branch": "main", "phase": "3", "plan": "—", "status": "executing",
        "started": "then", "agent": "a", "run": "r7"
    }]});
    project.write(".git/mow/claims.json", claim.to_string());
    let lead = hold_lead_lock(&project);
    mow(&project, ".planning", &["state", "add-blocker", "x"]).refuses("run r7");
    drop(lead);
    mow(&project, ".", &["state", "add-blocker", "x"]).stdout_on_success();
}
