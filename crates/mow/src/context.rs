//! The context of one call: its global flags and the project that it works on.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
pub(crate) use mow_engine::clock::{now_text as now, today};
pub(crate) use mow_engine::run_context::with_env_overrides;
use mow_host::git::Git;
use mow_store::config::Config;
use mow_store::disk;
use mow_store::phase_dirs::{self, PhaseDir};
use mow_store::project::Project;

use crate::failure::Failure;
use crate::output::warn;

/// The global flags of a call, and its project.
#[derive(Debug)]
pub(crate) struct Context {
    /// Whether `--raw` was given.
    pub(crate) raw: bool,
    /// Whether `--json` was given.
    pub(crate) json: bool,
    pub(crate) project: Project,
}

impl Context {
    pub(crate) fn new(raw: bool, json: bool, cwd: Option<&Path>) -> Result<Self, Failure> {
        let project = Project::find_or_cwd(cwd.unwrap_or(Path::new(".")))?;
        Ok(Self { raw, json, project })
    }

    /// Returns whether a command that prints text should print JSON instead.
    pub(crate) fn wants_json(&self) -> bool {
        self.json || self.raw
    }

    /// Returns the path of a planning file.
    pub(crate) fn planning(&self, file: &str) -> PathBuf {
        self.project.planning.join(file)
    }

    /// Reads a planning file; `None` when it does not exist.
    pub(crate) fn load(&self, file: &str) -> Result<Option<Vec<u8>>, Failure> {
        Ok(disk::read(&self.planning(file))?)
    }

    /// Loads the project's settings with the environment's overrides.
    ///
    /// Uses the defaults when the file is missing, and with a warning when it is not JSON.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let bytes = self.load("config.json")?.unwrap_or_default();
        let parsed = if bytes.is_empty() { Config::parse(b"{}") } else { Config::parse(&bytes) };
        let config = parsed.or_else(|error| {
            warn(&format!(".planning/config.json: {error}; using the defaults"));
            Config::parse(b"{}")
        });
        Ok(with_env_overrides(config.expect("an empty object is valid JSON")))
    }

    /// Finds the directory of a phase; archived directories are searched last.
    pub(crate) fn phase_dir(&self, phase: &str) -> Option<PhaseDir> {
        phase_dirs::find(&self.project.planning, phase)
    }

    /// Returns the project in the main worktree, which holds the files that all worktrees share.
    pub(crate) fn main_project(&self) -> Result<Project, Failure> {
        Ok(self.project.in_main_worktree()?)
    }

    /// Returns git for the current directory.
    pub(crate) fn git(&self) -> Git {
        Git::new(&self.project.cwd)
    }

    /// Resolves a path from the command line against the current directory.
    pub(crate) fn path_from_cwd(&self, file: &Path) -> PathBuf {
        self.project.cwd.join(file)
    }

    /// Resolves a path that a document names: against the current directory if it exists there,
    /// else against the project root.
    ///
    /// `~/` and `$HOME/` are the user's home.
    pub(crate) fn resolve_document_path(&self, path: &str) -> PathBuf {
        let below_home = path.strip_prefix("~/").or_else(|| path.strip_prefix("$HOME/"));
        if let (Some(below), Some(home)) = (below_home, home()) {
            return home.join(below);
        }
        let here = self.project.cwd.join(path);
        if here.exists() { here } else { self.project.root.join(path) }
    }

    /// Loads the project's or the user's override of a built-in template; `None` without one.
    pub(crate) fn template(&self, file: &str) -> Result<Option<String>, Failure> {
        let of_project = self.project.root.join("mowism/templates").join(file);
        let of_user = home().map(|home| home.join(".claude/mowism/templates").join(file));
        for path in std::iter::once(of_project).chain(of_user) {
            if let Some(bytes) = disk::read(&path)? {
                return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        Ok(None)
    }

    /// Returns a path for display: relative to the project root if it is below that.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        path.strip_prefix(&self.project.root).unwrap_or(path).display().to_string()
    }

    /// Writes output that is too long to print to a cache file, and returns its path.
    pub(crate) fn spill(&self, text: &str) -> Result<PathBuf, Failure> {
        Ok(disk::write_large_output(&cache_dir(), text.as_bytes())?)
    }
}

/// Returns the user's home directory.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// Returns mow's cache directory: below the user's cache, else below the system's temp directory.
fn cache_dir() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let absolute = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    absolute
        .or_else(|| home().map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("mow")
}

/// Returns the current time in milliseconds since 1970, the unit of journals.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}
