//! The home of a project's worktrees: which directory it is, and how worktrees in it are named.
//!
//! Only looks. A setting wins over a home that exists, and that over the default `.worktrees/pNN`;
//! `.claude/worktrees/phase-NN` is the other layout that projects have.

use std::path::{Component, Path, PathBuf};

use mow_core::phase::PhaseNumber;
use serde_json::Value;
use thiserror::Error;

use crate::config::Config;
use crate::project::Project;

/// The homes that projects have without a setting, with their names for worktrees.
const LAYOUTS: [(&str, &str); 2] = [(".worktrees", "p{NN}"), (".claude/worktrees", "phase-{NN}")];

/// Why a home cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum HomeError {
    /// The setting for the directory names none.
    #[error("worktree.root is `{0}`, which is not a directory for worktrees")]
    BadRoot(String),
    /// The setting for names makes no name, or the same one for all phases.
    #[error("worktree.name is `{0}`; it needs {{NN}} and must be a plain file name")]
    BadName(String),
}

/// Where the worktrees of a project live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The top of the main worktree.
    pub root: PathBuf,
    /// The directory as it is set, usually relative to the root.
    pub dir: PathBuf,
    /// How a phase's worktree is called; `{NN}` stands for the padded number.
    pub template: String,
    /// What tells the project apart from others in its repository; empty for the one at the top.
    tag: String,
}

impl Home {
    /// Finds the home of a project whose main worktree is at `root`.
    ///
    /// A project that is not at the top of its repository has a part of its own there, which is
    /// called by its tag ([`crate::project::Project::tag`]).
    pub fn resolve(root: &Path, config: &Config, tag: &str) -> Result<Self, HomeError> {
        let set = |key: &str| config.value(key).and_then(Value::as_str).filter(|v| !v.is_empty());
        let dir = set("worktree.root").unwrap_or_else(|| existing(root, tag));
        Ok(Self::at(root, dir, set("worktree.name"))?.part(tag))
    }

    /// Makes a home of another directory for the same project.
    pub fn elsewhere(&self, dir: &str) -> Result<Self, HomeError> {
        Ok(Self::at(&self.root, dir, None)?.part(&self.tag))
    }

    /// Makes a project's own part of a home.
    fn part(self, tag: &str) -> Self {
        if tag.is_empty() {
            return self;
        }
        Self { dir: self.dir.join(tag), tag: tag.to_owned(), ..self }
    }

    /// Makes a home of a directory; names are those of its layout unless a template is given.
    fn at(root: &Path, dir: &str, template: Option<&str>) -> Result<Self, HomeError> {
        let plain: PathBuf = Path::new(dir).components().collect();
        let joined = root.join(&plain);
        let is_sound = !dir.contains(char::is_control) && !root.starts_with(&joined);
        if !is_sound || joined.components().any(|part| part == Component::ParentDir) {
            return Err(HomeError::BadRoot(dir.to_owned()));
        }
        let layout = LAYOUTS.iter().find(|(dir, _)| Path::new(dir) == plain);
        let template = template.unwrap_or_else(|| layout.map_or(LAYOUTS[0].1, |(_, name)| name));
        if !template.contains("{NN}") || !is_plain_name(template) {
            return Err(HomeError::BadName(template.to_owned()));
        }
        let (root, template, tag) = (root.to_path_buf(), template.to_owned(), String::new());
        Ok(Self { root, dir: plain, template, tag })
    }

    /// Returns the directory.
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.dir)
    }

    /// Returns where the manifest is.
    pub fn manifest(&self) -> PathBuf {
        self.path().join("manifest.json")
    }

    /// Returns the name of a phase's worktree.
    pub fn name(&self, phase: &PhaseNumber) -> String {
        self.template.replace("{NN}", &phase.padded())
    }

    /// Returns the branch of a phase.
    pub fn branch(&self, phase: &PhaseNumber) -> String {
        let dash = if self.tag.is_empty() { "" } else { "-" };
        format!("phase-{}{dash}{}", phase.padded(), self.tag)
    }

    /// Returns the phase in a worktree's name: this home's own form, or `phase-3`.
    pub fn phase_in(&self, name: &str) -> Option<PhaseNumber> {
        let own = self.template.split_once("{NN}").and_then(|(before, after)| {
            PhaseNumber::parse(name.strip_prefix(before)?.strip_suffix(after)?)
        });
        own.or_else(|| PhaseNumber::parse(name.strip_prefix("phase-")?))
    }

    /// Returns the layouts that exist on disk and are not this one.
    pub fn others(&self) -> Vec<Self> {
        let homes = self.layouts().filter(|home| home.dir != self.dir);
        homes.filter(|home| home.path().is_dir()).collect()
    }

    /// Returns the homes that the project would have without a setting.
    pub fn layouts(&self) -> impl Iterator<Item = Self> {
        LAYOUTS.iter().filter_map(|(dir, _)| self.elsewhere(dir).ok())
    }

    /// Returns where the directory goes when its worktrees have moved: `.worktrees.bak`.
    pub fn backup(&self) -> PathBuf {
        let mut name = self.dir.clone().into_os_string();
        name.push(".bak");
        PathBuf::from(name)
    }

    /// Returns the line that keeps the home out of git, when it lies inside the root.
    pub fn ignore_line(&self) -> Option<String> {
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

/// Returns the file to lock before changing worktrees or what is checked out in them.
pub fn worktrees_lock(project: &Project) -> PathBuf {
    project.engine_dir.join("locks/worktrees.lock")
}

/// Returns whether a text can be the name of a directory and of a branch.
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['-', '.'])
        && !name.contains(['/', '\\'])
        && !name.contains(char::is_control)
}

/// Returns the home that a project has already: one with a manifest, else one that is there.
fn existing(root: &Path, tag: &str) -> &'static str {
    let [(own, _), (other, _)] = LAYOUTS;
    let home = |dir: &str| root.join(dir).join(tag);
    let with_manifest =
        [other, own].into_iter().find(|dir| home(dir).join("manifest.json").is_file());
    let there = || [own, other].into_iter().find(|dir| home(dir).is_dir());
    with_manifest.or_else(there).unwrap_or(own)
}

#[cfg(test)]
mod tests;
