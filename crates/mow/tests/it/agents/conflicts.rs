//! An agent settles the conflicts of a merge. What it leaves is looked at before it is merged.

use mow_testkit::agents::Agent;
use mow_testkit::field::{ALL, Phase, phase, plan, task};
use mow_testkit::llm::{Script, Step, Usage};
use serde_json::{Value, json};

use super::{Casting, Scene, done, role};

/// Two phases that write the same file, and agents for some roles, one of which settles that.
fn cast(roles: &[(&str, Agent)], more: Value, scripts: Vec<Script>) -> Scene {
    let phases = [sows("1", "rye"), sows("2", "oats")];
    Scene::new(&Casting { roles, more }, &phases, scripts)
}

fn sows(number: &str, crop: &str) -> Phase {
    let task = task(&format!("echo {crop} > both")).check(&format!("grep -q {crop} both"));
    phase(number, &[]).with(plan(vec![task]))
}

fn scene(script: Script) -> Scene {
    let more = json!({ "workflow": { "research": false } });
    cast(&[("conflict-resolver", Agent::Claude)], more, vec![script])
}

fn settles(cmd: &str) -> Script {
    role("conflict-resolver").step(Step::sh(cmd)).says("both: I kept what I could.")
}

#[test]
fn what_an_agent_settles_is_merged() {
    let scene = scene(settles("printf 'rye\\noats\\n' > both"));
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:both"]), "rye\noats\n");
    let merges = scene.field.git(&["log", "--format=%s", "--merges", "main"]);
    assert_eq!(merges.lines().filter(|line| *line == "Merge phase 2").count(), 1, "{merges}");
    assert_eq!(scene.field.trailers("Mow-Task").len(), 2);
    assert!(scene.asked().is_empty(), "{:?}", scene.asked());
    let cost = scene.field.run(&["cost", "--json"]).json();
    assert_eq!(cost["roles"][0]["role"], "conflict-resolver", "{cost}");
    assert!(cost["total"]["output_tokens"].as_u64() > Some(0), "{cost}");
    // It was told paths, and not what stands in the files.
    let told = &scene.llm.requests()[0].user;
    assert!(told.contains("merge-conflicts.txt") && !told.contains("rye"), "{told}");
}

/// Checks that a merge is refused for a reason, that a person is told how to settle it, and does.
fn is_refused(script: Script, why: &str) {
    let scene = scene(script);
    let said = scene.field.ends(&ALL, 5);
    let words =
        ["cannot be merged: conflicts in both", "the conflict-resolver did not settle it", why];
    for words in words.into_iter().chain(["to settle them: git -C", "mow resume 2"]) {
        assert!(said.contains(words), "{words}: {said}");
    }
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:README.md"]), "A field.\n");
    let open = scene.open();
    assert_eq!((open.len(), &open[0]["kind"]), (1, &json!("conflict")), "{open:?}");
    let target = format!("refs/mow/run/{}/target", scene.field.run_id());
    scene.field.git(&["-C", ".worktrees/p02", "merge", "--quiet", "-X", "ours", &target]);
    scene.field.write(".worktrees/p02/both", "rye and oats\n");
    scene.field.git(&["-C", ".worktrees/p02", "commit", "-q", "-a", "-m", "Settle it"]);
    scene.field.ends(&["resume", "2"], 0);
    scene.field.run_all();
    assert_eq!(scene.field.git(&["show", "main:both"]), "rye and oats\n");
}

#[test]
fn marks_that_an_agent_leaves_are_left_to_a_person() {
    is_refused(role("conflict-resolver").says("both: I cannot decide."), "still has the marks");
}

#[test]
fn what_loses_the_work_of_the_other_phase_is_not_merged() {
    is_refused(settles("echo oats > both"), "`grep -q rye both` of phase 1 fails on it");
}

#[test]
fn what_an_agent_changes_beside_the_conflict_is_not_merged() {
    let changes = settles("printf 'rye\\noats\\n' > both; echo mine > README.md");
    is_refused(changes, "it changed README.md, which is not its business (it says: both: I kept");
}

#[test]
fn a_merge_that_an_agent_makes_itself_is_not_taken() {
    let commits = settles("printf 'rye\\noats\\n' > both; git add both; git commit -q -m Mine");
    is_refused(commits, "it committed or gave up the merge");
}

#[test]
fn settings_of_git_that_an_agent_changes_are_told() {
    let changes = settles("printf 'rye\\noats\\n' > both; git config core.hooksPath /dev/null");
    is_refused(changes, "git's own settings were changed meanwhile: core.hookspath; undo that");
}

#[test]
fn settings_of_git_that_an_agent_changes_before_it_fails_are_told() {
    let changes = Step::sh("git config core.hooksPath /dev/null");
    let script = role("conflict-resolver").step(changes).step(Step::text("").fails(401, None));
    is_refused(script, "; git's own settings were changed meanwhile: core.hookspath; undo that");
}

/// How many tokens a phase may use where that is limited.
const MOST: u64 = 1_000;
const SETTLES: &str = "printf 'rye\\noats\\n' > both";

fn reads(step: Step, input: u64) -> Step {
    step.usage(Usage { input, output: 0, ..Usage::default() })
}

/// Phases with a budget: how much of it the executor of phase 2 uses, and what the resolver then does
/// for how much.
fn limited(executor: u64, (cmd, resolver): (&str, u64)) -> Scene {
    let roles = [("executor", Agent::Claude), ("conflict-resolver", Agent::Claude)];
    let more = json!({ "workflow": { "research": false }, "budget": { "phase_tokens": MOST } });
    let writes = |crop: &str| reads(Step::sh(&format!("echo {crop} > both")), 0);
    let scripts = vec![
        role("executor").when("phase: 1 ").step(writes("rye")).step(done()),
        role("executor").when("phase: 2 ").step(writes("oats")).step(reads(done(), executor)),
        role("conflict-resolver")
            .step(reads(Step::sh(cmd), resolver))
            .step(reads(Step::text("both: I kept what I could."), 0)),
    ];
    cast(&roles, more, scripts)
}

/// Runs phases until the budget is used up: a person is told so, and nothing of phase 2 is merged.
fn is_stopped(scene: &Scene, why: &str) -> String {
    let said = scene.field.ends(&ALL, 5);
    let raise = "raise budget.phase_usd or budget.phase_tokens, then mow resume 2; ";
    for words in [why, raise, "to settle them: git -C"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    scene.field.inspect();
    let open = scene.open();
    assert_eq!((open.len(), &open[0]["kind"]), (1, &json!("conflict")), "{open:?}");
    assert_eq!(scene.field.git(&["show", "main:both"]), "rye\n");
    said
}

/// Checks that the agent settles it with a larger budget.
fn goes_on(scene: &Scene) {
    scene.field.ends(&["config-set", "budget.phase_tokens", "100000"], 0);
    scene.field.ends(&["resume", "2"], 0);
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:both"]), "rye\noats\n");
}

/// How often the agent that settles conflicts began.
fn asked(scene: &Scene) -> usize {
    let requests = scene.llm.requests().into_iter();
    let is_its = |script: Option<&str>| script == Some("conflict-resolver");
    requests.filter(|r| is_its(r.script.as_deref()) && r.step == 0).count()
}

#[test]
fn nobody_settles_conflicts_of_a_phase_that_has_used_its_budget() {
    let scene = limited(MOST, (SETTLES, 0));
    let why = "the conflict-resolver was not asked, the phase has used 1000 of 1000 tokens; ";
    let said = is_stopped(&scene, why);
    assert_eq!(asked(&scene), 0, "{}", scene.llm.transcript());
    assert!(!said.contains("is kept"), "nobody did anything: {said}");
    goes_on(&scene);
}

#[test]
fn who_settles_conflicts_has_what_is_left_of_the_budget() {
    let scene = limited(600, (SETTLES, 600));
    let why = "the conflict-resolver did not settle it, the phase has used 1200 of 1000 tokens; ";
    is_stopped(&scene, why);
    assert_eq!(asked(&scene), 1, "{}", scene.llm.transcript());
    goes_on(&scene);
}

#[test]
fn who_settles_conflicts_anew_has_what_is_left_after_the_first_time() {
    // Somebody moves the run's ref meanwhile, so that the merge has to be made once more.
    let moves = "git update-ref refs/mow/run/$MOW_RUN/target \
                 $(git commit-tree -p HEAD -m Mine HEAD^{tree})";
    let scene = limited(200, (&format!("{SETTLES}; {moves}"), 500));
    let why = "the conflict-resolver did not settle it, the phase has used 1200 of 1000 tokens; ";
    is_stopped(&scene, why);
    assert_eq!(asked(&scene), 2, "{}", scene.llm.transcript());
}

#[test]
fn nobody_settles_conflicts_when_the_run_has_used_its_budget() {
    let settles = |number: u32, crops: &str| {
        let cmd = format!("printf '{crops}' > both");
        let script = role("conflict-resolver").when(&format!("phase: {number} "));
        script.step(reads(Step::sh(&cmd), MOST)).says("both: I kept what I could.")
    };
    let scripts = vec![settles(2, "rye\\noats\\n"), settles(3, "rye\\noats\\nhops\\n")];
    let (roles, more) =
        (&[("conflict-resolver", Agent::Claude)], json!({ "budget": { "run_tokens": MOST } }));
    let phases = [sows("1", "rye"), sows("2", "oats"), sows("3", "hops")];
    let scene = Scene::new(&Casting { roles, more }, &phases, scripts);
    let said = scene.field.ends(&ALL, 5);
    for words in
        ["the run has used", "the conflict-resolver was not asked, since nothing new is started"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    scene.field.inspect();
    assert_eq!(asked(&scene), 1, "{}", scene.llm.transcript());
    let kinds: Vec<_> = scene.open().iter().map(|item| item["kind"].clone()).collect();
    assert_eq!(kinds, ["breaker", "conflict"]);
    scene.field.ends(&["config-set", "budget.run_tokens", "100000"], 0);
    scene.answer(&scene.open()[0], "continue");
    scene.field.ends(&["resume", "3"], 0);
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:both"]), "rye\noats\nhops\n");
}

#[test]
fn a_merge_by_hand_tells_what_the_agent_used() {
    let says = |number: u32, crops: &str| {
        let cmd = format!("printf '{crops}' > both");
        let script = role("conflict-resolver").when(&format!("phase: {number} "));
        script.step(reads(Step::sh(&cmd), 700)).says("both: I kept what I could.")
    };
    let scripts = vec![says(1, "barley\\nrye\\n"), says(2, "barley\\nrye\\noats\\n")];
    let scene = cast(&[("conflict-resolver", Agent::Claude)], json!({}), scripts);
    let field = &scene.field;
    for (number, crop) in [(1, "rye\n"), (2, "oats\n")] {
        field.ends(&["worktree", "create", &number.to_string()], 0);
        let worktree = format!(".worktrees/p0{number}");
        let papers = format!("{worktree}/.planning/phases/0{number}-field-{number}");
        field.write(&format!("{papers}/0{number}-01-SUMMARY.md"), "# Done\n");
        field.write(&format!("{worktree}/both"), crop);
        field.git(&["-C", &worktree, "add", "--all"]);
        field.git(&["-C", &worktree, "commit", "-q", "-m", "By hand"]);
    }
    field.write("both", "barley\n");
    field.git(&["add", "both"]);
    field.git(&["commit", "-q", "-m", "Mine"]);
    let said = field.ends(&["merge", "1"], 0);
    assert!(said.contains("Phase 1: the conflict-resolver (claude) used 820 tokens"), "{said}");
    let ran = field.run(&["merge", "2", "--json"]);
    assert_eq!(ran.status.code(), Some(0), "{}", ran.transcript());
    let told = ran.json();
    let spent = &told["spent"];
    assert_eq!(spent.as_array().map(Vec::len), Some(1), "{told}");
    let (phase, role, agent) = (&spent[0]["phase"], &spent[0]["role"], &spent[0]["agent"]);
    assert_eq!((phase, role, agent), (&json!("2"), &json!("conflict-resolver"), &json!("claude")));
    let (read, written) = (&spent[0]["input_tokens"], &spent[0]["output_tokens"]);
    assert_eq!((read, written), (&json!(800), &json!(20)), "{told}");
    assert_eq!(field.git(&["show", "main:both"]), "barley\nrye\noats\n");
}
