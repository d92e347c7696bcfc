//! What no agent may do to a repository, whoever lets it work: change git's own settings, or hide
//! changes from git. Whose branch is whose is known to who lets it work.

use std::path::PathBuf;

use mow_host::custody::{self, REPLACED, Settings, User};
use mow_host::git::Git;

use crate::EngineError;

/// How much of an object's name is shown.
const SHOWN: usize = 8;

/// Reads git's own settings, with those of the user.
pub(crate) fn settings(git: &Git) -> Result<Settings, EngineError> {
    let dir = |name: &str| std::env::var_os(name).map(PathBuf::from).unwrap_or_default();
    let (home, config) = (dir("HOME"), dir("XDG_CONFIG_HOME"));
    let user = User { home, config, global: dir("GIT_CONFIG_GLOBAL") };
    Ok(custody::settings(git, &user)?)
}

/// Says what was done to a repository whose settings were these; files are shown to git again.
pub(crate) fn meddled(git: &Git, before: &Settings) -> Result<Option<String>, EngineError> {
    let changed = custody::differing(before, &settings(git)?);
    let (replaced, changed): (Vec<_>, Vec<_>) =
        changed.into_iter().partition(|name| name.starts_with(REPLACED));
    let undo = "undo that, or keep it and go on";
    if !changed.is_empty() {
        let changed = changed.join(", ");
        // Phases share them, so it may have been another one.
        return Ok(Some(format!("git's own settings were changed meanwhile: {changed}; {undo}")));
    }
    if !replaced.is_empty() {
        let names = replaced.iter().map(|name| &name[REPLACED.len()..]);
        let names: Vec<_> = names.map(|name| name.get(..SHOWN).unwrap_or(name)).collect();
        let names = names.join(", ");
        return Ok(Some(format!(
            "objects of git were replaced meanwhile: {names}; {undo}: git replace -l"
        )));
    }
    let hidden = custody::hidden(git)?;
    if hidden.is_empty() {
        return Ok(None);
    }
    custody::unhide(git, &hidden)?;
    Ok(Some(format!("it hid changes from git: {}", hidden.join(", "))))
}
