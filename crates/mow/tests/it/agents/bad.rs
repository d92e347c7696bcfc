//! Agents that misbehave: they end badly with a clear word, nothing is lost, and a person is told.

use mow_testkit::agents::Agent;
use mow_testkit::field::{ALL, Field, Phase, Plan, Soil, phase};
use mow_testkit::llm::{Script, Step};
use mow_testkit::sandbox::make_executable;
use serde_json::{Value, json};

use super::{MOW, Scene, done, executor, merge, plan_text, planned, role};

/// A project whose executor is a program of a few lines.
fn field_of(protocol: &str, text: &str, more: &Value) -> Field {
    let field = Field::on(MOW, &Soil { on_disk: true, ..Soil::default() }, &[planned(&["crop-1"])]);
    // Where git does not look for changes.
    field.write(".git/agent", format!("#!/bin/sh\n{text}\n"));
    let program = field.root().join(".git/agent");
    make_executable(&program);
    let mut settings = json!({
        "workflow": { "research": false },
        "roles": { "executor": { "agent": "odd" } },
        "agents": { "odd": { "command": program, "protocol": protocol } },
    });
    merge(&mut settings, more);
    field.write(".planning/config.json", settings.to_string());
    field.git(&["commit", "-q", "-a", "-m", "Settings"]);
    field
}

/// A run with such an executor; returns what was said.
fn played_by(protocol: &str, text: &str, more: &Value) -> (Field, String) {
    let field = field_of(protocol, text, more);
    let said = field.ends(&ALL, 1);
    field.inspect();
    assert_eq!(field.trailers("Mow-Task").len(), 0);
    (field, said)
}

/// Checks that it fails in words that name the agent and what is wrong, whatever it speaks.
fn fails(text: &str, words: &str) {
    for protocol in ["claude", "codex", "acp"] {
        let (field, said) = played_by(protocol, text, &json!({}));
        assert!(said.contains("odd") && said.contains(words), "{protocol}: {said}");
        let inbox = field.run(&["inbox", "--json"]).stdout;
        assert!(inbox.contains("odd") && inbox.contains(words), "{protocol}: {inbox}");
    }
}

#[test]
fn one_that_talks_nonsense() {
    fails("while :; do echo 'lorem ipsum'; done", "nobody understands");
}

#[test]
fn one_that_floods() {
    fails("exec tr '\\0' x < /dev/zero", "says too much");
}

#[test]
fn one_that_ends_well_without_a_result() {
    fails("exit 0", "without a result");
}

#[test]
fn one_that_ends_badly() {
    fails("echo 'I am ill' >&2; exit 3", "I am ill");
}

#[test]
fn one_that_never_ends() {
    let more = json!({ "multi_phase": { "worker_timeout_min": 0.02 } });
    let (field, said) = played_by("acp", "echo half > crop-1; exec sleep 600", &more);
    assert!(said.contains("took longer than allowed") || said.contains("took too long"), "{said}");
    field.inspect();
}

/// A turn that writes to a file that is not the agent's business.
fn meddles(file: &str) -> Step {
    Step::sh(&format!("echo mine > {file}"))
}

/// Checks that the phase was done, the file is as it was, and what was written there is kept.
fn is_undone(scene: &Scene, file: &str) {
    let name = file.rsplit('/').next().unwrap_or(file);
    let show = |commit: &str| scene.field.git(&["show", &format!("{commit}:{file}")]);
    let before = show("main");
    let said = scene.field.ends(&["run", "1", "--yes", "--plain"], 0);
    assert!(said.contains(&format!("changed {name}, which is not its business")), "{file}: {said}");
    scene.field.inspect();
    let after = show("main");
    // Mow itself draws the state of the project.
    let is_as_before =
        after == before || name == "STATE.md" && after.contains("A person wrote this");
    assert!(is_as_before && !after.contains("mine"), "{after}");
    let refs = scene.field.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    let kept: Vec<_> = refs.lines().map(show).collect();
    assert_eq!(kept, ["mine\n"], "{refs}");
}

#[test]
fn one_that_writes_planning_files_of_others() {
    let files = [
        ".planning/phases/01-field-1/01-CONTEXT.md",
        ".planning/STATE.md",
        ".planning/phases/02-field-2/02-CONTEXT.md",
    ];
    for file in files {
        let sows = Step::sh("echo grown > crop-1");
        let script: Script = role("executor").step(meddles(file)).step(sows).step(done());
        let phases = [planned(&["crop-1"]), phase("2", &["1"])];
        let scene = Scene::new(&executor(Agent::Claude, json!({})), &phases, vec![script]);
        is_undone(&scene, file);
    }
}

#[test]
fn one_that_does_so_while_others_work_beside_it() {
    let file = ".planning/phases/02-field-2/02-CONTEXT.md";
    let plans =
        ["01", "02"].map(|plan| Plan::of_text(&plan_text(plan, &[&format!("crop-{plan}")])));
    let first = plans.into_iter().fold(phase("1", &[]), Phase::with);
    let sows = |plan: &str| Step::sh(&format!("echo grown > crop-{plan}"));
    let scripts = vec![
        role("executor").when("plan: 01-01,").step(meddles(file)).step(sows("01")).step(done()),
        role("executor").when("plan: 01-02,").step(sows("02")).step(done()),
    ];
    let phases = [first, phase("2", &["1"])];
    let scene = Scene::new(&executor(Agent::Claude, json!({})), &phases, scripts);
    is_undone(&scene, file);
}

/// Speaks until it is told to stop; then it wants something.
const STUBBORN: [(&str, &str); 2] = [
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
fn one_that_asks_after_its_phase_was_cancelled() {
    for (protocol, text) in STUBBORN {
        let field = field_of(protocol, text, &json!({}));
        let lead = field.start(&ALL);
        let begun = field.root().join(".worktrees/p01/crop-1");
        field.until("the agent is at work", || begun.exists().then_some(()));
        field.ends(&["cancel", "1", "--yes"], 0);
        let (_, said) = lead.end();
        assert!(said.contains("phase 1 is cancelled"), "{protocol}: {said}");
        assert!(!said.contains("reboot"), "{protocol}: {said}");
        field.inspect();
        let inbox: Value = field.run(&["inbox", "--json"]).json();
        assert_eq!(inbox["questions"], json!([]), "{protocol}");
        let refs = field.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
        let kept: Vec<_> =
            refs.lines().map(|name| field.git(&["show", &format!("{name}:crop-1")])).collect();
        assert!(kept.iter().any(|text| text == "half\n"), "{protocol}: {refs}");
    }
}
