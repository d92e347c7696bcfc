//! A place where an agent works, with a model that says what a script says.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use mow_host::agent::detect::KNOWN;
use mow_host::agent::{
    Access, Ask, Counterpart, End, Event, Job, Kind, Limits, Reply, Session, ToolSpec, Usage, run,
};
use mow_host::stop::Stop;
use mow_testkit::agents::{Agent, Agents};
use mow_testkit::llm::{Script, ScriptedLlm};
use serde_json::{Value, json};

/// Longer than anything takes, even on a busy machine.
const LONG: Duration = Duration::from_secs(180);

/// A directory, a model, and what an agent needs to know of both.
pub(crate) struct Bench {
    pub(crate) llm: ScriptedLlm,
    dir: tempfile::TempDir,
    pub(crate) kind: Kind,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    model: Option<String>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl Bench {
    /// With a real agent.
    pub(crate) fn with(agent: Agent, scripts: impl IntoIterator<Item = Script>) -> Self {
        let (name, agents) = (agent.program(), Agents::find());
        let known = KNOWN.iter().find(|known| known.program == name).unwrap();
        let mut bench = Self::new(known.kind, agents.program(agent), scripts);
        bench.args = known.args.iter().map(|arg| (*arg).to_owned()).collect();
        let settings = known.env.iter().map(|(name, value)| (name.into(), value.into()));
        bench.env.extend(settings);
        // Without a name it would first ask a model which model to ask.
        bench.model = (agent == Agent::Gemini).then(|| agent.model().to_owned());
        if agent == Agent::OpenCode {
            let models = json!({ "other": {} });
            let config = json!({ "provider": { "scripted": { "models": models } } });
            fs::write(bench.work().join("opencode.json"), config.to_string()).unwrap();
        }
        for (name, value) in agents.environment(agent, &bench.llm, &bench.home()) {
            bench.env.push((name.into(), value.into()));
        }
        bench
    }

    /// With a program that is not an agent.
    pub(crate) fn stand_in(kind: Kind, script: &str) -> Self {
        let mut bench = Self::new(kind, PathBuf::from("/bin/sh"), []);
        bench.args = vec!["-c".to_owned(), script.to_owned(), "agent".to_owned()];
        bench
    }

    pub(crate) fn new(
        kind: Kind,
        program: PathBuf,
        scripts: impl IntoIterator<Item = Script>,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let llm = ScriptedLlm::start(scripts);
        let mut bench =
            Self { llm, dir, kind, program, args: Vec::new(), model: None, env: Vec::new() };
        for name in ["work", "home"] {
            fs::create_dir(bench.dir.path().join(name)).unwrap();
        }
        let settings = [
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", bench.home().display().to_string()),
            ("MOW_TOKEN", bench.token()),
        ];
        bench.env.extend(settings.map(|(name, value)| (name.into(), value.into())));
        bench
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

    /// What all processes of this place carry.
    pub(crate) fn token(&self) -> String {
        format!("test{}", self.root().display())
    }

    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.work().join(file)).unwrap_or_default()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.root().join("log")).unwrap_or_default()
    }

    pub(crate) fn job(&self, prompt: &str) -> Job {
        Job {
            program: self.program.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            cwd: self.work(),
            prompt: prompt.to_owned(),
            system: None,
            model: self.model.clone(),
            session: Session::New,
            access: Access::Edit,
            servers: Vec::new(),
            limits: Limits { wall: Some(LONG), ..Limits::default() },
            log: self.root().join("log"),
            stuck_after: None,
            watched: Vec::new(),
        }
    }

    /// Lets an agent work, and looks that nobody is left behind.
    pub(crate) fn run(&self, job: &Job, person: &mut Person) -> End {
        self.run_until(job, person, &Stop::new().unwrap())
    }

    pub(crate) fn run_until(&self, job: &Job, person: &mut Person, stop: &Stop) -> End {
        let end = run(self.kind, job, person, stop).unwrap();
        assert_eq!(self.processes(), Vec::<String>::new(), "left behind after {end:?}");
        end
    }

    /// Returns the processes of this place.
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

/// Who an agent speaks with: gives the replies that it was told, and remembers.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) replies: Vec<Reply>,
    pub(crate) events: Vec<Event>,
    pub(crate) asks: Vec<Ask>,
    pub(crate) calls: Vec<(String, Value)>,
    /// What there is to tell at once, and what only once it has used a tool.
    pub(crate) messages: Vec<String>,
    pub(crate) late: Vec<String>,
}

impl Person {
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
            Event::Tool { name, .. } => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }
}

impl Counterpart for Person {
    fn told(&mut self, event: Event) {
        self.events.push(event);
    }

    fn asked(&mut self, ask: &Ask) -> Reply {
        self.asks.push(ask.clone());
        assert!(!self.replies.is_empty(), "nobody expected {ask:?}");
        self.replies.remove(0)
    }

    fn called(&mut self, tool: &str, input: &Value) -> Result<String, String> {
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

    fn messages(&mut self) -> Vec<String> {
        let mut messages = std::mem::take(&mut self.messages);
        if !self.used_tools().is_empty() {
            messages.append(&mut self.late);
        }
        messages
    }
}

/// Stops as soon as a file is there.
pub(crate) fn stop_at(file: &std::path::Path, stop: &Stop) {
    while !file.exists() && !stop.wait(Duration::from_millis(20)).unwrap() {}
    stop.stop();
}

/// Kills one process of an agent and nothing else.
pub(crate) fn kill(bench: &Bench, word: &str) {
    let all = bench.processes();
    let agent = all.iter().find(|line| line.contains(word)).unwrap_or_else(|| panic!("{all:?}"));
    let pid = agent.split(' ').next().unwrap();
    assert!(std::process::Command::new("kill").args(["-9", pid]).status().unwrap().success());
}

/// Returns the text of the end of a run that is done.
#[track_caller]
pub(crate) fn done(end: &End) -> &str {
    match end {
        End::Done { text } => text,
        other => panic!("not done: {other:?}"),
    }
}

/// Resumes what was parked or cut off.
pub(crate) fn resumed(job: &Job, session: &str) -> Job {
    Job { session: Session::Resume(session.to_owned()), prompt: String::new(), ..job.clone() }
}
