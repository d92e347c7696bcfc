//! Lets a coding agent do a piece of work, and says what came of it.
//!
//! Who is asked meanwhile is in `talk.rs`, what it is told in `prompt.rs`. What the agent says is data:
//! only what the caller's check accepts is taken, and an answer that nobody can read is asked for once
//! more.

use std::path::PathBuf;
use std::time::Instant;

use mow_core::money::{Budget, Money};
use mow_core::report::Brief;
use mow_core::worker::{Input, Outcome, Role};
use mow_host::agent::{self, Access, End, Kind, Session, ToolServer, Trouble, mcp};
use mow_host::process::TOKEN;
use mow_store::disk;
use serde_json::Value;

use super::desk::Desk;
use super::session::Kept;
use super::talk::{Talk, asks};
use crate::EngineError;
use crate::cast::Cast;
use crate::job;
use crate::site;
use crate::tools;

/// How often an answer is asked for that can be read.
const ANSWERS_MAX: u32 = 2;

/// Says what is wrong with an answer: its last words, or what was handed over.
pub(super) type Judge = dyn Fn(&str, Option<&Value>) -> Result<(), String>;

/// A piece of work for an agent.
pub(super) struct Work<'a> {
    pub(super) role: Role,
    /// What the session is kept under. A later job of the same name goes on in it.
    pub(super) name: String,
    /// What makes this job different from others in the same session.
    pub(super) job: String,
    pub(super) plan: Option<&'a str>,
    pub(super) prompt: String,
    pub(super) access: Access,
    /// The files whose changes are signs of life; without any, all.
    pub(super) files: &'a [String],
    /// The JSON Schema of its answer, where there has to be one.
    pub(super) schema: Option<&'static str>,
    /// Whether its answer will do.
    pub(super) check: &'a Judge,
}

/// What an agent said at its end.
pub(super) struct Words {
    pub(super) text: String,
    pub(super) handed_over: Option<Value>,
}

/// What came of a piece of work: its answer, or something that ends the effect.
pub(super) type Did = Result<Words, Outcome>;

impl Desk {
    /// Lets an agent do a piece of work; one that was parked with it goes on.
    pub(super) fn employ(&self, cast: &Cast, work: &Work<'_>) -> Result<Did, EngineError> {
        let kept = self.session(&work.name)?.filter(|kept| kept.agent == cast.agent);
        // Rounds are counted anew in each attempt; what a role waits for stays the same.
        let is_same = |kept: &Kept| work.plan.is_none() || kept.job == work.job;
        let (mut session, mut prompt) = match kept {
            Some(kept) if kept.parked && is_same(&kept) => {
                (Session::Resume(kept.session), String::new())
            }
            Some(kept) if kept.done => (Session::Resume(kept.session), work.prompt.clone()),
            _ => (Session::New, work.prompt.clone()),
        };
        let mut left = ANSWERS_MAX;
        loop {
            if let Some(reason) = self.over_budget()? {
                return Ok(Err(Outcome::Hopeless { reason, everybody: false }));
            }
            let (end, talk) = self.converse(cast, work, session.clone(), &prompt)?;
            let known = talk.session().or(match &session {
                Session::Resume(id) => Some(id.clone()),
                Session::New => None,
            });
            let words = match end {
                End::Failed { kind: Trouble::SessionUnknown, .. } if session != Session::New => {
                    (session, prompt) = (Session::New, work.prompt.clone());
                    continue;
                }
                End::Parked { ask } => {
                    self.note_end(cast, work, known, (true, false))?;
                    failpoint::reach("agent.parked");
                    return Ok(Err(Outcome::Asked { asks: asks(self, work, &ask) }));
                }
                End::Done { text } => Words { text, handed_over: talk.handed_over },
                other => {
                    let spent = matches!(other, End::Failed { kind: Trouble::Budget, .. });
                    let reason = if spent { self.over_budget()? } else { None };
                    let hopeless = |reason| Outcome::Hopeless { reason, everybody: false };
                    return Ok(Err(reason.map_or_else(|| refused(cast, other), hopeless)));
                }
            };
            left -= 1;
            let problem = match (work.check)(&words.text, words.handed_over.as_ref()) {
                Ok(()) => {
                    self.note_end(cast, work, known, (false, true))?;
                    failpoint::reach("agent.done");
                    return Ok(Ok(words));
                }
                Err(problem) => problem,
            };
            let Some(known) = known.filter(|_| left > 0) else {
                let reason = format!("the answer of {} cannot be used: {problem}", cast.agent);
                return Ok(Err(Outcome::Failed { reason }));
            };
            session = Session::Resume(known);
            prompt = format!(
                "Your answer cannot be used: {problem}. Do nothing else, and answer once more."
            );
        }
    }

    /// Runs an agent once, and counts what that used.
    fn converse<'a>(
        &'a self,
        cast: &'a Cast,
        work: &'a Work<'a>,
        session: Session,
        prompt: &str,
    ) -> Result<(End, Talk<'a>), EngineError> {
        let job = self.job(cast, work, session, prompt)?;
        let report = self.report_file(work);
        if !job.servers.is_empty() {
            disk::remove(&report)?;
        }
        let (mut talk, began) = (Talk::new(self, cast, work), Instant::now());
        failpoint::reach("agent.begins");
        let end = agent::run(cast.kind, &job, &mut talk, &self.stop);
        failpoint::reach("agent.ended");
        self.moves();
        if !job.servers.is_empty() {
            talk.handed_over = tools::read_report(&report)?;
        }
        let money = talk.used;
        *self.purse() += money;
        let whose = (work.role.name(), work.plan);
        self.tell(Input::Spent(job::spent(cast, whose, began, money)));
        failpoint::reach("agent.counted");
        if let Some(error) = talk.failed.take() {
            return Err(error);
        }
        let end = end.map_err(|error| EngineError::Host(error.into()))?;
        // One that is parked may not have come to what it was told last.
        if matches!(end, End::Done { .. }) {
            talk.remembers()?;
        }
        Ok((end, talk))
    }

    fn job(
        &self,
        cast: &Cast,
        work: &Work<'_>,
        session: Session,
        prompt: &str,
    ) -> Result<agent::Job, EngineError> {
        let config = self.site.config()?;
        let root = self.worktree.join(self.site.below_top());
        let minutes = |key: &str| site::minutes(&config, key);
        Ok(agent::Job {
            program: cast.program.clone(),
            args: cast.args.clone(),
            env: job::environment(cast, self.environment(None, &[])),
            cwd: root.clone(),
            prompt: prompt.to_owned(),
            system: None,
            model: cast.model.clone(),
            session,
            access: work.access,
            servers: if cast.kind == Kind::Acp { vec![self.server(work)] } else { Vec::new() },
            limits: job::limits(
                &self.budget()?,
                &self.spent(),
                minutes("multi_phase.worker_timeout_min"),
            ),
            log: self.log(&format!("{}-{}", work.name, work.job)),
            stuck_after: minutes("multi_phase.stuck_after_min"),
            watched: match work.files {
                [] => vec![root],
                files => files.iter().map(|file| root.join(file)).collect(),
            },
        })
    }

    /// Returns the file for what an agent hands over by [`Self::server`].
    fn report_file(&self, work: &Work<'_>) -> PathBuf {
        let attempt = (&self.brief.phase, self.brief.attempt);
        tools::report_file(&self.site.run, attempt, &work.name)
    }

    /// Returns the program that serves tools to an agent which cannot be served otherwise.
    fn server(&self, work: &Work<'_>) -> ToolServer {
        let Brief { phase, attempt, .. } = &self.brief;
        let env = [
            (TOKEN, self.site.token(phase, *attempt)),
            ("MOW_ROLE", "worker".to_owned()),
            ("MOW_RUN", self.site.run.run().to_owned()),
            ("MOW_PHASE", phase.to_string()),
            ("MOW_ATTEMPT", attempt.to_string()),
            ("MOW_ROLE_NAME", work.role.name().to_owned()),
            ("MOW_JOB", work.name.clone()),
        ];
        let root = self.site.project.root.display().to_string();
        ToolServer {
            name: mcp::NAME.to_owned(),
            command: self.site.exe.clone(),
            args: vec!["mcp".to_owned(), "--root".to_owned(), root],
            env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    fn note_end(
        &self,
        cast: &Cast,
        work: &Work<'_>,
        session: Option<String>,
        (parked, done): (bool, bool),
    ) -> Result<(), EngineError> {
        let Some(session) = session else { return Ok(()) };
        let (agent, job) = (cast.agent.clone(), work.job.clone());
        self.keep_session(&work.name, &Kept { agent, session, job, parked, done })
    }

    /// Returns what the phase may cost.
    fn budget(&self) -> Result<Budget, EngineError> {
        let config = self.site.config()?;
        Ok(site::budget(&config, "phase"))
    }

    /// Returns what the phase has cost so far, in all attempts.
    fn spent(&self) -> Money {
        let mut all = self.brief.spent;
        all += *self.purse();
        all
    }

    fn over_budget(&self) -> Result<Option<String>, EngineError> {
        let again = format!("mow resume {}", self.brief.phase);
        Ok(job::over_budget(&self.budget()?, &self.spent(), &again))
    }
}

/// Says what follows from an end that is not a good one.
fn refused(cast: &Cast, end: End) -> Outcome {
    let (kind, text) = match end {
        End::Failed { kind, text } => (kind, text),
        End::Stopped => return Outcome::Interrupted,
        End::Done { text } => (Trouble::Other, text),
        End::Parked { .. } => (Trouble::Other, "it waits".to_owned()),
    };
    let agent = &cast.agent;
    match kind {
        Trouble::NotInstalled => {
            let reason = format!("{agent} is not installed: {text}; `mow agents` says what to do");
            Outcome::Hopeless { reason, everybody: true }
        }
        kind if kind.is_terminal() => {
            let reason = format!("{agent} cannot work: {text}; `mow agents` says what to do");
            Outcome::Hopeless { reason, everybody: true }
        }
        Trouble::Budget => {
            let reason = format!("{agent} has spent what it may: {text}");
            Outcome::Hopeless { reason, everybody: false }
        }
        Trouble::RateLimited { retry_after_ms } => {
            let reason = format!("{agent} is limited for now: {text}");
            Outcome::Later { reason, wait_ms: retry_after_ms }
        }
        kind if kind.is_passing() => {
            let reason = format!("the model of {agent} does not answer: {text}");
            Outcome::Later { reason, wait_ms: None }
        }
        kind => Outcome::Failed { reason: format!("{agent} {}{text}", how_it_failed(kind)) },
    }
}

/// Says how an agent failed, where its own words may not.
fn how_it_failed(kind: Trouble) -> &'static str {
    match kind {
        Trouble::TimedOut => "took too long: ",
        Trouble::Garbage => "says what nobody understands: ",
        Trouble::Flood => "says too much: ",
        Trouble::NoResult => "ended without a result: ",
        Trouble::Crashed => "crashed: ",
        Trouble::Turns => "went to its model as often as it may: ",
        _ => "failed: ",
    }
}
