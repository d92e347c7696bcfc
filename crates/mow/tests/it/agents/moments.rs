//! Kills at ten moments of a phase. Whoever dies when, the end is the same: each task is committed
//! once, the phase is merged once, nobody is asked twice, and no process is left.

use std::fs;

use mow_testkit::agents::Agent;
use mow_testkit::field::{ALL, Going, Phase, kill, marked, phase, plan, task};
use mow_testkit::llm::{Script, Step};
use serde_json::{Value, json};

use super::{Casting, PATIENCE, Scene, agents, done, planned, role, says};

/// How often a run is begun after the kill until it must have come to its end.
const RUNS_MAX: usize = 3;

/// Who is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dies {
    Agent,
    Worker,
    Lead,
}
use Dies::{Agent as AgentDies, Lead, Worker};

/// When that happens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// The model thinks about this turn of the role.
    Turn(usize),
    /// A command of the agent is running.
    Tool,
    /// A person is asked, and another phase is at work.
    Parked,
    /// The merged tree is being checked.
    Merge,
    /// At points of the program itself, which names who dies there.
    Points(&'static str),
}

/// A moment in the life of a phase. One role is played by an agent, and those that it cannot do without.
struct Moment {
    role: &'static str,
    at: At,
    dies: &'static [Dies],
}

/// Stops a command of an agent, or the check of a merge, until the test opens this point.
const POINT: &str = "point";

impl Moment {
    fn scripts(&self) -> Vec<Script> {
        let papers = ".planning/phases/01-field-1";
        let question = json!({ "clear": false, "questions": [{
            "id": "crop", "topic": "Crop", "question": "What shall grow?", "choices": ["rye"],
        }]});
        let sows = |n: u32| Step::sh(&format!("sh -c 'echo grown >> crop-{n}'"));
        let waits = if self.at == At::Tool { "; sh ../../.git/meet" } else { "" };
        let verified =
            "---\\nphase: 01-field-1\\nverified: 2026-01-01\\nstatus: passed\\nscore: 2/2\\n---\\n";
        let mut scripts = vec![
            role("discusser")
                .step(says(&question))
                .step(says(&json!({ "clear": true, "questions": [] }))),
            role("researcher")
                .step(Step::sh(&format!("echo half >> {papers}/01-RESEARCH.md")))
                .step(Step::sh(&format!("echo whole >> {papers}/01-RESEARCH.md")))
                .says("Researched."),
            role("planner").step(writes_plan(1)).step(writes_plan(2)).says("Planned."),
            role("plan-checker").step(says(&json!({ "verdict": "passed", "issues": [] }))),
            // Whoever begins with the second task has no session that knows of the first.
            role("executor").when("task: 2\n").step(sows(2)).step(done()),
            role("executor")
                .step(Step::sh(&format!("sh -c 'echo grown >> crop-1'{waits}")))
                .step(done())
                .step(sows(2))
                .step(done()),
            role("verifier")
                .step(Step::sh(&format!("printf -- '{verified}' > {papers}/01-VERIFICATION.md")))
                .step(says(&json!({ "verdict": "passed", "gaps": [] }))),
        ];
        if self.at == At::Parked {
            let sows = Step::sh("echo grown > crop-3; sh ../../.git/meet");
            scripts.insert(0, role("executor").when("phase: 2 ").step(sows).step(done()));
        }
        if let At::Turn(turn) = self.at {
            let held = scripts.iter_mut().filter(|script| script.name == self.role).last();
            let step =
                held.and_then(|script| script.steps.get_mut(turn)).expect("it has that turn");
            step.hold = Some(POINT.to_owned());
        }
        scripts
    }

    fn phases(&self) -> Vec<Phase> {
        let first = match self.role {
            "researcher" | "planner" | "plan-checker" => phase("1", &[]),
            "executor" => planned(&["crop-1", "crop-2"]),
            _ => phase("1", &[])
                .with(plan([1, 2].map(|n| task(&format!("echo grown >> crop-{n}"))).to_vec())),
        };
        let first = if self.role == "discusser" { first.undiscussed() } else { first };
        // Otherwise nobody would be left to kill while a person is asked.
        let other = plan(vec![task("echo grown > crop-3; sh ../../.git/meet")]);
        let other = (self.at == At::Parked).then(|| phase("2", &[]).with(other));
        [first].into_iter().chain(other).collect()
    }

    /// A run that has come to the moment.
    fn stand(&self) -> (Scene, Going) {
        let roles: &[_] = match self.role {
            "researcher" | "plan-checker" => {
                &[(self.role, Agent::Claude), ("planner", Agent::Claude)]
            }
            role => &[(role, Agent::Claude)],
        };
        let mut more = json!({ "workflow": { "research": self.role == "researcher" } });
        match self.at {
            At::Merge => more["multi_phase"] = json!({ "verify": "sh ../../.git/meet" }),
            At::Parked => {
                more["permissions"] = json!({ "allow": ["Bash(* >> crop-2*)", "Bash(* > crop-3; sh ../../.git/meet)"] });
            }
            _ => {}
        }
        let scene = Scene::new(&Casting { roles, more }, &self.phases(), self.scripts());
        let sync = scene.field.sandbox.outside().join("sync");
        let meet = format!(
            ": > '{0}/at-{POINT}'; while [ ! -e '{0}/go-{POINT}' ]; do sleep 0.01; done\n",
            sync.display()
        );
        // Where git does not look for changes.
        scene.field.write(".git/meet", meet);
        let mut lead = self.start(&scene, true);
        match self.at {
            At::Turn(turn) => {
                let is_it = |script: Option<&str>| script == Some(self.role);
                scene.llm.wait_for(|r| is_it(r.script.as_deref()) && r.step == turn, PATIENCE);
            }
            At::Parked => {
                scene.field.until_moved("1", "parked");
                scene.field.reached(POINT);
            }
            At::Tool | At::Merge => scene.field.reached(POINT),
            At::Points(_) => {
                scene.field.until("the death of the lead", || lead.has_ended().then_some(()));
            }
        }
        (scene, lead)
    }

    /// Begins a run, or goes on with it.
    fn start(&self, scene: &Scene, is_deadly: bool) -> Going {
        let mut call = scene.field.call(&ALL);
        if let (At::Points(points), true) = (self.at, is_deadly) {
            let mark = scene.field.sandbox.outside().join("died");
            call = call.env("MOW_FAILPOINT", points).env("MOW_FAILPOINT_MARK", mark);
        }
        Going::of(call)
    }

    /// Kills at the moment, and looks at what becomes of it.
    fn strike(&self) {
        let (scene, lead) = self.stand();
        let run = scene.field.run_id();
        let orphans = if self.at == At::Merge { marked(&run) } else { agents(&run) };
        let mut lead = Some(lead);
        if self.dies.contains(&Lead) {
            lead.take().into_iter().for_each(Going::kill);
        }
        if self.dies.contains(&Worker) {
            kill(scene.field.worker(if self.at == At::Parked { "02" } else { "01" }, 1));
        }
        if self.dies.contains(&AgentDies) {
            assert!(!orphans.is_empty());
            orphans.iter().copied().for_each(kill);
        }
        if self.at == At::Parked {
            assert!(orphans.iter().all(|pid| !is_in(*pid, "p01")), "it waits without a process");
            // Nobody is there to hear it.
            answer_all(&scene);
        }
        let mut going = lead.unwrap_or_else(|| self.start(&scene, false));
        if self.dies != [Lead] || self.at == At::Merge {
            scene.field.until("the end of all orphans", || {
                let alive = marked(&run);
                orphans.iter().all(|pid| !alive.contains(pid)).then_some(())
            });
        }
        scene.llm.let_go(POINT);
        scene.field.open(POINT);
        for _ in 0..RUNS_MAX {
            let (status, said) = going.end();
            match status.code() {
                Some(0) => return self.is_sound(&scene),
                Some(5) => answer_all(&scene),
                // A phase has failed with its agent; or the lead was killed.
                Some(1) | None => {}
                other => panic!("{other:?}: {said}"),
            }
            going = self.start(&scene, false);
        }
        panic!("it does not come to its end: {}", going.end().1);
    }

    fn is_sound(&self, scene: &Scene) {
        let field = &scene.field;
        field.inspect();
        assert_eq!(field.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
        let others = usize::from(self.at == At::Parked);
        assert_eq!(field.trailers("Mow-Task").len(), 2 + others, "{}", scene.llm.transcript());
        let subjects = field.git(&["log", "--format=%s", "main"]);
        let merges = subjects.lines().filter(|line| line.starts_with("Merge phase"));
        assert_eq!(merges.count(), 1 + others, "{subjects}");
        if self.role == "researcher" {
            let text = field.git(&["show", "main:.planning/phases/01-field-1/01-RESEARCH.md"]);
            assert_eq!(text, "half\nwhole\n");
        }
        let asked = scene.asked();
        let keys: Vec<_> = asked.iter().map(|event| event["item"]["key"].clone()).collect();
        assert!(keys.iter().all(|key| keys.iter().filter(|k| *k == key).count() == 1), "{keys:?}");
        let is_asked = |what: &str| keys.iter().any(|key| key.to_string().contains(what));
        assert_eq!(is_asked("/discuss/"), self.role == "discusser", "{keys:?}");
        let is_permission = self.role == "executor" && self.at == At::Parked;
        assert_eq!(is_asked("/permission/"), is_permission, "{keys:?}");
    }
}

/// Whether a process is in a worktree.
fn is_in(pid: u32, worktree: &str) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.ends_with(worktree))
}

/// Answers all that is asked with the first choice.
fn answer_all(scene: &Scene) {
    let open: Vec<Value> = scene.open();
    assert!(!open.is_empty());
    for item in open {
        scene.answer(&item, item["choices"][0].as_str().unwrap_or("so be it"));
    }
}

/// A turn that writes a plan of one task.
fn writes_plan(n: u32) -> Step {
    let text = format!(
        "---\nphase: 01-field-1\nplan: 0{n}\ntype: execute\nwave: {n}\ndepends_on: []\nfiles_modified: [crop-{n}]\n\
         autonomous: true\nmust_haves:\n  truths: []\n---\n\n<tasks>\n<task type=\"auto\">\n<name>Sow {n}</name>\n\
         <action>\n```sh\necho grown >> crop-{n}\n```\n</action>\n\
         <verify><automated>grep -q grown crop-{n}</automated></verify>\n<done>Sown</done>\n</task>\n</tasks>\n"
    );
    let dir = ".planning/phases/01-field-1";
    Step::sh(&format!("mkdir -p {dir} && cat > {dir}/01-0{n}-PLAN.md <<'END'\n{text}END"))
}

#[test]
fn while_the_discusser_asks_its_model() {
    Moment { role: "discusser", at: At::Turn(0), dies: &[AgentDies] }.strike();
}

#[test]
fn while_a_question_waits_for_its_answer() {
    Moment { role: "discusser", at: At::Parked, dies: &[Lead, Worker] }.strike();
}

#[test]
fn while_the_researcher_has_written_one_half() {
    Moment { role: "researcher", at: At::Turn(1), dies: &[Worker] }.strike();
}

#[test]
fn while_the_planner_has_written_one_of_two_plans() {
    Moment { role: "planner", at: At::Turn(1), dies: &[AgentDies, Worker, Lead] }.strike();
}

#[test]
fn while_the_checker_looks_at_the_plans() {
    Moment { role: "plan-checker", at: At::Turn(0), dies: &[AgentDies, Lead] }.strike();
}

#[test]
fn while_a_command_of_the_executor_runs() {
    Moment { role: "executor", at: At::Tool, dies: &[AgentDies, Worker] }.strike();
}

#[test]
fn between_two_tasks_of_a_plan() {
    let points = "task.checked@worker drive.recorded@lead";
    Moment { role: "executor", at: At::Points(points), dies: &[] }.strike();
}

#[test]
fn while_a_permission_waits_and_is_given_when_all_are_dead() {
    Moment { role: "executor", at: At::Parked, dies: &[Lead, Worker] }.strike();
}

#[test]
fn while_the_verifier_has_written_and_not_said_it() {
    Moment { role: "verifier", at: At::Turn(1), dies: &[Worker, Lead] }.strike();
}

#[test]
fn while_the_phase_is_merged() {
    Moment { role: "executor", at: At::Merge, dies: &[Lead] }.strike();
}
