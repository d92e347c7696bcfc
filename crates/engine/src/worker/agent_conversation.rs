//! Answers an agent's requests during a turn: permissions, questions to people, tools, messages
//! from other phases, and its final report.

use std::path::Path;

use mow_core::inbox::{
    AnswerChoice, InboxQuestion, QuestionKey, QuestionKind, QuestionSubject, QuestionTopic,
};
use mow_core::money::Spending;
use mow_host::agent::{AgentCallbacks, AgentRequest, Event, Reply, ToolSpec};
use mow_store::config;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use serde_json::{Value, json};

use super::agent_sessions::{AgentSessions, SavedSession};
use super::agent_turn::TurnRequest;
use super::permission_subject::subject_action;
use super::phase_workspace::PhaseWorkspace;
use crate::EngineError;
use crate::activity::ActivityStream;
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
    /// Shows people what the agent says and does.
    activity: ActivityStream,
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
        let activity = request.activity_stream(workspace);
        Self { workspace, agent, request, session, peer_inbox, activity, used, report, error }
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
    fn answer_to(&self, key: &QuestionKey) -> Option<&'a str> {
        let answers = &self.workspace.brief.answers;
        answers.iter().rev().find(|answer| answer.key == *key).map(|answer| answer.text.as_str())
    }

    /// Decides by the project's rules, then by a person's answer. Without either, parks the agent.
    fn decide_permission(&mut self, key: &QuestionKey, tool: &str, input: &Value) -> Reply {
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
        self.activity.record_event(&event);
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
            Event::Text(_) | Event::Tool(_) | Event::ToolEnded(_) | Event::Retry { .. } => {}
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

fn permission_key(workspace: &PhaseWorkspace, request: &TurnRequest<'_>, id: &str) -> QuestionKey {
    let (session, request) = (request.session_name.clone(), id.to_owned());
    QuestionTopic::Permission { session, request }.of_phase(workspace.brief.phase)
}

fn question_key(
    workspace: &PhaseWorkspace,
    request: &TurnRequest<'_>,
    id: &str,
    number: usize,
) -> QuestionKey {
    let (session, request) = (request.session_name.clone(), id.to_owned());
    QuestionTopic::AgentQuestion { session, request, number }.of_phase(workspace.brief.phase)
}

/// Returns the questions that a person gets on behalf of an agent.
pub(super) fn questions_to_person(
    workspace: &PhaseWorkspace,
    request: &TurnRequest<'_>,
    ask: &AgentRequest,
) -> Vec<InboxQuestion> {
    let (phase, role) = (&workspace.brief.phase, request.role.name());
    match ask {
        AgentRequest::Permission { id, tool, input, text } => {
            let key = permission_key(workspace, request, id);
            let question = format!("Phase {phase}: may the {role} use {tool}: {text}?");
            let rule = permission::exact_rule(tool, input);
            let subject = QuestionSubject {
                tool: Some(tool.clone()),
                action: Some(subject_action(input)),
                ..question_subject(workspace, request)
            };
            let choices = [
                AnswerChoice::described(ALLOW, "this time"),
                AnswerChoice::described(ALWAYS, format!("adds the rule {rule} to the settings")),
                AnswerChoice::described(DENY, "the agent is told and continues"),
            ];
            let ask = InboxQuestion::new(key, QuestionKind::Permission, question);
            vec![ask.with_choices(choices).with_subject(subject)]
        }
        AgentRequest::Question { id, questions } => (1..)
            .zip(questions)
            .map(|(n, question)| {
                let key = question_key(workspace, request, id, n);
                let text = format!("Phase {phase}, the {role} asks: {}", question.text);
                let choices = question.choices.iter();
                let choices = choices.map(|c| AnswerChoice::described(&*c.label, &*c.description));
                InboxQuestion::new(key, QuestionKind::Question, text)
                    .with_choices(choices)
                    .with_subject(question_subject(workspace, request))
            })
            .collect(),
    }
}

/// Returns the place and the task that a question of an agent is about.
fn question_subject(workspace: &PhaseWorkspace, request: &TurnRequest<'_>) -> QuestionSubject {
    let is_task = request.plan.is_some();
    QuestionSubject {
        directory: Some(workspace.worktree.display().to_string()),
        role: Some(request.role.name().to_owned()),
        plan: request.plan.map(str::to_owned),
        task: is_task.then(|| request.job.parse().ok()).flatten(),
        ..QuestionSubject::default()
    }
}
