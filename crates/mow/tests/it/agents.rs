//! Runs whose roles are played by real coding agents, which ask a scripted model.
//!
//! Everything but the model is real: the agents' programs, git, processes, the inbox.

mod asking;
mod bad;
mod conflicts;
mod kills;
mod lifecycle;
mod mixed;
mod models;
mod moments;
mod peers;
mod permissions;
mod reviews;

use std::fs;
use std::time::Duration;

use mow_testkit::agents::{Agent, Agents};
use mow_testkit::field::{Field, Phase, Plan, Soil, marked, phase};
use mow_testkit::llm::{Script, ScriptedLlm, Step, Tool};
use serde_json::{Value, json};

/// The program under test.
const MOW: &str = env!("CARGO_BIN_EXE_mow");
/// How long a model may wait for an agent to ask it something.
const PATIENCE: Duration = Duration::from_secs(180);

/// A field whose roles are played by agents.
struct Scene {
    llm: ScriptedLlm,
    field: Field,
}

/// Who plays which role, `default` for all others; settings on top of that.
struct Casting<'a> {
    roles: &'a [(&'a str, Agent)],
    more: Value,
}

impl Default for Casting<'_> {
    fn default() -> Self {
        Self { roles: &[("default", Agent::Claude)], more: json!({}) }
    }
}

impl Scene {
    fn new(casting: &Casting<'_>, phases: &[Phase], scripts: Vec<Script>) -> Self {
        let llm = ScriptedLlm::start(scripts);
        let field = Field::on(MOW, &Soil { on_disk: true, ..Soil::default() }, phases);
        let agents = Agents::find();
        let home = field.sandbox.outside().join("agents");
        let mut settings = json!({
            "workflow": { "research": true },
            "permissions": { "allow": ["Bash", "exec_command", "Write", "run_shell_command", "bash", "execute"] },
        });
        for (role, agent) in casting.roles {
            let name = agent.program();
            settings["roles"][*role]["agent"] = json!(name);
            if *agent == Agent::Gemini {
                // Without one it asks a model which model to ask.
                settings["roles"][*role]["model"] = json!(agent.model());
            }
            let env = agents.environment(*agent, &llm, &home).into_iter();
            let env: serde_json::Map<_, _> =
                env.map(|(name, value)| (name, json!(value))).collect();
            settings["agents"][name] = json!({ "command": agents.program(*agent), "env": env });
        }
        merge(&mut settings, &casting.more);
        field.write(".planning/config.json", settings.to_string());
        field.git(&["commit", "-q", "-a", "-m", "Settings"]);
        Self { llm, field }
    }

    /// The questions that are open.
    fn open(&self) -> Vec<Value> {
        let ran = self.field.run(&["inbox", "--json"]);
        let value: Value = serde_json::from_str(&ran.stdout).expect("it is JSON");
        value["questions"].as_array().cloned().unwrap_or_default()
    }

    /// All that was ever asked in the run.
    fn asked(&self) -> Vec<Value> {
        self.field.events().into_iter().filter(|event| event["event"] == "asked").collect()
    }

    fn config(&self) -> Value {
        serde_json::from_str(&self.field.text(".planning/config.json")).expect("it is JSON")
    }

    fn answer(&self, item: &Value, text: &str) {
        self.field.ends(&["answer", &item["id"].to_string(), text], 0);
    }
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}

/// The processes of agents, and whatever they started.
fn agents(run: &str) -> Vec<u32> {
    let is_agent = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| variable.starts_with(b"MOW_AGENT="))
    };
    marked(run).into_iter().filter(is_agent).collect()
}

/// A script for a role.
fn role(name: &str) -> Script {
    Script::new(name).when(&format!("role: {name},"))
}

/// A turn that ends the work with an answer.
fn says(value: &Value) -> Step {
    Step::text(&format!("I am done.\n\n```json\n{value}\n```\n"))
}

/// A turn that calls a tool of mow, whatever the agent calls it.
fn calls(tool: &str, input: Value) -> Step {
    let prefixes = ["mcp__mow__", "mow_", "mcp_mow_", ""];
    let names = prefixes.map(|prefix| format!("{prefix}{tool}")).to_vec();
    Step::default().tool(Tool::FirstOf { names, input })
}

/// A plan of phase 1: a task for each file.
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

/// A turn that writes a plan of phase 1.
fn writes_plan(plan: &str, files: &[&str]) -> Step {
    let text = plan_text(plan, files);
    Step::sh(&format!(
        "mkdir -p .planning/phases/01-field-1 && cat > .planning/phases/01-field-1/01-{plan}-PLAN.md <<'END'\n{text}END"
    ))
}

/// Phase 1 as somebody has planned it already: a task for each file.
fn planned(files: &[&str]) -> Phase {
    phase("1", &[]).with(Plan::of_text(&plan_text("01", files)))
}

/// Lets an agent carry out what is planned, and nothing else; settings on top of that.
fn executor(agent: Agent, more: Value) -> Casting<'static> {
    let roles: &[_] = match agent {
        Agent::Claude => &[("executor", Agent::Claude)],
        Agent::Codex => &[("executor", Agent::Codex)],
        Agent::Gemini => &[("executor", Agent::Gemini)],
        Agent::OpenCode => &[("executor", Agent::OpenCode)],
    };
    Casting { roles, more }
}

fn done() -> Step {
    says(&json!({ "status": "done", "summary": "It is written." }))
}

/// The scripts of a phase in which all goes well: one question, one plan with two tasks.
fn good() -> Vec<Script> {
    let question = json!({ "clear": false, "questions": [{
        "id": "crop", "topic": "Crop", "question": "What shall grow?", "choices": ["rye", "oats"],
    }]});
    let research = "mkdir -p .planning/phases/01-field-1 && printf '# Research\\n\\nSow it.\\n' \
                    > .planning/phases/01-field-1/01-RESEARCH.md";
    let verification = "printf -- '---\\nphase: 01-field-1\\nverified: 2026-01-01\\nstatus: passed\\n\
                        score: 2/2\\n---\\n\\nAll is grown.\\n' \
                        > .planning/phases/01-field-1/01-VERIFICATION.md";
    vec![
        role("discusser")
            .step(says(&question))
            .step(says(&json!({ "clear": true, "questions": [] }))),
        role("researcher").step(Step::sh(research)).says("Researched."),
        role("planner").step(writes_plan("01", &["crop-1", "crop-2"])).says("Planned."),
        role("plan-checker").step(says(&json!({ "verdict": "passed", "issues": [] }))),
        role("executor")
            .step(Step::sh("echo grown > crop-1"))
            .step(done())
            .step(Step::sh("echo grown > crop-2"))
            .step(done()),
        role("verifier")
            .step(Step::sh(verification))
            .step(calls("report", json!({ "verdict": "passed", "gaps": [] })))
            .says("It is handed over."),
    ]
}
