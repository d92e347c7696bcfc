//! Checks git settings and environment variables for values that need git itself.

use std::ffi::OsString;

use super::InProcessRepo;

/// Settings that change file contents or names, with the value that changes nothing.
const FILE_SETTINGS: [(&str, bool); 5] = [
    ("core.autocrlf", false),
    ("core.fileMode", true),
    ("core.ignoreCase", false),
    ("core.precomposeUnicode", false),
    ("core.symlinks", true),
];
/// Settings that change what a worktree is, with the value that changes nothing.
const WORKTREE_SETTINGS: [(&str, bool); 4] = [
    ("core.bare", false),
    ("core.logAllRefUpdates", true),
    ("core.sparseCheckout", false),
    ("core.splitIndex", false),
];
/// Settings that change how a worktree is created, or the form of its index, whatever their value.
const CHECKOUT_SETTINGS: [&str; 2] = ["core.checkStat", "core.untrackedCache"];
const CHECKOUT_SECTIONS: [&str; 4] = ["attr", "feature", "index", "worktree"];

impl InProcessRepo {
    /// Returns whether a setting is present, with or without a value.
    pub(super) fn is_set(&self, key: &str) -> bool {
        let config = self.repo.config_snapshot();
        // A key without a value is the boolean true, but not a string.
        config.string(key).is_some() || config.boolean(key).is_some()
    }

    /// Returns whether the configuration has a section of this name.
    pub(super) fn has_section(&self, name: &str) -> bool {
        let config = self.repo.config_snapshot();
        config.plumbing().sections_by_name(name).is_some_and(|mut all| all.next().is_some())
    }

    /// Returns whether no setting makes file contents differ from their objects.
    pub(super) fn has_default_file_settings(&self) -> bool {
        self.have_values(&FILE_SETTINGS)
            && !self.is_set("attr.tree")
            && !has_variable("GIT_ATTR_SOURCE")
    }

    /// Returns whether the worktree has no special settings, and git writes reflogs for its branch.
    pub(super) fn has_default_worktree_settings(&self) -> bool {
        self.have_values(&WORKTREE_SETTINGS)
            && !self.is_set("core.worktree")
            && !has_variable("GIT_REFLOG_ACTION")
    }

    /// Returns whether no setting changes how git creates and fills worktrees.
    pub(super) fn has_default_checkout_settings(&self) -> bool {
        self.has_default_file_settings()
            && self.has_default_worktree_settings()
            && !CHECKOUT_SETTINGS.iter().any(|key| self.is_set(key))
            && !CHECKOUT_SECTIONS.iter().any(|name| self.has_section(name))
            && !has_variable("GIT_INDEX_VERSION")
    }

    /// Returns whether the user's settings ask for signed commits.
    pub(super) fn signs_commits(&self) -> bool {
        !self.have_values(&[("commit.gpgSign", false)])
    }

    fn have_values(&self, settings: &[(&str, bool)]) -> bool {
        let config = self.repo.config_snapshot();
        settings.iter().all(|(key, usual)| match config.boolean(*key) {
            Some(set) => set == *usual,
            None => !self.is_set(key),
        })
    }
}

/// Reads an environment variable, as a git started now would see it.
#[expect(clippy::disallowed_methods, reason = "a started git would get the same environment")]
pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

pub(super) fn has_variable(name: &str) -> bool {
    variable(name).is_some()
}
