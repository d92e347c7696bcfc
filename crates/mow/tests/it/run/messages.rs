//! Tests the contract messages of a run: on the dashboard, in `mow events --messages`, on the
//! console, and those that agents send.

use std::collections::BTreeSet;
use std::path::Path;

use mow_core::message::{BYTES_MAX, MessageKind, parse};
use mow_testkit::planned_project::{ALL, PlannedProject, phase, plan, task};
use serde_json::Value;

use super::{MOW, answer_all, one_task_phase, project, project_with_config};

/// Returns the messages of the last run; checks each of them as its receiver would.
fn messages(project: &PlannedProject) -> Vec<Value> {
    let printed = project.exits_with(&["events", "--messages"], 0);
    let lines = printed.lines().filter(|line| line.starts_with('{'));
    let message = |line: &str| {
        let read = parse(line);
        assert!(read.kind.is_ok() && read.warnings.is_empty(), "{line}: {:?}", read.warnings);
        assert!(line.len() <= BYTES_MAX, "{} bytes: {line}", line.len());
        Value::Object(read.object)
    };
    lines.map(message).collect()
}

fn types(messages: &[Value]) -> BTreeSet<String> {
    let name = |message: &Value| message["type"].as_str().expect("it has a type").to_owned();
    messages.iter().map(name).collect()
}

/// Returns the types of the dashboard's events.
fn dashboard_types(project: &PlannedProject) -> BTreeSet<String> {
    let text = project.text(".planning/dashboard-events.ndjson");
    let events: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    types(&events)
}

/// Runs a phase that is planned, one that is blocked, and one that fails.
fn eventful_run(config: &str) -> (PlannedProject, String) {
    let planned = phase("1", &[]).with(plan(vec![task("echo 1 > crop-1")]));
    let files = planned.files(Path::new("/"));
    let (_, text) = files.iter().find(|(path, _)| path.ends_with("PLAN.md")).expect("a plan");
    let roles =
        r#""roles": {"planner": {"command": "cp ../../plan $MOW_PHASE_DIR/01-01-PLAN.md"}}"#;
    let blocked = one_task_phase("2", &[], "echo 'no key'; exit 75");
    let failing = one_task_phase("3", &[], "printf 'broken%01500d' 0; exit 1");
    let config = format!("{roles}{config}");
    let project = project_with_config(&config, &[phase("1", &[]), blocked, failing]);
    project.write("plan", text);
    let ran = project.exits_with(&ALL, 5);
    (project, ran)
}

#[test]
fn a_verbose_run_has_messages_of_all_types() {
    let (project, ran) = eventful_run("");
    assert!(ran.contains("stage execute"), "{ran}");
    let messages = messages(&project);
    let all = BTreeSet::from(MessageKind::ALL.map(|kind| kind.name().to_owned()));
    assert_eq!(types(&messages), all);
    let of = |phase: &str, kind: &str| {
        let mut own = messages.iter().filter(|m| m["phase"] == phase && m["type"] == kind);
        own.next().unwrap_or_else(|| panic!("phase {phase} has no {kind}")).clone()
    };
    assert_eq!(of("1", "plan_created")["plan"], "01-01");
    assert_eq!(of("1", "commit_made")["commit_hash"].as_str().map(str::len), Some(40));
    assert_eq!(of("1", "phase_complete")["plans_completed"], "1");
    assert_eq!(of("2", "blocker")["blocker"], "no key");
    assert_eq!(of("2", "input_needed")["input_type"], "error_resolution");
    let error = of("3", "error");
    let cut = error["error"].as_str().and_then(|text| text.strip_suffix('…')).expect("it is cut");
    assert_eq!(
        (error["plan"].as_str(), error["status_ref"].as_str()),
        (Some("03-01"), Some(".planning/phases/03-field-3/03-STATUS.md#context"))
    );
    let status = project.text(".worktrees/p03/.planning/phases/03-field-3/03-STATUS.md");
    assert!(status.contains(cut) && status.contains(&"0".repeat(1_400)), "{status}");
    let transitions: Vec<_> = messages
        .iter()
        .filter(|m| m["phase"] == "1" && m["type"] == "stage_transition")
        .map(|m| m["to_stage"].as_str().unwrap_or_default())
        .collect();
    let stages = ["discussing", "researching", "planning", "executing", "refining", "complete"];
    assert_eq!(transitions, stages);
    let mut shown = dashboard_types(&project);
    assert!(shown.insert("ack".to_owned()), "the dashboard shows no acknowledgements");
    assert_eq!(shown, all);
    let status = project.text(".worktrees/p02/.planning/phases/02-field-2/02-STATUS.md");
    assert!(status.contains("- Plan 02-01, task 1: no key\n"), "{status}");
}

#[test]
fn a_lean_run_shows_only_milestones() {
    let (project, ran) = eventful_run(r#", "messages": {"events": "lean"}"#);
    let lean = ["ack", "blocker", "error", "input_needed", "phase_complete", "plan_complete"];
    let lean = BTreeSet::from(lean.map(str::to_owned));
    assert_eq!(types(&messages(&project)), lean);
    let mut shown = dashboard_types(&project);
    shown.insert("ack".to_owned());
    assert_eq!(shown, lean);
    assert!(ran.contains("plan 01-01 done"), "{ran}");
    assert!(ran.contains("plan 02-01 is blocked: no key"), "{ran}");
    for detail in ["stage execute", "plan 01-01 starts", "task 1 done", "is running"] {
        assert!(!ran.contains(detail), "{detail}\n{ran}");
    }
}

#[test]
fn a_message_of_an_agent_is_a_report_and_a_blocker_is_in_status_md() {
    let long = "é".repeat(1_500);
    let send = format!("'{MOW}' message send");
    let script = format!(
        "{send} blocker --plan 01-01 --blocker 'The port is taken' --action skip > ../../answer
         {send} error --plan 01-01 --error '{long}' >> ../../answer
         ! {send} plan_complete --plan 01-01 2> ../../refused
         ! {send} blocker --plan 01-01 2>> ../../refused
         ! {send} blocker --plan 01-01 --blocker x --action hope 2>> ../../refused
         ! {send} error --phase 2 --plan 02-01 --error x 2>> ../../refused
         ! {send} error --plan 1 --error '{long}{long}{long}' 2>> ../../refused
         echo 1 > crop-1"
    );
    let project = project(&[phase("1", &[]).with(plan(vec![task(&script)]))]);
    project.run_all();
    let status_md = ".planning/phases/01-field-1/01-STATUS.md";
    let messages = messages(&project);
    let blocker = messages.iter().find(|m| m["type"] == "blocker").expect("it was sent");
    assert_eq!(blocker["blocker"], "The port is taken");
    let error = messages.iter().find(|m| m["type"] == "error").expect("it was sent");
    assert_eq!(error["status_ref"], format!("{status_md}#context"));
    let status = project.text(status_md);
    assert!(status.contains("- Plan 01-01: The port is taken\n"), "{status}");
    assert!(status.contains(&long), "{status}");
    let log = project.exits_with(&["log", "1"], 0);
    assert!(log.contains("an agent reports a blocker in plan 01-01: The port is taken"), "{log}");
    let answers = project.text("answer");
    let mut answers = serde_json::Deserializer::from_str(&answers).into_iter::<Value>();
    let answer = answers.next().expect("an answer").expect("it is JSON");
    assert_eq!(answer["status_ref"], format!("{status_md}#blockers"));
    assert_eq!(answer["sent"], true);
    let refused = project.text("refused");
    for (problem, hint) in [
        ("types that can be sent: error, blocker, state_change", "mow message send blocker"),
        ("Missing required fields for blocker: blocker, action", "--blocker TEXT --action skip"),
        ("unknown action hope; known actions: skip, pause, halt", "mow message send blocker"),
        ("phase 2 is not yours", "mow worktree status"),
        ("at most 8192 are allowed", "write the rest into a file"),
    ] {
        assert!(refused.contains(problem) && refused.contains(hint), "{problem}\n{refused}");
    }
}

#[test]
fn a_person_cannot_send_a_message_and_is_told_how_to_make_one() {
    let project = project(&[one_task_phase("1", &[], "")]);
    for kind in ["blocker", "error", "state_change"] {
        let refused = project.exits_with(&["message", "send", kind], 1);
        assert!(refused.contains("only an agent or a hook inside a phase"), "{refused}");
        let command = refused.split_once("Hint: mow ").expect("a command").1;
        project.exits_with(&command.split_whitespace().collect::<Vec<_>>(), 0);
    }
}

#[test]
fn a_worker_in_strict_mode_goes_on_when_a_dead_lead_acknowledges_nothing() {
    let send = format!("'{MOW}' message send error --plan 01-01 --error 'no lead'");
    let blocked =
        task(&format!("test -e ../../seed && exit\nmeet 1\n{send}\necho 'which seed?'\nexit 75"));
    let config = r#""worker": {"blocker_mode": "strict"}, "parallelization": false,
        "messages": {"blocker_timeout_s": 1, "ack_timeout_s": 1}"#;
    let [first, second] = [blocked, task("echo 2 > b")].map(|task| plan(vec![task]));
    let project = project_with_config(config, &[phase("1", &[]).with(first).with(second)]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    lead.kill();
    project.release_point("1");
    project.wait_for("the end of the attempt", || {
        let records = project.records("01-1.ndjson");
        records.iter().any(|record| record.body.contains("\"parked\"")).then_some(())
    });
    let bodies: Vec<_> =
        project.records("01-1.ndjson").iter().map(|record| record.body.to_string()).collect();
    let at = |what: &str| bodies.iter().position(|body| body.contains(what));
    assert!(at("no lead") < at("blocker_unanswered"), "{bodies:#?}");
    assert!(at("blocker_unanswered") < at("\"report\":\"plan_done\",\"plan\":\"01-02\""));
    let status =
        project.text(".worktrees/p01/.planning/phases/01-field-1/01-STATUS.md").to_lowercase();
    assert!(status.contains("coordinator unresponsive"), "{status}");
    assert!(status.contains("the lead has not answered for"), "{status}");
    assert!(status.contains("which seed?"), "{status}");
    project.write("seed", "");
    project.exits_with(&ALL, 5);
    answer_all(&project, "retry");
    project.run_all();
    project.assert_consistent();
}
