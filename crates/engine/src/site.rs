//! Where a run takes place: the project, its worktrees, the files of the run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use mow_core::money::{Budget, Money};
use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_store::config::Config;
use mow_store::disk;
use mow_store::manifest::Manifest;
use mow_store::project::Project;
use mow_store::run_files::RunDir;
use mow_store::worktree_home::Home;
use mow_store::{manifest, phase_dirs};

use crate::EngineError;

/// Returns a setting in minutes, of which there may be a part; `None` when it is switched off.
pub fn minutes(config: &Config, key: &str) -> Option<Duration> {
    let minutes = config.lookup(key)?.as_f64().filter(|minutes| *minutes > 0.0)?;
    Duration::try_from_secs_f64(minutes * 60.0).ok()
}

/// Returns what may be spent, by the settings `budget.<of>_usd` and `budget.<of>_tokens`.
pub fn budget(config: &Config, of: &str) -> Budget {
    let number = |unit: &str| config.lookup(&format!("budget.{of}_{unit}"));
    let usd = number("usd").and_then(|value| value.as_f64()).filter(|usd| *usd > 0.0);
    let tokens = number("tokens").and_then(|value| value.as_u64()).filter(|tokens| *tokens > 0);
    Budget { micro_usd: usd.map(Money::micro), tokens }
}

/// A file as it was read last, and what it says.
type Known<T> = Arc<Mutex<Option<(Vec<u8>, T)>>>;

/// Parses a file, unless it is what it was the last time.
fn parsed<T: Clone>(known: &Known<T>, bytes: Vec<u8>, parse: impl FnOnce(&[u8]) -> T) -> T {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    match known.as_ref() {
        Some((file, said)) if *file == bytes => said.clone(),
        _ => {
            let said = parse(&bytes);
            known.insert((bytes, said)).1.clone()
        }
    }
}

/// Where a run takes place.
#[derive(Clone, Debug)]
pub struct Site {
    /// The project as the main worktree has it.
    pub project: Project,
    /// The files of the run.
    pub run: RunDir,
    /// The program that workers are started with.
    pub exe: PathBuf,
    /// Whether git ignores the planning files, once it was asked.
    ignored: Arc<OnceLock<bool>>,
    /// The settings, and the file as it was when they were read.
    config: Known<Config>,
    /// The same for what is known of the worktrees.
    manifest: Known<Arc<Option<Manifest>>>,
}

impl Site {
    /// Finds the site of a run.
    pub fn new(project: &Project, run: &str, exe: &Path) -> Result<Self, EngineError> {
        let project = project.in_main_worktree()?;
        let run = RunDir::new(&project.engine_dir, run)?;
        Ok(Self::at(project, run, exe))
    }

    /// Names a site whose project is that of the main worktree.
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

    /// Loads the settings; a file that is no JSON counts as empty.
    ///
    /// Asked for dozens of times in each phase, so a file that has not changed is not parsed again.
    pub fn config(&self) -> Result<Config, EngineError> {
        Ok(parsed(&self.config, config_file(&self.project)?, parse_config))
    }

    /// Takes over whether git ignores the planning files.
    pub(crate) fn know_ignored(&self, ignored: Option<bool>) {
        if let Some(ignored) = ignored {
            self.ignored.set(ignored).ok();
        }
    }

    /// Returns whether git ignores the planning files, if it was asked.
    pub(crate) fn ignored(&self) -> Option<bool> {
        self.ignored.get().copied()
    }

    /// Returns whether planning files go into commits: wanted, and not ignored.
    ///
    /// Asked for every phase and more often, so git is asked once.
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

    /// Returns where the project lies below the top of its repository.
    pub fn below_top(&self) -> &Path {
        self.project.below_top()
    }

    /// Returns the home of the worktrees.
    pub fn home(&self) -> Result<Home, EngineError> {
        Ok(Home::resolve(self.top(), &self.config()?, &self.project.tag())?)
    }

    /// Loads what is known of the worktrees, if that can be read; parsed again when it has changed.
    pub(crate) fn manifest(&self, home: &Home) -> Result<Arc<Option<Manifest>>, EngineError> {
        let bytes = disk::read(&home.manifest())?.unwrap_or_default();
        Ok(parsed(&self.manifest, bytes, |bytes| Arc::new(manifest::parse(bytes).ok())))
    }

    /// Returns the name, path and branch of a phase's worktree: those it has, or is to have.
    pub fn worktree(&self, phase: &PhaseNumber) -> Result<Place, EngineError> {
        let home = self.home()?;
        let manifest = self.manifest(&home)?;
        let known = manifest.as_ref().as_ref().and_then(|manifest| manifest.find_phase(phase));
        let name = known.map_or_else(|| home.name(phase), |(name, _)| name.to_owned());
        let text = |key: &str| known.and_then(|(_, entry)| entry.text(key));
        let path = text("path").map_or_else(|| home.dir.join(&name), PathBuf::from);
        let branch = text("branch").unwrap_or_else(|| home.branch(phase));
        Ok(Place { path: home.root.join(path), name, branch, home })
    }

    /// Returns the planning directory of a worktree.
    pub fn planning_in(&self, worktree: &Path) -> PathBuf {
        worktree.join(self.below_top()).join(".planning")
    }

    /// Returns the name of a phase's directory, whether it is there or not.
    pub fn phase_dir_name(&self, planning: &Path, phase: &PhaseNumber, name: &str) -> String {
        let there = phase_dirs::find(planning, &phase.to_string());
        there.map_or_else(
            || format!("{}-{}", phase.padded(), mow_core::slug::slug(name)),
            |dir| dir.name,
        )
    }

    /// Returns the word that marks all processes of an attempt.
    pub fn token(&self, phase: &PhaseNumber, attempt: u32) -> String {
        format!("{}/{}/{attempt}", self.run.run(), phase.padded())
    }
}

/// Loads a project's settings with the environment laid over them.
pub fn config(project: &Project) -> Result<Config, EngineError> {
    Ok(parse_config(&config_file(project)?))
}

fn config_file(project: &Project) -> Result<Vec<u8>, EngineError> {
    Ok(disk::read(&project.planning.join("config.json"))?.unwrap_or_default())
}

fn parse_config(bytes: &[u8]) -> Config {
    overridden(Config::parse(bytes).unwrap_or_default())
}

/// Lays the settings of the environment over those of the file.
pub fn overridden(config: Config) -> Config {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    config.with_overrides(variables)
}

/// The worktree of a phase.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its name in the manifest.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The home it is in.
    pub home: Home,
}
