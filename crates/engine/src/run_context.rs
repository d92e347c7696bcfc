//! The context of a run: the project, its settings, its worktrees and the files of the run.
//!
//! Settings and manifest are read from disk each time and parsed only when the bytes changed.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use mow_core::hash;
use mow_core::money::{Budget, Spending};
use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::launch::AttemptMarks;
use mow_store::config::Config;
use mow_store::disk;
use mow_store::manifest::Manifest;
use mow_store::project::Project;
use mow_store::run_files::RunDir;
use mow_store::worktree_home::WorktreeHome;
use mow_store::{manifest, phase_dirs};

use crate::EngineError;

/// Returns a setting that is given in minutes, fractions allowed; `None` when it is 0 or unset.
pub fn minutes_setting(config: &Config, key: &str) -> Option<Duration> {
    let minutes = config.lookup(key)?.as_f64().filter(|minutes| *minutes > 0.0)?;
    Duration::try_from_secs_f64(minutes * 60.0).ok()
}

/// Returns the budget from the settings `budget.<of>_usd` and `budget.<of>_tokens`.
pub fn budget(config: &Config, of: &str) -> Budget {
    let number = |unit: &str| config.lookup(&format!("budget.{of}_{unit}"));
    let usd = number("usd").and_then(|value| value.as_f64()).filter(|usd| *usd > 0.0);
    let tokens = number("tokens").and_then(|value| value.as_u64()).filter(|tokens| *tokens > 0);
    Budget { micro_usd: usd.map(Spending::micro), tokens }
}

/// The bytes of a file as last read, with the value parsed from them.
type ParsedFile<T> = Arc<Mutex<Option<(Vec<u8>, T)>>>;

/// Parses a file, or returns the cached value if the bytes are the same as last time.
fn parse_cached<T: Clone>(
    cache: &ParsedFile<T>,
    bytes: Vec<u8>,
    parse: impl FnOnce(&[u8]) -> T,
) -> T {
    let mut cached = cache.lock().unwrap_or_else(PoisonError::into_inner);
    match cached.as_ref() {
        Some((file, value)) if *file == bytes => value.clone(),
        _ => {
            let value = parse(&bytes);
            cached.insert((bytes, value)).1.clone()
        }
    }
}

/// Everything that the lead and the workers of a run share: project, run directory, caches.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// The project in the main worktree.
    pub project: Project,
    /// The directory with the files of the run.
    pub run: RunDir,
    /// The mow program, which workers are started with.
    pub exe: PathBuf,
    /// Whether git ignores the planning files; empty until git was asked.
    ignored: Arc<OnceLock<bool>>,
    /// The cached settings.
    config: ParsedFile<Config>,
    /// The cached manifest of worktrees; `None` inside if it cannot be parsed.
    manifest: ParsedFile<Arc<Option<Manifest>>>,
}

impl RunContext {
    /// Creates the context of a run, with the project of the main worktree.
    pub fn new(project: &Project, run: &str, exe: &Path) -> Result<Self, EngineError> {
        let project = project.in_main_worktree()?;
        let run = RunDir::new(&project.engine_dir, run)?;
        Ok(Self::at(project, run, exe))
    }

    /// Creates the context for a project that is already the one of the main worktree.
    pub(crate) fn at(project: Project, run: RunDir, exe: &Path) -> Self {
        Self {
            project,
            run,
            exe: exe.to_path_buf(),
            ignored: Arc::default(),
            config: Arc::default(),
            manifest: Arc::default(),
        }
    }

    /// Loads the settings; a file that is not valid JSON counts as empty.
    ///
    /// Called dozens of times in each phase, so an unchanged file is not parsed again.
    pub fn config(&self) -> Result<Config, EngineError> {
        Ok(parse_cached(&self.config, config_file(&self.project)?, parse_config))
    }

    /// Stores the answer whether git ignores the planning files, if the brief contains it.
    pub(crate) fn set_ignored(&self, ignored: Option<bool>) {
        if let Some(ignored) = ignored {
            self.ignored.set(ignored).ok();
        }
    }

    /// Returns whether git ignores the planning files; `None` if git was not asked yet.
    pub(crate) fn ignored(&self) -> Option<bool> {
        self.ignored.get().copied()
    }

    /// Returns whether planning files are committed: `commit_docs` is set, and git does not ignore
    /// them.
    ///
    /// Called at least once a phase, so the answer of git is cached.
    pub(crate) fn commits_docs(&self) -> Result<bool, EngineError> {
        if !self.config()?.settings().commit_docs {
            return Ok(false);
        }
        if let Some(ignored) = self.ignored.get() {
            return Ok(!ignored);
        }
        let git = Git::new(&self.project.root);
        let ignored = git.ask(&["check-ignore", "--quiet", ".planning/STATE.md"])?.success;
        Ok(!self.ignored.get_or_init(|| ignored))
    }

    /// Returns the top of the main worktree.
    pub fn top(&self) -> &Path {
        self.project.top()
    }

    /// Returns the path of the project relative to the top of its repository.
    pub fn below_top(&self) -> &Path {
        self.project.below_top()
    }

    /// Returns the directory that holds the worktrees of the phases.
    pub fn home(&self) -> Result<WorktreeHome, EngineError> {
        Ok(WorktreeHome::resolve(self.top(), &self.config()?, &self.project.tag())?)
    }

    /// Loads the manifest of worktrees; `None` inside if it cannot be parsed.
    pub(crate) fn manifest(
        &self,
        home: &WorktreeHome,
    ) -> Result<Arc<Option<Manifest>>, EngineError> {
        let bytes = disk::read(&home.manifest())?.unwrap_or_default();
        Ok(parse_cached(&self.manifest, bytes, |bytes| Arc::new(manifest::parse(bytes).ok())))
    }

    /// Returns name, path and branch of a phase's worktree, from the manifest or by default.
    pub fn worktree(&self, phase: &PhaseNumber) -> Result<PhaseWorktree, EngineError> {
        let home = self.home()?;
        let manifest = self.manifest(&home)?;
        let entry = manifest.as_ref().as_ref().and_then(|manifest| manifest.find_phase(phase));
        let name = entry.map_or_else(|| home.name(phase), |(name, _)| name.to_owned());
        let text = |key: &str| entry.and_then(|(_, entry)| entry.text(key));
        let path = text("path").map_or_else(|| home.dir.join(&name), PathBuf::from);
        let branch = text("branch").unwrap_or_else(|| home.branch(phase));
        Ok(PhaseWorktree { path: home.root.join(path), name, branch, home })
    }

    /// Returns the planning directory of a worktree.
    pub fn planning_in(&self, worktree: &Path) -> PathBuf {
        worktree.join(self.below_top()).join(".planning")
    }

    /// Returns the name of a phase's directory, also if it does not exist yet.
    pub fn phase_dir_name(&self, planning: &Path, phase: &PhaseNumber, name: &str) -> String {
        let existing = phase_dirs::find(planning, &phase.to_string());
        existing.map_or_else(
            || format!("{}-{}", phase.padded(), mow_core::slug::slug(name)),
            |dir| dir.name,
        )
    }

    /// Returns the marks of every process of an attempt.
    pub fn marks(&self, phase: &PhaseNumber, attempt: u32) -> AttemptMarks {
        AttemptMarks {
            token: self.token(phase, attempt),
            run: self.run.run().to_owned(),
            phase: Some(phase.to_string()),
            attempt,
        }
    }

    /// Returns the token in the environment of every process of an attempt, by which they are
    /// found.
    pub fn token(&self, phase: &PhaseNumber, attempt: u32) -> String {
        let (run, phase) = (self.run.run(), phase.padded());
        if !run.starts_with(BY_HAND) {
            return format!("{run}/{phase}/{attempt}");
        }
        // Merges by hand have the same name in every project; their processes must not.
        let mut project = hash::hex(self.project.engine_dir.as_os_str().as_bytes());
        project.truncate(8);
        format!("{run}@{project}/{phase}/{attempt}")
    }
}

/// The start of the names under which phases are merged without a run.
pub(crate) const BY_HAND: &str = "by-hand";

/// Loads a project's settings, overridden by environment variables.
pub fn config(project: &Project) -> Result<Config, EngineError> {
    Ok(parse_config(&config_file(project)?))
}

fn config_file(project: &Project) -> Result<Vec<u8>, EngineError> {
    Ok(disk::read(&project.planning.join("config.json"))?.unwrap_or_default())
}

fn parse_config(bytes: &[u8]) -> Config {
    with_env_overrides(Config::parse(bytes).unwrap_or_default())
}

/// Overrides settings of the file with those of environment variables.
pub fn with_env_overrides(config: Config) -> Config {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    config.with_overrides(variables)
}

/// Where the worktree of a phase is, or will be made.
#[derive(Clone, Debug)]
pub struct PhaseWorktree {
    /// The name of its entry in the manifest.
    pub name: String,
    /// The absolute path.
    pub path: PathBuf,
    /// The branch of the phase.
    pub branch: String,
    /// The directory that holds all worktrees.
    pub home: WorktreeHome,
}
