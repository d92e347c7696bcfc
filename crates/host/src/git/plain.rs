//! Repositories that are plain enough to be read and written in our own process.
//!
//! Starting git takes longer than most of what it is asked for. What is done here leaves behind
//! what git would have left: the same objects, references, reflogs, entries of the index. Whatever
//! looks unusual, fails, or gives the user's own programs a say is `None`, and then git itself is
//! asked. So a failure here must leave nothing behind but objects that nobody refers to.

mod checkout;
mod commit;
mod files;
mod history;
pub(super) mod index;
#[cfg(test)]
mod invented;
mod lock;
mod look;
mod merge;
mod objects;
mod reference;
mod seal;
mod settings;
mod who;
mod worktree;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gix::bstr::ByteSlice;
use gix::open::Permissions;
use gix::sec::Permission;

use super::{Git, SCRUBBED, layout::Layout};

use objects::Content;
use settings::{has_variable, variable};

pub(crate) use commit::Ready;

/// What `extensions.` may say of a repository whose files lie where they always did.
const KNOWN_EXTENSIONS: [&str; 2] = ["objectformat", "worktreeconfig"];
/// Settings of those who want more of git than we do.
const UNUSUAL: [&str; 3] = ["core.fsync", "core.fsyncObjectFiles", "core.sharedRepository"];
/// Variables for one call of git that change nothing here.
const HARMLESS: [&str; 2] = ["GIT_CEILING_DIRECTORIES", "LC_ALL"];
/// The variable that names the settings of the whole machine.
const SYSTEM_VARIABLE: &str = "GIT_CONFIG_SYSTEM";

/// A plain repository, as one of its worktrees sees it.
pub(crate) struct Plain {
    repo: gix::Repository,
    layout: Layout,
    /// Where the settings of the whole machine lie.
    system: PathBuf,
    content: RefCell<Content>,
}

impl Git {
    /// Opens the repository in our own process; `None` where git itself is to be asked.
    pub(crate) fn plain(&self) -> Option<Plain> {
        // Whoever names an index of its own, for instance, means git's.
        let is_odd = |name: &&str| !HARMLESS.contains(name);
        if self.env.iter().map(|(name, _)| *name).any(|name| is_odd(&name)) || has_odd_variables() {
            return None;
        }
        let layout = self.layout()?;
        let mut permissions = Permissions::all();
        permissions.env.objects = Permission::Deny;
        // Which settings are the whole machine's is known to git alone.
        permissions.config.git_binary = false;
        let system = self.system_settings()?;
        let options = gix::open::Options::default()
            .permissions(permissions)
            .system_config_path(&system)
            .strict_config(true)
            .open_path_as_is(true)
            .bail_if_untrusted(true);
        let repo = options.open(&layout.own).ok()?.to_thread_local();
        let plain = Plain { repo, layout, system, content: RefCell::default() };
        plain.is_usual().then_some(plain)
    }

    /// Returns the variable that spares a process which we start to ask for the machine's settings.
    pub fn settings_variable(&self) -> Option<(&'static str, String)> {
        let file = self.system_settings()?.into_os_string().into_string().ok()?;
        Some((SYSTEM_VARIABLE, file))
    }

    /// Returns where git reads the settings of the whole machine; `None` when it does not say, as
    /// old ones do and those that are told to read none. Asked once: that is decided when git is
    /// built.
    fn system_settings(&self) -> Option<PathBuf> {
        static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
        let ask = || {
            let answer = self.ask(&["var", SYSTEM_VARIABLE]).ok()?;
            answer.success.then(|| answer.text().into())
        };
        let file = FILE.get_or_init(|| variable(SYSTEM_VARIABLE).or_else(ask).map(PathBuf::from));
        file.clone().filter(|file| file.is_absolute())
    }
}

impl Plain {
    /// Returns whether the repository is stored in the usual way, and nothing stands for something
    /// else in it.
    fn is_usual(&self) -> bool {
        let config = self.repo.config_snapshot();
        let mut extensions = config.plumbing().sections_by_name("extensions").into_iter().flatten();
        let common = &self.layout.common;
        extensions.all(|section| {
            section
                .value_names()
                .all(|name| KNOWN_EXTENSIONS.contains(&&*name.to_ascii_lowercase()))
        }) && self.repo.object_hash() == gix::hash::Kind::Sha1
            && self.repo.common_dir().canonicalize().is_ok_and(|dir| dir == *common)
            && !common.join("info/grafts").exists()
            && !common.join("refs/replace").exists()
            && !is_named_in(&common.join("packed-refs"), b" refs/replace/")
            && !UNUSUAL.iter().any(|key| self.is_set(key))
    }
}

/// Returns whether a variable would have git, or gix alone, look elsewhere.
fn has_odd_variables() -> bool {
    // Git takes a home without a name for none, gix for the current directory.
    let is_empty = |name: &str| variable(name).is_some_and(|home| home.is_empty());
    SCRUBBED.iter().any(|name| has_variable(name))
        // Settings of a git that called us; gix does not read them there.
        || has_variable("GIT_CONFIG_PARAMETERS")
        || ["HOME", "XDG_CONFIG_HOME"].into_iter().any(is_empty)
}

fn is_named_in(file: &Path, words: &[u8]) -> bool {
    fs::read(file).is_ok_and(|text| text.contains_str(words))
}
