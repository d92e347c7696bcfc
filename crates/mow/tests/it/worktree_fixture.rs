//! Shared by the tests of `mow worktree …`: a repository with planning files, and worktrees of it.

use std::fs;
use std::path::Path;

use mow_testkit::program_call::{CommandResult, ProgramCall};
use mow_testkit::sandbox::Sandbox;
use serde_json::Value;

use crate::sandbox;

pub(crate) const STATE: &str = "# Project State

## Current Position

Phase: 3 of 7 (Auth)

## Session Continuity

Stopped at: here
";

pub(crate) const ROADMAP: &str = "# Roadmap

## Phases

- [ ] **Phase 3: Auth**
- [ ] **Phase 4: Api**

### Phase 3: Auth

**Depends on**: Nothing
";

/// Makes a repository on `main` with one commit that has planning files and `code.txt`.
pub(crate) fn repository() -> Sandbox {
    repository_in(sandbox())
}

/// Makes the same repository in a given sandbox.
pub(crate) fn repository_in(sandbox: Sandbox) -> Sandbox {
    let project = sandbox
        .file(".planning/STATE.md", STATE)
        .file(".planning/ROADMAP.md", ROADMAP)
        .file(".planning/phases/03-auth/03-01-PLAN.md", "# Plan\n")
        .file("code.txt", "one\n");
    project.git(".", &["init", "-q", "-b", "main"]);
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "-qm", "first"]);
    project
}

/// Prepares a call in a directory of the project, with a git identity and a host name.
pub(crate) fn call(project: &Sandbox, folder: &str, arguments: &[&str]) -> ProgramCall {
    let call = project.call(arguments).cwd(folder).env("HOSTNAME", "here");
    let call = call.env("GIT_AUTHOR_NAME", "Test").env("GIT_AUTHOR_EMAIL", "t@t");
    call.env("GIT_COMMITTER_NAME", "Test").env("GIT_COMMITTER_EMAIL", "t@t")
}

/// Runs a call in a directory of the project.
pub(crate) fn mow(project: &Sandbox, folder: &str, arguments: &[&str]) -> CommandResult {
    call(project, folder, arguments).run()
}

/// Returns the JSON answer of a successful call, and ignores its warnings.
#[track_caller]
pub(crate) fn answer(ran: CommandResult) -> Value {
    let transcript = ran.transcript();
    let CommandResult { status, stdout, .. } = ran;
    assert!(status.success(), "{transcript}");
    serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{transcript}"))
}

/// Adds a worktree next to the project directory, and returns its path as git prints it.
pub(crate) fn add_worktree(project: &Sandbox, name: &str) -> String {
    project.git(".", &["worktree", "add", "-q", "-b", name, &format!("../{name}")]);
    project.root().with_file_name(name).display().to_string()
}

/// Removes a directory without telling mow.
#[expect(clippy::disallowed_methods, reason = "people remove directories without mow")]
pub(crate) fn remove_dir(path: &Path) {
    fs::remove_dir_all(path).expect("the directory can be removed");
}
