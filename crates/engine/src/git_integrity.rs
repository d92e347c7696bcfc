//! Detects what no agent may do to a repository: change git's settings, replace objects, hide
//! files.
//!
//! Moved branches are not checked here: the caller knows which branch belongs to which phase.

use std::path::PathBuf;

use mow_host::git::Git;
use mow_host::tamper_detection::{self, GitSettings, REPLACE_REF_PREFIX, UserConfigPaths};

use crate::EngineError;

/// How many characters of an object's name are shown.
const NAME_CHARS: usize = 8;

/// Loads git's settings: those of the repository and those of the user.
pub(crate) fn load_settings(git: &Git) -> Result<GitSettings, EngineError> {
    let dir = |name: &str| std::env::var_os(name).map(PathBuf::from).unwrap_or_default();
    let (home, config) = (dir("HOME"), dir("XDG_CONFIG_HOME"));
    let user = UserConfigPaths { home, config, global: dir("GIT_CONFIG_GLOBAL") };
    Ok(tamper_detection::load_settings(git, &user)?)
}

/// Returns a message if the repository was tampered with since `before` was loaded.
///
/// Files that were hidden from git by index flags are made visible again.
pub(crate) fn detect_tampering(
    git: &Git,
    before: &GitSettings,
) -> Result<Option<String>, EngineError> {
    let changed = tamper_detection::changed_settings(before, &load_settings(git)?);
    let (replaced, changed): (Vec<_>, Vec<_>) =
        changed.into_iter().partition(|name| name.starts_with(REPLACE_REF_PREFIX));
    let undo = "undo that, or keep it and continue";
    if !changed.is_empty() {
        let changed = changed.join(", ");
        // All phases share the settings, so an agent of another phase may have changed them.
        return Ok(Some(format!("git's own settings were changed meanwhile: {changed}; {undo}")));
    }
    if !replaced.is_empty() {
        let names = replaced.iter().map(|name| &name[REPLACE_REF_PREFIX.len()..]);
        let names: Vec<_> = names.map(|name| name.get(..NAME_CHARS).unwrap_or(name)).collect();
        let names = names.join(", ");
        return Ok(Some(format!(
            "objects of git were replaced meanwhile: {names}; {undo}: git replace -l"
        )));
    }
    let hidden = tamper_detection::find_hidden_changes(git)?;
    if hidden.is_empty() {
        return Ok(None);
    }
    tamper_detection::unhide_changes(git, &hidden)?;
    Ok(Some(format!("it hid changes from git: {}", hidden.join(", "))))
}
