//! A directory with a scripted model in which an agent runs, and scripted replies to its requests.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use mow_host::agent::detect::AGENT_PROGRAMS;
use mow_host::agent::{
    Access, AgentCallbacks, AgentJob, AgentKind, AgentOutcome, AgentRequest, AgentSession, Event,
    Limits, Reply, ToolSpec, Usage, run,
};
use mow_host::launch::AttemptMarks;
use mow_host::stop_signal::StopSignal;
use mow_testkit::agents::{Agent, Agents};
use mow_testkit::llm::{Script, ScriptedLlm};
use serde_json::{Value, json};

/// A time limit that no run reaches, even on a busy machine.
const LONG: Duration = Duration::from_secs(180);

/// A working directory, a scripted model and the environment of an agent.
pub(crate) struct AgentFixture {
    pub(crate) llm: ScriptedLlm,
    dir: tempfile::TempDir,
    pub(crate) kind: AgentKind,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    model: Option<String>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl AgentFixture {
    /// Creates a fixture for a real agent.
    pub(crate) fn with(agent: Agent, scripts: impl IntoIterator<Item = Script>) -> Self {
        let (name, agents) = (agent.program(), Agents::find());
        let known = AGENT_PROGRAMS.iter().find(|known| known.program == name).unwrap();
        let mut fixture = Self::new(known.kind, agents.program(agent), scripts);
        fixture.args = known.args.iter().map(|arg| (*arg).to_owned()).collect();
        let settings = known.env.iter().map(|(name, value)| (name.into(), value.into()));
        fixture.env.extend(settings);
        // Without a model name, Gemini first asks a model which model to use.
        fixture.model = (agent == Agent::Gemini).then(|| agent.model().to_owned());
        if agent == Agent::OpenCode {
            let models = json!({ "other": {} });
            let config = json!({ "provider": { "scripted": { "models": models } } });
            fs::write(fixture.work().join("opencode.json"), config.to_string()).unwrap();
        }
        for (name, value) in agents.environment(agent, &fixture.llm, &fixture.home()) {
            fixture.env.push((name.into(), value.into()));
        }
        fixture
    }

    /// Creates a fixture for a shell script in place of an agent.
    pub(crate) fn fake_agent(kind: AgentKind, script: &str) -> Self {
        let mut fixture = Self::new(kind, PathBuf::from("/bin/sh"), []);
        fixture.args = vec!["-c".to_owned(), script.to_owned(), "agent".to_owned()];
        fixture
    }

    pub(crate) fn new(
        kind: AgentKind,
        program: PathBuf,
        scripts: impl IntoIterator<Item = Script>,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let llm = ScriptedLlm::start(scripts);
        let mut fixture =
            Self { llm, dir, kind, program, args: Vec::new(), model: None, env: Vec::new() };
        for name in ["work", "home"] {
            fs::create_dir(fixture.dir.path().join(name)).unwrap();
        }
        let settings = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", fixture.home().display().to_string()),
        ];
        fixture.env.extend(settings.map(|(name, value)| (name.into(), value.into())));
        fixture
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// The token in the environment of all processes of this fixture.
    pub(crate) fn token(&self) -> String {
        format!("test{}", self.root().display())
    }

    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.work().join(file)).unwrap_or_default()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.root().join("log")).unwrap_or_default()
    }

    pub(crate) fn job(&self, prompt: &str) -> AgentJob {
        AgentJob {
            program: self.program.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            marks: AttemptMarks {
                token: self.token(),
                run: "run".to_owned(),
                phase: Some("1".to_owned()),
                attempt: 1,
            },
            cwd: self.work(),
            prompt: prompt.to_owned(),
            model: self.model.clone(),
            session: AgentSession::New,
            access: Access::Edit,
            tool_servers: Vec::new(),
            limits: Limits { wall: Some(LONG), ..Limits::default() },
            log: self.root().join("log"),
            stuck_after: None,
            watched_paths: Vec::new(),
        }
    }

    /// Runs an agent and asserts that no process is left.
    pub(crate) fn run(&self, job: &AgentJob, person: &mut ScriptedPerson) -> AgentOutcome {
        self.run_until(job, person, &StopSignal::new().unwrap())
    }

    pub(crate) fn run_until(
        &self,
        job: &AgentJob,
        person: &mut ScriptedPerson,
        stop: &StopSignal,
    ) -> AgentOutcome {
        let end = run(self.kind, job, person, stop).unwrap();
        assert_eq!(self.processes(), Vec::<String>::new(), "left behind after {end:?}");
        end
    }

    /// Returns the running processes of this fixture.
    pub(crate) fn processes(&self) -> Vec<String> {
        let wanted = format!("MOW_TOKEN={}", self.token());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
            let environ = read("environ");
            if environ.split(|byte| *byte == 0).any(|word| word == wanted.as_bytes()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                found.push(format!("{name} {}", String::from_utf8_lossy(&read("cmdline"))));
            }
        }
        found
    }
}

/// Callbacks that give prepared replies and record everything.
#[derive(Default)]
pub(crate) struct ScriptedPerson {
    pub(crate) replies: Vec<Reply>,
    pub(crate) events: Vec<Event>,
    pub(crate) requests: Vec<AgentRequest>,
    pub(crate) calls: Vec<(String, Value)>,
    /// Messages to send at once; `messages_after_tool` are sent after the first tool.
    pub(crate) messages: Vec<String>,
    pub(crate) messages_after_tool: Vec<String>,
}

impl ScriptedPerson {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: replies.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn session(&self) -> String {
        let sessions = self.events.iter().filter_map(|event| match event {
            Event::Started { session } => Some(session.clone()),
            _ => None,
        });
        let sessions: Vec<_> = sessions.collect();
        assert_eq!(sessions.len(), 1, "{:?}", self.events);
        sessions[0].clone()
    }

    pub(crate) fn used(&self) -> Usage {
        let mut all = Usage { usd: Some(0.0), ..Usage::default() };
        for event in &self.events {
            if let Event::Usage(usage) = event {
                all.input += usage.input;
                all.output += usage.output;
                all.cached += usage.cached;
                all.usd = all.usd.zip(usage.usd).map(|(a, b)| a + b);
            }
        }
        all
    }

    pub(crate) fn used_tools(&self) -> Vec<&str> {
        let names = self.events.iter().filter_map(|event| match event {
            Event::Tool(call) => Some(call.name.as_str()),
            _ => None,
        });
        names.collect()
    }
}

impl AgentCallbacks for ScriptedPerson {
    fn on_event(&mut self, event: Event) {
        self.events.push(event);
    }

    fn on_request(&mut self, ask: &AgentRequest) -> Reply {
        self.requests.push(ask.clone());
        assert!(!self.replies.is_empty(), "unexpected request: {ask:?}");
        self.replies.remove(0)
    }

    fn call_tool(&mut self, tool: &str, input: &Value) -> Result<String, String> {
        self.calls.push((tool.to_owned(), input.clone()));
        match input["status"].as_str() {
            Some("wrong") => Err("no such status".to_owned()),
            _ => Ok("noted".to_owned()),
        }
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let schema = json!({
            "type": "object", "properties": { "status": { "type": "string" } },
            "required": ["status"],
        });
        vec![ToolSpec {
            name: "report".to_owned(),
            description: "Reports how it goes.".to_owned(),
            schema,
        }]
    }

    fn take_messages(&mut self) -> Vec<String> {
        let mut messages = std::mem::take(&mut self.messages);
        if !self.used_tools().is_empty() {
            messages.append(&mut self.messages_after_tool);
        }
        messages
    }
}

/// Stops as soon as a file is there.
pub(crate) fn stop_at(file: &std::path::Path, stop: &StopSignal) {
    while !file.exists() && !stop.wait(Duration::from_millis(20)).unwrap() {}
    stop.stop();
}

/// Kills one process of an agent and nothing else.
pub(crate) fn kill(fixture: &AgentFixture, word: &str) {
    let all = fixture.processes();
    let agent = all.iter().find(|line| line.contains(word)).unwrap_or_else(|| panic!("{all:?}"));
    let pid = agent.split(' ').next().unwrap();
    assert!(std::process::Command::new("kill").args(["-9", pid]).status().unwrap().success());
}

/// Returns the text of the end of a run that is done.
#[track_caller]
pub(crate) fn done_text(end: &AgentOutcome) -> &str {
    match end {
        AgentOutcome::Done { text } => text,
        other => panic!("not done: {other:?}"),
    }
}

/// Resumes what was parked or cut off.
pub(crate) fn resumed_job(job: &AgentJob, session: &str) -> AgentJob {
    AgentJob {
        session: AgentSession::Resume(session.to_owned()),
        prompt: String::new(),
        ..job.clone()
    }
}
