//! Runs roles and tasks with coding agents: which reply each role owes, and what the reply means.

use mow_core::agent_answer::{
    AgentAnswer, Discussion, Review, ReviewIssue, TaskReport, TaskStatus, VerificationReport,
    VerificationVerdict,
};
use mow_core::inbox::{InboxQuestion, QuestionKind, QuestionTopic};
use mow_core::worker::{Outcome, Role, Verdict};
use mow_host::agent::Access;
use mow_prompts::Variable;
use mow_store::disk;
use serde_json::Value;

use super::agent_sessions::executor_session;
use super::agent_turn::{AgentReply, AgentTurn, ReplyCheck, TurnRequest};
use super::knowledge::PhaseKnowledge;
use super::phase_workspace::PhaseWorkspace;
use super::plan_files::plan_file_name;
use super::prompt::{path_if_exists, role_prompt};
use super::role_runner::RoleResult;
use super::task_runner::TaskJob;
use crate::EngineError;
use crate::agent_config::AgentConfig;
use crate::agent_tools;

/// Reads a reply: the report if there is one, else the text.
fn read<T: AgentAnswer>(text: &str, report: Option<&Value>) -> Result<T, String> {
    let read = report.map_or_else(|| T::parse(text), T::from_value);
    read.map_err(|error| error.to_string())
}

fn check<T: AgentAnswer>(text: &str, report: Option<&Value>) -> Result<(), String> {
    read::<T>(text, report).map(drop)
}

fn accept_any(_: &str, _: Option<&Value>) -> Result<(), String> {
    Ok(())
}

impl AgentReply {
    fn read<T: AgentAnswer>(&self) -> Result<T, EngineError> {
        read(&self.text, self.report.as_ref())
            .map_err(|error| EngineError::refused(error, "`mow log` shows the agent's reply"))
    }
}

/// Runs roles and tasks with agents.
#[derive(Clone, Copy)]
pub(super) struct AgentRoles<'a> {
    workspace: &'a PhaseWorkspace,
}

impl<'a> AgentRoles<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace }
    }

    /// Runs a role with an agent.
    pub(super) fn run(
        &self,
        agent: &AgentConfig,
        role: Role,
        round: u32,
    ) -> Result<RoleResult, EngineError> {
        let workspace = self.workspace;
        let check: &ReplyCheck = match role {
            Role::Discusser => &check::<Discussion>,
            Role::PlanChecker => &check::<Review>,
            Role::Verifier => &check::<VerificationReport>,
            Role::Executor => &check::<TaskReport>,
            Role::Researcher | Role::Planner => &accept_any,
        };
        let access = match role {
            Role::Discusser | Role::PlanChecker => Access::Read,
            _ => Access::Edit,
        };
        let findings = path_if_exists(&workspace.document("VERIFICATION"));
        let findings = (Variable::Findings, findings);
        let request = TurnRequest {
            role,
            // All rounds share a session, so a planner remembers why it wrote the rejected plans.
            session_name: role.name().to_owned(),
            job: round.to_string(),
            plan: None,
            prompt: role_prompt(workspace, role, round, &[findings])?,
            access,
            files: &[],
            schema: agent_tools::report_schema(role),
            check,
        };
        let reply = match (AgentTurn { workspace, agent, request: &request }).run()? {
            Ok(reply) => reply,
            Err(outcome) => return Ok(RoleResult::Ended(outcome)),
        };
        self.interpret(role, round, &reply)
    }

    /// Turns the reply of a role into its result.
    fn interpret(
        &self,
        role: Role,
        round: u32,
        reply: &AgentReply,
    ) -> Result<RoleResult, EngineError> {
        Ok(match role {
            Role::Discusser => {
                let asks = self.discussion_questions(&reply.read::<Discussion>()?, round);
                let is_clear = asks.is_empty();
                RoleResult::Ended(if is_clear { Outcome::Done } else { Outcome::Asked { asks } })
            }
            Role::PlanChecker => {
                let review: Review = reply.read()?;
                RoleResult::Verdict(self.save_review(&review)?)
            }
            Role::Verifier => {
                let verification: VerificationReport = reply.read()?;
                let text = verification.gaps.join("; ");
                RoleResult::Verdict(match verification.verdict {
                    VerificationVerdict::Passed => Verdict::Passed,
                    VerificationVerdict::GapsFound => Verdict::Gaps { text },
                    VerificationVerdict::HumanNeeded => Verdict::HumanNeeded { text },
                })
            }
            Role::Researcher | Role::Planner | Role::Executor => RoleResult::Completed,
        })
    }

    fn discussion_questions(&self, discussion: &Discussion, round: u32) -> Vec<InboxQuestion> {
        let asks = (1..).zip(&discussion.questions).map(|(number, question)| {
            let topic = QuestionTopic::Discuss { round: round + 1, number };
            let key = topic.of_phase(self.workspace.brief.phase);
            InboxQuestion::new(key, QuestionKind::Discuss, question.with_topic())
                .with_choices(question.choices.clone())
        });
        asks.collect()
    }

    /// Writes the issues of a plan checker to a file that the planner reads; returns its verdict.
    fn save_review(&self, review: &Review) -> Result<Verdict, EngineError> {
        let line = |issue: &ReviewIssue| {
            let plan = issue.plan.as_deref().unwrap_or("all plans");
            let hint = issue.fix_hint.as_deref().map(|hint| format!(" Fix: {hint}"));
            let (severity, hint) = (format!("{:?}", issue.severity), hint.unwrap_or_default());
            format!("- {plan} ({}): {}{hint}\n", severity.to_lowercase(), issue.description)
        };
        let text: String = review.issues.iter().map(line).collect();
        disk::write_engine_file(&self.workspace.log_file("review"), text.as_bytes())?;
        failpoint::reach("review.written");
        let first = review.blockers().next().map(|issue| issue.description.clone());
        Ok(first.map_or(Verdict::Passed, |text| Verdict::Gaps { text }))
    }

    /// Runs a task with an agent; returns an outcome if the task ends here.
    ///
    /// One session does all tasks of a plan, one turn for each. The commit and its checks come
    /// between two turns.
    pub(super) fn run_task(
        &self,
        agent: &AgentConfig,
        job: &TaskJob<'_>,
    ) -> Result<Option<Outcome>, EngineError> {
        let (workspace, (plan, number)) = (self.workspace, job.id);
        let file = workspace.phase_dir().join(plan_file_name(plan));
        let values = [
            (Variable::Plan, plan.to_owned()),
            (Variable::PlanFile, file.display().to_string()),
            (Variable::Task, number.to_string()),
            (Variable::TaskName, job.task.name.clone()),
        ];
        let request = TurnRequest {
            role: Role::Executor,
            session_name: executor_session(plan),
            job: number.to_string(),
            plan: Some(plan),
            prompt: role_prompt(workspace, Role::Executor, 0, &values)?,
            access: Access::Edit,
            files: job.files,
            schema: agent_tools::report_schema(Role::Executor),
            check: &check::<TaskReport>,
        };
        let reply = match (AgentTurn { workspace, agent, request: &request }).run()? {
            Ok(reply) => reply,
            Err(outcome) => return Ok(Some(outcome)),
        };
        let report: TaskReport = reply.read()?;
        PhaseKnowledge::new(workspace).record(job.id, &report)?;
        let blocker = report.blocker.filter(|_| report.status == TaskStatus::Blocked);
        Ok(blocker.map(|text| Outcome::Blocked { text }))
    }
}
