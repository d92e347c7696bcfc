//! Tests agents that misbehave: they fail with a clear message, and no work is lost.

use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step};
use mow_testkit::planned_project::{
    ALL, PhaseFixture, PlanFixture, PlannedProject, ProjectOptions, phase,
};
use mow_testkit::sandbox::make_executable;
use serde_json::{Value, json};

use super::{
    AgentRunFixture, MOW, executor_only, merge_json, plan_text, planned_phase, role_script,
    task_done,
};

/// Makes a project whose executor is a shell script that speaks a protocol.
fn project_with_agent(protocol: &str, text: &str, extra_config: &Value) -> PlannedProject {
    let project = PlannedProject::with_options(
        MOW,
        &ProjectOptions { on_disk: true, ..ProjectOptions::default() },
        &[planned_phase(&["crop-1"])],
    );
    // Git does not report changes below `.git`.
    project.write(".git/agent", format!("#!/bin/sh\n{text}\n"));
    let program = project.root().join(".git/agent");
    make_executable(&program);
    let mut settings = json!({
        "workflow": { "research": false },
        "roles": { "executor": { "agent": "odd" } },
        "agents": { "odd": { "command": program, "protocol": protocol } },
    });
    merge_json(&mut settings, extra_config);
    project.write(".planning/config.json", settings.to_string());
    project.git(&["commit", "-q", "-a", "-m", "Settings"]);
    project
}

/// Runs a project with such an executor, which must fail. Returns the output.
fn run_with_agent(protocol: &str, text: &str, extra_config: &Value) -> (PlannedProject, String) {
    let project = project_with_agent(protocol, text, extra_config);
    let output = project.exits_with(&ALL, 1);
    project.assert_consistent();
    assert_eq!(project.trailers("Mow-Task").len(), 0);
    (project, output)
}

/// Checks for every protocol that the failure names the agent and what is wrong.
fn assert_fails_with(text: &str, words: &str) {
    for protocol in ["claude", "codex", "acp"] {
        let (project, output) = run_with_agent(protocol, text, &json!({}));
        assert!(output.contains("odd") && output.contains(words), "{protocol}: {output}");
        let inbox = project.run(&["inbox", "--json"]).stdout;
        assert!(inbox.contains("odd") && inbox.contains(words), "{protocol}: {inbox}");
    }
}

#[test]
fn an_agent_that_prints_no_protocol_messages() {
    assert_fails_with("while :; do echo 'lorem ipsum'; done", "sent output that mow cannot read");
}

#[test]
fn an_agent_that_floods_its_output() {
    assert_fails_with("exec tr '\\0' x < /dev/zero", "sent too much output");
}

#[test]
fn an_agent_that_exits_with_0_without_a_result() {
    assert_fails_with("exit 0", "without a result");
}

#[test]
fn an_agent_that_exits_with_an_error() {
    assert_fails_with("echo 'I am ill' >&2; exit 3", "I am ill");
}

#[test]
fn an_agent_that_never_ends() {
    let extra_config = json!({ "multi_phase": { "worker_timeout_min": 0.02 } });
    let (project, output) =
        run_with_agent("acp", "echo half > crop-1; exec sleep 600", &extra_config);
    assert!(
        output.contains("took longer than allowed") || output.contains("took too long"),
        "{output}"
    );
    project.assert_consistent();
}

/// Returns a turn that overwrites a file the agent must not change.
fn overwrite_step(file: &str) -> Step {
    Step::sh(&format!("echo mine > {file}"))
}

/// Checks that the phase is done, the file is restored, and the overwritten version is rescued.
fn assert_undone_and_rescued(fixture: &AgentRunFixture, file: &str) {
    let name = file.rsplit('/').next().unwrap_or(file);
    let show = |commit: &str| fixture.project.git(&["show", &format!("{commit}:{file}")]);
    let before = show("main");
    let output = fixture.project.exits_with(&["run", "1", "--yes", "--plain"], 0);
    assert!(
        output.contains(&format!("changed {name}, which agents must not change")),
        "{file}: {output}"
    );
    fixture.project.assert_consistent();
    let after = show("main");
    // Mow itself updates STATE.md.
    let is_as_before =
        after == before || name == "STATE.md" && after.contains("A person wrote this");
    assert!(is_as_before && !after.contains("mine"), "{after}");
    let refs = fixture.project.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    let kept: Vec<_> = refs.lines().map(show).collect();
    assert_eq!(kept, ["mine\n"], "{refs}");
}

#[test]
fn an_agent_that_writes_planning_files_of_others() {
    let files = [
        ".planning/phases/01-field-1/01-CONTEXT.md",
        ".planning/STATE.md",
        ".planning/phases/02-field-2/02-CONTEXT.md",
    ];
    for file in files {
        let sows = Step::sh("echo grown > crop-1");
        let script: Script =
            role_script("executor").step(overwrite_step(file)).step(sows).step(task_done());
        let phases = [planned_phase(&["crop-1"]), phase("2", &["1"])];
        let fixture =
            AgentRunFixture::new(&executor_only(Agent::Claude, json!({})), &phases, vec![script]);
        assert_undone_and_rescued(&fixture, file);
    }
}

#[test]
fn an_agent_that_writes_planning_files_of_others_while_another_plan_runs() {
    let file = ".planning/phases/02-field-2/02-CONTEXT.md";
    let plans = ["01", "02"]
        .map(|plan| PlanFixture::from_text(&plan_text(plan, &[&format!("crop-{plan}")])));
    let first = plans.into_iter().fold(phase("1", &[]), PhaseFixture::with);
    let sows = |plan: &str| Step::sh(&format!("echo grown > crop-{plan}"));
    let scripts = vec![
        role_script("executor")
            .when("plan: 01-01,")
            .step(overwrite_step(file))
            .step(sows("01"))
            .step(task_done()),
        role_script("executor").when("plan: 01-02,").step(sows("02")).step(task_done()),
    ];
    let phases = [first, phase("2", &["1"])];
    let fixture = AgentRunFixture::new(&executor_only(Agent::Claude, json!({})), &phases, scripts);
    assert_undone_and_rescued(&fixture, file);
}

/// Scripts per protocol that ask for a permission when they are interrupted.
const ASKS_WHEN_INTERRUPTED: [(&str, &str); 2] = [
    (
        "claude",
        r#"while read -r line; do case $line in
           *'"initialize"'*) echo '{"type":"system","subtype":"init","session_id":"s"}'
             echo half > crop-1 ;;
           *'"interrupt"'*) echo '{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"reboot"},"tool_use_id":"t"}}' ;;
           esac; done"#,
    ),
    (
        "acp",
        r#"say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
           while read -r line; do
           id=${line##*'"id":'}; id=${id%%[,\}]*}
           case $line in
           *'"initialize"'*) say '"id":'$id',"result":{"protocolVersion":1,"agentCapabilities":{}}' ;;
           *'"session/new"'*) say '"id":'$id',"result":{"sessionId":"s"}' ;;
           *'"session/prompt"'*) echo half > crop-1 ;;
           *'"session/cancel"'*) say '"id":99,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","title":"reboot"},"options":[{"optionId":"y","name":"y","kind":"allow_once"}]}' ;;
           esac; done"#,
    ),
];

#[test]
fn an_agent_that_asks_after_its_phase_was_cancelled() {
    for (protocol, text) in ASKS_WHEN_INTERRUPTED {
        let project = project_with_agent(protocol, text, &json!({}));
        let lead = project.start(&ALL);
        let begun = project.root().join(".worktrees/p01/crop-1");
        project.wait_for("the agent is at work", || begun.exists().then_some(()));
        project.exits_with(&["cancel", "1", "--now"], 0);
        let (_, output) = lead.end();
        assert!(output.contains("phase 1 is cancelled"), "{protocol}: {output}");
        assert!(!output.contains("reboot"), "{protocol}: {output}");
        project.assert_consistent();
        let inbox: Value = project.run(&["inbox", "--json"]).json();
        assert_eq!(inbox["questions"], json!([]), "{protocol}");
        let refs = project.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
        let kept: Vec<_> =
            refs.lines().map(|name| project.git(&["show", &format!("{name}:crop-1")])).collect();
        assert!(kept.iter().any(|text| text == "half\n"), "{protocol}: {refs}");
    }
}
