//! Tests kills at ten moments of a phase that agents work on.
//!
//! Whichever process dies, the result is the same: each task is committed once, the phase is merged
//! once, no question is asked twice, and no process is left.

use std::fs;

use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step};
use mow_testkit::planned_project::{
    ALL, PhaseFixture, RunningCommand, kill, phase, plan, processes_of_run, task,
};
use serde_json::{Value, json};

use super::{
    AgentAssignment, AgentRunFixture, MODEL_TIMEOUT, agent_processes, final_answer, planned_phase,
    role_script, task_done,
};

/// The number of runs after the kill within which the phase must be complete.
const RUNS_MAX: usize = 3;

/// A kind of process to kill.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Victim {
    Agent,
    Worker,
    Lead,
}
use Victim::{Agent as AgentProcess, Lead, Worker};

/// The point in time of the kill.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KillTime {
    /// The model is held in this turn of the role.
    Turn(usize),
    /// A command of the agent is running.
    Tool,
    /// A question waits for a person, and another phase is at work.
    Parked,
    /// The merged tree is being checked.
    Merge,
    /// At failpoints, whose text names the processes that die.
    Points(&'static str),
}

/// A moment in a phase. The named role is an agent, and so are the roles that it depends on.
struct KillMoment {
    role_name: &'static str,
    at: KillTime,
    victims: &'static [Victim],
}

/// The meeting point that stops an agent's command or the check of a merge until the test releases
/// it.
const POINT: &str = "point";

impl KillMoment {
    fn scripts(&self) -> Vec<Script> {
        let phase_dir = ".planning/phases/01-field-1";
        let question = json!({ "clear": false, "questions": [{
            "id": "crop", "topic": "Crop", "question": "What shall grow?", "choices": ["rye"],
        }]});
        let write_crop = |n: u32| Step::sh(&format!("sh -c 'echo grown >> crop-{n}'"));
        let meet_command = if self.at == KillTime::Tool { "; sh ../../.git/meet" } else { "" };
        let verified =
            "---\\nphase: 01-field-1\\nverified: 2026-01-01\\nstatus: passed\\nscore: 2/2\\n---\\n";
        let mut scripts = vec![
            role_script("discusser")
                .step(final_answer(&question))
                .step(final_answer(&json!({ "clear": true, "questions": [] }))),
            role_script("researcher")
                .step(Step::sh(&format!("echo half >> {phase_dir}/01-RESEARCH.md")))
                .step(Step::sh(&format!("echo whole >> {phase_dir}/01-RESEARCH.md")))
                .says("Researched."),
            role_script("planner")
                .step(write_one_task_plan(1))
                .step(write_one_task_plan(2))
                .says("Planned."),
            role_script("plan-checker")
                .step(final_answer(&json!({ "verdict": "passed", "issues": [] }))),
            // An agent that starts with the second task has no session of the first.
            role_script("executor").when("task: 2\n").step(write_crop(2)).step(task_done()),
            role_script("executor")
                .step(Step::sh(&format!("sh -c 'echo grown >> crop-1'{meet_command}")))
                .step(task_done())
                .step(write_crop(2))
                .step(task_done()),
            role_script("verifier")
                .step(Step::sh(&format!("printf -- '{verified}' > {phase_dir}/01-VERIFICATION.md")))
                .step(final_answer(&json!({ "verdict": "passed", "gaps": [] }))),
        ];
        if self.at == KillTime::Parked {
            let write_crop = Step::sh("echo grown > crop-3; sh ../../.git/meet");
            scripts.insert(
                0,
                role_script("executor").when("phase: 2 ").step(write_crop).step(task_done()),
            );
        }
        if let KillTime::Turn(turn) = self.at {
            let held = scripts.iter_mut().filter(|script| script.name == self.role_name).last();
            let step =
                held.and_then(|script| script.steps.get_mut(turn)).expect("it has that turn");
            step.hold = Some(POINT.to_owned());
        }
        scripts
    }

    fn phases(&self) -> Vec<PhaseFixture> {
        let first = match self.role_name {
            "researcher" | "planner" | "plan-checker" => phase("1", &[]),
            "executor" => planned_phase(&["crop-1", "crop-2"]),
            _ => phase("1", &[])
                .with(plan([1, 2].map(|n| task(&format!("echo grown >> crop-{n}"))).to_vec())),
        };
        let first = if self.role_name == "discusser" { first.without_context() } else { first };
        // Without another phase there would be no process to kill while a question waits.
        let other = plan(vec![task("echo grown > crop-3; sh ../../.git/meet")]);
        let other = (self.at == KillTime::Parked).then(|| phase("2", &[]).with(other));
        [first].into_iter().chain(other).collect()
    }

    /// Starts a run and waits until it reaches the moment.
    fn start_and_reach(&self) -> (AgentRunFixture, RunningCommand) {
        let roles: &[_] = match self.role_name {
            "researcher" | "plan-checker" => {
                &[(self.role_name, Agent::Claude), ("planner", Agent::Claude)]
            }
            other => &[(other, Agent::Claude)],
        };
        let mut extra_config =
            json!({ "workflow": { "research": self.role_name == "researcher" } });
        match self.at {
            KillTime::Merge => {
                extra_config["multi_phase"] = json!({ "verify": "sh ../../.git/meet" });
            }
            KillTime::Parked => {
                extra_config["permissions"] = json!({ "allow": ["Bash(* >> crop-2*)", "Bash(* > crop-3; sh ../../.git/meet)"] });
            }
            _ => {}
        }
        let fixture = AgentRunFixture::new(
            &AgentAssignment { roles, extra_config },
            &self.phases(),
            self.scripts(),
        );
        let sync = fixture.project.sandbox.outer_dir().join("sync");
        let meet = format!(
            ": > '{0}/at-{POINT}'; while [ ! -e '{0}/go-{POINT}' ]; do sleep 0.01; done\n",
            sync.display()
        );
        // Git does not report changes below `.git`.
        fixture.project.write(".git/meet", meet);
        let mut lead = self.start(&fixture, true);
        match self.at {
            KillTime::Turn(turn) => {
                let is_it = |script: Option<&str>| script == Some(self.role_name);
                fixture
                    .llm
                    .wait_for(|r| is_it(r.script.as_deref()) && r.step == turn, MODEL_TIMEOUT);
            }
            KillTime::Parked => {
                fixture.project.wait_for_status("1", "parked");
                fixture.project.wait_for_point(POINT);
            }
            KillTime::Tool | KillTime::Merge => fixture.project.wait_for_point(POINT),
            KillTime::Points(_) => {
                fixture
                    .project
                    .wait_for("the death of the lead", || lead.has_ended().then_some(()));
            }
        }
        (fixture, lead)
    }

    /// Starts or resumes the run, with or without failpoints.
    fn start(&self, fixture: &AgentRunFixture, with_failpoints: bool) -> RunningCommand {
        let mut call = fixture.project.call(&ALL);
        if let (KillTime::Points(points), true) = (self.at, with_failpoints) {
            let mark = fixture.project.sandbox.outer_dir().join("died");
            call = call.env("MOW_FAILPOINT", points).env("MOW_FAILPOINT_MARK", mark);
        }
        RunningCommand::start(call)
    }

    /// Kills the victims at the moment, resumes the run and checks its result.
    fn kill_and_check(&self) {
        let (fixture, lead) = self.start_and_reach();
        let run = fixture.project.run_id();
        let orphans =
            if self.at == KillTime::Merge { processes_of_run(&run) } else { agent_processes(&run) };
        let mut lead = Some(lead);
        if self.victims.contains(&Lead) {
            lead.take().into_iter().for_each(RunningCommand::kill);
        }
        if self.victims.contains(&Worker) {
            kill(
                fixture
                    .project
                    .worker_pid(if self.at == KillTime::Parked { "02" } else { "01" }, 1),
            );
        }
        if self.victims.contains(&AgentProcess) {
            assert!(!orphans.is_empty());
            orphans.iter().copied().for_each(kill);
        }
        if self.at == KillTime::Parked {
            assert!(
                orphans.iter().all(|pid| !is_in_worktree(*pid, "p01")),
                "a phase that waits for a person has no process"
            );
            // No lead is running when the answer is given.
            answer_all(&fixture);
        }
        let mut command = lead.unwrap_or_else(|| self.start(&fixture, false));
        if self.victims != [Lead] || self.at == KillTime::Merge {
            fixture.project.wait_for("the end of all orphans", || {
                let alive = processes_of_run(&run);
                orphans.iter().all(|pid| !alive.contains(pid)).then_some(())
            });
        }
        fixture.llm.release(POINT);
        fixture.project.release_point(POINT);
        for _ in 0..RUNS_MAX {
            let (status, output) = command.end();
            match status.code() {
                Some(0) => return self.assert_complete(&fixture),
                Some(5) => answer_all(&fixture),
                // The phase failed because its agent died, or the lead was killed.
                Some(1) | None => {}
                other => panic!("{other:?}: {output}"),
            }
            command = self.start(&fixture, false);
        }
        panic!("the run does not complete: {}", command.end().1);
    }

    fn assert_complete(&self, fixture: &AgentRunFixture) {
        let project = &fixture.project;
        project.assert_consistent();
        assert_eq!(project.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
        let others = usize::from(self.at == KillTime::Parked);
        assert_eq!(project.trailers("Mow-Task").len(), 2 + others, "{}", fixture.llm.transcript());
        let subjects = project.git(&["log", "--format=%s", "main"]);
        let merges = subjects.lines().filter(|line| line.starts_with("Merge phase"));
        assert_eq!(merges.count(), 1 + others, "{subjects}");
        if self.role_name == "researcher" {
            let text = project.git(&["show", "main:.planning/phases/01-field-1/01-RESEARCH.md"]);
            assert_eq!(text, "half\nwhole\n");
        }
        let asked = fixture.asked_events();
        let keys: Vec<_> = asked.iter().map(|event| event["item"]["key"].clone()).collect();
        assert!(keys.iter().all(|key| keys.iter().filter(|k| *k == key).count() == 1), "{keys:?}");
        let is_asked = |what: &str| keys.iter().any(|key| key.to_string().contains(what));
        assert_eq!(is_asked("/discuss/"), self.role_name == "discusser", "{keys:?}");
        let is_permission = self.role_name == "executor" && self.at == KillTime::Parked;
        assert_eq!(is_asked("/permission/"), is_permission, "{keys:?}");
    }
}

/// Returns whether the working directory of a process is this worktree.
fn is_in_worktree(pid: u32, worktree: &str) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.ends_with(worktree))
}

/// Answers all open questions with their first choice.
fn answer_all(fixture: &AgentRunFixture) {
    let questions: Vec<Value> = fixture.open_questions();
    assert!(!questions.is_empty());
    for item in questions {
        fixture.answer(&item, item["choices"][0].as_str().unwrap_or("so be it"));
    }
}

/// Returns a turn that writes a plan of one task.
fn write_one_task_plan(n: u32) -> Step {
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
fn agent_dies_while_the_discusser_asks_its_model() {
    KillMoment { role_name: "discusser", at: KillTime::Turn(0), victims: &[AgentProcess] }
        .kill_and_check();
}

#[test]
fn lead_and_worker_die_while_a_question_waits_for_its_answer() {
    KillMoment { role_name: "discusser", at: KillTime::Parked, victims: &[Lead, Worker] }
        .kill_and_check();
}

#[test]
fn worker_dies_when_the_researcher_has_written_one_half() {
    KillMoment { role_name: "researcher", at: KillTime::Turn(1), victims: &[Worker] }
        .kill_and_check();
}

#[test]
fn all_die_when_the_planner_has_written_one_of_two_plans() {
    KillMoment {
        role_name: "planner",
        at: KillTime::Turn(1),
        victims: &[AgentProcess, Worker, Lead],
    }
    .kill_and_check();
}

#[test]
fn agent_and_lead_die_while_the_checker_reads_the_plans() {
    KillMoment { role_name: "plan-checker", at: KillTime::Turn(0), victims: &[AgentProcess, Lead] }
        .kill_and_check();
}

#[test]
fn agent_and_worker_die_while_a_command_of_the_executor_runs() {
    KillMoment { role_name: "executor", at: KillTime::Tool, victims: &[AgentProcess, Worker] }
        .kill_and_check();
}

#[test]
fn worker_and_lead_die_between_two_tasks_of_a_plan() {
    let points = "task.checked@worker drive.recorded@lead";
    KillMoment { role_name: "executor", at: KillTime::Points(points), victims: &[] }
        .kill_and_check();
}

#[test]
fn lead_and_worker_die_while_a_permission_waits_and_it_is_granted_afterwards() {
    KillMoment { role_name: "executor", at: KillTime::Parked, victims: &[Lead, Worker] }
        .kill_and_check();
}

#[test]
fn worker_and_lead_die_when_the_verifier_has_written_but_not_reported() {
    KillMoment { role_name: "verifier", at: KillTime::Turn(1), victims: &[Worker, Lead] }
        .kill_and_check();
}

#[test]
fn lead_dies_while_the_phase_is_merged() {
    KillMoment { role_name: "executor", at: KillTime::Merge, victims: &[Lead] }.kill_and_check();
}
