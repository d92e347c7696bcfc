//! Git's own settings, as far as they decide what is committed and who sees it: configuration, ignore
//! rules outside of commits, hooks, and which objects stand for others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::git::{Git, GitError};

/// Sections of git's settings that decide what is committed and which hooks see it.
const SECTIONS: [&str; 6] = ["core", "include", "includeif", "filter", "commit", "gpg"];
/// How large a hook may be that is compared by its content.
const HOOK_BYTES_MAX: u64 = 1024 * 1024;
/// How many files of settings are read, and how much of each.
const FILES_MAX: usize = 64;
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What the names of settings begin with that make one object stand for another.
pub const REPLACED: &str = "refs/replace/";

/// Git's own settings, by name.
pub type Settings = BTreeMap<String, String>;

/// Where a user's own settings are.
#[derive(Clone, Debug)]
pub struct User {
    /// The home.
    pub home: PathBuf,
    /// Where programs keep their settings, as `XDG_CONFIG_HOME` says; empty for the usual place.
    pub config: PathBuf,
    /// The file instead of `~/.gitconfig`, as `GIT_CONFIG_GLOBAL` says; empty for the usual one.
    pub global: PathBuf,
}

impl User {
    /// Returns the directories that git may find settings of the user in.
    fn dirs(&self) -> BTreeSet<PathBuf> {
        let dirs = [self.home.join(".config"), self.config.clone()].into_iter();
        dirs.filter(|dir| dir.is_absolute()).map(|dir| dir.join("git")).collect()
    }

    /// Returns the name of a file as people write it.
    fn named(&self, file: &Path) -> String {
        match file.strip_prefix(&self.home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => file.display().to_string(),
        }
    }

    /// Returns the file that a setting names, which may be relative to a directory.
    fn file(&self, dir: &Path, value: &str) -> PathBuf {
        let value = value.trim().trim_matches('"');
        value.strip_prefix("~/").map_or_else(|| dir.join(value), |rest| self.home.join(rest))
    }
}

/// Reads git's own settings, with those of the user.
pub fn settings(worktree: &Git, user: &User) -> Result<Settings, GitError> {
    let (own, common) = (worktree.git_dir()?, worktree.common_dir()?);
    let dirs = user.dirs();
    let (mut all, mut read) = (Settings::new(), BTreeSet::new());
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
        // What is named below the worktree is a file of it like any other.
        let files = values.map(|value| user.file(Path::new(""), value));
        files.filter(|file| file.is_absolute() && !file.starts_with(worktree.dir())).collect()
    };
    let mut rules: Vec<_> =
        dirs.iter().flat_map(|dir| [dir.join("ignore"), dir.join("attributes")]).collect();
    rules.extend(["core.excludesfile", "core.attributesfile"].into_iter().flat_map(named));
    let hooks = named("core.hookspath");
    for file in rules {
        read_rules(&file, user.named(&file), &mut all);
    }
    let alternates = "objects/info/alternates";
    for name in ["info/exclude", "info/attributes", "info/grafts", alternates] {
        read_rules(&common.join(name), name.to_owned(), &mut all);
    }
    read_rules(&own.join("info/sparse-checkout"), "info/sparse-checkout".to_owned(), &mut all);
    read_hooks(&common.join("hooks"), "hooks", &mut all);
    for dir in hooks {
        read_hooks(&dir, &user.named(&dir), &mut all);
    }
    all.extend(worktree.refs(&[REPLACED.trim_end_matches('/')])?);
    Ok(all)
}

/// Returns the names of the settings that differ.
pub fn differing(before: &Settings, after: &Settings) -> Vec<String> {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

/// Reads a file of settings and those that it includes, whether or not git would just now.
///
/// Each is read once: they may include each other.
fn read_file(file: &Path, user: &User, read: &mut BTreeSet<PathBuf>, all: &mut Settings) {
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    if read.len() >= FILES_MAX || !real.is_file() || !read.insert(real) {
        return;
    }
    let mut text = Vec::new();
    if let Ok(opened) = fs::File::open(file) {
        opened.take(FILE_BYTES_MAX).read_to_end(&mut text).ok();
    }
    for value in read_config(&String::from_utf8_lossy(&text), all) {
        let included = user.file(file.parent().unwrap_or(file), &value);
        read_file(&included, user, read, all);
    }
}

/// Reads `[section "part"]` and `name = value`, as far as it matters here; returns which files are
/// included.
fn read_config(text: &str, all: &mut Settings) -> Vec<String> {
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

/// Reads rules, without the lines that are mow's own and may come at any time.
fn read_rules(file: &Path, name: String, all: &mut Settings) {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let is_own = |line: &str| line.starts_with("/.worktrees/") || line.ends_with("/dashboard-*");
    let lines: Vec<_> = text.lines().filter(|line| !is_own(line.trim())).collect();
    if !lines.is_empty() {
        all.insert(name, lines.join("\n"));
    }
}

fn read_hooks(dir: &Path, named: &str, all: &mut Settings) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(about) = fs::metadata(entry.path()) else { continue };
        if name.ends_with(".sample") || !about.is_file() {
            continue;
        }
        let bytes = match about.len() {
            0..=HOOK_BYTES_MAX => fs::read(entry.path()).unwrap_or_default(),
            _ => Vec::new(),
        };
        let mode = about.permissions().mode() & 0o111;
        let text = String::from_utf8_lossy(&bytes);
        all.insert(format!("{named}/{name}"), format!("{mode:o} {} {text}", about.len()));
    }
}
