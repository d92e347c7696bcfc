//! Answers an agent's requests during a turn: permissions, questions to people, tools, messages
//! from other phases, and its final report.

use std::path::Path;

use mow_core::inbox::{self, QuestionKind};
use mow_core::money::Spending;
use mow_host::agent::{AgentCallbacks, AgentQuestion, AgentRequest, Event, Reply, ToolSpec};
use mow_store::config;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use serde_json::{Value, json};

use super::agent_sessions::{AgentSessions, SavedSession};
use super::agent_turn::TurnRequest;
use super::phase_workspace::PhaseWorkspace;
use crate::EngineError;
use crate::agent_config::AgentConfig;
use crate::agent_job;
use crate::agent_tools::{self, PEER_SEND, REPORT, REPORT_ACCEPTED};
use crate::peer_messages::PeerInbox;
use crate::permission::{self, Permission};

/// The choices of a person whom an agent asks for a permission.
const ALLOW: &str = "allow";
const ALWAYS: &str = "always";
const DENY: &str = "deny";

/// The conversation with an agent during one turn.
pub(super) struct AgentConversation<'a> {
    workspace: &'a PhaseWorkspace,
    agent: &'a AgentConfig,
    request: &'a TurnRequest<'a>,
    session: Option<String>,
    peer_inbox: PeerInbox,
    /// What the agent has used in this turn.
    pub(super) used: Spending,
    /// The report that the agent gave to the report tool.
    pub(super) report: Option<Value>,
    /// The first thing that could not be stored during the turn.
    pub(super) error: Option<EngineError>,
}

impl<'a> AgentConversation<'a> {
    pub(super) fn new(
        workspace: &'a PhaseWorkspace,
        agent: &'a AgentConfig,
        request: &'a TurnRequest<'a>,
    ) -> Self {
        let peer_inbox = PeerInbox::new(&workspace.ctx.run, &workspace.brief.phase);
        let (session, report, error, used) = (None, None, None, Spending::default());
        Self { workspace, agent, request, session, peer_inbox, used, report, error }
    }

    /// Marks the messages from other phases as read: the agent's session has them.
    pub(super) fn acknowledge_peer_messages(&self) -> Result<(), EngineError> {
        self.peer_inbox.mark_read()
    }

    /// Returns the session id, once the agent has told it.
    pub(super) fn session(&self) -> Option<String> {
        self.session.clone()
    }

    /// Returns the newest answer of a person to a question.
    fn answer_to(&self, key: &str) -> Option<&'a str> {
        let answers = &self.workspace.brief.answers;
        answers.iter().rev().find(|answer| answer.key == key).map(|answer| answer.text.as_str())
    }

    /// Decides by the project's rules, then by a person's answer. Without either, parks the agent.
    fn decide_permission(&mut self, key: &str, tool: &str, input: &Value) -> Reply {
        let Ok(config) = self.workspace.ctx.config() else {
            return Reply::Deny("the settings cannot be read".to_owned());
        };
        match permission::check_permission(&config, tool, input) {
            Permission::Allowed => return Reply::Allow,
            Permission::Denied => return Reply::Deny("this project does not allow it".to_owned()),
            Permission::Unknown => {}
        }
        match self.answer_to(key) {
            Some(ALWAYS) => {
                let rule = permission::exact_rule(tool, input);
                self.error = add_permission_rule(&self.workspace.ctx.project, &rule).err();
                Reply::Allow
            }
            Some(ALLOW) => Reply::Allow,
            Some(_) => Reply::Deny("a person denied it".to_owned()),
            None => Reply::Park,
        }
    }
}

/// Adds an allow rule to the project's settings.
fn add_permission_rule(
    project: &mow_store::project::Project,
    rule: &str,
) -> Result<(), EngineError> {
    const KEY: &str = "permissions.allow";
    let path = project.planning.join("config.json");
    let writer = Writer::open(project, WAIT_DEFAULT)?;
    writer.update(&path, |old| {
        let old = old.unwrap_or(b"{}\n");
        let settings = config::Config::parse(old).map_err(|error| unreadable(&path, &error))?;
        let rules = settings.value(KEY).and_then(Value::as_array).cloned().unwrap_or_default();
        if rules.iter().any(|existing| existing == rule) {
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

impl AgentCallbacks for AgentConversation<'_> {
    fn on_event(&mut self, event: Event) {
        match event {
            Event::Started { session } => {
                let (agent, job) = (self.agent.name.clone(), self.request.job.clone());
                let (parked, done) = (false, false);
                let saved = SavedSession { agent, session: session.clone(), job, parked, done };
                let is_new = self.session.as_ref() != Some(&session);
                let sessions = AgentSessions::new(self.workspace);
                if is_new && let Err(error) = sessions.save(&self.request.session_name, &saved) {
                    self.error = Some(error);
                }
                self.session = Some(session);
            }
            Event::Usage(used) => {
                self.used += agent_job::money_from_usage(&used);
            }
            Event::Activity(activity) => self.workspace.report_activity(activity),
            Event::Text(_) | Event::Tool { .. } | Event::Retry { .. } => {}
        }
    }

    fn on_request(&mut self, ask: &AgentRequest) -> Reply {
        match ask {
            AgentRequest::Permission { id, tool, input, .. } => {
                let key = permission_key(self.workspace, self.request, id);
                self.decide_permission(&key, tool, input)
            }
            AgentRequest::Question { id, questions } => {
                let key = |n| question_key(self.workspace, self.request, id, n);
                let keys = (1..=questions.len()).map(key);
                let answers: Option<Vec<_>> =
                    keys.map(|key| self.answer_to(&key).map(str::to_owned)).collect();
                answers.map_or(Reply::Park, Reply::Answer)
            }
        }
    }

    fn call_tool(&mut self, tool: &str, input: &Value) -> Result<String, String> {
        let workspace = self.workspace;
        match tool {
            REPORT => {
                (self.request.check)("", Some(input))?;
                self.report = Some(input.clone());
                Ok(REPORT_ACCEPTED.to_owned())
            }
            PEER_SEND => agent_tools::send_to_peer(&workspace.ctx, &workspace.brief.phase, input),
            other => Err(format!("there is no tool {other}")),
        }
    }

    fn tools(&self) -> Vec<ToolSpec> {
        agent_tools::tool_specs(self.request.schema)
    }

    fn take_messages(&mut self) -> Vec<String> {
        self.peer_inbox.take_new().unwrap_or_else(|error| {
            self.workspace.note(&error.sentence());
            Vec::new()
        })
    }
}

fn permission_key(workspace: &PhaseWorkspace, request: &TurnRequest<'_>, id: &str) -> String {
    format!("{}/permission/{}/{id}", workspace.brief.phase, request.session_name)
}

fn question_key(
    workspace: &PhaseWorkspace,
    request: &TurnRequest<'_>,
    id: &str,
    n: usize,
) -> String {
    format!("{}/question/{}/{id}.{n}", workspace.brief.phase, request.session_name)
}

/// Returns the questions that a person gets on behalf of an agent.
pub(super) fn questions_to_person(
    workspace: &PhaseWorkspace,
    request: &TurnRequest<'_>,
    ask: &AgentRequest,
) -> Vec<inbox::InboxQuestion> {
    let (phase, role) = (&workspace.brief.phase, request.role.name());
    match ask {
        AgentRequest::Permission { id, tool, text, .. } => vec![inbox::InboxQuestion {
            key: permission_key(workspace, request, id),
            kind: QuestionKind::Permission,
            question: format!("Phase {phase}: may the {role} use {tool}: {text}?"),
            choices: [ALLOW, ALWAYS, DENY].map(str::to_owned).to_vec(),
        }],
        AgentRequest::Question { id, questions } => (1..)
            .zip(questions)
            .map(|(n, question)| inbox::InboxQuestion {
                key: question_key(workspace, request, id, n),
                kind: QuestionKind::Question,
                question: format!("Phase {phase}, the {role} asks: {}", question_text(question)),
                choices: question.choices.iter().map(|choice| choice.label.clone()).collect(),
            })
            .collect(),
    }
}

/// Returns the text of a question, with the descriptions of its choices in parentheses.
fn question_text(question: &AgentQuestion) -> String {
    let descriptions: Vec<_> = question
        .choices
        .iter()
        .filter(|choice| !choice.description.is_empty())
        .map(|choice| format!("{}: {}", choice.label, choice.description))
        .collect();
    match descriptions.as_slice() {
        [] => question.text.clone(),
        descriptions => format!("{} ({})", question.text, descriptions.join("; ")),
    }
}
