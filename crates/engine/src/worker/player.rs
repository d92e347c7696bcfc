//! Roles that coding agents play: what each has to leave behind, and what that means.

use mow_core::item::{Ask, ItemKind};
use mow_core::said::{
    Discussion, Review, Said, TaskReport, TaskStatus, Verification, VerificationVerdict,
};
use mow_core::worker::{Outcome, Role, Verdict, discuss_key};
use mow_host::agent::Access;
use mow_prompts::Variable;
use mow_store::disk;
use serde_json::Value;

use super::agent::{Did, Judge, Words, Work};
use super::desk::Desk;
use super::role::Played;
use super::task::Job;
use crate::EngineError;
use crate::cast::{self, Cast};
use crate::tools;

/// Reads an answer: what was handed over counts before the last words.
fn read<T: Said>(text: &str, handed_over: Option<&Value>) -> Result<T, String> {
    let read = handed_over.map_or_else(|| T::parse(text), T::from_value);
    read.map_err(|error| error.to_string())
}

fn check<T: Said>(text: &str, handed_over: Option<&Value>) -> Result<(), String> {
    read::<T>(text, handed_over).map(drop)
}

fn any(_: &str, _: Option<&Value>) -> Result<(), String> {
    Ok(())
}

impl Words {
    fn read<T: Said>(&self) -> Result<T, EngineError> {
        read(&self.text, self.handed_over.as_ref())
            .map_err(|error| EngineError::refused(error, "mow log shows what was said"))
    }
}

impl Desk {
    /// Returns the agent that plays a role.
    pub(super) fn cast(&self, role: Role) -> Result<Option<Cast>, EngineError> {
        Ok(cast::cast(&self.site.config()?, role.name()))
    }

    /// Lets an agent play a role.
    pub(super) fn play(&self, cast: &Cast, role: Role, round: u32) -> Result<Played, EngineError> {
        let check: &Judge = match role {
            Role::Discusser => &check::<Discussion>,
            Role::PlanChecker => &check::<Review>,
            Role::Verifier => &check::<Verification>,
            Role::Executor => &check::<TaskReport>,
            Role::Researcher | Role::Planner => &any,
        };
        let access = match role {
            Role::Discusser | Role::PlanChecker => Access::Read,
            _ => Access::Edit,
        };
        let findings = self.phase_dir().join(format!("{}-VERIFICATION.md", self.padded()));
        let findings = (Variable::Findings, self.existing(&findings));
        let work = Work {
            role,
            // A planner who is told what was wrong remembers why it wrote what it wrote.
            name: role.name().to_owned(),
            job: round.to_string(),
            plan: None,
            prompt: self.prompt(role, round, &[findings])?,
            access,
            files: &[],
            schema: tools::schema(role),
            check,
        };
        let words = match self.employ(cast, &work)? {
            Ok(words) => words,
            Err(outcome) => return Ok(Played::Ended(outcome)),
        };
        self.judge_words(role, round, &words)
    }

    fn judge_words(&self, role: Role, round: u32, words: &Words) -> Result<Played, EngineError> {
        Ok(match role {
            Role::Discusser => {
                let asks = self.questions(&words.read::<Discussion>()?, round);
                let is_clear = asks.is_empty();
                Played::Ended(if is_clear { Outcome::Done } else { Outcome::Asked { asks } })
            }
            Role::PlanChecker => {
                let review: Review = words.read()?;
                Played::Verdict(self.take_review(&review)?)
            }
            Role::Verifier => {
                let said: Verification = words.read()?;
                let text = said.gaps.join("; ");
                Played::Verdict(match said.verdict {
                    VerificationVerdict::Passed => Verdict::Passed,
                    VerificationVerdict::GapsFound => Verdict::Gaps { text },
                    VerificationVerdict::HumanNeeded => Verdict::HumanNeeded { text },
                })
            }
            Role::Researcher | Role::Planner | Role::Executor => Played::Well,
        })
    }

    fn questions(&self, said: &Discussion, round: u32) -> Vec<Ask> {
        let phase = self.brief.phase.to_string();
        let asks = (1..).zip(&said.questions).map(|(n, question)| Ask {
            key: discuss_key(&phase, round + 1, n),
            kind: ItemKind::Discuss,
            question: question.with_topic(),
            choices: question.choices.clone(),
        });
        asks.collect()
    }

    /// Writes down what the checker found, for the planner to read.
    fn take_review(&self, review: &Review) -> Result<Verdict, EngineError> {
        let line = |issue: &mow_core::said::Issue| {
            let plan = issue.plan.as_deref().unwrap_or("all plans");
            let hint = issue.fix_hint.as_deref().map(|hint| format!(" Fix: {hint}"));
            let (severity, hint) = (format!("{:?}", issue.severity), hint.unwrap_or_default());
            format!("- {plan} ({}): {}{hint}\n", severity.to_lowercase(), issue.description)
        };
        let text: String = review.issues.iter().map(line).collect();
        disk::put(&self.log("review"), text.as_bytes())?;
        failpoint::reach("review.written");
        let first = review.blockers().next().map(|issue| issue.description.clone());
        Ok(first.map_or(Verdict::Passed, |text| Verdict::Gaps { text }))
    }

    /// Lets an agent do a task; returns an outcome when that is the end of it.
    ///
    /// One session does all tasks of a plan, a turn for each: the commit and its checks come between.
    pub(super) fn act_by_agent(
        &self,
        cast: &Cast,
        job: &Job<'_>,
        (plan, number): (&str, usize),
    ) -> Result<Option<Outcome>, EngineError> {
        let file = self.phase_dir().join(super::look::plan_file(plan));
        let values = [
            (Variable::Plan, plan.to_owned()),
            (Variable::PlanFile, file.display().to_string()),
            (Variable::Task, number.to_string()),
            (Variable::TaskName, job.task.name.clone()),
        ];
        let work = Work {
            role: Role::Executor,
            name: session_of(plan),
            job: number.to_string(),
            plan: Some(plan),
            prompt: self.prompt(Role::Executor, 0, &values)?,
            access: Access::Edit,
            files: job.files,
            schema: tools::schema(Role::Executor),
            check: &check::<TaskReport>,
        };
        let did: Did = self.employ(cast, &work)?;
        let words = match did {
            Ok(words) => words,
            Err(outcome) => return Ok(Some(outcome)),
        };
        let report: TaskReport = words.read()?;
        for decision in &report.decisions {
            self.note(&format!("plan {plan}, task {number}: decided: {decision}"));
        }
        for left in &report.deferred {
            self.note(&format!("plan {plan}, task {number}: left for later: {left}"));
        }
        let blocker = report.blocker.filter(|_| report.status == TaskStatus::Blocked);
        Ok(blocker.map(|text| Outcome::Blocked { text }))
    }
}

/// Returns what the session for a plan is kept under.
pub(super) fn session_of(plan: &str) -> String {
    format!("executor-{plan}")
}
