//! Runs the `git` program, always in the same way.
//!
//! Every call names its directory and switches off prompts, pagers, the file-system monitor and
//! object replacement. Output is read as bytes in machine formats; nothing parses git's English messages.

mod git_dirs;
pub(crate) mod in_process;
pub(crate) mod index_flags;
pub(crate) mod locks;
pub(crate) mod private_index;
mod process_files;
mod refs;
mod worktrees;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::OnceLock;
use std::thread;

use thiserror::Error;

use crate::launch::{self, Launch, LaunchError, Variables};
use git_dirs::GitDirs;

pub(crate) use git_dirs::is_hash;

pub use refs::Refs;
pub(crate) use worktrees::is_below;
pub use worktrees::{GitWorktree, parse_names, parse_worktrees};

/// Settings that every call overrides because our parsers rely on them.
const FIXED_SETTINGS: &[&str] =
    &["core.fsmonitor=false", "core.quotePath=false", "status.showUntrackedFiles=normal"];

/// The variable that makes git ignore `git replace`, so that each object is read as it is.
pub const NO_REPLACE_VARIABLE: &str = "GIT_NO_REPLACE_OBJECTS";

/// Settings for mow's own steps: no hooks, no recursion into submodules, no background maintenance,
/// and objects and refs synced to disk before the journal records them.
const PLUMBING: &[&str] = &[
    "core.hooksPath=/dev/null",
    "submodule.recurse=false",
    "maintenance.auto=false",
    "gc.auto=0",
    "core.fsync=committed,reference",
    "trailer.separators=:",
    "core.commentChar=#",
];

/// Settings for machines without the `git-lfs` program. Without them, git could not check out a
/// repository that uses Git LFS at all. The pointers are small text files and stay as they are.
const WITHOUT_LFS: &[&str] = &[
    "filter.lfs.required=false",
    "filter.lfs.process=",
    "filter.lfs.clean=",
    "filter.lfs.smudge=",
];

/// The reason why a call of git failed.
#[derive(Debug, Error)]
pub enum GitError {
    /// The program could not be started.
    #[error("cannot run git")]
    Start {
        /// Why it could not be started.
        source: LaunchError,
    },
    /// The output of git could not be read.
    #[error("cannot read the output of git")]
    Read {
        /// The error of the operating system.
        source: io::Error,
    },
    /// Git ran and exited with an error.
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

/// The result of one call of git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitOutput {
    /// Whether the exit code was zero.
    pub success: bool,
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Raw bytes that git wrote to standard output.
    pub stdout: Vec<u8>,
    /// Raw bytes that git wrote to standard error.
    pub stderr: Vec<u8>,
}

impl GitOutput {
    /// Returns standard output as text, without the final line ending.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches(['\n', '\r']).to_owned()
    }

    /// Returns standard error, or standard output when that is empty, as one line without hints.
    pub fn error_line(&self) -> String {
        let line = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let lines = text.lines().map(str::trim);
            let kept = lines.filter(|line| !line.is_empty() && !line.starts_with("hint:"));
            kept.collect::<Vec<_>>().join(" ")
        };
        let stderr = line(&self.stderr);
        if stderr.is_empty() { line(&self.stdout) } else { stderr }
    }
}

/// A directory to run git in, with settings and variables for these calls.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    /// Whether `dir` is the top of a worktree, so that no directory above it is searched for a
    /// repository.
    is_top_only: bool,
    /// Extra settings, in the form that `-c` takes.
    settings: Vec<&'static str>,
    /// Extra environment variables.
    env: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Creates a value that runs git in a directory.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), is_top_only: false, settings: Vec::new(), env: Vec::new() }
    }

    /// Creates a value for the top directory of a worktree; git never searches above it.
    ///
    /// A phase's worktree lies inside the main one. If its link to the repository is gone, git
    /// would otherwise find the main worktree and act on the user's files.
    pub fn at_top(dir: &Path) -> Self {
        let top = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        let above = top.parent().unwrap_or(&top).as_os_str().to_owned();
        let git = Self { is_top_only: true, ..Self::new(&top) };
        git.with_env("GIT_CEILING_DIRECTORIES", above)
    }

    /// Returns a copy for mow's own steps, which run no user hooks.
    #[must_use]
    pub fn plumbing(&self) -> Self {
        Self { settings: PLUMBING.to_vec(), ..self.clone() }
    }

    /// Returns a copy with one more environment variable.
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

    /// Returns the repository's directories if they can be found without git.
    fn git_dirs(&self) -> Option<GitDirs> {
        GitDirs::find(&self.dir, self.is_top_only)
    }

    /// Runs git and returns its output, also when git failed.
    pub fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<GitOutput, GitError> {
        self.ask_with(args, b"")
    }

    /// Runs git with standard input and returns its output, also when git failed.
    pub fn ask_with<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
    ) -> Result<GitOutput, GitError> {
        let output = self.output(args, input)?;
        Ok(GitOutput {
            success: output.status.success(),
            code: output.status.code(),
            stdout: output.stdout,
            stderr: output.stderr,
        })
    }

    /// Runs git and returns an error when git failed.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<GitOutput, GitError> {
        self.run_with(args, b"")
    }

    /// Runs git with standard input and returns an error when git failed.
    pub fn run_with<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
    ) -> Result<GitOutput, GitError> {
        let answer = self.ask_with(args, input)?;
        if answer.success {
            return Ok(answer);
        }
        let arg_texts: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
        let message = answer.error_line();
        Err(GitError::Failed { command: arg_texts.join(" "), code: answer.code, message })
    }

    fn output<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Output, GitError> {
        let mut launch = self.launch(args);
        if !input.is_empty() {
            launch.stdin = Stdio::piped();
        }
        let mut child = launch::start(launch).map_err(|source| GitError::Start { source })?;
        let stdin = child.stdin.take();
        // Git may write output before it has read all input; without a thread, both sides would
        // wait for each other.
        let output = thread::scope(|scope| {
            if let Some(mut stdin) = stdin {
                // If git cannot read the input, its own error message says so.
                scope.spawn(move || stdin.write_all(input).ok());
            }
            child.wait_with_output()
        });
        output.map_err(|source| GitError::Read { source })
    }

    fn launch<S: AsRef<OsStr>>(&self, args: &[S]) -> Launch {
        let lfs = if has_lfs() { &[][..] } else { WITHOUT_LFS };
        let settings = FIXED_SETTINGS.iter().chain(lfs).chain(&self.settings);
        let variables = [
            ("GIT_TERMINAL_PROMPT", OsStr::new("0")),
            ("GIT_PAGER", OsStr::new("cat")),
            (NO_REPLACE_VARIABLE, OsStr::new("1")),
            // Read-only commands must not lock the index: agents and people use it at the same
            // time.
            ("GIT_OPTIONAL_LOCKS", OsStr::new("0")),
        ];
        let own = self.env.iter().map(|(name, value)| (*name, value.as_os_str()));
        let launch = Launch::other("git").with_args(settings.flat_map(|setting| ["-c", setting]));
        Launch {
            cwd: Some(self.dir.clone()),
            variables: Variables::inherited_with(variables.into_iter().chain(own)),
            stdout: Stdio::piped(),
            stderr: Stdio::piped(),
            ..launch.with_args(args)
        }
    }
}

/// Returns whether the `git-lfs` program is installed. Looked up once per process.
#[expect(clippy::disallowed_methods, reason = "git looks for the program in the same way")]
pub(crate) fn has_lfs() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|dir| dir.join("git-lfs").is_file())
    })
}

#[cfg(test)]
mod tests;
