//! A temporary repository for tests with real git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::git::Git;

/// A repository in a temporary directory, which is removed with the value.
pub(crate) struct Repository {
    dir: tempfile::TempDir,
    pub(crate) git: Git,
}

impl Repository {
    /// Creates a repository with one commit of `file` (content `one`) on the branch `main`.
    pub(crate) fn new() -> Self {
        let repository = Self::empty();
        repository.write("file", "one\n");
        repository.commit("first");
        repository
    }

    /// Creates a repository without commits.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::new(dir.path().canonicalize().unwrap());
        git.run(&["init", "-q", "-b", "main"]).unwrap();
        for (key, value) in [
            ("user.name", "Tester"),
            ("user.email", "tester@example.com"),
            ("commit.gpgsign", "false"),
            // Maintenance would run in parallel with the tests.
            ("maintenance.auto", "false"),
        ] {
            git.run(&["config", key, value]).unwrap();
        }
        Self { dir, git }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        write(&self.root().join(path), content);
    }

    /// Sets the mtime of a file.
    pub(crate) fn set_time(&self, path: &str, time: SystemTime) {
        let file = fs::File::options().write(true).open(self.root().join(path)).unwrap();
        file.set_modified(time).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Commits all changes and returns the commit.
    pub(crate) fn commit(&self, message: &str) -> String {
        commit(&self.git, message)
    }

    /// Runs git in the root and returns its standard output as text.
    pub(crate) fn run_git(&self, args: &[&str]) -> String {
        self.git.run(args).unwrap().text()
    }

    /// Writes an executable hook.
    pub(crate) fn hook(&self, name: &str, script: &str) {
        let path = self.root().join(".git/hooks").join(name);
        write(&path, &format!("#!/bin/sh\n{script}\n"));
        make_executable(&path);
    }
}

/// Writes a file and creates its parent directories.
pub(crate) fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Commits all changes in a worktree and returns the commit.
pub(crate) fn commit(git: &Git, message: &str) -> String {
    git.run(&["add", "-A"]).unwrap();
    git.run(&["commit", "-q", "--no-verify", "--allow-empty", "-m", message]).unwrap();
    git.commit_of("HEAD").unwrap().unwrap()
}

/// Makes a newly written file executable.
///
/// Another process copies it to a new file: while other threads start programs, a child may briefly
/// inherit a descriptor that is open for writing here, and the system refuses to execute such a
/// file.
pub(crate) fn make_executable(path: &Path) {
    let script = "cp -- \"$0\" \"$0~\" && chmod 755 \"$0~\" && mv -- \"$0~\" \"$0\"";
    let made = Command::new("sh").args(["-c", script]).arg(path).status();
    assert!(made.unwrap().success());
}
