//! Speaks with an agent while it works: what it may do, what people answered, what it hands over.

use std::path::Path;

use mow_core::item::{self, ItemKind};
use mow_core::money::Money;
use mow_host::agent::{Ask, Counterpart, Event, Question, Reply, ToolSpec};
use mow_store::config;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use serde_json::{Value, json};

use super::agent::Work;
use super::desk::Desk;
use super::session::Kept;
use crate::EngineError;
use crate::cast::Cast;
use crate::job;
use crate::peer::Ear;
use crate::permission::{self, Rule};
use crate::tools::{self, PEER_SEND, REPORT, TAKEN};

/// The answers to an agent that wants to do something.
const ALLOW: &str = "allow";
const ALWAYS: &str = "always";
const DENY: &str = "deny";

/// A conversation with an agent.
pub(super) struct Talk<'a> {
    desk: &'a Desk,
    cast: &'a Cast,
    work: &'a Work<'a>,
    session: Option<String>,
    ear: Ear,
    pub(super) used: Money,
    pub(super) handed_over: Option<Value>,
    /// What could not be written down on the way.
    pub(super) failed: Option<EngineError>,
}

impl<'a> Talk<'a> {
    pub(super) fn new(desk: &'a Desk, cast: &'a Cast, work: &'a Work<'a>) -> Self {
        let (session, handed_over, failed) = (None, None, None);
        let (ear, used) = (Ear::new(&desk.site.run, &desk.brief.phase), Money::default());
        Self { desk, cast, work, session, ear, used, handed_over, failed }
    }

    /// Counts what other phases told the agent as read: it will not forget that any more.
    pub(super) fn remembers(&self) -> Result<(), EngineError> {
        self.ear.settle()
    }

    /// Returns the session, once the agent has said which it is.
    pub(super) fn session(&self) -> Option<String> {
        self.session.clone()
    }

    fn answer(&self, key: &str) -> Option<&'a str> {
        let answers = &self.desk.brief.answers;
        answers.iter().rev().find(|answer| answer.key == key).map(|answer| answer.text.as_str())
    }

    fn permit(&mut self, key: &str, tool: &str, input: &Value) -> Reply {
        let Ok(config) = self.desk.site.config() else {
            return Reply::Deny("the settings cannot be read".to_owned());
        };
        match permission::rule(&config, tool, input) {
            Rule::Allowed => return Reply::Allow,
            Rule::Denied => return Reply::Deny("this project does not allow it".to_owned()),
            Rule::Unknown => {}
        }
        match self.answer(key) {
            Some(ALWAYS) => {
                let rule = permission::exact(tool, input);
                self.failed = allow_for_ever(&self.desk.site.project, &rule).err();
                Reply::Allow
            }
            Some(ALLOW) => Reply::Allow,
            Some(_) => Reply::Deny("a person does not want that".to_owned()),
            None => Reply::Park,
        }
    }
}

/// Adds a rule to the settings of a project.
fn allow_for_ever(project: &mow_store::project::Project, rule: &str) -> Result<(), EngineError> {
    const KEY: &str = "permissions.allow";
    let path = project.planning.join("config.json");
    let writer = Writer::open(project, WAIT_DEFAULT)?;
    writer.update(&path, |old| {
        let old = old.unwrap_or(b"{}\n");
        let settings = config::Config::parse(old).map_err(|error| unreadable(&path, &error))?;
        let rules = settings.value(KEY).and_then(Value::as_array).cloned().unwrap_or_default();
        if rules.iter().any(|known| known == rule) {
            return Ok(None);
        }
        let rules: Vec<_> = rules.into_iter().chain([json!(rule)]).collect();
        let new = config::set(old, KEY, &Value::Array(rules));
        new.map(Some).map_err(|error| unreadable(&path, &error))
    })?;
    failpoint::reach("permission.kept");
    Ok(())
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> EngineError {
    EngineError::refused(format!("{}: {error}", path.display()), "repair the file")
}

impl Counterpart for Talk<'_> {
    fn told(&mut self, event: Event) {
        match event {
            Event::Started { session } => {
                let (agent, job) = (self.cast.agent.clone(), self.work.job.clone());
                let (parked, done) = (false, false);
                let kept = Kept { agent, session: session.clone(), job, parked, done };
                let is_new = self.session.as_ref() != Some(&session);
                if is_new && let Err(error) = self.desk.keep_session(&self.work.name, &kept) {
                    self.failed = Some(error);
                }
                self.session = Some(session);
            }
            Event::Usage(used) => {
                self.used += job::money(&used);
            }
            Event::Sign(sign) => self.desk.sign(sign),
            Event::Text(_) | Event::Tool { .. } | Event::Retry { .. } => {}
        }
    }

    fn asked(&mut self, ask: &Ask) -> Reply {
        match ask {
            Ask::Permission { id, tool, input, .. } => {
                self.permit(&permission_key(self.desk, self.work, id), tool, input)
            }
            Ask::Question { id, questions } => {
                let keys = (1..=questions.len()).map(|n| question_key(self.desk, self.work, id, n));
                let answers: Option<Vec<_>> =
                    keys.map(|key| self.answer(&key).map(str::to_owned)).collect();
                answers.map_or(Reply::Park, Reply::Answer)
            }
        }
    }

    fn called(&mut self, tool: &str, input: &Value) -> Result<String, String> {
        match tool {
            REPORT => {
                (self.work.check)("", Some(input))?;
                self.handed_over = Some(input.clone());
                Ok(TAKEN.to_owned())
            }
            PEER_SEND => tools::send_to_peer(&self.desk.site, &self.desk.brief.phase, input),
            other => Err(format!("there is no tool {other}")),
        }
    }

    fn tools(&self) -> Vec<ToolSpec> {
        tools::specs(self.work.schema)
    }

    fn messages(&mut self) -> Vec<String> {
        self.ear.listen().unwrap_or_else(|error| {
            self.desk.note(&error.sentence());
            Vec::new()
        })
    }
}

fn permission_key(desk: &Desk, work: &Work<'_>, id: &str) -> String {
    format!("{}/permission/{}/{id}", desk.brief.phase, work.name)
}

fn question_key(desk: &Desk, work: &Work<'_>, id: &str, n: usize) -> String {
    format!("{}/question/{}/{id}.{n}", desk.brief.phase, work.name)
}

/// Returns what a person is asked on behalf of an agent.
pub(super) fn asks(desk: &Desk, work: &Work<'_>, ask: &Ask) -> Vec<item::Ask> {
    let (phase, role) = (&desk.brief.phase, work.role.name());
    match ask {
        Ask::Permission { id, tool, text, .. } => vec![item::Ask {
            key: permission_key(desk, work, id),
            kind: ItemKind::Permission,
            question: format!("Phase {phase}: may the {role} use {tool}: {text}?"),
            choices: [ALLOW, ALWAYS, DENY].map(str::to_owned).to_vec(),
        }],
        Ask::Question { id, questions } => (1..)
            .zip(questions)
            .map(|(n, question)| item::Ask {
                key: question_key(desk, work, id, n),
                kind: ItemKind::Question,
                question: format!("Phase {phase}, the {role} asks: {}", worded(question)),
                choices: question.choices.iter().map(|choice| choice.label.clone()).collect(),
            })
            .collect(),
    }
}

fn worded(question: &Question) -> String {
    let about: Vec<_> = question
        .choices
        .iter()
        .filter(|choice| !choice.description.is_empty())
        .map(|choice| format!("{}: {}", choice.label, choice.description))
        .collect();
    match about.as_slice() {
        [] => question.text.clone(),
        about => format!("{} ({})", question.text, about.join("; ")),
    }
}
