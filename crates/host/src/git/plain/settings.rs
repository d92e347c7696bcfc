//! Settings, and which of them leave everything as usual.

use std::ffi::OsString;

use super::Plain;

/// Settings that change what files hold, and how they are called, unless they say what is so anyway.
const OF_FILES: [(&str, bool); 5] = [
    ("core.autocrlf", false),
    ("core.fileMode", true),
    ("core.ignoreCase", false),
    ("core.precomposeUnicode", false),
    ("core.symlinks", true),
];
/// Those that change what a worktree is.
const OF_WORKTREES: [(&str, bool); 4] = [
    ("core.bare", false),
    ("core.logAllRefUpdates", true),
    ("core.sparseCheckout", false),
    ("core.splitIndex", false),
];
/// Those that change how a worktree is made, or the form of its index, whatever they say.
const OF_MAKING: [&str; 2] = ["core.checkStat", "core.untrackedCache"];
const SECTIONS_OF_MAKING: [&str; 4] = ["attr", "feature", "index", "worktree"];

impl Plain {
    /// Returns whether a setting is there.
    pub(super) fn is_set(&self, key: &str) -> bool {
        let config = self.repo.config_snapshot();
        // One without a value is true, but no text.
        config.string(key).is_some() || config.boolean(key).is_some()
    }

    /// Returns whether a section of settings is there.
    pub(super) fn has_section(&self, name: &str) -> bool {
        let config = self.repo.config_snapshot();
        config.plumbing().sections_by_name(name).is_some_and(|mut all| all.next().is_some())
    }

    /// Returns whether files hold what objects hold, as far as settings go.
    pub(super) fn treats_files_as_usual(&self) -> bool {
        self.are_usual(&OF_FILES) && !self.is_set("attr.tree") && !has_variable("GIT_ATTR_SOURCE")
    }

    /// Returns whether a worktree is nothing special, and moves of its branch are noted.
    pub(super) fn treats_worktrees_as_usual(&self) -> bool {
        self.are_usual(&OF_WORKTREES)
            && !self.is_set("core.worktree")
            && !has_variable("GIT_REFLOG_ACTION")
    }

    /// Returns whether worktrees are made and filled in the way that they are without settings.
    pub(super) fn makes_worktrees_as_usual(&self) -> bool {
        self.treats_files_as_usual()
            && self.treats_worktrees_as_usual()
            && !OF_MAKING.iter().any(|key| self.is_set(key))
            && !SECTIONS_OF_MAKING.iter().any(|name| self.has_section(name))
            && !has_variable("GIT_INDEX_VERSION")
    }

    /// Returns whether the user signs commits.
    pub(super) fn signs(&self) -> bool {
        !self.are_usual(&[("commit.gpgSign", false)])
    }

    fn are_usual(&self, settings: &[(&str, bool)]) -> bool {
        let config = self.repo.config_snapshot();
        settings.iter().all(|(key, usual)| match config.boolean(*key) {
            Some(set) => set == *usual,
            None => !self.is_set(key),
        })
    }
}

/// Reads a variable as git would, had it been started.
#[expect(clippy::disallowed_methods, reason = "git gets our whole environment, too")]
pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

pub(super) fn has_variable(name: &str) -> bool {
    variable(name).is_some()
}
