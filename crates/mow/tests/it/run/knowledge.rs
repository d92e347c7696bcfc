//! Tests that nothing is lost that agents decide or leave for later.

use mow_testkit::planned_project::{ALL, PlannedProject, phase, plan, processes_of_run, task};
use serde_json::{Value, json};

use super::{one_task_phase, project, project_with_config};

const DIR: &str = ".planning/phases/01-field-1";

/// An agent without a model, which speaks the Agent Client Protocol. It writes the file of its task
/// and reports decisions and deferred items. Task 2 decides again what task 1 decided.
const AGENT: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
while read -r line; do
    id=$(printf '%s\n' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case $line in
    *'"method":"initialize"'*)
        say '"id":'"$id"',"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}' ;;
    *'"method":"session/new"'*) say '"id":'"$id"',"result":{"sessionId":"s"}' ;;
    *'"method":"session/resume"'*) say '"id":'"$id"',"result":{}' ;;
    *'"method":"session/prompt"'*)
        n=1
        case $line in *'task: 2'*) n=2 ;; esac
        echo grown >> "src/crop/$n"
        report='{\"status\":\"done\",\"summary\":\"Sowed field '$n'. It rained.\",\"decisions\":[\"Rows: they are dense\",\"Depth '$n': the soil is dry\"],\"deferred\":[\"Gate '$n' is open\"],\"patterns\":[\"Fields have numbers\"]}'
        say '"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"```json\n'"$report"'\n```"}}}'
        say '"id":'"$id"',"result":{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5}}' ;;
    esac
done
"#;

fn project_with_agent() -> PlannedProject {
    let config = "\"agents\": {\"stub\": {\"protocol\": \"acp\", \"command\": \"sh\", \
        \"args\": [\"../../.git/agent\"]}}, \"roles\": {\"executor\": {\"agent\": \"stub\"}}";
    let tasks = ["1", "2"].map(|n| task("").check(&format!("test -s src/crop/{n}")));
    let phase = phase("1", &[]).with(plan(tasks.to_vec()).changes(&["src/crop/1", "src/crop/2"]));
    let project = project_with_config(config, &[phase]);
    project.write("src/crop/README", "Crops\n");
    project.write(".gitignore", "dashboard-*\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "Field"]);
    // Git does not report changes below `.git`.
    project.write(".git/agent", AGENT);
    project
}

fn json_of(project: &PlannedProject, arguments: &[&str]) -> Value {
    project.run(arguments).json()
}

/// Returns how often a text occurs.
fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn decisions_and_deferred_items_survive_the_death_of_the_worker() {
    let project = project_with_agent();
    let mark = project.sandbox.outer_dir().join("died");
    let call = project.call(&ALL).env("MOW_FAILPOINT", "task.committed@worker");
    let ran = call.env("MOW_FAILPOINT_MARK", &mark).run();
    assert!(ran.status.success(), "{}", project.transcript_with_logs(&ran));
    assert!(!project.records("01-2.ndjson").is_empty(), "the worker died, so there are two");
    project.assert_consistent();

    let summary = format!("{DIR}/01-01-SUMMARY.md");
    let checked = ["frontmatter", "validate", &summary, "--schema", "summary"];
    assert_eq!(json_of(&project, &checked)["valid"], true, "{}", project.text(&summary));
    let extract = json_of(&project, &["summary-extract", &summary]);
    assert_eq!(extract["one_liner"], "Sowed field 1. Sowed field 2.");
    assert_eq!(
        extract["decisions"],
        json!([
            { "summary": "Rows", "rationale": "they are dense" },
            { "summary": "Depth 1", "rationale": "the soil is dry" },
            { "summary": "Depth 2", "rationale": "the soil is dry" },
        ])
    );
    assert_eq!(extract["patterns"], json!(["Fields have numbers"]));
    let digest = json_of(&project, &["history-digest"]);
    assert_eq!(digest["decisions"].as_array().unwrap().len(), 3, "{digest}");
    assert_eq!(extract["key_files"]["created"], json!(["src/crop/1", "src/crop/2"]));
    let verified = json_of(&project, &["verify-summary", &summary]);
    assert_eq!(verified["passed"], true, "{verified}");

    let status = project.text(&format!("{DIR}/01-STATUS.md"));
    let state = project.text(".planning/STATE.md");
    let deferred = project.text(&format!("{DIR}/deferred-items.md"));
    for decision in ["Rows: they are dense", "Depth 1: the", "Depth 2: the"] {
        assert_eq!(count(&status, &format!("- Plan 01-01: {decision}")), 1, "{status}");
        assert_eq!(count(&state, &format!("- [Phase 1]: {decision}")), 1, "{state}");
    }
    for item in ["- Gate 1 is open\n", "- Gate 2 is open\n"] {
        assert_eq!(count(&deferred, item), 1, "{deferred}");
    }
    // All of it is committed.
    assert_eq!(project.git(&["status", "--porcelain"]), "");

    let closed = json_of(&project, &["close-shop", "--yes", "--json"]);
    let titles = closed["todos"].as_array().unwrap().iter().map(|todo| todo["title"].clone());
    assert_eq!(titles.collect::<Vec<_>>(), ["Gate 1 is open", "Gate 2 is open"]);
    let again = json_of(&project, &["close-shop", "--yes", "--json"]);
    assert_eq!((&again["todos"], &again["commit"]["committed"]), (&json!([]), &json!(false)));
}

#[test]
fn the_summary_of_a_plan_without_agent_is_valid_too() {
    let project = project(&[one_task_phase("1", &[], "true")]);
    project.run_all();
    let summary = format!("{DIR}/01-01-SUMMARY.md");
    let checked = ["frontmatter", "validate", &summary, "--schema", "summary"];
    assert_eq!(json_of(&project, &checked)["valid"], true, "{}", project.text(&summary));
    assert_eq!(json_of(&project, &["verify-summary", &summary])["passed"], true);
}

#[test]
fn close_shop_merges_what_was_completed_after_the_death_of_the_lead() {
    let project =
        project(&[one_task_phase("1", &[], "meet work"), one_task_phase("2", &[], "true")]);
    let lead = project.start(&ALL);
    project.wait_for_point("work");
    project.wait_for_status("2", "complete");
    lead.kill();
    project.release_point("work");
    let run = project.run_id();
    project.wait_for("the end of the worker", || processes_of_run(&run).is_empty().then_some(()));

    let closed = json_of(&project, &["close-shop", "--yes", "--json"]);
    assert_eq!((&closed["merged"], &closed["open"]), (&json!(["1", "2"]), &json!([])), "{closed}");
    assert_eq!(project.git(&["show", "main:crop-1", "main:crop-2"]), "1\n2\n");
    project.assert_consistent();
    assert_eq!(json_of(&project, &["ps", "--json"])["phases"], json!([]));
    let head = project.git(&["rev-parse", "main"]);
    let again = json_of(&project, &["close-shop", "--yes", "--json"]);
    assert_eq!((&again["merged"], &again["todos"]), (&json!([]), &json!([])));
    assert_eq!(project.git(&["rev-parse", "main"]), head, "closing again changes nothing");
}
