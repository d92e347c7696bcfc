//! What a worker works with: its worktree, its planning files, its log.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mow_core::money::Money;
use mow_core::phase::PhaseNumber;
use mow_core::report::Brief;
use mow_core::worker::{Effect, Input, Outcome};
use mow_host::custody::REFLOG_VARIABLE;
use mow_host::git::Git;
use mow_host::pulse::Sign;
use mow_host::shell::{End, ShellEnd, ShellJob};
use mow_host::stop::Stop;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use mow_store::papers::About;
use mow_store::phase_dirs;
use mow_store::project::Project;

use crate::EngineError;
use crate::clock::now_text;
use crate::site::{self, Site};

use super::trust::Trust;

/// The place where a worker works. Each effect has one of its own, which shares all but the wish to
/// stop.
#[derive(Clone)]
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
    pub(super) stop: Stop,
    /// Where signs of life go, or that there are none.
    notice: Notice,
    trust: Arc<Mutex<Trust>>,
    purse: Arc<Mutex<Money>>,
    /// Whom to tell what comes to light while something is being done.
    pub(super) voice: Arc<OnceLock<Voice>>,
    /// Held by whoever makes a commit, one at a time.
    pub(super) committing: Arc<Mutex<()>>,
}

/// Takes what is to be written down.
pub(super) type Voice = Box<dyn Fn(Input) + Send + Sync>;

type Notice = Arc<dyn Fn(Sign) + Send + Sync>;

impl Desk {
    pub(super) fn new(site: Site, brief: &Brief, trust: Trust) -> Result<Self, EngineError> {
        let place = site.worktree(&brief.phase)?;
        let (worktree, branch) = (place.path, place.branch);
        let root = worktree.join(site.below_top());
        let mut project = Project::find_or_cwd(&worktree)?;
        (project.planning, project.root) = (root.join(".planning"), root);
        project.planned = true;
        let dir_name = site.phase_dir_name(&project.planning, &brief.phase, &brief.name);
        site.know_ignored(brief.ignored);
        // What is made ahead is the lead's to bring to where it belongs.
        let commits_docs = brief.through.is_none() && site.commits_docs()?;
        let (brief, stop) = (brief.clone(), Stop::new().map_err(EngineError::io("make a pipe"))?);
        let trust = Arc::new(Mutex::new(trust));
        let notice: Notice = Arc::new(|_| {});
        Ok(Self {
            site,
            brief,
            worktree,
            project,
            dir_name,
            commits_docs,
            branch,
            stop,
            notice,
            trust,
            purse: Arc::default(),
            voice: Arc::default(),
            committing: Arc::default(),
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

    /// Writes down something worth knowing.
    pub(super) fn note(&self, text: &str) {
        self.tell(Input::Noted { text: text.to_owned() });
    }

    /// Says that something shows no sign of life, or does so again.
    pub(super) fn sign(&self, sign: Sign) {
        (self.notice)(sign);
    }

    /// Says that what has come to its end is not stuck, whatever is still to be done about it.
    pub(super) fn moves(&self) {
        self.sign(Sign::Moving);
    }

    /// Returns what agents of this attempt have used.
    pub(super) fn purse(&self) -> MutexGuard<'_, Money> {
        self.purse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the same for one effect, that can be stopped by itself.
    pub(super) fn with(&self, stop: Stop, notice: impl Fn(Sign) + Send + Sync + 'static) -> Self {
        Self { stop, notice: Arc::new(notice), ..self.clone() }
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
            Effect::Look => self
                .recover_papers()
                .and_then(|()| self.look())
                .map(|found| Outcome::Found { found }),
            Effect::WriteContext { answers } => self.write_context(answers),
            Effect::RunRole { role, round } => self.run_role(*role, *round),
            Effect::Freeze => self.freeze(),
            Effect::RunTask { plan, task, beside: false } => self.run_task(plan, *task, id),
            Effect::RunTask { plan, task, beside: true } => self.run_beside(plan, *task, id),
            Effect::Clear { plans } => self.clear(plans),
            Effect::Gather { plans } => self.gather(plans),
            Effect::CheckPlan { plan } => self.check_plan(plan, id),
            Effect::ClosePlan { plan, began } => self.close_plan(plan, *began, id),
            Effect::ClosePhase => self.close_phase(id),
            Effect::Checkpoint { .. } => self.checkpoint(effect),
            Effect::NoteStatus { text } => self.note_status(text),
            Effect::Interrupt { .. } => Ok(Outcome::Done),
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
        let root = script.top.unwrap_or(&self.worktree).join(self.site.below_top());
        let job = ShellJob {
            script: script.text.to_owned(),
            program: script.program.to_owned(),
            cwd: root.clone(),
            env: self.environment(script.top, script.env),
            log: self.log(script.label),
            wall_max: site::minutes(&config, "multi_phase.worker_timeout_min"),
            stuck_after: site::minutes(&config, "multi_phase.stuck_after_min"),
            watched: match script.files {
                [] => vec![root],
                files => files.iter().map(|file| root.join(file)).collect(),
            },
        };
        let end = mow_host::shell::run(&job, &self.stop, &mut |sign| (self.notice)(sign));
        self.moves();
        end.map_err(|error| EngineError::Host(error.into()))
    }

    /// Returns what scripts and roles find in their environment: names and paths, never contents.
    pub(super) fn environment(
        &self,
        top: Option<&Path>,
        more: &[(&str, String)],
    ) -> Vec<(String, String)> {
        let path = |path: &Path| path.display().to_string();
        let mut all = vec![
            ("MOW_WORKTREE", path(top.unwrap_or(&self.worktree))),
            (REFLOG_VARIABLE, self.reflog_word()),
            ("MOW_PHASE_DIR", path(&self.phase_dir())),
            ("MOW_PHASE_NAME", self.brief.name.clone()),
            ("MOW_BASE", self.brief.base.clone()),
            ("MOW_PLANNING", path(&self.project.planning)),
        ];
        if let Some(through) = self.brief.through {
            all.push(("MOW_LOOKAHEAD", through.name().to_owned()));
            let dirs: Vec<_> = self.brief.after.iter().filter_map(|n| self.dir_of(n)).collect();
            let dirs: Vec<_> = dirs.iter().map(|dir| path(dir)).collect();
            all.push(("MOW_DEPENDENCY_DIRS", dirs.join("\n")));
        }
        all.extend(more.iter().map(|(name, value)| (*name, value.clone())));
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns the directory of another phase: in its worktree where it has one, else in the root.
    fn dir_of(&self, phase: &PhaseNumber) -> Option<PathBuf> {
        let number = phase.to_string();
        let worktree = self.site.worktree(phase).ok().map(|place| place.path);
        let there =
            worktree.and_then(|path| phase_dirs::find(&self.site.planning_in(&path), &number));
        let there = there.filter(|dir| dir.count(phase_dirs::Artifact::Plan) > 0);
        let dir = there.or_else(|| phase_dirs::find(&self.site.project.planning, &number));
        dir.map(|dir| dir.path)
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
    /// The files whose changes are signs of life; without any, all.
    pub(super) files: &'a [String],
}

/// Returns how a script ended in a few words, when it did not end well.
pub(crate) fn complaint(end: &ShellEnd) -> Option<String> {
    let last = end.tail.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let said = last.map(|line| format!(": {line}")).unwrap_or_default();
    Some(match end.end {
        End::Exited(0) => return None,
        End::Exited(code) => format!("exit {code}{said}"),
        End::Signalled(signal) => format!("ended by signal {signal}{said}"),
        End::TooLong => format!("took longer than allowed{said}"),
        End::Stopped => "stopped".to_owned(),
    })
}
