//! Tests an agent as conflict resolver. Its result is checked before it is merged.

use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step, TokenCounts};
use mow_testkit::planned_project::{ALL, PhaseFixture, phase, plan, task};
use serde_json::{Value, json};

use super::{AgentAssignment, AgentRunFixture, role_script, task_done};

/// Makes a project with two phases that write the same file, and agents for some roles.
fn conflicting_phases(
    roles: &[(&str, Agent)],
    extra_config: Value,
    scripts: Vec<Script>,
) -> AgentRunFixture {
    let phases = [phase_writing_crop("1", "rye"), phase_writing_crop("2", "oats")];
    AgentRunFixture::new(&AgentAssignment { roles, extra_config }, &phases, scripts)
}

fn phase_writing_crop(number: &str, crop_name: &str) -> PhaseFixture {
    let task =
        task(&format!("echo {crop_name} > both")).check(&format!("grep -q {crop_name} both"));
    phase(number, &[]).with(plan(vec![task]))
}

fn resolver_fixture(script: Script) -> AgentRunFixture {
    let extra_config = json!({ "workflow": { "research": false } });
    conflicting_phases(&[("conflict-resolver", Agent::Claude)], extra_config, vec![script])
}

fn resolver_script(cmd: &str) -> Script {
    role_script("conflict-resolver").step(Step::sh(cmd)).says("both: I kept what I could.")
}

#[test]
fn a_conflict_resolved_by_an_agent_is_merged() {
    let fixture = resolver_fixture(resolver_script("printf 'rye\\noats\\n' > both"));
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:both"]), "rye\noats\n");
    let merges = fixture.project.git(&["log", "--format=%s", "--merges", "main"]);
    assert_eq!(merges.lines().filter(|line| *line == "Merge phase 2").count(), 1, "{merges}");
    assert_eq!(fixture.project.trailers("Mow-Task").len(), 2);
    assert!(fixture.asked_events().is_empty(), "{:?}", fixture.asked_events());
    let cost = fixture.project.run(&["cost", "--json"]).json();
    assert_eq!(cost["roles"][0]["role"], "conflict-resolver", "{cost}");
    assert!(cost["total"]["output_tokens"].as_u64() > Some(0), "{cost}");
    // The prompt names paths and does not quote the files.
    let prompt = &fixture.llm.requests()[0].user;
    assert!(prompt.contains("merge-conflicts.txt") && !prompt.contains("rye"), "{prompt}");
}

/// Checks that a merge is refused for a reason and that the printed instructions resolve it.
fn assert_merge_refused(script: Script, why: &str) {
    let fixture = resolver_fixture(script);
    let output = fixture.project.exits_with(&ALL, 5);
    let words =
        ["cannot be merged: conflicts in both", "the conflict-resolver did not resolve it", why];
    for words in words.into_iter().chain(["to resolve them: git -C", "mow resume 2"]) {
        assert!(output.contains(words), "{words}: {output}");
    }
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:README.md"]), "A field.\n");
    let questions = fixture.open_questions();
    assert_eq!((questions.len(), &questions[0]["kind"]), (1, &json!("conflict")), "{questions:?}");
    let target = format!("refs/mow/run/{}/target", fixture.project.run_id());
    fixture.project.git(&["-C", ".worktrees/p02", "merge", "--quiet", "-X", "ours", &target]);
    fixture.project.write(".worktrees/p02/both", "rye and oats\n");
    fixture.project.git(&["-C", ".worktrees/p02", "commit", "-q", "-a", "-m", "Settle it"]);
    fixture.project.exits_with(&["resume", "2"], 0);
    fixture.project.run_all();
    assert_eq!(fixture.project.git(&["show", "main:both"]), "rye and oats\n");
}

#[test]
fn conflict_markers_left_by_an_agent_wait_for_a_person() {
    assert_merge_refused(
        role_script("conflict-resolver").says("both: I cannot decide."),
        "still has conflict markers",
    );
}

#[test]
fn a_resolution_that_loses_the_work_of_the_other_phase_is_not_merged() {
    assert_merge_refused(
        resolver_script("echo oats > both"),
        "`grep -q rye both` of phase 1 fails on it",
    );
}

#[test]
fn a_resolution_that_changes_other_files_is_not_merged() {
    let changes = resolver_script("printf 'rye\\noats\\n' > both; echo mine > README.md");
    assert_merge_refused(
        changes,
        "it changed README.md, which it may not change (it says: both: I kept",
    );
}

#[test]
fn a_merge_commit_made_by_the_agent_is_refused() {
    let commits =
        resolver_script("printf 'rye\\noats\\n' > both; git add both; git commit -q -m Mine");
    assert_merge_refused(commits, "it committed or gave up the merge");
}

#[test]
fn git_settings_changed_by_an_agent_are_reported() {
    let changes =
        resolver_script("printf 'rye\\noats\\n' > both; git config core.hooksPath /dev/null");
    assert_merge_refused(
        changes,
        "git's own settings were changed meanwhile: core.hookspath; undo that",
    );
}

#[test]
fn git_settings_changed_by_an_agent_that_fails_are_reported() {
    let changes = Step::sh("git config core.hooksPath /dev/null");
    let script =
        role_script("conflict-resolver").step(changes).step(Step::text("").fails(401, None));
    assert_merge_refused(
        script,
        "; git's own settings were changed meanwhile: core.hookspath; undo that",
    );
}

/// The token budget of a phase or run.
const TOKEN_BUDGET: u64 = 1_000;
const RESOLVE_COMMAND: &str = "printf 'rye\\noats\\n' > both";

fn with_input_tokens(step: Step, input: u64) -> Step {
    step.usage(TokenCounts { input, output: 0, ..TokenCounts::default() })
}

/// Makes phases with a token budget. Takes the tokens that the executor of phase 2 uses, then the
/// command of the resolver with the tokens that it uses.
fn fixture_with_budget(executor_tokens: u64, (cmd, resolver): (&str, u64)) -> AgentRunFixture {
    let roles = [("executor", Agent::Claude), ("conflict-resolver", Agent::Claude)];
    let extra_config =
        json!({ "workflow": { "research": false }, "budget": { "phase_tokens": TOKEN_BUDGET } });
    let writes =
        |crop_name: &str| with_input_tokens(Step::sh(&format!("echo {crop_name} > both")), 0);
    let scripts = vec![
        role_script("executor").when("phase: 1 ").step(writes("rye")).step(task_done()),
        role_script("executor")
            .when("phase: 2 ")
            .step(writes("oats"))
            .step(with_input_tokens(task_done(), executor_tokens)),
        role_script("conflict-resolver")
            .step(with_input_tokens(Step::sh(cmd), resolver))
            .step(with_input_tokens(Step::text("both: I kept what I could."), 0)),
    ];
    conflicting_phases(&roles, extra_config, scripts)
}

/// Runs until the budget is used up. The output says so, and phase 2 is not merged.
fn assert_stopped_by_budget(fixture: &AgentRunFixture, why: &str) -> String {
    let output = fixture.project.exits_with(&ALL, 5);
    let raise = "raise budget.phase_usd or budget.phase_tokens, then mow resume 2; ";
    for words in [why, raise, "to resolve them: git -C"] {
        assert!(output.contains(words), "{words}: {output}");
    }
    fixture.project.assert_consistent();
    let questions = fixture.open_questions();
    assert_eq!((questions.len(), &questions[0]["kind"]), (1, &json!("conflict")), "{questions:?}");
    assert_eq!(fixture.project.git(&["show", "main:both"]), "rye\n");
    output
}

/// Checks that the agent resolves the conflict after the budget is raised.
fn assert_resolved_with_larger_budget(fixture: &AgentRunFixture) {
    fixture.project.exits_with(&["config-set", "budget.phase_tokens", "100000"], 0);
    fixture.project.exits_with(&["resume", "2"], 0);
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:both"]), "rye\noats\n");
}

/// Counts how often the conflict resolver was started.
fn resolver_start_count(fixture: &AgentRunFixture) -> usize {
    let requests = fixture.llm.requests().into_iter();
    let is_its = |script: Option<&str>| script == Some("conflict-resolver");
    requests.filter(|r| is_its(r.script.as_deref()) && r.step == 0).count()
}

#[test]
fn no_resolver_starts_for_a_phase_that_has_used_its_budget() {
    let fixture = fixture_with_budget(TOKEN_BUDGET, (RESOLVE_COMMAND, 0));
    let why = "the conflict-resolver was not asked, the phase has used 1000 of 1000 tokens; ";
    let output = assert_stopped_by_budget(&fixture, why);
    assert_eq!(resolver_start_count(&fixture), 0, "{}", fixture.llm.transcript());
    assert!(!output.contains("is kept"), "there is no work to rescue: {output}");
    assert_resolved_with_larger_budget(&fixture);
}

#[test]
fn a_resolver_gets_the_rest_of_the_budget() {
    let fixture = fixture_with_budget(600, (RESOLVE_COMMAND, 600));
    let why = "the conflict-resolver did not resolve it, the phase has used 1200 of 1000 tokens; ";
    assert_stopped_by_budget(&fixture, why);
    assert_eq!(resolver_start_count(&fixture), 1, "{}", fixture.llm.transcript());
    assert_resolved_with_larger_budget(&fixture);
}

#[test]
fn a_second_resolver_gets_the_rest_after_the_first() {
    // The run's ref moves meanwhile, so the merge has to be computed again.
    let moves = "git update-ref refs/mow/run/$MOW_RUN/target \
                 $(git commit-tree -p HEAD -m Mine HEAD^{tree})";
    let fixture = fixture_with_budget(200, (&format!("{RESOLVE_COMMAND}; {moves}"), 500));
    let why = "the conflict-resolver did not resolve it, the phase has used 1200 of 1000 tokens; ";
    assert_stopped_by_budget(&fixture, why);
    assert_eq!(resolver_start_count(&fixture), 2, "{}", fixture.llm.transcript());
}

#[test]
fn no_resolver_starts_when_the_run_has_used_its_budget() {
    let resolves = |number: u32, crops: &str| {
        let cmd = format!("printf '{crops}' > both");
        let script = role_script("conflict-resolver").when(&format!("phase: {number} "));
        script
            .step(with_input_tokens(Step::sh(&cmd), TOKEN_BUDGET))
            .says("both: I kept what I could.")
    };
    let scripts = vec![resolves(2, "rye\\noats\\n"), resolves(3, "rye\\noats\\nhops\\n")];
    let (roles, extra_config) = (
        &[("conflict-resolver", Agent::Claude)],
        json!({ "budget": { "run_tokens": TOKEN_BUDGET } }),
    );
    let phases = [
        phase_writing_crop("1", "rye"),
        phase_writing_crop("2", "oats"),
        phase_writing_crop("3", "hops"),
    ];
    let fixture = AgentRunFixture::new(&AgentAssignment { roles, extra_config }, &phases, scripts);
    let output = fixture.project.exits_with(&ALL, 5);
    for words in
        ["the run has used", "the conflict-resolver was not asked, since nothing new is started"]
    {
        assert!(output.contains(words), "{words}: {output}");
    }
    fixture.project.assert_consistent();
    assert_eq!(resolver_start_count(&fixture), 1, "{}", fixture.llm.transcript());
    let kinds: Vec<_> = fixture.open_questions().iter().map(|item| item["kind"].clone()).collect();
    assert_eq!(kinds, ["breaker", "conflict"]);
    fixture.project.exits_with(&["config-set", "budget.run_tokens", "100000"], 0);
    fixture.answer(&fixture.open_questions()[0], "continue");
    fixture.project.exits_with(&["resume", "3"], 0);
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:both"]), "rye\noats\nhops\n");
}

#[test]
fn mow_merge_reports_the_tokens_of_the_resolver() {
    let resolves = |number: u32, crops: &str| {
        let cmd = format!("printf '{crops}' > both");
        let script = role_script("conflict-resolver").when(&format!("phase: {number} "));
        script.step(with_input_tokens(Step::sh(&cmd), 700)).says("both: I kept what I could.")
    };
    let scripts = vec![resolves(1, "barley\\nrye\\n"), resolves(2, "barley\\nrye\\noats\\n")];
    let fixture = conflicting_phases(&[("conflict-resolver", Agent::Claude)], json!({}), scripts);
    let project = &fixture.project;
    for (number, crop_name) in [(1, "rye\n"), (2, "oats\n")] {
        project.exits_with(&["worktree", "create", &number.to_string()], 0);
        let worktree = format!(".worktrees/p0{number}");
        let phase_dir = format!("{worktree}/.planning/phases/0{number}-field-{number}");
        project.write(&format!("{phase_dir}/0{number}-01-SUMMARY.md"), "# Done\n");
        project.write(&format!("{worktree}/both"), crop_name);
        project.git(&["-C", &worktree, "add", "--all"]);
        project.git(&["-C", &worktree, "commit", "-q", "-m", "By hand"]);
    }
    project.write("both", "barley\n");
    project.git(&["add", "both"]);
    project.git(&["commit", "-q", "-m", "Mine"]);
    let output = project.exits_with(&["merge", "1"], 0);
    assert!(output.contains("Phase 1: the conflict-resolver (claude) used 820 tokens"), "{output}");
    let ran = project.run(&["merge", "2", "--json"]);
    assert_eq!(ran.status.code(), Some(0), "{}", ran.transcript());
    let report = ran.json();
    let spent = &report["spent"];
    assert_eq!(spent.as_array().map(Vec::len), Some(1), "{report}");
    let (phase, role_script, agent) = (&spent[0]["phase"], &spent[0]["role"], &spent[0]["agent"]);
    assert_eq!(
        (phase, role_script, agent),
        (&json!("2"), &json!("conflict-resolver"), &json!("claude"))
    );
    let (read, written) = (&spent[0]["input_tokens"], &spent[0]["output_tokens"]);
    assert_eq!((read, written), (&json!(800), &json!(20)), "{report}");
    assert_eq!(project.git(&["show", "main:both"]), "barley\nrye\noats\n");
}
