//! What a worker works with: its worktree, its planning files, its log.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use mow_core::report::Brief;
use mow_core::worker::{Effect, Input, Outcome};
use mow_host::custody::{GitDirs, REFLOG_VARIABLE};
use mow_host::git::Git;
use mow_host::shell::{End, ShellEnd, ShellJob};
use mow_host::stop::Stop;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use mow_store::papers::About;
use mow_store::project::Project;

use crate::EngineError;
use crate::clock::now_text;
use crate::site::Site;

use super::trust::Trust;

/// The place where a worker works.
pub(super) struct Desk {
    pub(super) site: Site,
    pub(super) brief: Brief,
    /// The worktree of the phase.
    pub(super) worktree: PathBuf,
    /// The project as the worktree has it.
    pub(super) project: Project,
    /// The directory of the phase, `NN-slug`.
    pub(super) dir_name: String,
    /// Whether planning files are committed.
    pub(super) commits_docs: bool,
    /// The branch of the phase.
    pub(super) branch: String,
    /// Where git keeps its own files.
    pub(super) dirs: GitDirs,
    pub(super) stop: Stop,
    trust: Mutex<Trust>,
    /// Whom to tell what comes to light while something is being done.
    pub(super) voice: OnceLock<Box<dyn Fn(Input) + Send + Sync>>,
}

impl Desk {
    pub(super) fn new(site: Site, brief: &Brief, trust: Trust) -> Result<Self, EngineError> {
        let place = site.worktree(&brief.phase)?;
        let (worktree, branch) = (place.path, place.branch);
        let dirs = GitDirs::of(&worktree).ok_or_else(|| {
            let message = format!("{} is no worktree", worktree.display());
            EngineError::refused(message, "mow run makes it again")
        })?;
        let root = worktree.join(site.below_top());
        let mut project = Project::find_or_cwd(&worktree)?;
        (project.planning, project.root) = (root.join(".planning"), root);
        project.planned = true;
        let dir_name = site.phase_dir_name(&project.planning, &brief.phase, &brief.name);
        let commits_docs = commits_docs(&site, &project.root)?;
        let (brief, stop) = (brief.clone(), Stop::new().map_err(EngineError::io("make a pipe"))?);
        let (trust, voice) = (Mutex::new(trust), OnceLock::new());
        Ok(Self {
            site,
            brief,
            worktree,
            project,
            dir_name,
            commits_docs,
            branch,
            dirs,
            stop,
            trust,
            voice,
        })
    }

    /// Returns what this worker knows for sure.
    pub(super) fn trust(&self) -> MutexGuard<'_, Trust> {
        self.trust.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has something written down while an effect is still going on.
    pub(super) fn tell(&self, input: Input) {
        if let Some(voice) = self.voice.get() {
            voice(input);
        }
    }

    pub(super) fn git(&self) -> Git {
        // Never the checkout around it, should its link to the repository be lost.
        Git::at_top(&self.worktree)
    }

    /// Returns the directory of the phase in the worktree.
    pub(super) fn phase_dir(&self) -> PathBuf {
        self.project.planning.join("phases").join(&self.dir_name)
    }

    pub(super) fn padded(&self) -> String {
        self.brief.phase.padded()
    }

    /// Returns the name of the file that the lead writes to.
    pub(super) fn inbox_name(&self) -> String {
        let path = self.site.run.worker_inbox(&self.brief.phase, self.brief.attempt);
        path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(super) fn ack_timeout_ms(&self) -> u64 {
        let value = self.site.config().ok().and_then(|c| c.lookup("messages.ack_timeout_s"));
        value.and_then(|value| value.as_u64()).unwrap_or(30) * 1_000
    }

    /// Does what the worker wants, under its number; whatever goes wrong is an outcome.
    pub(super) fn perform(&self, id: u64, effect: &Effect) -> Outcome {
        let outcome = match effect {
            Effect::Look => self.look().map(|found| Outcome::Found { found }),
            Effect::WriteContext { answers } => self.write_context(answers),
            Effect::RunRole { role, round } => self.run_role(*role, *round),
            Effect::Freeze => self.freeze(),
            Effect::RunTask { plan, task } => self.run_task(plan, *task, id),
            Effect::ClosePlan { plan, began } => self.close_plan(plan, *began, id),
            Effect::ClosePhase => self.close_phase(id),
            Effect::Checkpoint { .. } => self.checkpoint(effect),
            Effect::NoteStatus { text } => self.note_status(text),
            Effect::Interrupt => Ok(Outcome::Done),
        };
        outcome.unwrap_or_else(|error| Outcome::Failed { reason: error.sentence() })
    }

    /// Returns what papers are headed with.
    pub(super) fn about<'a>(&'a self, number: &'a str, goal: &'a str, now: &'a str) -> About<'a> {
        About { number, dir: &self.dir_name, name: &self.brief.name, goal, now }
    }

    /// Writes a file of the phase.
    pub(super) fn write(&self, file: &str, bytes: &[u8]) -> Result<(), EngineError> {
        let writer = Writer::open(&self.project, WAIT_DEFAULT)?;
        writer.create_dir(&self.phase_dir())?;
        writer.replace(&self.phase_dir().join(file), bytes)?;
        Ok(())
    }

    /// Returns the file for what a script prints.
    pub(super) fn log(&self, label: &str) -> PathBuf {
        let log = self.site.run.log(&self.brief.phase, self.brief.attempt);
        let stem = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        log.with_file_name(format!("{stem}-{label}.log"))
    }

    /// Runs a script in a checkout; its output goes to a log of its own.
    pub(super) fn shell(&self, script: &Script<'_>) -> Result<ShellEnd, EngineError> {
        let config = self.site.config()?;
        let minutes = |key: &str| {
            let value = config.lookup(key).and_then(|value| value.as_u64());
            value.filter(|minutes| *minutes > 0).map(|minutes| Duration::from_secs(minutes * 60))
        };
        let job = ShellJob {
            script: script.text.to_owned(),
            program: script.program.to_owned(),
            cwd: script.top.unwrap_or(&self.worktree).join(self.site.below_top()),
            env: self.environment(script),
            log: self.log(script.label),
            wall_max: minutes("multi_phase.worker_timeout_min"),
            silence_max: minutes("multi_phase.stuck_after_min"),
        };
        mow_host::shell::run(&job, &self.stop).map_err(|error| EngineError::Host(error.into()))
    }

    /// Returns what scripts and roles find in their environment: names and paths, never contents.
    fn environment(&self, script: &Script<'_>) -> Vec<(String, String)> {
        let path = |path: &Path| path.display().to_string();
        let mut all = vec![
            ("MOW_WORKTREE", path(script.top.unwrap_or(&self.worktree))),
            (REFLOG_VARIABLE, self.reflog_word()),
            ("MOW_PHASE_DIR", path(&self.phase_dir())),
            ("MOW_PHASE_NAME", self.brief.name.clone()),
            ("MOW_BASE", self.brief.base.clone()),
            ("MOW_PLANNING", path(&self.project.planning)),
        ];
        all.extend(script.env.iter().map(|(name, value)| (*name, value.clone())));
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    pub(super) fn now(&self) -> String {
        now_text()
    }
}

/// Something for a shell to run.
pub(super) struct Script<'a> {
    pub(super) text: &'a str,
    pub(super) program: &'a str,
    /// What its log is called.
    pub(super) label: &'a str,
    /// The checkout it runs in; `None` for the worktree.
    pub(super) top: Option<&'a Path>,
    pub(super) env: &'a [(&'a str, String)],
}

/// Returns how a script ended in a few words, when it did not end well.
pub(super) fn complaint(end: &ShellEnd) -> Option<String> {
    let last = end.tail.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let said = last.map(|line| format!(": {line}")).unwrap_or_default();
    Some(match end.end {
        End::Exited(0) => return None,
        End::Exited(code) => format!("exit {code}{said}"),
        End::Signalled(signal) => format!("ended by signal {signal}{said}"),
        End::TooLong => format!("took longer than allowed{said}"),
        End::Silent => format!("stuck: no output for too long{said}"),
        End::Stopped => "stopped".to_owned(),
    })
}

/// Returns whether planning files go into commits: wanted, and not ignored.
pub(crate) fn commits_docs(site: &Site, root: &Path) -> Result<bool, EngineError> {
    if !site.config()?.settings().commit_docs {
        return Ok(false);
    }
    let git = Git::new(root);
    Ok(!git.ask(&["check-ignore", "--quiet", ".planning/STATE.md"])?.success)
}
