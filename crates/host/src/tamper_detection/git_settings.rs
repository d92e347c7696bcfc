//! Reads the git settings that decide what is committed and which programs see it: configuration,
//! ignore and attribute rules outside commits, hooks, and replace refs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

/// Sections of the git configuration that decide what is committed and which hooks run.
const SECTIONS: [&str; 6] = ["core", "include", "includeif", "filter", "commit", "gpg"];
/// Larger hooks are compared by size and mode only.
const HOOK_BYTES_MAX: u64 = 1024 * 1024;
/// How many configuration files are read, and how many bytes of each.
const FILES_MAX: usize = 64;
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Prefix of the refs that make git use one object in place of another; also of their setting
/// names.
pub const REPLACE_REF_PREFIX: &str = "refs/replace/";

/// Git settings by name: configuration values, contents of rule files and hooks, replace refs.
pub type GitSettings = BTreeMap<String, String>;

/// Where git looks for the user's own configuration.
#[derive(Clone, Debug)]
pub struct UserConfigPaths {
    /// The home directory.
    pub home: PathBuf,
    /// The value of `XDG_CONFIG_HOME`; empty for the default, `~/.config`.
    pub config: PathBuf,
    /// The value of `GIT_CONFIG_GLOBAL`; empty for the default, `~/.gitconfig`.
    pub global: PathBuf,
}

impl UserConfigPaths {
    /// Returns the directories in which git may find configuration of the user.
    fn dirs(&self) -> BTreeSet<PathBuf> {
        let dirs = [self.home.join(".config"), self.config.clone()].into_iter();
        dirs.filter(|dir| dir.is_absolute()).map(|dir| dir.join("git")).collect()
    }

    /// Returns a file name with the home directory written as `~`.
    fn display_name(&self, file: &Path) -> String {
        match file.strip_prefix(&self.home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => file.display().to_string(),
        }
    }

    /// Resolves a path in a setting, which may be relative to `dir` or start with `~/`.
    fn resolve(&self, dir: &Path, value: &str) -> PathBuf {
        let value = value.trim().trim_matches('"');
        value.strip_prefix("~/").map_or_else(|| dir.join(value), |rest| self.home.join(rest))
    }
}

/// Reads the settings of a repository and of the user that apply to a worktree.
pub fn load_settings(worktree: &Git, user: &UserConfigPaths) -> Result<GitSettings, GitError> {
    let (own, common) = (worktree.git_dir()?, worktree.common_dir()?);
    let dirs = user.dirs();
    let (mut all, mut read) = (GitSettings::new(), BTreeSet::new());
    let files = [
        common.join("config"),
        own.join("config.worktree"),
        user.home.join(".gitconfig"),
        user.global.clone(),
    ];
    for file in files.into_iter().chain(dirs.iter().map(|dir| dir.join("config"))) {
        read_file(&file, user, &mut read, &mut all);
    }
    let named = |setting: &str| -> Vec<PathBuf> {
        let values = all.get(setting).into_iter().flat_map(|values| values.lines());
        // A file inside the worktree is checked like any other file of it.
        let files = values.map(|value| user.resolve(Path::new(""), value));
        files.filter(|file| file.is_absolute() && !file.starts_with(worktree.dir())).collect()
    };
    let mut rules: Vec<_> =
        dirs.iter().flat_map(|dir| [dir.join("ignore"), dir.join("attributes")]).collect();
    rules.extend(["core.excludesfile", "core.attributesfile"].into_iter().flat_map(named));
    let hooks = named("core.hookspath");
    for file in rules {
        read_rules(&file, user.display_name(&file), &mut all);
    }
    let alternates = "objects/info/alternates";
    for name in ["info/exclude", "info/attributes", "info/grafts", alternates] {
        read_rules(&common.join(name), name.to_owned(), &mut all);
    }
    read_rules(&own.join("info/sparse-checkout"), "info/sparse-checkout".to_owned(), &mut all);
    read_hooks(&common.join("hooks"), "hooks", &mut all);
    for dir in hooks {
        read_hooks(&dir, &user.display_name(&dir), &mut all);
    }
    all.extend(worktree.refs(&[REPLACE_REF_PREFIX.trim_end_matches('/')])?);
    Ok(all)
}

/// Returns the names of the settings that were added, removed or changed.
pub fn changed_settings(before: &GitSettings, after: &GitSettings) -> Vec<String> {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

/// Reads a configuration file and the files it includes, even if git's conditions for the include
/// do not hold now.
///
/// Each file is read once, because files may include each other.
fn read_file(
    file: &Path,
    user: &UserConfigPaths,
    read: &mut BTreeSet<PathBuf>,
    all: &mut GitSettings,
) {
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    if read.len() >= FILES_MAX || !real.is_file() || !read.insert(real) {
        return;
    }
    let mut text = Vec::new();
    if let Ok(opened) = fs::File::open(file) {
        opened.take(FILE_BYTES_MAX).read_to_end(&mut text).ok();
    }
    for value in read_config(&String::from_utf8_lossy(&text), all) {
        let included = user.resolve(file.parent().unwrap_or(file), &value);
        read_file(&included, user, read, all);
    }
}

/// Parses `[section "part"]` and `name = value` lines of the relevant sections into `all`.
///
/// Returns the paths of included files.
fn read_config(text: &str, all: &mut GitSettings) -> Vec<String> {
    let (mut section, mut matters, mut included) = (String::new(), false, Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            let head = rest.split(']').next().unwrap_or(rest);
            let end = head.find([' ', '.', '"']).unwrap_or(head.len());
            let name = head[..end].to_ascii_lowercase();
            matters = SECTIONS.contains(&name.as_str());
            let part = head[end..].replace([' ', '"'], ".");
            section = format!("{name}{part}").trim_end_matches('.').replace("..", ".");
        } else if matters && !line.is_empty() && !line.starts_with(['#', ';']) {
            let (name, value) = line.split_once('=').unwrap_or((line, "true"));
            let name = name.trim().to_ascii_lowercase();
            if section.starts_with("include") && name == "path" {
                included.push(value.to_owned());
            }
            let values = all.entry(format!("{section}.{name}")).or_default();
            values.push_str(value.trim());
            values.push('\n');
        }
    }
    included
}

/// Reads a rule file, without the lines that mow itself adds at any time.
fn read_rules(file: &Path, name: String, all: &mut GitSettings) {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let is_own = |line: &str| {
        line.starts_with("/.worktrees/") || line.ends_with("/dashboard-*") || line == ".mow-tmp-*"
    };
    let lines: Vec<_> = text.lines().filter(|line| !is_own(line.trim())).collect();
    if !lines.is_empty() {
        all.insert(name, lines.join("\n"));
    }
}

/// Reads the executable bits, size and content of each hook in a directory.
fn read_hooks(dir: &Path, dir_name: &str, all: &mut GitSettings) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(metadata) = fs::metadata(entry.path()) else { continue };
        if name.ends_with(".sample") || !metadata.is_file() {
            continue;
        }
        let bytes = match metadata.len() {
            0..=HOOK_BYTES_MAX => fs::read(entry.path()).unwrap_or_default(),
            _ => Vec::new(),
        };
        let mode = metadata.permissions().mode() & 0o111;
        let text = String::from_utf8_lossy(&bytes);
        all.insert(format!("{dir_name}/{name}"), format!("{mode:o} {} {text}", metadata.len()));
    }
}
