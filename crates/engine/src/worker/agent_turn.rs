//! Runs one turn of a coding agent and returns its reply, or the outcome that ends the effect.
//!
//! `agent_conversation.rs` answers the agent's requests during the turn; `prompt.rs` builds its
//! prompt. The agent's reply is data: only a reply that the caller's check accepts is used. The
//! agent is asked once more for a reply that cannot be read.

use std::path::PathBuf;
use std::time::Instant;

use mow_core::money::{Budget, Spending};
use mow_core::report::Brief;
use mow_core::worker::{Input, Outcome, Role};
use mow_host::agent::{
    self, Access, AgentKind, AgentOutcome, AgentSession, FailureKind, ToolServer, mcp,
};
use mow_store::disk;
use serde_json::Value;

use super::agent_conversation::{AgentConversation, questions_to_person};
use super::agent_sessions::{AgentSessions, SavedSession};
use super::phase_workspace::PhaseWorkspace;
use super::script;
use crate::EngineError;
use crate::activity::ActivityStream;
use crate::agent_config::AgentConfig;
use crate::agent_job;
use crate::agent_tools;
use crate::run_context;

/// How many replies an agent may give until one can be used.
const REPLIES_MAX: u32 = 2;

/// Says what is wrong with a reply: with its report if there is one, else with its text.
pub(super) type ReplyCheck = dyn Fn(&str, Option<&Value>) -> Result<(), String>;

/// What an agent is asked to do in a turn.
pub(super) struct TurnRequest<'a> {
    pub(super) role: Role,
    /// The name that the session is saved under. A later job of the same name continues it.
    pub(super) session_name: String,
    /// Tells this job from others in the same session: a task number, or a round of a role.
    pub(super) job: String,
    /// The plan of an executor; `None` for other roles.
    pub(super) plan: Option<&'a str>,
    pub(super) prompt: String,
    pub(super) access: Access,
    /// The files whose changes show that the agent is active. Empty means the whole worktree.
    pub(super) files: &'a [String],
    /// The JSON Schema of the reply; `None` if free text will do.
    pub(super) schema: Option<&'static str>,
    /// Decides whether the reply can be used.
    pub(super) check: &'a ReplyCheck,
}

impl TurnRequest<'_> {
    /// Returns the stream that shows people what the agent does in this turn.
    pub(super) fn activity_stream(&self, workspace: &PhaseWorkspace) -> ActivityStream {
        // The job of an executor is a task; the job of another role is a round.
        let task = self.plan.zip(self.job.parse().ok());
        workspace.activity_stream(self.role.name(), task)
    }
}

/// The final reply of an agent.
pub(super) struct AgentReply {
    pub(super) text: String,
    /// What the agent gave to the report tool. It counts before the text.
    pub(super) report: Option<Value>,
}

/// The reply of an agent, or the outcome that ends the effect.
pub(super) type TurnResult = Result<AgentReply, Outcome>;

/// One turn of an agent.
pub(super) struct AgentTurn<'a> {
    pub(super) workspace: &'a PhaseWorkspace,
    pub(super) agent: &'a AgentConfig,
    pub(super) request: &'a TurnRequest<'a>,
}

impl<'a> AgentTurn<'a> {
    /// Runs the agent until its reply can be used. A parked session of this job is resumed.
    pub(super) fn run(&self) -> Result<TurnResult, EngineError> {
        let (mut session, mut prompt) = self.first_session()?;
        let mut replies_left = REPLIES_MAX;
        loop {
            if let Some(reason) = self.over_budget()? {
                return Ok(Err(Outcome::PermanentFailure { reason, affects_all_phases: false }));
            }
            let (end, conversation) = self.run_once(session.clone(), &prompt)?;
            let session_id = conversation.session().or(match &session {
                AgentSession::Resume(id) => Some(id.clone()),
                AgentSession::New => None,
            });
            let reply = match end {
                AgentOutcome::Failed { kind: FailureKind::SessionUnknown, .. }
                    if session != AgentSession::New =>
                {
                    (session, prompt) = (AgentSession::New, self.request.prompt.clone());
                    continue;
                }
                AgentOutcome::Parked { ask } => {
                    self.save_session(session_id, (true, false))?;
                    failpoint::reach("agent.parked");
                    let asks = questions_to_person(self.workspace, self.request, &ask);
                    return Ok(Err(Outcome::Asked { asks }));
                }
                AgentOutcome::Done { text } => AgentReply { text, report: conversation.report },
                other => {
                    let is_spent = matches!(
                        other,
                        AgentOutcome::Failed { kind: FailureKind::BudgetExceeded, .. }
                    );
                    let reason = if is_spent { self.over_budget()? } else { None };
                    let hopeless =
                        |reason| Outcome::PermanentFailure { reason, affects_all_phases: false };
                    let failed = || failure_outcome(self.agent, other);
                    return Ok(Err(reason.map_or_else(failed, hopeless)));
                }
            };
            replies_left -= 1;
            let problem = match (self.request.check)(&reply.text, reply.report.as_ref()) {
                Ok(()) => {
                    self.save_session(session_id, (false, true))?;
                    failpoint::reach("agent.done");
                    return Ok(Ok(reply));
                }
                Err(problem) => problem,
            };
            let Some(session_id) = session_id.filter(|_| replies_left > 0) else {
                let agent = &self.agent.name;
                let reason = format!("the answer of {agent} cannot be used: {problem}");
                return Ok(Err(Outcome::Failed { reason }));
            };
            session = AgentSession::Resume(session_id);
            prompt = format!(
                "Your answer cannot be used: {problem}. Do nothing else, and answer once more."
            );
        }
    }

    /// Returns the session to begin with, and its prompt. A parked session needs no prompt.
    fn first_session(&self) -> Result<(AgentSession, String), EngineError> {
        let request = self.request;
        let saved = AgentSessions::new(self.workspace).load(&request.session_name)?;
        let saved = saved.filter(|saved| saved.agent == self.agent.name);
        // Each attempt counts rounds anew, so a role's parked session continues in any round.
        let is_same_job = |saved: &SavedSession| request.plan.is_none() || saved.job == request.job;
        Ok(match saved {
            Some(saved) if saved.parked && is_same_job(&saved) => {
                (AgentSession::Resume(saved.session), String::new())
            }
            Some(saved) if saved.done => {
                (AgentSession::Resume(saved.session), request.prompt.clone())
            }
            _ => (AgentSession::New, request.prompt.clone()),
        })
    }

    /// Runs the agent once and counts what it used.
    fn run_once(
        &self,
        session: AgentSession,
        prompt: &str,
    ) -> Result<(AgentOutcome, AgentConversation<'a>), EngineError> {
        let (workspace, request) = (self.workspace, self.request);
        let job = self.job(session, prompt)?;
        let report = self.report_file();
        if !job.tool_servers.is_empty() {
            disk::remove_engine_file(&report)?;
        }
        let mut conversation = AgentConversation::new(workspace, self.agent, request);
        let began = Instant::now();
        failpoint::reach("agent.begins");
        let activity = request.activity_stream(workspace);
        activity.agent_started(&self.agent.name, &job.log);
        let end = agent::run(self.agent.kind, &job, &mut conversation, &workspace.stop);
        activity.agent_ended(&end);
        failpoint::reach("agent.ended");
        workspace.report_active();
        if !job.tool_servers.is_empty() {
            conversation.report = agent_tools::read_report(&report)?;
        }
        let used = conversation.used;
        *workspace.usage() += used;
        let user = (request.role.name(), request.plan);
        workspace.send(Input::Spent(agent_job::spending_record(self.agent, user, began, used)));
        failpoint::reach("agent.counted");
        if let Some(error) = conversation.error.take() {
            return Err(error);
        }
        let end = end?;
        // A parked agent may not have read the last messages.
        if matches!(end, AgentOutcome::Done { .. }) {
            conversation.acknowledge_peer_messages()?;
        }
        Ok((end, conversation))
    }

    fn job(&self, session: AgentSession, prompt: &str) -> Result<agent::AgentJob, EngineError> {
        let (workspace, agent, request) = (self.workspace, self.agent, self.request);
        let config = workspace.ctx.config()?;
        let root = workspace.worktree.join(workspace.ctx.below_top());
        let minutes = |key: &str| run_context::minutes_setting(&config, key);
        Ok(agent::AgentJob {
            program: agent.program.clone(),
            args: agent.args.clone(),
            env: agent_job::environment(agent, script::environment(workspace, None, &[])),
            marks: workspace.marks(),
            cwd: root.clone(),
            prompt: prompt.to_owned(),
            model: agent.model.clone(),
            session,
            access: request.access,
            tool_servers: if agent.kind == AgentKind::Acp {
                vec![self.tool_server()]
            } else {
                Vec::new()
            },
            limits: agent_job::limits(
                &self.budget()?,
                &self.spent(),
                minutes("multi_phase.worker_timeout_min"),
            ),
            log: workspace.log_file(&format!("{}-{}", request.session_name, request.job)),
            stuck_after: minutes("multi_phase.stuck_after_min"),
            watched_paths: match request.files {
                [] => vec![root],
                files => files.iter().map(|file| root.join(file)).collect(),
            },
        })
    }

    /// Returns the file that [`Self::tool_server`] writes the agent's report to.
    fn report_file(&self) -> PathBuf {
        let Brief { phase, attempt, .. } = &self.workspace.brief;
        let run = &self.workspace.ctx.run;
        agent_tools::report_file(run, (phase, *attempt), &self.request.session_name)
    }

    /// Returns the tool server process for an agent that cannot call mow's tools in its own
    /// protocol.
    fn tool_server(&self) -> ToolServer {
        let (ctx, request) = (&self.workspace.ctx, self.request);
        let mut env = self.workspace.marks().variables();
        env.push(("MOW_ROLE_NAME", request.role.name().to_owned()));
        env.push(("MOW_JOB", request.session_name.clone()));
        let root = ctx.project.root.display().to_string();
        ToolServer {
            name: mcp::SERVER_NAME.to_owned(),
            command: ctx.exe.clone(),
            args: vec!["mcp".to_owned(), "--root".to_owned(), root],
            env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    fn save_session(
        &self,
        session: Option<String>,
        (parked, done): (bool, bool),
    ) -> Result<(), EngineError> {
        let Some(session) = session else { return Ok(()) };
        let (agent, job) = (self.agent.name.clone(), self.request.job.clone());
        let saved = SavedSession { agent, session, job, parked, done };
        AgentSessions::new(self.workspace).save(&self.request.session_name, &saved)
    }

    /// Returns the budget of the phase.
    fn budget(&self) -> Result<Budget, EngineError> {
        let config = self.workspace.ctx.config()?;
        Ok(run_context::budget(&config, "phase"))
    }

    /// Returns what all attempts of the phase have cost so far.
    fn spent(&self) -> Spending {
        let mut all = self.workspace.brief.spent;
        all += *self.workspace.usage();
        all
    }

    fn over_budget(&self) -> Result<Option<String>, EngineError> {
        let again = format!("mow resume {}", self.workspace.brief.phase);
        Ok(agent_job::over_budget(&self.budget()?, &self.spent(), &again))
    }
}

/// Returns the outcome of a turn that ended without a reply.
fn failure_outcome(agent: &AgentConfig, end: AgentOutcome) -> Outcome {
    let (kind, text) = match end {
        AgentOutcome::Failed { kind, text } => (kind, text),
        AgentOutcome::Stopped => return Outcome::Interrupted,
        AgentOutcome::Done { text } => (FailureKind::Other, text),
        AgentOutcome::Parked { .. } => (FailureKind::Other, "it waits".to_owned()),
    };
    let agent = &agent.name;
    match kind {
        FailureKind::NotInstalled => {
            let reason = format!("{agent} is not installed: {text}; `mow agents` says what to do");
            Outcome::PermanentFailure { reason, affects_all_phases: true }
        }
        kind if kind.needs_person() => {
            let reason = format!("{agent} cannot work: {text}; `mow agents` says what to do");
            Outcome::PermanentFailure { reason, affects_all_phases: true }
        }
        FailureKind::BudgetExceeded => {
            let reason = format!("{agent} has reached its budget: {text}");
            Outcome::PermanentFailure { reason, affects_all_phases: false }
        }
        FailureKind::RateLimited { retry_after_ms } => {
            let reason = format!("{agent} is rate-limited: {text}");
            Outcome::RetryLater { reason, wait_ms: retry_after_ms }
        }
        kind if kind.is_transient() => {
            let reason = format!("the model of {agent} does not answer: {text}");
            Outcome::RetryLater { reason, wait_ms: None }
        }
        kind => Outcome::Failed { reason: format!("{agent} {}{text}", failure_prefix(kind)) },
    }
}

/// Names the kind of a failure, which the agent's own text may not do.
fn failure_prefix(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::TimedOut => "took too long: ",
        FailureKind::InvalidOutput => "sent output that mow cannot read: ",
        FailureKind::TooMuchOutput => "sent too much output: ",
        FailureKind::NoResult => "ended without a result: ",
        FailureKind::Crashed => "crashed: ",
        FailureKind::TurnLimitReached => "reached its turn limit: ",
        _ => "failed: ",
    }
}
