//! Runs a program with a fixed environment, and asserts on its result.
//!
//! The environment contains only fixed values of `PATH`, `HOME` and `TMPDIR`, so a test does not depend
//! on who runs it. Failed assertions print the call and all its output.

use std::ffi::OsStr;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::terminal::Terminal;

/// A program with its arguments, not started yet.
#[derive(Debug)]
pub struct ProgramCall {
    command: Command,
    root: PathBuf,
}

/// Replaces the inherited environment with the sandbox's.
pub(crate) fn isolate_environment(command: &mut Command, root: &Path) {
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", root.with_file_name("home"))
        .env("TMPDIR", root.with_file_name("temp"))
        .stdin(Stdio::null());
}

impl ProgramCall {
    pub(crate) fn new<A: AsRef<OsStr>>(
        program: &Path,
        root: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut command = Command::new(program);
        isolate_environment(&mut command, root);
        command.args(arguments).current_dir(root).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command, root: root.to_path_buf() }
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes a variable.
    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets the standard input.
    #[must_use]
    pub fn stdin(mut self, text: &str) -> Self {
        let mut file = tempfile::tempfile().expect("temporary files can be made");
        file.write_all(text.as_bytes()).expect("files can be written");
        file.rewind().expect("files can be read from the start");
        self.command.stdin(file);
        self
    }

    /// Sets the working directory, relative to the project's root.
    #[must_use]
    pub fn cwd(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(self.root.join(folder));
        self
    }

    /// Drops root's right to ignore file modes, so that modes count even when root runs the test.
    #[must_use]
    pub fn unprivileged(mut self) -> Self {
        if !rustix::process::geteuid().is_root() {
            return self;
        }
        let old = self.command;
        self.command = Command::new("setpriv");
        isolate_environment(&mut self.command, &self.root);
        self.command
            .args(["--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all"])
            .arg(old.get_program())
            .args(old.get_args())
            .envs(old.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(old.get_current_dir().unwrap_or(&self.root))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        self
    }

    /// Starts the program; its output can be read from the child.
    pub fn spawn(mut self) -> Child {
        self.command.spawn().expect("the program can be started")
    }

    /// Starts the program on a terminal of its own.
    pub fn on_terminal(self) -> Terminal {
        Terminal::start(self.command)
    }

    /// Runs the program to its end.
    pub fn run(mut self) -> CommandResult {
        let output = self.command.output().expect("the program can be started");
        let text = |bytes| String::from_utf8(bytes).expect("programs print UTF-8");
        let words = self.command.get_args().map(|word| format!(" {}", word.to_string_lossy()));
        CommandResult {
            call: words.collect(),
            status: output.status,
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// The exit status and output of a finished program.
#[derive(Debug)]
#[must_use = "the result of the call is not checked"]
pub struct CommandResult {
    /// The arguments, for messages.
    call: String,
    /// The exit status.
    pub status: ExitStatus,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
}

impl CommandResult {
    /// Adds the purpose of the call to assertion messages.
    pub fn about(mut self, about: &str) -> Self {
        self.call = format!("{}   # {about}", self.call);
        self
    }

    /// Asserts success with empty standard error; returns the standard output.
    #[track_caller]
    pub fn stdout_on_success(self) -> String {
        assert!(self.status.success() && self.stderr.is_empty(), "{}", self.transcript());
        self.stdout
    }

    /// Asserts success; returns the standard output parsed as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        let transcript = self.transcript();
        serde_json::from_str(&self.stdout_on_success())
            .unwrap_or_else(|error| panic!("not JSON: {error}\n{transcript}"))
    }

    /// Asserts success and exactly this standard output.
    #[track_caller]
    pub fn prints(self, expected: &str) {
        let transcript = self.transcript();
        assert_eq!(self.stdout_on_success(), expected, "{transcript}");
    }

    /// Asserts that the output is this JSON as contract commands print it: keys in this order,
    /// two blanks of indent, no final newline.
    #[track_caller]
    pub fn prints_json(self, expected: &Value) {
        let pretty = serde_json::to_string_pretty(expected).expect("JSON can be printed");
        self.prints(&pretty);
    }

    /// Asserts a refusal: exit code 1, no output, and an error message that contains this text.
    #[track_caller]
    pub fn refuses(self, message: &str) {
        let transcript = self.transcript();
        let first = self.stderr.lines().next().unwrap_or_default();
        assert_eq!(self.status.code(), Some(1), "{transcript}");
        assert!(first.starts_with("Error: ") && first.contains(message), "{message}\n{transcript}");
        assert_eq!(self.stdout, "", "{transcript}");
        let rest: Vec<_> = self.stderr.lines().skip(1).collect();
        let is_hint = rest.is_empty() || rest.len() == 1 && rest[0].starts_with("Hint: ");
        assert!(is_hint && self.stderr.ends_with('\n'), "{transcript}");
    }

    /// Returns the call, its exit status and its output.
    pub fn transcript(&self) -> String {
        let Self { call, status, stdout, stderr } = self;
        format!("${call}\n{status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}
