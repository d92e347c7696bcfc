//! What a command knows of where and how it was called.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
pub(crate) use mow_engine::clock::{now_text as now, today};
pub(crate) use mow_engine::site::overridden;
use mow_host::git::Git;
use mow_store::config::Config;
use mow_store::disk;
use mow_store::phase_dirs::{self, PhaseDir};
use mow_store::project::Project;

use crate::failure::Failure;
use crate::output::warn;

/// The call around a command.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) raw: bool,
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

    /// Reads a planning file; `None` when there is none.
    pub(crate) fn load(&self, file: &str) -> Result<Option<Vec<u8>>, Failure> {
        Ok(disk::read(&self.planning(file))?)
    }

    /// Loads the project's settings with the environment's overrides.
    ///
    /// A missing file has all defaults; so has one that is no JSON, with a warning.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let bytes = self.load("config.json")?.unwrap_or_default();
        let parsed = if bytes.is_empty() { Config::parse(b"{}") } else { Config::parse(&bytes) };
        let config = parsed.or_else(|error| {
            warn(&format!(".planning/config.json: {error}; using the defaults"));
            Config::parse(b"{}")
        });
        Ok(overridden(config.expect("an empty object is valid JSON")))
    }

    /// Finds the directory of a phase, a current one or else an archived one.
    pub(crate) fn phase_dir(&self, phase: &str) -> Option<PhaseDir> {
        phase_dirs::find(&self.project.planning, phase)
    }

    /// Returns the project that holds what all worktrees share: logs, events, pins.
    pub(crate) fn shared(&self) -> Result<Project, Failure> {
        Ok(self.project.in_main_worktree()?)
    }

    /// Returns git in the directory the user is in.
    pub(crate) fn git(&self) -> Git {
        Git::new(&self.project.cwd)
    }

    /// Returns the path of a file that the user named, relative to where the user is.
    pub(crate) fn named(&self, file: &Path) -> PathBuf {
        self.project.cwd.join(file)
    }

    /// Returns where a path leads that a document names: from where the user is, else from the root.
    ///
    /// `~/` and `$HOME/` are the user's home.
    pub(crate) fn mentioned(&self, path: &str) -> PathBuf {
        let below_home = path.strip_prefix("~/").or_else(|| path.strip_prefix("$HOME/"));
        if let (Some(below), Some(home)) = (below_home, home()) {
            return home.join(below);
        }
        let here = self.project.cwd.join(path);
        if here.exists() { here } else { self.project.root.join(path) }
    }

    /// Loads a template that the project or the user has put in place of the built-in one.
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

    /// Returns a path as it is printed: relative to the root where it is below it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.project.root).unwrap_or(path).display().to_string()
    }

    /// Writes an answer that is too long to print, and returns where it is.
    pub(crate) fn spill(&self, text: &str) -> Result<PathBuf, Failure> {
        Ok(disk::spill(&cache_dir(), text.as_bytes())?)
    }
}

/// Returns the user's home directory.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// Returns the directory for files that may vanish: the user's cache, or the system's.
fn cache_dir() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let absolute = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    absolute
        .or_else(|| home().map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("mow")
}

/// Returns the time in milliseconds since 1970, as journals have it.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}
