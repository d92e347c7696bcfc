//! Checks whether a program is installed by asking for its version, with a time limit.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::launch::{self, Launch, LaunchError};

/// How many bytes of a program's answer are read.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// The result of asking a program for its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// The program is not in `PATH`.
    NotFound,
    /// The first line that the program printed.
    Version(String),
    /// The program exists but printed no version; the text says what happened, to follow the name.
    NoVersion(String),
}

/// Runs `program --version` and waits for the answer at most as long as `wait`.
pub fn version<S: AsRef<OsStr>>(program: S, wait: Duration) -> ProbeResult {
    let launch = Launch::other(program.as_ref()).with_args(["--version"]);
    let answer = match launch::start(Launch { stdout: Stdio::piped(), ..launch }) {
        Ok(child) => read_answer(child, wait),
        Err(LaunchError::Refused { source, .. }) => Err(source),
        Err(_) => return ProbeResult::NotFound,
    };
    match answer {
        Err(error) => ProbeResult::NoVersion(format!("cannot be run: {error}")),
        Ok(None) => {
            ProbeResult::NoVersion(format!("gave no answer within {} s", wait.as_secs_f32()))
        }
        Ok(Some(text)) => match text.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(line) => ProbeResult::Version(line.chars().filter(|c| !c.is_control()).collect()),
            None => ProbeResult::NoVersion("printed no version".to_owned()),
        },
    }
}

/// Reads the output of a program and ends it; returns `None` if it took too long.
fn read_answer(mut child: Child, wait: Duration) -> io::Result<Option<String>> {
    let stdout = child.stdout.take().expect("its output is piped");
    let (sender, receiver) = mpsc::sync_channel(1);
    // A grandchild may keep the pipe open after the program was killed. Then this thread stays
    // until the process ends.
    thread::Builder::new().name("mow-probe".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes);
        // The send fails if the time limit has passed.
        sender.send(read.map(|_| bytes)).ok();
    })?;
    let answer = receiver.recv_timeout(wait).ok();
    // The program has answered or used up its time; killing an ended process does nothing.
    child.kill().ok();
    child.wait()?;
    answer.map(|bytes| Ok(String::from_utf8_lossy(&bytes?).into_owned())).transpose()
}

#[cfg(test)]
mod tests;
