//! What no agent may do to a repository, whoever lets it work: change git's own settings, or hide
//! changes from git. Whose branch is whose is known to who lets it work.

use std::path::PathBuf;

use mow_host::custody::{self, Settings};
use mow_host::git::Git;

use crate::EngineError;

/// Reads git's own settings, with those of the user.
pub(crate) fn settings(git: &Git) -> Result<Settings, EngineError> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    Ok(custody::settings(git, &home)?)
}

/// Says what an agent did to a repository whose settings were these; files are shown to git again.
pub(crate) fn meddled(git: &Git, before: &Settings) -> Result<Option<String>, EngineError> {
    let changed = custody::differing(before, &settings(git)?);
    if !changed.is_empty() {
        let changed = changed.join(", ");
        let text = format!("it changed git's own settings: {changed}");
        return Ok(Some(format!("{text}; undo that, or keep it and go on")));
    }
    let hidden = custody::hidden(git)?;
    if hidden.is_empty() {
        return Ok(None);
    }
    custody::unhide(git, &hidden)?;
    Ok(Some(format!("it hid changes from git: {}", hidden.join(", "))))
}
