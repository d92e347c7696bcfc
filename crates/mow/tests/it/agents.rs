//! Tests runs whose roles are real coding agents, which talk to a scripted language model.
//!
//! Everything except the model is real: the programs of the agents, git, processes, the inbox.

mod agent_programs;
mod codex_opencode_permissions;
mod conflicts;
mod kill_moments;
mod kills;
mod lifecycle;
mod live_activity;
mod misbehaving;
mod model_failures;
mod peer_messages;
mod permissions;
mod reviews;

use std::fs;
use std::time::Duration;

use mow_testkit::agents::{Agent, Agents};
use mow_testkit::llm::{Script, ScriptedLlm, Step, Tool};
use mow_testkit::planned_project::{
    PhaseFixture, PlanFixture, PlannedProject, ProjectOptions, phase, processes_of_run,
};
use serde_json::{Value, json};

/// The program under test.
const MOW: &str = env!("CARGO_BIN_EXE_mow");
/// How long a test waits for the first request of an agent to its model.
const MODEL_TIMEOUT: Duration = Duration::from_secs(180);

/// A project whose roles are agents, and the model they talk to.
struct AgentRunFixture {
    llm: ScriptedLlm,
    project: PlannedProject,
}

/// The agent of each role (`default` for all others), and settings that are merged on top.
struct AgentAssignment<'a> {
    roles: &'a [(&'a str, Agent)],
    extra_config: Value,
}

impl Default for AgentAssignment<'_> {
    fn default() -> Self {
        Self { roles: &[("default", Agent::Claude)], extra_config: json!({}) }
    }
}

impl AgentRunFixture {
    fn new(
        assignment: &AgentAssignment<'_>,
        phases: &[PhaseFixture],
        scripts: Vec<Script>,
    ) -> Self {
        let llm = ScriptedLlm::start(scripts);
        let project = PlannedProject::with_options(
            MOW,
            &ProjectOptions { on_disk: true, ..ProjectOptions::default() },
            phases,
        );
        let programs = Agents::find();
        let home = project.sandbox.outer_dir().join("agents");
        let mut settings = json!({
            "workflow": { "research": true },
            "permissions": { "allow": ["Bash", "exec_command", "Write", "run_shell_command", "bash", "execute"] },
        });
        for (role_name, agent) in assignment.roles {
            let name = agent.program();
            settings["roles"][*role_name]["agent"] = json!(name);
            if *agent == Agent::Gemini {
                // Without a configured model, Gemini first asks a model which model to use.
                settings["roles"][*role_name]["model"] = json!(agent.model());
            }
            let env = programs.environment(*agent, &llm, &home).into_iter();
            let env: serde_json::Map<_, _> =
                env.map(|(name, value)| (name, json!(value))).collect();
            settings["agents"][name] = json!({ "command": programs.program(*agent), "env": env });
        }
        merge_json(&mut settings, &assignment.extra_config);
        project.write(".planning/config.json", settings.to_string());
        project.git(&["commit", "-q", "-a", "-m", "Settings"]);
        Self { llm, project }
    }

    /// Returns the open questions of the inbox.
    fn open_questions(&self) -> Vec<Value> {
        let ran = self.project.run(&["inbox", "--json"]);
        let value: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
        value["questions"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the journal events of all questions of the run, open or answered.
    fn asked_events(&self) -> Vec<Value> {
        self.project.events().into_iter().filter(|event| event["event"] == "asked").collect()
    }

    fn config(&self) -> Value {
        serde_json::from_str(&self.project.text(".planning/config.json")).expect("it is JSON")
    }

    fn answer(&self, item: &Value, text: &str) {
        self.project.exits_with(&["answer", &item["id"].to_string(), text], 0);
    }
}

fn merge_json(into: &mut Value, overrides: &Value) {
    match (into, overrides) {
        (Value::Object(into), Value::Object(overrides)) => {
            for (key, value) in overrides {
                merge_json(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, overrides) => *into = overrides.clone(),
    }
}

/// Returns the processes of agents and their children.
fn agent_processes(run: &str) -> Vec<u32> {
    let is_agent = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| variable.starts_with(b"MOW_AGENT="))
    };
    processes_of_run(run).into_iter().filter(is_agent).collect()
}

/// Returns an empty script that answers the requests of a role.
fn role_script(name: &str) -> Script {
    Script::new(name).when(&format!("role: {name},"))
}

/// Returns a turn that ends the work with a JSON answer.
fn final_answer(value: &Value) -> Step {
    Step::text(&format!("I am done.\n\n```json\n{value}\n```\n"))
}

/// Returns a turn that calls a tool of mow, with whichever prefix the agent gives its name.
fn mow_tool_call(tool: &str, input: Value) -> Step {
    let prefixes = ["mcp__mow__", "mow_", "mcp_mow_", ""];
    let names = prefixes.map(|prefix| format!("{prefix}{tool}")).to_vec();
    Step::default().tool(Tool::FirstOf { names, input })
}

/// Returns the text of a plan of phase 1 with a task for each file.
fn plan_text(plan: &str, files: &[&str]) -> String {
    let tasks: String = files
        .iter()
        .map(|file| {
            format!(
                "<task type=\"auto\">\n  <name>Write {file}</name>\n  <files>{file}</files>\n  \
                 <action>Write it.</action>\n  <verify><automated>grep -q grown {file}</automated></verify>\n  \
                 <done>It is there.</done>\n</task>\n"
            )
        })
        .collect();
    format!(
        "---\nphase: 01-field-1\nplan: {plan}\ntype: execute\nwave: 1\ndepends_on: []\n\
         files_modified: [{}]\nautonomous: true\nmust_haves:\n  truths: []\n---\n\n<tasks>\n{tasks}</tasks>\n",
        files.join(", ")
    )
}

/// Returns a turn that writes a plan of phase 1.
fn write_plan_step(plan: &str, files: &[&str]) -> Step {
    let text = plan_text(plan, files);
    Step::sh(&format!(
        "mkdir -p .planning/phases/01-field-1 && cat > .planning/phases/01-field-1/01-{plan}-PLAN.md <<'END'\n{text}END"
    ))
}

/// Returns phase 1 with an existing plan that has a task for each file.
fn planned_phase(files: &[&str]) -> PhaseFixture {
    phase("1", &[]).with(PlanFixture::from_text(&plan_text("01", files)))
}

/// Assigns an agent to the executor role only, with settings on top.
fn executor_only(agent: Agent, extra_config: Value) -> AgentAssignment<'static> {
    let roles: &[_] = match agent {
        Agent::Claude => &[("executor", Agent::Claude)],
        Agent::Codex => &[("executor", Agent::Codex)],
        Agent::Gemini => &[("executor", Agent::Gemini)],
        Agent::OpenCode => &[("executor", Agent::OpenCode)],
    };
    AgentAssignment { roles, extra_config }
}

fn task_done() -> Step {
    final_answer(&json!({ "status": "done", "summary": "It is written." }))
}

/// Returns the scripts of a successful phase: one question, one plan with two tasks.
fn successful_phase_scripts() -> Vec<Script> {
    let question = json!({ "clear": false, "questions": [{
        "id": "crop", "topic": "Crop", "question": "What shall grow?", "choices": ["rye", "oats"],
    }]});
    let research = "mkdir -p .planning/phases/01-field-1 && printf '# Research\\n\\nSow it.\\n' \
                    > .planning/phases/01-field-1/01-RESEARCH.md";
    let verification = "printf -- '---\\nphase: 01-field-1\\nverified: 2026-01-01\\nstatus: passed\\n\
                        score: 2/2\\n---\\n\\nAll is grown.\\n' \
                        > .planning/phases/01-field-1/01-VERIFICATION.md";
    vec![
        role_script("discusser")
            .step(final_answer(&question))
            .step(final_answer(&json!({ "clear": true, "questions": [] }))),
        role_script("researcher").step(Step::sh(research)).says("Researched."),
        role_script("planner").step(write_plan_step("01", &["crop-1", "crop-2"])).says("Planned."),
        role_script("plan-checker")
            .step(final_answer(&json!({ "verdict": "passed", "issues": [] }))),
        role_script("executor")
            .step(Step::sh("echo grown > crop-1"))
            .step(task_done())
            .step(Step::sh("echo grown > crop-2"))
            .step(task_done()),
        role_script("verifier")
            .step(Step::sh(verification))
            .step(mow_tool_call("report", json!({ "verdict": "passed", "gaps": [] })))
            .says("It is handed over."),
    ]
}
