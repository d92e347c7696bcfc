//! Asks other programs whether they are there, and never waits for them for long.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How much of a program's answer is read.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// What came of asking a program for its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// No such program is in the path.
    Absent,
    /// It answered with this line.
    Version(String),
    /// It is there and did not answer as it should; the text says how.
    Silent(String),
}

/// Runs `program --version` and waits for the answer at most as long as `wait`.
pub fn version<S: AsRef<OsStr>>(program: S, wait: Duration) -> Probe {
    match ask(program.as_ref(), wait) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Probe::Absent,
        Err(error) => Probe::Silent(format!("cannot be run: {error}")),
        Ok(None) => Probe::Silent(format!("gave no answer within {} s", wait.as_secs_f32())),
        Ok(Some(text)) => match text.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(line) => Probe::Version(line.chars().filter(|c| !c.is_control()).collect()),
            None => Probe::Silent("printed no version".to_owned()),
        },
    }
}

#[expect(clippy::disallowed_methods, reason = "asking another program means starting it")]
fn ask(program: &OsStr, wait: Duration) -> io::Result<Option<String>> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stdout = child.stdout.take().expect("its output is piped");
    let (sender, receiver) = mpsc::sync_channel(1);
    // A grandchild may keep the pipe open after the program was killed; then the thread stays
    // behind, and ends with us.
    thread::Builder::new().name("mow-probe".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes);
        // Nobody listens any more once the time is over.
        sender.send(read.map(|_| bytes)).ok();
    })?;
    let answer = receiver.recv_timeout(wait).ok();
    // It has answered, or has had its time; killing one that has ended does nothing.
    child.kill().ok();
    child.wait()?;
    answer.map(|bytes| Ok(String::from_utf8_lossy(&bytes?).into_owned())).transpose()
}

#[cfg(test)]
mod tests;
