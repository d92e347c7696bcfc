//! One call of a program and what came of it.
//!
//! The environment is empty but for a path, a home and a place for temporary files, all fixed: what
//! a test sees does not depend on who runs it. The assertions print the call and all its output.

use std::ffi::OsStr;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::terminal::Terminal;

/// A call that was not started yet.
#[derive(Debug)]
pub struct Call {
    command: Command,
    root: PathBuf,
}

/// Takes the caller's environment away and puts the sandbox's in its place.
pub(crate) fn clear(command: &mut Command, root: &Path) {
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", root.with_file_name("home"))
        .env("TMPDIR", root.with_file_name("temp"))
        .stdin(Stdio::null());
}

impl Call {
    pub(crate) fn new<A: AsRef<OsStr>>(
        program: &Path,
        root: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut command = Command::new(program);
        clear(&mut command, root);
        command.args(arguments).current_dir(root).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command, root: root.to_path_buf() }
    }

    /// Sets a variable for the program.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Takes a variable away from the program.
    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Lets the program read this.
    #[must_use]
    pub fn stdin(mut self, text: &str) -> Self {
        let mut file = tempfile::tempfile().expect("temporary files can be made");
        file.write_all(text.as_bytes()).expect("files can be written");
        file.rewind().expect("files can be read from the start");
        self.command.stdin(file);
        self
    }

    /// Starts the program in another directory, relative to the project's root.
    #[must_use]
    pub fn cwd(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(self.root.join(folder));
        self
    }

    /// Runs the program by somebody for whom the modes of files count, whoever runs the test.
    #[must_use]
    pub fn unprivileged(mut self) -> Self {
        if !rustix::process::geteuid().is_root() {
            return self;
        }
        let old = self.command;
        self.command = Command::new("setpriv");
        clear(&mut self.command, &self.root);
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
    pub fn run(mut self) -> Ran {
        let output = self.command.output().expect("the program can be started");
        let text = |bytes| String::from_utf8(bytes).expect("programs print UTF-8");
        let words = self.command.get_args().map(|word| format!(" {}", word.to_string_lossy()));
        Ran {
            call: words.collect(),
            status: output.status,
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// A call that has ended.
#[derive(Debug)]
#[must_use = "nobody looks at how the call ended"]
pub struct Ran {
    /// The arguments, for messages.
    call: String,
    /// How the program ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it said on the side.
    pub stderr: String,
}

impl Ran {
    /// Says in the messages what the call is meant to show.
    pub fn about(mut self, about: &str) -> Self {
        self.call = format!("{}   # {about}", self.call);
        self
    }

    /// The answer of a call that must have succeeded without a word on standard error.
    #[track_caller]
    pub fn quietly(self) -> String {
        assert!(self.status.success() && self.stderr.is_empty(), "{}", self.transcript());
        self.stdout
    }

    /// The answer as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        let transcript = self.transcript();
        serde_json::from_str(&self.quietly())
            .unwrap_or_else(|error| panic!("not JSON: {error}\n{transcript}"))
    }

    /// Checks an answer byte for byte.
    #[track_caller]
    pub fn prints(self, expected: &str) {
        let transcript = self.transcript();
        assert_eq!(self.quietly(), expected, "{transcript}");
    }

    /// Checks that the answer is this JSON as contract commands print it: keys in this order,
    /// two blanks of indent, no final newline.
    #[track_caller]
    pub fn answers(self, expected: &Value) {
        let pretty = serde_json::to_string_pretty(expected).expect("JSON can be printed");
        self.prints(&pretty);
    }

    /// Checks that the call was refused: exit code 1, no answer, and a message that holds this.
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

    /// The call and all that came of it.
    pub fn transcript(&self) -> String {
        let Self { call, status, stdout, stderr } = self;
        format!("${call}\n{status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}
