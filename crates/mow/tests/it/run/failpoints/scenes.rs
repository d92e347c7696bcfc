//! What is played: small runs that between them pass every point.

use std::path::Path;

use mow_testkit::field::{ALL, Field, Phase, Soil, marked, phase, plan, task};

use super::super::MOW;
use super::play::Play;

/// A field and what happens on it.
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) plant: fn() -> Field,
    pub(super) play: fn(&Play),
}

/// All scenes. A point is tried in the first one that passes it.
pub(super) const SCENES: [Scene; 16] = [
    Scene { name: "diamond", plant: diamond, play: |play| play.ends(&ALL, 0) },
    Scene { name: "ignored", plant: ignored, play: |play| play.ends(&ALL, 0) },
    Scene { name: "asked", plant: asked, play: ask },
    Scene { name: "cancelled", plant: two_tasks_and_a_question, play: cancel },
    Scene { name: "paused", plant: two_tasks, play: pause },
    Scene { name: "moved", plant: one_that_meets, play: take_in },
    Scene { name: "smuggled", plant: one_that_meets, play: smuggle },
    Scene { name: "elsewhere", plant: elsewhere, play: follow_elsewhere },
    Scene { name: "stashed", plant: one, play: stash },
    Scene { name: "closed", plant: two, play: close },
    Scene { name: "beside", plant: beside, play: |play| play.ends(&ALL, 0) },
    Scene { name: "undone", plant: undone, play: undo },
    Scene { name: "taken", plant: taken, play: |play| play.ends(&ALL, 0) },
    Scene { name: "ahead", plant: ahead, play: look_ahead },
    Scene { name: "unheard", plant: unheard, play: go_on_alone },
    Scene { name: "agents", plant: agents, play: let_agents },
];

/// A phase with one plan of one task that adds a line: done twice, it shows.
fn sown(number: &str, depends_on: &[&str], script: &str) -> Phase {
    let script = format!("{script}\necho {number} >> crop-{number}");
    phase(number, depends_on).with(plan(vec![task(&script)]))
}

/// Four phases, of which the first has two plans and meets a requirement.
fn diamond() -> Field {
    let requires = "**Requirements**: FIELD-01";
    let first = sown("1", &[], "").with(plan(vec![task("echo 2 >> second")])).details(requires);
    let phases =
        [first, sown("2", &["1"], ""), sown("3", &["1"], ""), sown("4", &["2", "3"], "cat crop-3")];
    let field = Field::new(MOW, &phases);
    field.write(
        ".planning/REQUIREMENTS.md",
        "# Requirements\n\n- [ ] **FIELD-01**: It is sown\n\n## Traceability\n\n\
         | Requirement | Phase | Status |\n|---|---|---|\n| FIELD-01 | Phase 1 | Pending |\n",
    );
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "Require something"]);
    field
}

/// Planning files that git does not carry.
fn ignored() -> Field {
    let soil = Soil { ignore: ".planning/\n", ..Soil::default() };
    Field::on(MOW, &soil, &[sown("1", &[], ""), sown("2", &["1"], "test -e crop-1")])
}

/// A phase that nobody has discussed or planned, and somebody who plans it.
fn asked() -> Field {
    let planner = "p=$MOW_PHASE_DIR/01-01-PLAN.md; test -e $p || cp ../../plan.md $p";
    let config = format!("\"roles\": {{\"planner\": {{\"command\": \"{planner}\"}}}}");
    let field = Field::on(
        MOW,
        &Soil { config: &config, ..Soil::default() },
        &[phase("1", &[]).undiscussed()],
    );
    let planned = phase("1", &[]).with(plan(vec![task("echo 1 >> crop-1")]));
    let files = planned.files(Path::new("/nowhere"));
    let (_, text) = files.into_iter().find(|(path, _)| path.ends_with("-PLAN.md")).expect("a plan");
    field.write("plan.md", text);
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "Add what the planner copies"]);
    field
}

fn ask(play: &Play) {
    play.ends(&ALL, 5);
    answer_all(play);
    play.ends(&ALL, 0);
}

fn answer_all(play: &Play) {
    let asked = play.field.events().into_iter().filter(|event| event["event"] == "asked");
    for event in asked {
        play.says(&["answer", &event["item"]["id"].to_string(), "Rows of barley."]);
    }
}

/// A phase whose second task leaves changed and new files before it meets.
fn meets_in_the_middle() -> Phase {
    let second = task("echo 2 >> crop-1\necho new > new-1\nmeet 1\necho 3 >> crop-1");
    phase("1", &[]).with(plan(vec![task("echo 1 >> crop-1"), second]))
}

fn two_tasks() -> Field {
    Field::new(MOW, &[meets_in_the_middle()])
}

/// With a question, so that the run is not over when the first phase is cancelled.
fn two_tasks_and_a_question() -> Field {
    Field::new(MOW, &[meets_in_the_middle(), sown("2", &[], "").undiscussed()])
}

/// The lead is killed; its successor adopts the worker, and a person cancels it. Later it is wanted
/// after all.
fn cancel(play: &Play) {
    let field = &play.field;
    let is_there = || field.sandbox.outside().join("sync/at-1").exists();
    play.lead_until(&ALL, is_there).kill();
    let adopted = || field.events().iter().filter(|event| event["event"] == "taken_up").count() > 1;
    let lead = play.lead_until(&ALL, adopted);
    play.says(&["cancel", "1"]);
    play.lead_ends(lead, &ALL, 5);
    field.open("1");
    answer_all(play);
    play.ends(&["run", "1", "2", "--yes", "--plain"], 0);
}

/// A person lets the phase rest after the task at hand, and later goes on.
fn pause(play: &Play) {
    let field = &play.field;
    let is_there = || field.sandbox.outside().join("sync/at-1").exists();
    let mut lead = play.lead_until(&ALL, is_there);
    play.says(&["pause"]);
    let is_halted = || field.events().iter().any(|event| event["event"] == "halted");
    field.until("the pause", || (is_halted() || lead.has_ended()).then_some(()));
    field.open("1");
    // Whoever goes on after a death has the phase go on, too.
    if play.lived(lead, 5) {
        play.says(&["resume"]);
    }
    play.ends(&ALL, 0);
}

fn one_that_meets() -> Field {
    Field::new(MOW, &[sown("1", &[], "meet 1")])
}

/// Somebody commits to the branch while the run is at work.
fn take_in(play: &Play) {
    let field = &play.field;
    let is_there = || field.sandbox.outside().join("sync/at-1").exists();
    let lead = play.lead_until(&ALL, is_there);
    field.write("other", "other\n");
    // A lead that goes on after a death may commit planning files at the same moment, and whoever
    // comes second is told by git to try again.
    field.until("the index to be free", || field.may_git(&["add", "other"]));
    let commit = ["commit", "-q", "-m", "Other work", "--", "other"];
    field.until("the index to be free", || field.may_git(&commit));
    field.open("1");
    play.lead_ends(lead, &ALL, 0);
}

/// Somebody puts something where the run merges to.
fn smuggle(play: &Play) {
    let field = &play.field;
    let is_there = || field.sandbox.outside().join("sync/at-1").exists();
    let lead = play.lead_until(&ALL, is_there);
    let weed = field.git(&["commit-tree", "HEAD:.planning", "-p", "HEAD", "-m", "Weed"]);
    let target = format!("refs/mow/run/{}/target", field.run_id());
    field.git(&["update-ref", &target, weed.trim()]);
    field.open("1");
    play.lead_ends(lead, &ALL, 0);
    assert!(!field.git(&["log", "--format=%s", "main"]).contains("Weed"));
}

/// The run is for a branch that is checked out nowhere and has not seen the plan.
fn elsewhere() -> Field {
    let field = Field::new(MOW, &[sown("1", &[], "")]);
    field.git(&["branch", "dev"]);
    field.edit(".planning/phases/01-field-1/01-01-PLAN.md", "Sow 01-01.", "Sow it well.");
    field
}

fn follow_elsewhere(play: &Play) {
    play.ends(&["run", "--all", "--yes", "--plain", "--into", "dev"], 0);
}

fn one() -> Field {
    Field::new(MOW, &[sown("1", &[], "")])
}

/// A person has begun by hand, put it aside, and left the worktree on another branch.
fn stash(play: &Play) {
    let field = &play.field;
    play.says(&["worktree", "create", "1"]);
    field.write(".worktrees/p01/begun", "by hand\n");
    play.says(&["worktree", "stash", "1"]);
    field.git(&["-C", ".worktrees/p01", "checkout", "-q", "-b", "mine"]);
    play.ends(&ALL, 0);
}

/// Two plans that run side by side, the first with two tasks.
fn beside() -> Field {
    let first = plan(vec![task("echo 1 >> a"), task("echo 2 >> a").check("test -s a")]);
    let second = plan(vec![task("echo 1 >> b").check("test -s b")]);
    let both = phase("1", &[]).with(first.changes(&["a"])).with(second.changes(&["b"]));
    Field::new(MOW, &[both])
}

/// Two plans side by side, of which the first does not pass its check before it rains.
fn undone() -> Field {
    let first = plan(vec![task("cat ../../rain >> a || echo dust >> a").check("grep -q wet a")]);
    let second = plan(vec![task("echo 1 >> b")]);
    let both = phase("1", &[]).with(first.changes(&["a"])).with(second.changes(&["b"]));
    Field::new(MOW, &[both])
}

fn undo(play: &Play) {
    play.ends(&ALL, 1);
    play.field.write("rain", "wet\n");
    play.ends(&ALL, 0);
}

/// Two plans side by side, of which the first commits itself, and takes back what the second has.
fn taken() -> Field {
    let wait = "do test -d $MOW_WORKTREE || exit 1; sleep 0.01; done";
    // The index has what is committed when mow is through with it.
    let has = "git ls-files --error-unmatch b >&- 2>&-";
    let takes =
        format!("{has} || {{ touch ../../ready; until {has}; {wait}; git rm -q --cached b; }}");
    let own = "git log --format=%s | grep -q Mine || \
               { echo 1 > a; git add a; git commit -q -m Mine; }";
    let first = plan(vec![task(&format!("{takes}\n{own}"))]);
    let second = plan(vec![task(&format!("until test -e ../../ready; {wait}\necho 1 >> b"))]);
    let both = phase("1", &[]).with(first.changes(&["a"])).with(second.changes(&["b"]));
    Field::new(MOW, &[both])
}

fn two() -> Field {
    let field = Field::new(MOW, &[sown("1", &[], ""), sown("2", &["1"], "")]);
    let context = ".planning/phases/01-field-1/01-CONTEXT.md";
    field.write(context, "# Phase 1\n\n<deferred>\n- A hedge\n</deferred>\n");
    field
}

/// A phase is cancelled before it starts; what is over is cleared away.
fn close(play: &Play) {
    play.ends(&["run", "1", "--yes", "--plain"], 0);
    play.says(&["worktree", "prune", "--yes"]);
    play.says(&["close-shop", "--yes", "--force"]);
}

fn unheard() -> Field {
    let config = "\"messages\": {\"ack_timeout_s\": 0}";
    Field::on(MOW, &Soil { config, ..Soil::default() }, &[sown("1", &[], "meet 1")])
}

/// The lead is killed, and nobody hears its worker come to the end.
fn go_on_alone(play: &Play) {
    let field = &play.field;
    let is_there = || field.sandbox.outside().join("sync/at-1").exists();
    play.lead_until(&ALL, is_there).kill();
    field.open("1");
    let run = field.run_id();
    field.until("the worker to come to its end", || marked(&run).is_empty().then_some(()));
    play.ends(&ALL, 0);
}

/// A phase that is researched and planned while it waits for another one.
fn ahead() -> Field {
    let config = "\"multi_phase\": {\"lookahead\": \"plan\"}, \"roles\": {\
        \"researcher\": {\"command\": \"echo found > $MOW_RESEARCH_FILE\"}, \
        \"planner\": {\"command\": \"cp ../../plan.md $MOW_PHASE_DIR/02-01-PLAN.md\"}}";
    let phases = [sown("1", &[], "meet 1"), phase("2", &["1"])];
    let field = Field::on(MOW, &Soil::default(), &phases);
    field.write(".planning/config.json", format!("{{{config}}}\n"));
    let planned = phase("2", &[]).with(plan(vec![task("echo 2 >> crop-2")]));
    let files = planned.files(Path::new("/nowhere"));
    let (_, text) = files.into_iter().find(|(path, _)| path.ends_with("-PLAN.md")).expect("a plan");
    field.write("plan.md", text);
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "Add what the planner copies"]);
    field
}

/// The first phase is held back until the second one is done ahead.
fn look_ahead(play: &Play) {
    let field = &play.field;
    let is_over = |event: &serde_json::Value| {
        let why = event["why"].as_str().unwrap_or_default();
        why == "it is done ahead through plan" || why.starts_with("nothing came of looking ahead")
    };
    let is_there = || field.events().iter().any(is_over);
    let lead = play.lead_until(&ALL, is_there);
    field.open("1");
    play.lead_ends(lead, &ALL, 0);
}

/// Two phases that an agent carries out; the first has two plans that run side by side.
fn agents() -> Field {
    let config = "\"agents\": {\"stub\": {\"protocol\": \"acp\", \"command\": \"sh\", \
        \"args\": [\"../../.git/agent\"]}}, \"roles\": {\
        \"plan-checker\": {\"agent\": \"stub\"}, \"executor\": {\"agent\": \"stub\"}}";
    let sows = |file: &str| plan(vec![task("").check(&format!("test -s {file}"))]).changes(&[file]);
    let phases =
        [phase("1", &[]).with(sows("a")).with(sows("b")), phase("2", &["1"]).with(sows("c"))];
    let field = Field::on(MOW, &Soil { config, ..Soil::default() }, &phases);
    // Where git does not look for changes.
    field.write(".git/agent", include_str!("agent.sh"));
    field
}

/// The agent of a plan asks, first beside another and then alone; a person answers for good, and
/// tells it something on behalf of the other phase.
fn let_agents(play: &Play) {
    play.ends(&ALL, 5);
    play.says(&["peer", "send", "1", "Mind the hedge.", "--from", "2"]);
    let asked = play.field.events().into_iter().filter(|event| event["event"] == "asked");
    for event in asked {
        play.says(&["answer", &event["item"]["id"].to_string(), "always"]);
    }
    play.ends(&ALL, 0);
}
