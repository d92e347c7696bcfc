//! The `git` program, called in one way.
//!
//! Every call names its directory, runs with prompts, pagers and the file-system monitor off, takes
//! no object for another, and has those variables removed that would point git at another
//! repository. Output is taken as bytes in machine formats; nothing parses git's English.

pub(crate) mod flagged;
pub(crate) mod index;
mod layout;
mod leftovers;
pub(crate) mod locks;
pub(crate) mod plain;
mod refs;
mod worktrees;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use thiserror::Error;

use layout::Layout;

pub(crate) use layout::is_hash;

pub use refs::Refs;
pub(crate) use worktrees::is_below;
pub use worktrees::{Worktree, parse_names, parse_worktrees};

/// Variables that would redirect git away from the directory we chose.
const SCRUBBED: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
];

/// What we rely on in whatever git tells us.
const USUAL: &[&str] =
    &["core.fsmonitor=false", "core.quotePath=false", "status.showUntrackedFiles=normal"];

/// The variable with which git takes each object for what it is, whatever `git replace` was told.
pub const NO_REPLACE_VARIABLE: &str = "GIT_NO_REPLACE_OBJECTS";

/// What our own steps need: no hooks, nothing in submodules, no housekeeping in the background, and
/// objects and references on the disk before the journal says so.
const PLUMBING: &[&str] = &[
    "core.hooksPath=/dev/null",
    "submodule.recurse=false",
    "maintenance.auto=false",
    "gc.auto=0",
    "core.fsync=committed,reference",
    "trailer.separators=:",
    "core.commentChar=#",
];

/// Without its program a repository that uses Git LFS could not be checked out at all. Its pointers
/// are small texts, which stay as they are then.
const WITHOUT_LFS: &[&str] = &[
    "filter.lfs.required=false",
    "filter.lfs.process=",
    "filter.lfs.clean=",
    "filter.lfs.smudge=",
];

/// Why git gave no answer.
#[derive(Debug, Error)]
pub enum GitError {
    /// The program could not be started.
    #[error("cannot run git")]
    Start {
        /// What the system said.
        source: io::Error,
    },
    /// Git itself refused or failed.
    #[error("git {command} failed: {message}")]
    Failed {
        /// The arguments, for the message.
        command: String,
        /// The exit code; `None` when a signal ended it.
        code: Option<i32>,
        /// What git wrote to standard error, or else to standard output.
        message: String,
    },
}

/// What git answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether the exit code was zero.
    pub success: bool,
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Answer {
    /// Returns standard output as text, without the final line ending.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches(['\n', '\r']).to_owned()
    }

    /// Returns what git complained about, or else what it said, as one line without its hints.
    pub fn complaint(&self) -> String {
        let line = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let lines = text.lines().map(str::trim);
            let said = lines.filter(|line| !line.is_empty() && !line.starts_with("hint:"));
            said.collect::<Vec<_>>().join(" ")
        };
        let stderr = line(&self.stderr);
        if stderr.is_empty() { line(&self.stdout) } else { stderr }
    }
}

/// Git in one directory.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    /// Whether that is the top of a worktree, so that nothing above it counts.
    only_top: bool,
    /// Settings for this call alone, as `-c` takes them.
    settings: Vec<&'static str>,
    /// Variables for this call alone.
    env: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Names the directory that git works in.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), only_top: false, settings: Vec::new(), env: Vec::new() }
    }

    /// Names a directory that is the top of a worktree, and nothing above it.
    ///
    /// A phase's worktree lies inside the main one: if its link to the repository is gone, git
    /// would take the main worktree for it, and act on the user's files.
    pub fn at_top(dir: &Path) -> Self {
        let top = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        let above = top.parent().unwrap_or(&top).as_os_str().to_owned();
        let git = Self { only_top: true, ..Self::new(&top) };
        git.with_env("GIT_CEILING_DIRECTORIES", above)
    }

    /// Returns the same for our own steps, in which no hook of the user takes part.
    #[must_use]
    pub fn plumbing(&self) -> Self {
        Self { settings: PLUMBING.to_vec(), ..self.clone() }
    }

    /// Returns the same with one more variable.
    #[must_use]
    pub fn with_env(&self, name: &'static str, value: impl Into<OsString>) -> Self {
        let mut git = self.clone();
        git.env.push((name, value.into()));
        git
    }

    /// Returns the directory that git works in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns where the repository lies, if that can be read without git.
    fn layout(&self) -> Option<Layout> {
        Layout::find(&self.dir, self.only_top)
    }

    /// Runs git and returns whatever it answered, also when it failed.
    pub fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Answer, GitError> {
        self.ask_with(args, b"")
    }

    /// Runs git with something to read, and returns whatever it answered.
    pub fn ask_with<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Answer, GitError> {
        let output = self.output(args, input).map_err(|source| GitError::Start { source })?;
        Ok(Answer {
            success: output.status.success(),
            code: output.status.code(),
            stdout: output.stdout,
            stderr: output.stderr,
        })
    }

    /// Runs git and takes a failure for an error.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Answer, GitError> {
        self.run_with(args, b"")
    }

    /// Runs git with something to read, and takes a failure for an error.
    pub fn run_with<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Answer, GitError> {
        let answer = self.ask_with(args, input)?;
        if answer.success {
            return Ok(answer);
        }
        let words: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
        let message = answer.complaint();
        Err(GitError::Failed { command: words.join(" "), code: answer.code, message })
    }

    fn output<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
    ) -> io::Result<std::process::Output> {
        let mut command = self.command(args);
        if input.is_empty() {
            return command.output();
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take().expect("its input is piped");
        // Git may answer before it has read all, and then both would wait for each other.
        thread::scope(|scope| {
            // Git says itself what it could not read.
            scope.spawn(move || stdin.write_all(input).ok());
            child.wait_with_output()
        })
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that starts git")]
    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.dir).stdin(Stdio::null());
        command.args(USUAL.iter().flat_map(|setting| ["-c", setting]));
        if !has_lfs() {
            command.args(WITHOUT_LFS.iter().flat_map(|setting| ["-c", setting]));
        }
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_PAGER", "cat");
        command.env(NO_REPLACE_VARIABLE, "1");
        // Whoever only looks must not lock the index: agents and people use it at the same time.
        command.env("GIT_OPTIONAL_LOCKS", "0");
        for name in SCRUBBED {
            command.env_remove(name);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        command.args(args);
        command
    }
}

/// Returns whether the program of Git LFS is there. Asked once: it does not come and go.
#[expect(clippy::disallowed_methods, reason = "git will look for the program in the same way")]
pub(crate) fn has_lfs() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|dir| dir.join("git-lfs").is_file())
    })
}

#[cfg(test)]
mod tests;
