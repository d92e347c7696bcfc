//! A repository with one commit, for tests with real git.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::Git;

/// A repository in a directory of its own, which goes away with the value.
pub(crate) struct Repository {
    dir: tempfile::TempDir,
    pub(crate) git: Git,
}

impl Repository {
    /// Makes one with `file` (holding `one`) on the branch `main`.
    pub(crate) fn new() -> Self {
        let repository = Self::empty();
        repository.write("file", "one\n");
        repository.commit("first");
        repository
    }

    /// Makes one without commits.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::new(dir.path().canonicalize().unwrap());
        git.run(&["init", "-q", "-b", "main"]).unwrap();
        for (key, value) in [
            ("user.name", "Tester"),
            ("user.email", "tester@example.com"),
            ("commit.gpgsign", "false"),
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

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Commits everything.
    pub(crate) fn commit(&self, message: &str) -> String {
        commit(&self.git, message)
    }

    /// Runs git in the root and returns what it said.
    pub(crate) fn say(&self, args: &[&str]) -> String {
        self.git.run(args).unwrap().text()
    }

    /// Makes an executable hook.
    pub(crate) fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.root().join(".git/hooks").join(name);
        write(&path, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Writes a file and makes the directories above it.
pub(crate) fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Commits everything in a worktree.
pub(crate) fn commit(git: &Git, message: &str) -> String {
    git.run(&["add", "-A"]).unwrap();
    git.run(&["commit", "-q", "--no-verify", "--allow-empty", "-m", message]).unwrap();
    git.commit_of("HEAD").unwrap().unwrap()
}
