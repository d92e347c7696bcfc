//! Starts programs: the one place in mow that does.
//!
//! Workers, agents, shell commands, git, probes and the pager are all described by a [`Launch`] and
//! started by [`start`]. This module decides which variables a program inherits and which marks it
//! carries. A sandbox for programs belongs here, too: whatever is not started here escapes it. Limits
//! of time and output belong to the modules that watch a running program.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use thiserror::Error;

/// The variable with the token of an attempt; all its processes have it.
pub const TOKEN_VARIABLE: &str = "MOW_TOKEN";
/// The variable that all processes of one run of an agent have.
pub const AGENT_VARIABLE: &str = "MOW_AGENT";
/// The variable that says for whom a process works.
pub const ROLE_VARIABLE: &str = "MOW_ROLE";
/// The value of [`ROLE_VARIABLE`] in all processes of an attempt.
pub const WORKER_ROLE: &str = "worker";
/// The variable with the id of the run.
pub const RUN_VARIABLE: &str = "MOW_RUN";
/// The variable with the number of the phase.
pub const PHASE_VARIABLE: &str = "MOW_PHASE";
const ATTEMPT_VARIABLE: &str = "MOW_ATTEMPT";

/// Variables that point git at another repository than the one of its working directory.
///
/// Git sets some of them for hooks and aliases. No program inherits them: a check that is started
/// below a hook must not act on the repository of the hook.
pub(crate) const REPOSITORY_VARIABLES: &[&str] = &[
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

/// The reason why a program could not be started.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The working directory does not exist.
    #[error("there is no directory {path}")]
    MissingDirectory {
        /// The working directory.
        path: PathBuf,
    },
    /// The program, or the interpreter that its first line names, does not exist.
    #[error("there is no program {program}")]
    MissingProgram {
        /// The name or path of the program.
        program: PathBuf,
    },
    /// The system refused to start the program.
    #[error("cannot start {program}")]
    Refused {
        /// The name or path of the program.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The attempt that a process belongs to; its variables mark the process and its descendants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptMarks {
    /// The text by which the processes of the attempt are found and ended.
    pub token: String,
    /// The id of the run.
    pub run: String,
    /// The number of the phase; `None` for a merge of several phases.
    pub phase: Option<String>,
    /// The number of the attempt; 0 for a merge by hand.
    pub attempt: u32,
}

impl AttemptMarks {
    /// Returns the variables of the marks, as name and value.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![
            (TOKEN_VARIABLE, self.token.clone()),
            // Commands of mow must treat the process as a worker, not as a person.
            (ROLE_VARIABLE, WORKER_ROLE.to_owned()),
            (RUN_VARIABLE, self.run.clone()),
            (ATTEMPT_VARIABLE, self.attempt.to_string()),
        ];
        all.extend(self.phase.clone().map(|phase| (PHASE_VARIABLE, phase)));
        all
    }
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaunchedProgram {
    /// Mow itself. It keeps the variables of failpoints.
    Mow(PathBuf),
    /// Another program: a path, or a name that is looked up in `PATH`.
    Other(PathBuf),
}

impl LaunchedProgram {
    fn path(&self) -> &Path {
        match self {
            Self::Mow(path) | Self::Other(path) => path,
        }
    }
}

/// The variables of a program, before its marks.
#[derive(Clone, Debug)]
pub(crate) enum Variables {
    /// Those of this process, except [`REPOSITORY_VARIABLES`], and these in addition.
    Inherited(Vec<(OsString, OsString)>),
    /// Exactly these.
    Exact(Vec<(OsString, OsString)>),
}

impl Variables {
    /// Returns the variables of this process and these in addition.
    pub(crate) fn inherited_with<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        more: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let owned = |(name, value): (N, V)| (name.as_ref().to_owned(), value.as_ref().to_owned());
        Self::Inherited(more.into_iter().map(owned).collect())
    }
}

/// The process group that a program is started in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessGroup {
    /// A new one, so that signals reach the program with its children and nobody else.
    Own,
    /// The one of this process.
    Inherited,
}

/// Everything that decides how a program starts.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) program: LaunchedProgram,
    pub(crate) args: Vec<OsString>,
    /// The working directory; `None` for the one of this process.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) variables: Variables,
    /// The attempt that the program works for; `None` for a program of a person.
    ///
    /// Marks that this process has itself are inherited as well: a run inside an agent of another
    /// run must end with that agent.
    pub(crate) marks: Option<AttemptMarks>,
    /// The value of [`AGENT_VARIABLE`], for an agent.
    pub(crate) agent_mark: Option<String>,
    pub(crate) group: ProcessGroup,
    pub(crate) stdin: Stdio,
    pub(crate) stdout: Stdio,
    pub(crate) stderr: Stdio,
}

impl Launch {
    /// Describes a program without arguments and marks, in the directory, environment and process
    /// group of this process. It reads nothing, and its output is discarded.
    pub(crate) fn new(program: LaunchedProgram) -> Self {
        Self {
            program,
            args: Vec::new(),
            cwd: None,
            variables: Variables::Inherited(Vec::new()),
            marks: None,
            agent_mark: None,
            group: ProcessGroup::Inherited,
            stdin: Stdio::null(),
            stdout: Stdio::null(),
            stderr: Stdio::null(),
        }
    }

    /// Describes a program other than mow; see [`Launch::new`].
    pub(crate) fn other(program: impl Into<PathBuf>) -> Self {
        Self::new(LaunchedProgram::Other(program.into()))
    }

    /// Adds arguments.
    pub(crate) fn with_args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }
}

/// Starts a program. This process then holds no end of its streams except those in the [`Child`].
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts programs")]
pub(crate) fn start(launch: Launch) -> Result<Child, LaunchError> {
    let mut command = Command::new(launch.program.path());
    command.args(launch.args);
    command.stdin(launch.stdin).stdout(launch.stdout).stderr(launch.stderr);
    match launch.variables {
        Variables::Inherited(more) => {
            for name in REPOSITORY_VARIABLES {
                command.env_remove(name);
            }
            command.envs(more);
        }
        Variables::Exact(all) => drop(command.env_clear().envs(all)),
    }
    if matches!(launch.program, LaunchedProgram::Other(_)) {
        failpoint::clear_env(&mut command);
    }
    // Marks come last: no setting and no inherited variable can replace them.
    command.envs(launch.marks.iter().flat_map(AttemptMarks::variables));
    command.envs(launch.agent_mark.map(|mark| (AGENT_VARIABLE, mark)));
    if let Some(cwd) = &launch.cwd {
        command.current_dir(cwd);
    }
    if launch.group == ProcessGroup::Own {
        command.process_group(0);
    }
    command.spawn().map_err(|source| {
        let program = launch.program.path().to_owned();
        match launch.cwd {
            // The system reports a missing program and a missing directory in the same way.
            _ if source.kind() != io::ErrorKind::NotFound => {
                LaunchError::Refused { program, source }
            }
            Some(path) if !path.is_dir() => LaunchError::MissingDirectory { path },
            _ => LaunchError::MissingProgram { program },
        }
    })
}

#[cfg(test)]
pub(crate) mod tests;
