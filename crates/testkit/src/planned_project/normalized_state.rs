//! Renders the state after a run as text, so that two runs can be compared.
//!
//! Everything that differs between any two runs is masked: times, durations, commits, attempts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value;

use super::PlannedProject;

/// Patterns that differ between any two runs, with their replacements. The order matters: a run id
/// contains a date.
const MASKS: [(&str, &str); 10] = [
    (r"\d{8}-\d{6}-[0-9a-f]{4}", "RUN"),
    (r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z?", "TIME"),
    (r"\d{4}-\d{2}-\d{2}", "DATE"),
    (r"\b[0-9a-f]{7,64}\b", "HASH"),
    (r"\b\d+(\.\d+)? ?(min|ms|s|h)\b", "DURATION"),
    (r"\| \d\d:\d\d \|", "| TIME |"),
    (r"(?i)(attempt\W{1,4})\d+", "${1}N"),
    // How often the lead was away depends on the disturbance. The first such note replaces "None."
    (
        r"(?m)(^\+?)(None\.|- .*The lead has not answered for .*)\n(\+?- .*The lead has not answered for .*\n)*",
        "${1}None.\n",
    ),
    // A phase whose worker died during look-ahead does the same work again in its turn.
    (r"(?m)^\+?\n\+?<!-- Made ahead on .*\n", ""),
    (r"(?m)^@@ .* @@", "@@"),
];

/// Subject endings of optional commits. Commits of planning files may be folded into others, and work
/// that no commit reverted is not restored. No trailer depends on these commits.
const OPTIONAL_COMMITS: [&str; 5] =
    ["): context", "): researcher", "): planner", "): what was done ahead", " reverted"];

/// The id of git's empty tree: a diff against it shows all files of a commit.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

impl PlannedProject {
    /// Returns the masked state of the repository and its planning files, by part.
    pub fn normalized_state(&self) -> BTreeMap<String, String> {
        let masks = MASKS.map(|(what, with)| (Regex::new(what).expect("it is fixed"), with));
        let outside = fs::canonicalize(self.sandbox.outer_dir()).expect("it is there");
        let outside = outside.to_string_lossy().into_owned();
        let masked = |text: &str| {
            let text = text.replace(&outside, "OUTSIDE");
            masks.iter().fold(text, |text, (what, with)| what.replace_all(&text, *with).into())
        };
        let mut parts = BTreeMap::new();
        for branch in self.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]).lines() {
            let all = self.git(&["diff", "--no-color", "--no-renames", EMPTY_TREE, branch]);
            parts.insert(branch.to_owned(), all);
            // Parallel phases end in any order. Uncommitted files go into the next commit.
            let subjects = self.effective_subjects(branch);
            let is_own =
                |subject: &&String| !OPTIONAL_COMMITS.iter().any(|end| subject.ends_with(end));
            let mut subjects: Vec<_> = subjects.iter().filter(is_own).cloned().collect();
            subjects.sort_unstable();
            parts.insert(format!("commits of {branch}"), subjects.join("\n"));
        }
        let worktrees = self.git(&["worktree", "list", "--porcelain"]);
        parts.insert("worktrees".to_owned(), worktrees);
        let refs = self.git(&["for-each-ref", "--format=%(refname)", "refs/mow/run", "refs/stash"]);
        parts.insert("references".to_owned(), refs);
        let claims = self.repository_root().join(".git/mow/claims.json");
        parts.insert("claims".to_owned(), fs::read_to_string(claims).unwrap_or_default());
        for path in self.files_below(&self.root()) {
            let name = path.strip_prefix(self.root()).unwrap_or(&path).to_string_lossy();
            // The dashboard's files are a log of what happened, disturbances included; the shared
            // files in a worktree are as they were at some moment.
            let is_copy = name.starts_with(".worktrees/")
                && ["STATE.md", "ROADMAP.md", "REQUIREMENTS.md"].iter().any(|n| name.ends_with(n));
            if !name.contains("dashboard-") && !is_copy {
                let bytes = fs::read(&path).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                // Parallel phases get their worktrees in any order.
                let is_manifest = name.ends_with("manifest.json");
                let text = if is_manifest { sorted_json_lines(&text) } else { text };
                parts.insert(name.to_string(), text);
            }
        }
        parts.into_iter().map(|(name, text)| (masked(&name), masked(&text))).collect()
    }

    /// Returns the subjects of a branch's commits without undone work and the commits that undid it.
    /// Undone work of parallel plans stays in the history; undone work of a single plan does not.
    fn effective_subjects(&self, branch: &str) -> Vec<String> {
        let trailer = |key: &str| format!("%(trailers:key={key},valueonly,separator=%x20)");
        let format = format!("--format=%s%x00{}%x00{}", trailer("Mow-Task"), trailer("Mow-Undone"));
        let log = self.git(&["log", &format, branch]);
        let lines = log.lines().map(|line| line.splitn(3, '\0').collect::<Vec<_>>());
        let (undoing, others): (Vec<_>, Vec<_>) = lines.partition(|line| !line[2].is_empty());
        let mut undone: Vec<_> = undoing.iter().flat_map(|line| line[2].split(' ')).collect();
        let stands = |line: &Vec<&str>| match undone.iter().position(|task| *task == line[1]) {
            Some(at) => {
                undone.remove(at);
                false
            }
            None => true,
        };
        let standing: Vec<_> = others.into_iter().filter(stands).collect();
        standing.iter().map(|line| line[0].to_owned()).collect()
    }

    /// Returns temporary files left in the project, its worktrees and the engine's directory.
    pub fn leftover_temporary_files(&self) -> Vec<PathBuf> {
        let mut all = self.files_below(&self.repository_root());
        all.extend(self.files_below(&self.repository_root().join(".git/mow")));
        all.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(".mow-tmp-")
        });
        all
    }

    /// Returns the engine's lock files that a process holds.
    pub fn held_locks(&self) -> Vec<PathBuf> {
        let mut all = self.files_below(&self.repository_root().join(".git/mow"));
        all.retain(|path| path.extension().is_some_and(|end| end == "lock"));
        all.retain(|path| mow_store::disk::is_locked(path).expect("it can be asked"));
        all
    }

    /// Returns all files below a directory, without git's own files and links.
    fn files_below(&self, top: &Path) -> Vec<PathBuf> {
        let (mut files, mut folders) = (Vec::new(), vec![top.to_path_buf()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() && entry.file_name() != ".git" {
                    folders.push(entry.path());
                } else if kind.is_file() && entry.file_name() != ".git" {
                    files.push(entry.path());
                }
            }
        }
        files.sort_unstable();
        files
    }
}

/// Returns JSON as sorted lines of paths and values.
fn sorted_json_lines(text: &str) -> String {
    fn lines(at: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                map.iter().for_each(|(key, value)| lines(&format!("{at}/{key}"), value, found));
            }
            other => found.push(format!("{at}: {other}")),
        }
    }
    let Ok(value) = serde_json::from_str(text) else { return text.to_owned() };
    let mut found = Vec::new();
    lines("", &value, &mut found);
    found.sort_unstable();
    found.join("\n")
}
