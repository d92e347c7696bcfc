//! Takes a snapshot of all reachable objects and all files, and compares it with an earlier one.
#![expect(clippy::disallowed_methods, reason = "the snapshot reads all files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mow_store::disk::is_locked;

use super::actions::Action;
use super::random_repository::{CHECKOUTS, RandomRepository};

/// Files that mow itself updates, so that their old contents may go.
const MAINTAINED_FILES: [&str; 6] = [
    "STATE.md",
    "ROADMAP.md",
    "REQUIREMENTS.md",
    "manifest.json",
    "dashboard-events.ndjson",
    "dashboard-state.json",
];

/// The longest time that workers may run without a lead, and how often they are polled.
const WORKERS_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The contents of a repository at one moment.
pub(super) struct ContentSnapshot {
    /// Objects reachable from refs, stashes and indexes: commits, trees and blobs.
    objects: BTreeSet<String>,
    /// All files, with the blob ids of their contents.
    files: BTreeMap<String, String>,
    branches: BTreeMap<String, String>,
    /// The commit of the main checkout, and the text of its `.git/HEAD`.
    head: (String, String),
    /// The index of the main checkout, from `git ls-files --stage`.
    index: String,
    /// Files of the main checkout that differ from its last commit.
    changed: BTreeSet<String>,
    root: PathBuf,
}

impl ContentSnapshot {
    pub(super) fn take(repository: &RandomRepository) -> Self {
        wait_for_workers(repository.sandbox.root());
        let git = |arguments: &[&str]| repository.git(".", arguments);
        let stashes = git(&["stash", "list", "--format=%H"]);
        let mut list =
            vec!["rev-list", "--objects", "--no-object-names", "--all", "--indexed-objects"];
        list.extend(stashes.lines());
        let objects = git(&list).lines().map(str::to_owned).collect();
        let branches = git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads"]);
        let pair = |line: &str| line.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
        let head = fs::read_to_string(repository.path(".git/HEAD")).expect("there is a repository");
        let status = git(&["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]);
        let changed = status.split('\0').filter(|line| line.len() > 3);
        Self {
            objects,
            files: files(repository),
            branches: branches.lines().filter_map(pair).collect(),
            head: (git(&["rev-parse", "HEAD"]), head),
            index: git(&["ls-files", "--stage"]),
            changed: changed.map(|line| line[3..].to_owned()).collect(),
            root: repository.sandbox.root().to_path_buf(),
        }
    }

    /// Compares the contents after an action with those before it.
    pub(super) fn check(&self, before: &Self, action: &Action) {
        self.check_reachable(before, action);
        if !action.may_move_back() {
            self.check_branches(before);
        }
        if !action.may_change_checkout() {
            self.check_checkout(before);
        }
    }

    /// Checks that all earlier contents are reachable or still in a file.
    fn check_reachable(&self, before: &Self, action: &Action) {
        let file_objects: BTreeSet<&String> = self.files.values().collect();
        let is_kept =
            |object: &String| self.objects.contains(object) || file_objects.contains(object);
        let lost: Vec<_> = before.objects.iter().filter(|object| !is_kept(object)).collect();
        // Trees of an old index may go, because their blobs are checked one by one.
        let lost: Vec<_> =
            lost.into_iter().filter(|object| self.is_blob_or_commit(object)).collect();
        assert!(lost.is_empty(), "{action:?} lost {lost:?}");
        for (path, object) in &before.files {
            // Temporary files of a killed mow may go.
            let may_go = (action.may_remove_ignored() && path.contains("/ignored/"))
                || path.contains("/.mow-tmp-");
            let is_maintained = MAINTAINED_FILES.iter().any(|name| path.ends_with(name))
                || path.ends_with("-STATUS.md");
            if !may_go && !is_maintained {
                assert!(is_kept(object), "{action:?} lost what was in {path}");
            }
        }
    }

    fn is_blob_or_commit(&self, object: &str) -> bool {
        let kind =
            Command::new("git").args(["cat-file", "-t", object]).current_dir(&self.root).output();
        let kind = kind.expect("git can be run").stdout;
        kind != b"tree\n"
    }

    /// Checks that branches only moved forward.
    fn check_branches(&self, before: &Self) {
        for (name, old) in &before.branches {
            let Some(new) = self.branches.get(name).filter(|new| *new != old) else { continue };
            assert!(self.is_ancestor(old, new), "{name} went from {old} to {new}");
        }
    }

    /// Checks that the main checkout is unchanged, or fast-forwarded without touching the user's
    /// changes.
    fn check_checkout(&self, before: &Self) {
        assert_eq!(self.head.1, before.head.1, "another branch is checked out");
        let is_own =
            |path: &str| !path.starts_with(".worktrees/") && !path.starts_with(".planning/");
        let own = |snapshot: &Self| -> BTreeMap<String, String> {
            let files = snapshot.files.iter().filter(|(path, _)| is_own(path));
            files.map(|(path, object)| (path.clone(), object.clone())).collect()
        };
        if self.head.0 == before.head.0 {
            assert_eq!(own(self), own(before), "the checkout changed");
            assert_eq!(self.index, before.index, "the index changed");
            return;
        }
        let (old, new) = (before.head.0.trim(), self.head.0.trim());
        assert!(self.is_ancestor(old, new), "the checkout went from {old} to {new}");
        for path in before.changed.iter().filter(|path| is_own(path)) {
            // A fast-forward restores files that the user had deleted.
            let was = before.files.get(path);
            let is = self.files.get(path).filter(|_| was.is_some());
            assert_eq!(is, was, "the user's change of {path} is lost");
        }
        let unexpected: Vec<_> =
            self.changed.difference(&before.changed).filter(|p| is_own(p)).collect();
        assert!(unexpected.is_empty(), "unexpected changes: {unexpected:?}");
    }

    fn is_ancestor(&self, old: &str, new: &str) -> bool {
        let args = ["merge-base", "--is-ancestor", old, new];
        let status = Command::new("git").args(args).current_dir(&self.root).status();
        status.expect("git can be run").success()
    }
}

/// Waits until no worker runs. Workers of a dead lead continue without it. Work that they move from
/// a file to a ref while the snapshot is taken could be missed in both places.
fn wait_for_workers(root: &Path) {
    let end = Instant::now() + WORKERS_TIMEOUT;
    let entries = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten();
    // A worker and its children hold its life lock.
    let is_life_lock = |path: &PathBuf| path.extension().is_some_and(|end| end == "lock");
    let is_held = |path: PathBuf| is_locked(&path).expect("locks can be looked at");
    let has_live_worker = |run: DirEntry| {
        entries(run.path()).map(|entry| entry.path()).filter(is_life_lock).any(is_held)
    };
    while entries(root.join(".git/mow/runs")).any(has_live_worker) {
        assert!(Instant::now() < end, "workers do not end");
        thread::sleep(POLL_INTERVAL);
    }
}

/// Returns all files of the main checkout and the worktrees, with their blob ids.
fn files(repository: &RandomRepository) -> BTreeMap<String, String> {
    let root = repository.sandbox.root();
    let mut paths = Vec::new();
    walk(root, root, &mut paths);
    paths.sort();
    let mut child = Command::new("git")
        .args(["hash-object", "--no-filters", "--stdin-paths"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git can be run");
    let mut input = child.stdin.take().expect("it is piped");
    let list: String = paths.iter().map(|path| format!("{path}\n")).collect();
    let output = thread::scope(|scope| {
        scope.spawn(move || input.write_all(list.as_bytes()).expect("git reads it"));
        child.wait_with_output().expect("git ends")
    });
    let hashes = String::from_utf8(output.stdout).expect("hashes are text");
    assert_eq!(hashes.lines().count(), paths.len(), "all of {CHECKOUTS:?} can be read");
    paths.into_iter().zip(hashes.lines().map(str::to_owned)).collect()
}

fn walk(root: &Path, dir: &Path, paths: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().expect("entries have a type");
        if name == ".git" {
            continue;
        }
        if kind.is_dir() {
            walk(root, &path, paths);
        } else if kind.is_file() {
            let path = path.strip_prefix(root).expect("found below it");
            paths.push(path.to_string_lossy().into_owned());
        }
    }
}
