//! Finds the directory that holds a project's worktrees, and names the worktrees in it.
//!
//! Only reads. The settings win over an existing directory, and that wins over the default
//! `.worktrees/pNN`. Existing projects may use the layout `.claude/worktrees/phase-NN`.

use std::path::{Component, Path, PathBuf};

use mow_core::phase::PhaseNumber;
use serde_json::Value;
use thiserror::Error;

use crate::config::Config;
use crate::project::Project;

/// The directories that are used without a setting, with their name templates.
const LAYOUTS: [(&str, &str); 2] = [(".worktrees", "p{NN}"), (".claude/worktrees", "phase-{NN}")];

/// Why the settings for worktrees cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WorktreeHomeError {
    /// `worktree.root` is not a usable directory.
    #[error("worktree.root is `{0}`, which is not a directory for worktrees")]
    BadRoot(String),
    /// `worktree.name` gives no valid name, or the same name for all phases.
    #[error("worktree.name is `{0}`; it needs {{NN}} and must be a plain file name")]
    BadName(String),
}

/// The directory that holds the worktrees of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeHome {
    /// The top of the main worktree.
    pub root: PathBuf,
    /// The directory, usually relative to `root`.
    pub dir: PathBuf,
    /// The name of a phase's worktree; `{NN}` stands for the padded number.
    pub template: String,
    /// The project's tag; empty for the project at the repository's top.
    tag: String,
}

impl WorktreeHome {
    /// Finds the worktree home of a project whose main worktree is at `root`.
    ///
    /// A project that is not at the top of its repository has its own subdirectory, named by its
    /// tag ([`crate::project::Project::tag`]).
    pub fn resolve(root: &Path, config: &Config, tag: &str) -> Result<Self, WorktreeHomeError> {
        let text =
            |key: &str| config.value(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let dir = text("worktree.root").unwrap_or_else(|| existing_or_default(root, tag));
        Ok(Self::at(root, dir, text("worktree.name"))?.with_tag(tag))
    }

    /// Returns a worktree home in another directory for the same project.
    pub fn with_dir(&self, dir: &str) -> Result<Self, WorktreeHomeError> {
        Ok(Self::at(&self.root, dir, None)?.with_tag(&self.tag))
    }

    /// Returns the subdirectory of the project with a tag.
    fn with_tag(self, tag: &str) -> Self {
        if tag.is_empty() {
            return self;
        }
        Self { dir: self.dir.join(tag), tag: tag.to_owned(), ..self }
    }

    /// Checks a directory and a name template; without a template, the directory's layout gives it.
    fn at(root: &Path, dir: &str, template: Option<&str>) -> Result<Self, WorktreeHomeError> {
        let normalized: PathBuf = Path::new(dir).components().collect();
        let joined = root.join(&normalized);
        let is_valid = !dir.contains(char::is_control) && !root.starts_with(&joined);
        if !is_valid || joined.components().any(|part| part == Component::ParentDir) {
            return Err(WorktreeHomeError::BadRoot(dir.to_owned()));
        }
        let layout = LAYOUTS.iter().find(|(dir, _)| Path::new(dir) == normalized);
        let template = template.unwrap_or_else(|| layout.map_or(LAYOUTS[0].1, |(_, name)| name));
        if !template.contains("{NN}") || !is_plain_name(template) {
            return Err(WorktreeHomeError::BadName(template.to_owned()));
        }
        let (root, template, tag) = (root.to_path_buf(), template.to_owned(), String::new());
        Ok(Self { root, dir: normalized, template, tag })
    }

    /// Returns the absolute path of the directory.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.dir)
    }

    /// Returns the path of `manifest.json`.
    pub fn manifest(&self) -> PathBuf {
        self.path().join("manifest.json")
    }

    /// Returns the name of a phase's worktree.
    pub fn name(&self, phase: &PhaseNumber) -> String {
        self.template.replace("{NN}", &phase.padded())
    }

    /// Returns the branch name of a phase.
    pub fn branch(&self, phase: &PhaseNumber) -> String {
        let dash = if self.tag.is_empty() { "" } else { "-" };
        format!("phase-{}{dash}{}", phase.padded(), self.tag)
    }

    /// Parses the phase in a worktree's name, in the form of the template or as `phase-3`.
    pub fn phase_in(&self, name: &str) -> Option<PhaseNumber> {
        let own = self.template.split_once("{NN}").and_then(|(before, after)| {
            PhaseNumber::parse(name.strip_prefix(before)?.strip_suffix(after)?)
        });
        own.or_else(|| PhaseNumber::parse(name.strip_prefix("phase-")?))
    }

    /// Returns the other default layouts that exist on disk.
    pub fn other_existing(&self) -> Vec<Self> {
        let homes = self.layouts().filter(|home| home.dir != self.dir);
        homes.filter(|home| home.path().is_dir()).collect()
    }

    /// Returns the worktree homes in the default layouts.
    pub fn layouts(&self) -> impl Iterator<Item = Self> {
        LAYOUTS.iter().filter_map(|(dir, _)| self.with_dir(dir).ok())
    }

    /// Returns the name for the directory after a migration: `.worktrees.bak`.
    pub fn backup(&self) -> PathBuf {
        let mut name = self.dir.clone().into_os_string();
        name.push(".bak");
        PathBuf::from(name)
    }

    /// Returns the line for `info/exclude`; `None` when the directory is outside the root.
    pub fn exclude_line(&self) -> Option<String> {
        let path = self.path();
        let below = path.strip_prefix(&self.root).ok()?.to_str()?;
        let mut line = String::from("/");
        for letter in below.chars() {
            if matches!(letter, '*' | '?' | '[' | '\\' | ' ') {
                line.push('\\');
            }
            line.push(letter);
        }
        Some(line + "/")
    }
}

/// Returns the file to lock before adding, removing or checking out worktrees.
pub fn worktrees_lock(project: &Project) -> PathBuf {
    project.engine_dir.join("locks/worktrees.lock")
}

/// Returns whether a text can be a directory name and a branch name.
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['-', '.'])
        && !name.contains(['/', '\\'])
        && !name.contains(char::is_control)
}

/// Returns the layout with a manifest, else the first that exists, else the default.
fn existing_or_default(root: &Path, tag: &str) -> &'static str {
    let [(default, _), (other, _)] = LAYOUTS;
    let path = |dir: &str| root.join(dir).join(tag);
    let with_manifest =
        [other, default].into_iter().find(|dir| path(dir).join("manifest.json").is_file());
    let existing = || [default, other].into_iter().find(|dir| path(dir).is_dir());
    with_manifest.or_else(existing).unwrap_or(default)
}

#[cfg(test)]
mod tests;
