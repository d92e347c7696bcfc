//! What there is: every object that a reference, a stash or an index leads to, and every file.
#![expect(clippy::disallowed_methods, reason = "the tests look at everything")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mow_store::disk::is_locked;

use super::deeds::Deed;
use super::ground::{Ground, PLACES};

/// Files that mow keeps up to date by itself.
const LIVE: [&str; 6] = [
    "STATE.md",
    "ROADMAP.md",
    "REQUIREMENTS.md",
    "manifest.json",
    "dashboard-events.ndjson",
    "dashboard-state.json",
];

/// How long workers may take to come to their end without a lead, and how often that is looked at.
const WORKERS_END_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What there is at one moment.
pub(super) struct Ledger {
    /// What references, stashes and indexes lead to: commits, trees and blobs.
    objects: BTreeSet<String>,
    /// The files with the names of their contents.
    files: BTreeMap<String, String>,
    branches: BTreeMap<String, String>,
    /// The commit and branch of the main root.
    head: (String, String),
    /// The index of the main root.
    index: String,
    /// Files of the main root that differ from its last commit.
    changed: BTreeSet<String>,
    root: PathBuf,
}

impl Ledger {
    pub(super) fn read(ground: &Ground) -> Self {
        wait_for_workers(ground.sandbox.root());
        let git = |arguments: &[&str]| ground.git(".", arguments);
        let stashes = git(&["stash", "list", "--format=%H"]);
        let mut list =
            vec!["rev-list", "--objects", "--no-object-names", "--all", "--indexed-objects"];
        list.extend(stashes.lines());
        let objects = git(&list).lines().map(str::to_owned).collect();
        let branches = git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads"]);
        let pair = |line: &str| line.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
        let head = fs::read_to_string(ground.path(".git/HEAD")).expect("there is a repository");
        let status = git(&["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"]);
        let changed = status.split('\0').filter(|line| line.len() > 3);
        Self {
            objects,
            files: files(ground),
            branches: branches.lines().filter_map(pair).collect(),
            head: (git(&["rev-parse", "HEAD"]), head),
            index: git(&["ls-files", "--stage"]),
            changed: changed.map(|line| line[3..].to_owned()).collect(),
            root: ground.sandbox.root().to_path_buf(),
        }
    }

    /// Checks what a deed left against what there was before.
    pub(super) fn check(&self, before: &Self, deed: &Deed) {
        self.check_reachable(before, deed);
        if !deed.may_move_back() {
            self.check_branches(before);
        }
        if !deed.may_change_checkout() {
            self.check_checkout(before);
        }
    }

    /// Whatever was there is reachable, or still lies in a file.
    fn check_reachable(&self, before: &Self, deed: &Deed) {
        let there: BTreeSet<&String> = self.files.values().collect();
        let is_kept = |object: &String| self.objects.contains(object) || there.contains(object);
        let lost: Vec<_> = before.objects.iter().filter(|object| !is_kept(object)).collect();
        // An index may hold trees and blobs that are no longer of interest to anybody, but only if
        // they are in a file or in a commit.
        let lost: Vec<_> =
            lost.into_iter().filter(|object| self.is_blob_or_commit(object)).collect();
        assert!(lost.is_empty(), "{deed:?} lost {lost:?}");
        for (path, object) in &before.files {
            // What mow was about to write when it died is not of interest to anybody.
            let goes = (deed.may_remove_ignored() && path.contains("/ignored/"))
                || path.contains("/.mow-tmp-");
            let is_live =
                LIVE.iter().any(|name| path.ends_with(name)) || path.ends_with("-STATUS.md");
            if !goes && !is_live {
                assert!(is_kept(object), "{deed:?} lost what was in {path}");
            }
        }
    }

    fn is_blob_or_commit(&self, object: &str) -> bool {
        let kind =
            Command::new("git").args(["cat-file", "-t", object]).current_dir(&self.root).output();
        let kind = kind.expect("git can be run").stdout;
        kind != b"tree\n"
    }

    /// Branches only move forward.
    fn check_branches(&self, before: &Self) {
        for (name, old) in &before.branches {
            let Some(new) = self.branches.get(name).filter(|new| *new != old) else { continue };
            assert!(self.is_in(old, new), "{name} went from {old} to {new}");
        }
    }

    /// The main root is as it was, or was fast-forwarded around the user's changes.
    fn check_checkout(&self, before: &Self) {
        assert_eq!(self.head.1, before.head.1, "another branch is checked out");
        let is_own =
            |path: &str| !path.starts_with(".worktrees/") && !path.starts_with(".planning/");
        let own = |ledger: &Self| -> BTreeMap<String, String> {
            let files = ledger.files.iter().filter(|(path, _)| is_own(path));
            files.map(|(path, object)| (path.clone(), object.clone())).collect()
        };
        if self.head.0 == before.head.0 {
            assert_eq!(own(self), own(before), "the checkout changed");
            assert_eq!(self.index, before.index, "the index changed");
            return;
        }
        let (old, new) = (before.head.0.trim(), self.head.0.trim());
        assert!(self.is_in(old, new), "the checkout went from {old} to {new}");
        for path in before.changed.iter().filter(|path| is_own(path)) {
            // Git brings back what is missing.
            let was = before.files.get(path);
            let is = self.files.get(path).filter(|_| was.is_some());
            assert_eq!(is, was, "{path} was the user's");
        }
        let unasked: Vec<_> =
            self.changed.difference(&before.changed).filter(|p| is_own(p)).collect();
        assert!(unasked.is_empty(), "changed besides: {unasked:?}");
    }

    fn is_in(&self, old: &str, new: &str) -> bool {
        let args = ["merge-base", "--is-ancestor", old, new];
        let status = Command::new("git").args(args).current_dir(&self.root).status();
        status.expect("git can be run").success()
    }
}

/// Waits until nobody is at work any more: the workers of a lead that died go on without it, and what
/// they move from a file to a reference would be seen in neither place by who looks meanwhile.
fn wait_for_workers(root: &Path) {
    let end = Instant::now() + WORKERS_END_WITHIN;
    let entries = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten();
    // Each has the lock of its life, together with all it started.
    let is_life = |path: &PathBuf| path.extension().is_some_and(|end| end == "lock");
    let is_held = |path: PathBuf| is_locked(&path).expect("locks can be looked at");
    let is_at_work =
        |run: DirEntry| entries(run.path()).map(|entry| entry.path()).filter(is_life).any(is_held);
    while entries(root.join(".git/mow/runs")).any(is_at_work) {
        assert!(Instant::now() < end, "workers do not come to an end");
        thread::sleep(LOOK_EVERY);
    }
}

/// Finds all files of the main root and of the worktrees, with the names of their contents.
fn files(ground: &Ground) -> BTreeMap<String, String> {
    let root = ground.sandbox.root();
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
    assert_eq!(hashes.lines().count(), paths.len(), "all of {PLACES:?} can be read");
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
