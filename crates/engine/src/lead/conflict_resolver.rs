//! Runs a coding agent that resolves the conflicts of a merge, and verifies its work.
//!
//! The agent's report is not trusted. It may change only files that one of the two sides changed,
//! and the checks of the phases in conflict must pass on the result. No person is asked meanwhile:
//! a permission that no rule of the project grants is denied.

use std::collections::BTreeSet;
use std::time::Instant;

use mow_core::money::Spending;
use mow_core::phase::PhaseNumber;
use mow_host::agent::{
    self, Access, AgentCallbacks, AgentJob, AgentOutcome, AgentRequest, AgentSession, Event,
    FailureKind, Reply, ToolSpec,
};
use mow_host::git::{Git, parse_names};
use mow_host::scratch_worktree;
use mow_host::stop_signal::StopSignal;
use mow_host::tamper_detection::{GitSettings, REFLOG_ACTION_VARIABLE, branches_moved_by};
use mow_prompts::{Prompt, PromptValues, Variable};
use mow_store::config::Config;
use mow_store::phase_dirs::{self, PhaseFileKind};
use mow_store::roadmap::{self, PhaseLookup};
use mow_store::{disk, plan};
use serde_json::Value;

use super::effects::RepositoryAccess;
use super::merge_check::{ConflictedMerge, MergeCheck, RESOLVER, has_conflict_markers};
use crate::EngineError;
use crate::activity::ActivityStream;
use crate::agent_config::AgentConfig;
use crate::link::LocalWorktree;
use crate::permission::{Permission, check_permission};
use crate::worker::{check_commands, describe_failure};
use crate::{agent_job, git_integrity, run_context};

/// The most characters of an agent's final text in a reason.
const TEXT_CHARS_MAX: usize = 300;

/// A check, and the phase that it belongs to.
pub(super) type PhaseCheck = (PhaseNumber, String);

impl MergeCheck<'_> {
    /// Lets an agent resolve conflicts; returns why its work cannot be used.
    pub(super) fn resolve_by_agent(
        &self,
        agent: &AgentConfig,
        conflict: &ConflictedMerge<'_>,
        repository: &RepositoryAccess,
    ) -> Result<Option<String>, EngineError> {
        let (git, config) = (conflict.git, self.ctx.config()?);
        let (before, settings) = (snapshot(git)?, git_integrity::load_settings(git)?);
        let unmarked =
            conflict.files.iter().filter(|file| !has_conflict_markers(conflict.git, file));
        let unmarked: Vec<_> = unmarked.map(|file| file.path.as_str()).collect();
        let (job, began) = (self.job(agent, conflict)?, Instant::now());
        let activity = self.activity(RESOLVER, git);
        activity.agent_started(&agent.name, &job.log);
        let used = Spending::default();
        let mut callbacks = ResolverCallbacks { config: &config, activity: &activity, used };
        let stop = StopSignal::new().map_err(EngineError::io("make a pipe"))?;
        let end = agent::run(agent.kind, &job, &mut callbacks, &stop);
        activity.agent_ended(&end);
        let mut spent = self.spent.get();
        spent += callbacks.used;
        self.spent.set(spent);
        if let Some(phase) = self.phase {
            repository.report_spending(
                *phase,
                agent_job::spending_record(agent, (RESOLVER, None), began, callbacks.used),
            );
        }
        // An agent that failed may have tampered with the repository, too.
        let tampering = self.detect_tampering(git, &settings)?;
        let text = match end? {
            AgentOutcome::Done { text } => text,
            end => {
                let failed = self.failure_reason(agent, end)?;
                let all: Vec<_> = [Some(failed), tampering].into_iter().flatten().collect();
                return Ok(Some(all.join("; ")));
            }
        };
        let problem = match tampering {
            None => self.find_violation(conflict, &before, &unmarked)?,
            some => some,
        };
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = text.chars().take(TEXT_CHARS_MAX).collect();
        Ok(problem.map(|problem| format!("{problem} (it says: {text})")))
    }

    /// Returns why an agent failed.
    fn failure_reason(
        &self,
        agent: &AgentConfig,
        end: AgentOutcome,
    ) -> Result<String, EngineError> {
        let agent = &agent.name;
        Ok(match end {
            AgentOutcome::Failed { kind: FailureKind::BudgetExceeded, text } => {
                let over = self.over_budget()?;
                over.unwrap_or_else(|| format!("{agent} has reached its budget: {text}"))
            }
            AgentOutcome::Failed { text, .. } => format!("{agent}: {text}"),
            _ => "it was cut off".to_owned(),
        })
    }

    /// Returns how the agent tampered with the repository: settings, hidden files, moved branches.
    fn detect_tampering(
        &self,
        git: &Git,
        before: &GitSettings,
    ) -> Result<Option<String>, EngineError> {
        if let Some(text) = git_integrity::detect_tampering(git, before)? {
            return Ok(Some(text));
        }
        let names = git.run(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])?.text();
        let branches: Vec<_> = names.lines().map(str::to_owned).collect();
        let moved = branches_moved_by(git, &self.reflog_action(), &branches)?;
        Ok(moved.first().map(|(branch, _)| format!("it moved {branch}; check that branch")))
    }

    fn reflog_action(&self) -> String {
        let phase = self.phase.map(PhaseNumber::padded).unwrap_or_default();
        format!("mow {}/{RESOLVER}/{phase}/{}", self.ctx.run.run(), self.attempt)
    }

    /// Returns what the agent changed without permission, or which conflict it left open.
    fn find_violation(
        &self,
        conflict: &ConflictedMerge<'_>,
        before: &str,
        unmarked: &[&str],
    ) -> Result<Option<String>, EngineError> {
        let ConflictedMerge { git, ours, theirs, .. } = conflict;
        let at = |name: &str| git.commit_of(name);
        if at("HEAD")?.as_deref() != Some(ours) || at("MERGE_HEAD")?.as_deref() != Some(theirs) {
            return Ok(Some("it committed or gave up the merge".to_owned()));
        }
        let names = |from: &str, to: &str| -> Result<BTreeSet<String>, EngineError> {
            let args = ["diff", "--name-only", "--no-renames", "-z", from, to];
            Ok(parse_names(&git.plumbing().run(&args)?.stdout).into_iter().collect())
        };
        let base = git.run(&["merge-base", ours, theirs])?.text();
        let mut sides = names(&base, ours)?;
        sides.extend(names(&base, theirs)?);
        let planning = self.ctx.below_top().join(".planning");
        let changed = names(before, &snapshot(git)?)?;
        let foreign = changed.into_iter().find(|path| {
            !sides.contains(path) || std::path::Path::new(path).starts_with(&planning)
        });
        if let Some(path) = foreign {
            return Ok(Some(format!("it changed {path}, which it may not change")));
        }
        // A conflict without markers is resolved by adding or removing the file.
        let open = git.conflicts()?;
        let file = open.iter().find(|path| unmarked.contains(&path.as_str()));
        Ok(file.map(|path| format!("{path} is neither added nor removed")))
    }

    /// Returns the checks of the phases in conflict, each command once.
    pub(super) fn checks(
        &self,
        conflict: &ConflictedMerge<'_>,
    ) -> Result<Vec<PhaseCheck>, EngineError> {
        let (mut known, mut all) = (BTreeSet::new(), Vec::new());
        for phase in self.phases_in_conflict(conflict)? {
            let commands = self.checks_of(&phase, conflict.git)?.into_iter();
            let new = commands.filter(|command| known.insert(command.clone()));
            all.extend(new.map(|command| (phase, command)));
        }
        Ok(all)
    }

    /// Runs checks on the resolved merge; returns which one fails, and why.
    pub(super) fn recheck(
        &self,
        git: &Git,
        checks: &[PhaseCheck],
    ) -> Result<Option<String>, EngineError> {
        for (phase, command) in checks {
            if let Some(why) = describe_failure(&self.run(git, command, "recheck", &[])?) {
                return Ok(Some(format!("`{command}` of phase {phase} fails on it, {why}")));
            }
        }
        Ok(None)
    }

    /// Returns the phase that is merged, and the merged phases that changed the files in conflict.
    fn phases_in_conflict(
        &self,
        conflict: &ConflictedMerge<'_>,
    ) -> Result<BTreeSet<PhaseNumber>, EngineError> {
        let range = format!("{}..{}", conflict.theirs, conflict.ours);
        let format = "--format=%(trailers:key=Mow-Phase,valueonly)";
        let mut args = vec!["--literal-pathspecs", "log", format, &range, "--"];
        args.extend(conflict.files.iter().map(|file| file.path.as_str()));
        let trailers = conflict.git.run(&args)?.text();
        let phases = trailers.lines().filter_map(|line| PhaseNumber::parse(line.trim()));
        Ok(phases.chain(self.phase.copied()).collect())
    }

    /// Returns the checks in the plans of a phase.
    ///
    /// The plans of the phase that is merged are in its worktree. Those of others are in the main
    /// root or, if the user's branch is still behind, in the checkout of the merge.
    fn checks_of(&self, phase: &PhaseNumber, git: &Git) -> Result<Vec<String>, EngineError> {
        let own = self.worktree.filter(|_| self.phase == Some(phase));
        let own = own.map(LocalWorktree::planning);
        let others = [self.ctx.project.planning.clone(), self.ctx.planning_in(git.dir())];
        let all = own.into_iter().chain(others);
        let dirs = all.filter_map(|planning| phase_dirs::find(&planning, &phase.to_string()));
        let mut dirs = dirs.filter(|dir| dir.count(PhaseFileKind::Plan) > 0);
        let Some(dir) = dirs.next() else { return Ok(Vec::new()) };
        let mut commands = Vec::new();
        for file in dir.files_of(PhaseFileKind::Plan) {
            let bytes = disk::read(&dir.path.join(file))?.unwrap_or_default();
            commands.extend(plan::parse(&bytes).tasks.iter().flat_map(check_commands));
        }
        Ok(commands)
    }

    fn job(
        &self,
        agent: &AgentConfig,
        conflict: &ConflictedMerge<'_>,
    ) -> Result<AgentJob, EngineError> {
        let budget = run_context::budget(&self.ctx.config()?, "phase");
        let cwd = conflict.git.dir().join(self.ctx.below_top());
        let mut env = self.environment(conflict.git);
        env.push((REFLOG_ACTION_VARIABLE.to_owned(), self.reflog_action()));
        Ok(AgentJob {
            program: agent.program.clone(),
            args: agent.args.clone(),
            env: agent_job::environment(agent, env),
            marks: self.marks(),
            prompt: self.prompt(conflict)?,
            model: agent.model.clone(),
            session: AgentSession::New,
            access: Access::Edit,
            tool_servers: Vec::new(),
            limits: agent_job::limits(&budget, &self.spent.get(), Some(self.wall_max()?)),
            log: self.log(RESOLVER),
            // The time limit ends the agent; no person is asked.
            stuck_after: None,
            watched_paths: vec![cwd.clone()],
            cwd,
        })
    }

    fn prompt(&self, conflict: &ConflictedMerge<'_>) -> Result<String, EngineError> {
        let number = self.phase.map(ToString::to_string).unwrap_or_default();
        let roadmap = disk::read(&self.ctx.project.planning.join("ROADMAP.md"))?;
        let roadmap = roadmap.unwrap_or_default();
        let (name, goal) = match self.phase.map(|phase| roadmap::describe_phase(&roadmap, phase)) {
            Some(PhaseLookup::Found(details)) => (details.name, details.goal.unwrap_or_default()),
            Some(PhaseLookup::ListedOnly { name }) => (name, String::new()),
            _ => (String::new(), String::new()),
        };
        let planning = self
            .worktree
            .map_or_else(|| self.ctx.planning_in(conflict.git.dir()), LocalWorktree::planning);
        let dir = phase_dirs::find(&planning, &number).map(|dir| dir.path);
        let cwd = conflict.git.dir().join(self.ctx.below_top());
        let values = PromptValues::default()
            .with(Variable::Role, RESOLVER)
            .with(Variable::Phase, &number)
            .with(Variable::PhaseName, &name)
            .with(Variable::Goal, &goal)
            .with(Variable::Worktree, &cwd.display().to_string())
            .with(Variable::PhaseDir, &dir.unwrap_or(planning).display().to_string())
            .with(Variable::ConflictFiles, &conflict.list.display().to_string())
            .with(Variable::Ours, conflict.ours)
            .with(Variable::Theirs, conflict.theirs);
        agent_job::render_prompt(self.ctx, Prompt::ConflictResolver, &values)
    }
}

fn snapshot(git: &Git) -> Result<String, EngineError> {
    scratch_worktree::snapshot(git).map_err(EngineError::from)
}

/// Answers the requests of the agent by the rules of the project alone.
struct ResolverCallbacks<'a> {
    config: &'a Config,
    /// Shows people what the agent does.
    activity: &'a ActivityStream,
    used: Spending,
}

impl AgentCallbacks for ResolverCallbacks<'_> {
    fn on_event(&mut self, event: Event) {
        self.activity.record_event(&event);
        if let Event::Usage(used) = event {
            self.used += agent_job::money_from_usage(&used);
        }
    }

    fn on_request(&mut self, ask: &AgentRequest) -> Reply {
        match ask {
            AgentRequest::Permission { tool, input, .. }
                if check_permission(self.config, tool, input) == Permission::Allowed =>
            {
                Reply::Allow
            }
            AgentRequest::Permission { .. } => {
                Reply::Deny("this project does not allow it".to_owned())
            }
            AgentRequest::Question { .. } => {
                Reply::Deny("nobody can answer now; decide yourself".to_owned())
            }
        }
    }

    fn call_tool(&mut self, tool: &str, _: &Value) -> Result<String, String> {
        Err(format!("there is no tool {tool}"))
    }

    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn take_messages(&mut self) -> Vec<String> {
        Vec::new()
    }
}
