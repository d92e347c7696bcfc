//! Reads and writes ordinary repositories in our own process, without starting git.
//!
//! Starting git takes longer than most of the questions it is asked. Each operation here leaves
//! exactly what git would have left: the same objects, refs, reflogs and index entries. A
//! repository or setting that is unusual, an operation that fails, and anything that would run the
//! user's own programs returns `None`; the caller then runs git itself. So a failure here must
//! leave nothing behind but unreferenced objects.

mod checkout;
mod commit;
mod commit_tree;
mod files;
mod history;
mod identity;
pub(super) mod index;
mod lock;
mod merge;
mod objects;
mod reference;
mod settings;
#[cfg(test)]
mod test_history;
mod uncommitted;
mod worktree;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gix::bstr::ByteSlice;
use gix::open::Permissions;
use gix::sec::Permission;

use super::{Git, git_dirs::GitDirs};
use crate::launch::REPOSITORY_VARIABLES;

use objects::ObjectBuffer;
use settings::{has_variable, variable};

pub(crate) use commit::PreparedCommit;

/// Values of `extensions.*` that do not change where the repository's files lie.
const KNOWN_EXTENSIONS: [&str; 2] = ["objectformat", "worktreeconfig"];
/// Settings whose effects are not implemented here.
const UNSUPPORTED_SETTINGS: [&str; 3] =
    ["core.fsync", "core.fsyncObjectFiles", "core.sharedRepository"];
/// Environment variables of one git call that do not matter here.
const HARMLESS_VARIABLES: [&str; 2] = ["GIT_CEILING_DIRECTORIES", "LC_ALL"];
/// The variable that names the system-wide configuration file.
const SYSTEM_CONFIG_VARIABLE: &str = "GIT_CONFIG_SYSTEM";

/// A repository with an ordinary layout, opened through one of its worktrees.
pub(crate) struct InProcessRepo {
    repo: gix::Repository,
    dirs: GitDirs,
    /// The system-wide configuration file.
    system_config: PathBuf,
    buffer: RefCell<ObjectBuffer>,
}

impl Git {
    /// Opens the repository in our own process; `None` when git itself must be used.
    pub(crate) fn in_process(&self) -> Option<InProcessRepo> {
        // A variable such as `GIT_INDEX_FILE` is meant for git.
        let is_unsupported = |name: &&str| !HARMLESS_VARIABLES.contains(name);
        if self.env.iter().map(|(name, _)| *name).any(|name| is_unsupported(&name))
            || has_unsupported_variables()
        {
            return None;
        }
        let dirs = self.git_dirs()?;
        let mut permissions = Permissions::all();
        permissions.env.objects = Permission::Deny;
        // Only git knows where its system-wide configuration lies.
        permissions.config.git_binary = false;
        let system_config = self.system_config_path()?;
        let options = gix::open::Options::default()
            .permissions(permissions)
            .system_config_path(&system_config)
            .strict_config(true)
            .open_path_as_is(true)
            .bail_if_untrusted(true);
        let repo = options.open(&dirs.git_dir).ok()?.to_thread_local();
        let opened = InProcessRepo { repo, dirs, system_config, buffer: RefCell::default() };
        opened.is_supported().then_some(opened)
    }

    /// Returns the variable that tells a child process where the system-wide configuration lies, so
    /// that it need not ask git.
    pub fn system_config_variable(&self) -> Option<(&'static str, String)> {
        let file = self.system_config_path()?.into_os_string().into_string().ok()?;
        Some((SYSTEM_CONFIG_VARIABLE, file))
    }

    /// Returns the path of git's system-wide configuration. `None` when git does not name it: old
    /// versions do not, nor does a git that is told to read none. Asked once per process, because
    /// the path is fixed when git is built.
    fn system_config_path(&self) -> Option<PathBuf> {
        static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
        let ask = || {
            let answer = self.ask(&["var", SYSTEM_CONFIG_VARIABLE]).ok()?;
            answer.success.then(|| answer.text().into())
        };
        let file =
            FILE.get_or_init(|| variable(SYSTEM_CONFIG_VARIABLE).or_else(ask).map(PathBuf::from));
        file.clone().filter(|file| file.is_absolute())
    }
}

impl InProcessRepo {
    /// Returns whether the repository has the ordinary layout, uses SHA-1, and has no grafts or
    /// replaced objects.
    fn is_supported(&self) -> bool {
        let config = self.repo.config_snapshot();
        let mut extensions = config.plumbing().sections_by_name("extensions").into_iter().flatten();
        let common = &self.dirs.common_dir;
        extensions.all(|section| {
            section
                .value_names()
                .all(|name| KNOWN_EXTENSIONS.contains(&&*name.to_ascii_lowercase()))
        }) && self.repo.object_hash() == gix::hash::Kind::Sha1
            && self.repo.common_dir().canonicalize().is_ok_and(|dir| dir == *common)
            && !common.join("info/grafts").exists()
            && !common.join("refs/replace").exists()
            && !file_contains(&common.join("packed-refs"), b" refs/replace/")
            && !UNSUPPORTED_SETTINGS.iter().any(|key| self.is_set(key))
    }
}

/// Returns whether an environment variable makes git, or only gix, look elsewhere.
fn has_unsupported_variables() -> bool {
    // Git treats an empty home as unset; gix treats it as the current directory.
    let is_empty = |name: &str| variable(name).is_some_and(|home| home.is_empty());
    REPOSITORY_VARIABLES.iter().any(|name| has_variable(name))
        // Settings from a git that called us; gix does not read them from this variable.
        || has_variable("GIT_CONFIG_PARAMETERS")
        || ["HOME", "XDG_CONFIG_HOME"].into_iter().any(is_empty)
}

fn file_contains(file: &Path, text: &[u8]) -> bool {
    fs::read(file).is_ok_and(|bytes| bytes.contains_str(text))
}
