//! Makes the commits of merges, signed where the user signs commits, and moves references to them.

#![expect(clippy::disallowed_methods, reason = "git takes settings from these variables, too")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::MergeError;
use crate::commit;
use crate::git::{Git, GitError, locks};

/// The settings that were read last, and whether they say to sign.
static SIGNS: Mutex<Option<(Vec<u8>, bool)>> = Mutex::new(None);

/// Makes a commit, signed where the user signs commits.
pub(super) fn commit_tree(
    git: &Git,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, MergeError> {
    // Unlike `git commit`, `git commit-tree` does not look at the setting itself.
    let sign = signs(git)?;
    if !sign && let Some(commit) = git.seal_plainly(tree, parents, message) {
        return Ok(commit);
    }
    let mut args = vec!["commit-tree", tree];
    args.extend(parents.iter().flat_map(|parent| ["-p", parent]));
    args.extend(["-F", "-"]);
    if sign {
        args.push("-S");
    }
    let answer = git.ask_with(&args, message.as_bytes())?;
    if answer.success {
        return Ok(answer.text());
    }
    commit::identity_ok(git)?;
    if sign {
        return Err(MergeError::Unsigned { said: answer.complaint() });
    }
    Ok(git.run_with(&args, message.as_bytes())?.text())
}

/// Returns whether the user signs commits; git is asked again when its settings have changed.
fn signs(git: &Git) -> Result<bool, GitError> {
    let settings = settings(git)?;
    let mut known = SIGNS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, signs)) = known.as_ref()
        && Some(at) == settings.as_ref()
    {
        return Ok(*signs);
    }
    let signs = git.ask(&["config", "--type=bool", "commit.gpgSign"])?.text() == "true";
    *known = settings.map(|settings| (settings, signs));
    Ok(signs)
}

/// Returns all settings of the repository and the user; `None` when they name files of their own.
///
/// Those of the whole system are taken to stay as they are while this process lives.
fn settings(git: &Git) -> Result<Option<Vec<u8>>, GitError> {
    let (own, common) = (git.git_dir()?, git.common_dir()?);
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let home = variable("HOME").unwrap_or_default();
    let shared = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let user = variable("GIT_CONFIG_GLOBAL").unwrap_or_else(|| home.join(".gitconfig"));
    let files =
        [common.join("config"), own.join("config.worktree"), user, shared.join("git/config")];
    let mut all = common.into_os_string().into_encoded_bytes();
    for file in &files {
        all.push(0);
        all.extend(read(file));
    }
    let names_others = all.windows(7).any(|word| word.eq_ignore_ascii_case(b"include"));
    Ok((!names_others).then_some(all))
}

fn read(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap_or_default()
}

/// Moves a reference if it still is where it was; tells whether.
pub(super) fn swap(
    git: &Git,
    name: &str,
    (from, to): (&str, &str),
    message: &str,
) -> Result<bool, GitError> {
    if let Some(is_moved) = git.swap_plainly(name, from, to) {
        return Ok(is_moved);
    }
    locks::clear_reference(git, name)?;
    let swap = ["update-ref", "-m", message, name, to, from];
    if !git.ask(&swap)?.success {
        if git.commit_of(name)?.as_deref() != Some(from) {
            return Ok(false);
        }
        git.run(&swap)?;
    }
    Ok(true)
}
