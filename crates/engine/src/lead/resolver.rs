//! Lets a coding agent settle the conflicts of a merge, and looks at what that came to.
//!
//! What it says is not believed: it may change nothing but what the two sides changed, and the checks
//! of the phases that met must pass on the result. Nobody waits for a person here: what no rule of the
//! project allows is denied.

use std::collections::BTreeSet;
use std::time::Instant;

use mow_core::money::Money;
use mow_core::phase::PhaseNumber;
use mow_host::agent::{
    self, Access, Ask, Counterpart, End, Event, Job, Reply, Session, ToolSpec, Trouble,
};
use mow_host::custody::{REFLOG_VARIABLE, Settings, moved_by};
use mow_host::git::{Git, parse_names};
use mow_host::scratch;
use mow_host::stop::Stop;
use mow_prompts::{Prompt, Values, Variable};
use mow_store::config::Config;
use mow_store::phase_dirs::{self, Artifact};
use mow_store::roadmap::{self, Lookup};
use mow_store::{disk, plan};
use serde_json::Value;

use super::effects::Repository;
use super::trial::{Dispute, RESOLVER, Trial, has_marks};
use crate::EngineError;
use crate::cast::Cast;
use crate::permission::{Rule, rule};
use crate::worker::{checks, complaint};
use crate::{custody, job, site};

/// How much of an agent's last words goes into a reason.
const WORDS_MAX: usize = 300;

/// A check, and the phase that it belongs to.
pub(super) type Check = (PhaseNumber, String);

impl Trial<'_> {
    /// Lets an agent settle conflicts; returns why what it left is not to be used.
    pub(super) fn resolve_by_agent(
        &self,
        cast: &Cast,
        dispute: &Dispute<'_>,
        repository: &Repository,
    ) -> Result<Option<String>, EngineError> {
        let (git, config) = (dispute.git, self.site.config()?);
        let (before, settings) = (snapshot(git)?, custody::settings(git)?);
        let bare = dispute.files.iter().filter(|file| !has_marks(dispute.git, file));
        let bare: Vec<_> = bare.map(|file| file.path.as_str()).collect();
        let (job, began) = (self.job(cast, dispute)?, Instant::now());
        let mut talk = Talk { config: &config, used: Money::default() };
        let stop = Stop::new().map_err(EngineError::io("make a pipe"))?;
        let end = agent::run(cast.kind, &job, &mut talk, &stop);
        let mut spent = self.spent.get();
        spent += talk.used;
        self.spent.set(spent);
        if let Some(phase) = self.phase {
            repository.spend(*phase, job::spent(cast, (RESOLVER, None), began, talk.used));
        }
        // Who did not come to an end may have done that, too.
        let meddled = self.meddled(git, &settings)?;
        let words = match end.map_err(|error| EngineError::Host(error.into()))? {
            End::Done { text } => text,
            end => {
                let failed = self.failed(cast, end)?;
                let all: Vec<_> = [Some(failed), meddled].into_iter().flatten().collect();
                return Ok(Some(all.join("; ")));
            }
        };
        let problem = match meddled {
            None => self.overreach(dispute, &before, &bare)?,
            some => some,
        };
        let words: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let words: String = words.chars().take(WORDS_MAX).collect();
        Ok(problem.map(|problem| format!("{problem} (it says: {words})")))
    }

    /// Says why an agent did not come to an end.
    fn failed(&self, cast: &Cast, end: End) -> Result<String, EngineError> {
        let agent = &cast.agent;
        Ok(match end {
            End::Failed { kind: Trouble::Budget, text } => {
                let over = self.over_budget()?;
                over.unwrap_or_else(|| format!("{agent} has spent what it may: {text}"))
            }
            End::Failed { text, .. } => format!("{agent}: {text}"),
            _ => "it was cut off".to_owned(),
        })
    }

    /// Says what it did to the repository that is nobody's business but people's.
    fn meddled(&self, git: &Git, before: &Settings) -> Result<Option<String>, EngineError> {
        if let Some(text) = custody::meddled(git, before)? {
            return Ok(Some(text));
        }
        let names = git.run(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])?.text();
        let branches: Vec<_> = names.lines().map(str::to_owned).collect();
        let moved = moved_by(git, &self.reflog_word(), &branches)?;
        Ok(moved.first().map(|(branch, _)| format!("it moved {branch}; look at that")))
    }

    fn reflog_word(&self) -> String {
        let phase = self.phase.map(PhaseNumber::padded).unwrap_or_default();
        format!("mow {}/{RESOLVER}/{phase}/{}", self.site.run.run(), self.attempt)
    }

    /// Says what it changed that is not its business, or did not settle that is.
    fn overreach(
        &self,
        dispute: &Dispute<'_>,
        before: &str,
        bare: &[&str],
    ) -> Result<Option<String>, EngineError> {
        let Dispute { git, ours, theirs, .. } = dispute;
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
        let planning = self.site.below_top().join(".planning");
        let changed = names(before, &snapshot(git)?)?;
        let beyond = changed.into_iter().find(|path| {
            !sides.contains(path) || std::path::Path::new(path).starts_with(&planning)
        });
        if let Some(path) = beyond {
            return Ok(Some(format!("it changed {path}, which is not its business")));
        }
        // A file without marks is settled by adding or removing it.
        let open = git.conflicts()?;
        let file = open.iter().find(|path| bare.contains(&path.as_str()));
        Ok(file.map(|path| format!("{path} is neither added nor removed")))
    }

    /// Returns the checks of the phases that met, each once.
    pub(super) fn checks(&self, dispute: &Dispute<'_>) -> Result<Vec<Check>, EngineError> {
        let (mut known, mut all) = (BTreeSet::new(), Vec::new());
        for phase in self.parties(dispute)? {
            let commands = self.checks_of(&phase, dispute.git)?.into_iter();
            let new = commands.filter(|command| known.insert(command.clone()));
            all.extend(new.map(|command| (phase, command)));
        }
        Ok(all)
    }

    /// Runs checks on the settled merge; returns why they do not pass.
    pub(super) fn recheck(
        &self,
        git: &Git,
        checks: &[Check],
    ) -> Result<Option<String>, EngineError> {
        for (phase, command) in checks {
            if let Some(why) = complaint(&self.run(git, command, "recheck", &[])?) {
                return Ok(Some(format!("`{command}` of phase {phase} fails on it, {why}")));
            }
        }
        Ok(None)
    }

    /// Returns the phase that is merged, and those that it met in a file.
    fn parties(&self, dispute: &Dispute<'_>) -> Result<BTreeSet<PhaseNumber>, EngineError> {
        let range = format!("{}..{}", dispute.theirs, dispute.ours);
        let format = "--format=%(trailers:key=Mow-Phase,valueonly)";
        let mut args = vec!["--literal-pathspecs", "log", format, &range, "--"];
        args.extend(dispute.files.iter().map(|file| file.path.as_str()));
        let said = dispute.git.run(&args)?.text();
        let met = said.lines().filter_map(|line| PhaseNumber::parse(line.trim()));
        Ok(met.chain(self.phase.copied()).collect())
    }

    /// Returns the checks of a phase, by its plans: its own ones are in its worktree, those of others
    /// in the main one or, where that is not so far yet, in the merge.
    fn checks_of(&self, phase: &PhaseNumber, git: &Git) -> Result<Vec<String>, EngineError> {
        let own = self.worktree.filter(|_| self.phase == Some(phase));
        let own = own.map(|worktree| self.site.planning_in(worktree));
        let others = [self.site.project.planning.clone(), self.site.planning_in(git.dir())];
        let all = own.into_iter().chain(others);
        let dirs = all.filter_map(|planning| phase_dirs::find(&planning, &phase.to_string()));
        let mut dirs = dirs.filter(|dir| dir.count(Artifact::Plan) > 0);
        let Some(dir) = dirs.next() else { return Ok(Vec::new()) };
        let mut commands = Vec::new();
        for file in dir.of(Artifact::Plan) {
            let bytes = disk::read(&dir.path.join(file))?.unwrap_or_default();
            commands.extend(plan::parse(&bytes).tasks.iter().flat_map(checks));
        }
        Ok(commands)
    }

    fn job(&self, cast: &Cast, dispute: &Dispute<'_>) -> Result<Job, EngineError> {
        let budget = site::budget(&self.site.config()?, "phase");
        let cwd = dispute.git.dir().join(self.site.below_top());
        let mut env = self.environment(dispute.git);
        env.push((REFLOG_VARIABLE.to_owned(), self.reflog_word()));
        Ok(Job {
            program: cast.program.clone(),
            args: cast.args.clone(),
            env: job::environment(cast, env),
            prompt: self.prompt(dispute)?,
            system: None,
            model: cast.model.clone(),
            session: Session::New,
            access: Access::Edit,
            servers: Vec::new(),
            limits: job::limits(&budget, &self.spent.get(), Some(self.wall_max()?)),
            log: self.log(RESOLVER),
            // Its time ends it; nobody is asked about it.
            stuck_after: None,
            watched: vec![cwd.clone()],
            cwd,
        })
    }

    fn prompt(&self, dispute: &Dispute<'_>) -> Result<String, EngineError> {
        let number = self.phase.map(ToString::to_string).unwrap_or_default();
        let roadmap = disk::read(&self.site.project.planning.join("ROADMAP.md"))?;
        let roadmap = roadmap.unwrap_or_default();
        let (name, goal) = match self.phase.map(|phase| roadmap::details(&roadmap, phase)) {
            Some(Lookup::Found(details)) => (details.name, details.goal.unwrap_or_default()),
            Some(Lookup::ListedOnly { name }) => (name, String::new()),
            _ => (String::new(), String::new()),
        };
        let planning = self.site.planning_in(self.worktree.unwrap_or(dispute.git.dir()));
        let dir = phase_dirs::find(&planning, &number).map(|dir| dir.path);
        let cwd = dispute.git.dir().join(self.site.below_top());
        let values = Values::default()
            .with(Variable::Role, RESOLVER)
            .with(Variable::Phase, &number)
            .with(Variable::PhaseName, &name)
            .with(Variable::Goal, &goal)
            .with(Variable::Worktree, &cwd.display().to_string())
            .with(Variable::PhaseDir, &dir.unwrap_or(planning).display().to_string())
            .with(Variable::ConflictFiles, &dispute.list.display().to_string())
            .with(Variable::Ours, dispute.ours)
            .with(Variable::Theirs, dispute.theirs);
        job::prompt(self.site, Prompt::ConflictResolver, &values)
    }
}

fn snapshot(git: &Git) -> Result<String, EngineError> {
    scratch::snapshot(git).map_err(|error| EngineError::Host(error.into()))
}

/// Who the agent speaks with: the rules of the project, and nobody else.
struct Talk<'a> {
    config: &'a Config,
    used: Money,
}

impl Counterpart for Talk<'_> {
    fn told(&mut self, event: Event) {
        if let Event::Usage(used) = event {
            self.used += job::money(&used);
        }
    }

    fn asked(&mut self, ask: &Ask) -> Reply {
        match ask {
            Ask::Permission { tool, input, .. }
                if rule(self.config, tool, input) == Rule::Allowed =>
            {
                Reply::Allow
            }
            Ask::Permission { .. } => Reply::Deny("this project does not allow it".to_owned()),
            Ask::Question { .. } => Reply::Deny("nobody is here to answer; decide".to_owned()),
        }
    }

    fn called(&mut self, tool: &str, _: &Value) -> Result<String, String> {
        Err(format!("there is no tool {tool}"))
    }

    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn messages(&mut self) -> Vec<String> {
        Vec::new()
    }
}
