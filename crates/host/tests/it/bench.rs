//! A place where an agent works, with a model that says what a script says.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use mow_host::agent::{
    Access, Ask, Counterpart, End, Event, Job, Kind, Limits, Reply, Session, ToolSpec, Usage, run,
};
use mow_host::stop::Stop;
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
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl Bench {
    /// With the real Claude Code.
    pub(crate) fn claude(scripts: impl IntoIterator<Item = Script>) -> Self {
        let mut bench = Self::new(Kind::Claude, program("claude"), scripts);
        let settings = [
            ("ANTHROPIC_BASE_URL", bench.llm.url()),
            ("ANTHROPIC_API_KEY", "sk-ant-test".to_owned()),
            ("CLAUDE_CONFIG_DIR", bench.home().join("claude").display().to_string()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
        ];
        bench.set(settings);
        bench
    }

    /// With the real Codex.
    pub(crate) fn codex(scripts: impl IntoIterator<Item = Script>) -> Self {
        let mut bench = Self::new(Kind::Codex, program("codex"), scripts);
        let home = bench.home().join("codex");
        fs::create_dir(&home).unwrap();
        let config = format!(
            "model = \"test-model\"\nmodel_provider = \"test\"\ncheck_for_update_on_startup = false\n\
             [analytics]\nenabled = false\n\
             [model_providers.test]\nname = \"test\"\nbase_url = \"{}/v1\"\n\
             wire_api = \"responses\"\nenv_key = \"TEST_KEY\"\nsupports_websockets = false\n\
             request_max_retries = 1\nstream_max_retries = 1\n",
            bench.llm.url(),
        );
        fs::write(home.join("config.toml"), config).unwrap();
        bench.set([("CODEX_HOME", home.display().to_string()), ("TEST_KEY", "x".to_owned())]);
        bench
    }

    /// With the real OpenCode.
    pub(crate) fn opencode(scripts: impl IntoIterator<Item = Script>) -> Self {
        let mut bench = Self::new(Kind::Acp, program("opencode"), scripts);
        bench.args = vec!["acp".to_owned()];
        let limit = json!({ "context": 100_000, "output": 8_000 });
        let model = json!({ "name": "test", "tool_call": true, "limit": limit });
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible",
            "name": "test",
            "options": { "baseURL": format!("{}/v1", bench.llm.url()), "apiKey": "x" },
            "models": { "test-model": model, "other-model": model },
        });
        let config = json!({
            "model": "test/test-model", "permission": { "bash": "ask", "edit": "allow" },
            "autoupdate": false, "share": "disabled", "provider": { "test": provider },
        });
        let home = bench.home();
        let dir = |name: &str| home.join(name).display().to_string();
        bench.set([
            ("OPENCODE_CONFIG_CONTENT", config.to_string()),
            ("XDG_CONFIG_HOME", dir("config")),
            ("XDG_DATA_HOME", dir("data")),
            ("XDG_STATE_HOME", dir("state")),
            ("XDG_CACHE_HOME", dir("cache")),
        ]);
        bench
    }

    /// With the real Gemini.
    pub(crate) fn gemini(scripts: impl IntoIterator<Item = Script>) -> Self {
        let mut bench = Self::new(Kind::Acp, program("gemini"), scripts);
        bench.args = ["--acp", "--skip-trust", "-m", "gemini-2.5-pro"].map(str::to_owned).to_vec();
        let settings = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
        fs::create_dir(bench.home().join(".gemini")).unwrap();
        fs::write(bench.home().join(".gemini/settings.json"), settings.to_string()).unwrap();
        bench.set([
            ("GEMINI_API_KEY", "x".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", bench.llm.url()),
            ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
        ]);
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
        let mut bench = Self { llm, dir, kind, program, args: Vec::new(), env: Vec::new() };
        for name in ["work", "home"] {
            fs::create_dir(bench.dir.path().join(name)).unwrap();
        }
        let path = format!("{}:{}", bin().display(), std::env::var("PATH").unwrap());
        let home = bench.home().display().to_string();
        let token = bench.token();
        bench.set([("PATH", path), ("HOME", home), ("MOW_TOKEN", token)]);
        bench
    }

    pub(crate) fn set<'a>(&mut self, settings: impl IntoIterator<Item = (&'a str, String)>) {
        self.env.extend(settings.into_iter().map(|(name, value)| (name.into(), value.into())));
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
            model: None,
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

/// Where the programs of agents are.
fn bin() -> PathBuf {
    let bin = std::env::var_os("MOW_AGENTS_BIN").map(PathBuf::from);
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    bin.unwrap_or_else(|| home.join(".cache/mow-ci/agents/node_modules/.bin"))
}

fn program(name: &str) -> PathBuf {
    let path = bin().join(name);
    assert!(path.exists(), "{} is missing; run `cargo xtask agents`", path.display());
    path
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
