//! Runs a program on a pseudo-terminal, reads its screen and types input.
//!
//! Waiting for a text ends when the text appears or the program exits. A program that prints nothing
//! for too long fails the test.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// After how long without output the test fails.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// The columns and rows of the terminal.
const SIZE: Winsize = Winsize { ws_col: 80, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };

/// A program on a pseudo-terminal, and what it printed.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keyboard: File,
    printed: Receiver<Vec<u8>>,
    screen: String,
    /// How much of the screen was read by [`Terminal::wait_for`].
    seen: usize,
}

impl Terminal {
    pub(crate) fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("terminals can be had");
        grantpt(&master).expect("the terminal is ours");
        unlockpt(&master).expect("the terminal is ours");
        tcsetwinsize(&master, SIZE).expect("terminals have a size");
        let name = ptsname(&master, Vec::new()).expect("terminals have names");
        let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty());
        let slave = slave.expect("the terminal is ours");
        let side = || slave.try_clone().expect("descriptors can be doubled");
        command.stdin(side()).stdout(side()).stderr(side()).env("TERM", "xterm-256color");
        let child = command.spawn().expect("the program can be started");
        // The screen ends when the program does, which needs all of our own ends closed.
        drop((command, slave));
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().expect("descriptors can be doubled");
        let (sender, printed) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keyboard, printed, screen: String::new(), seen: 0 }
    }

    /// The process id of the program.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a text that was not on the screen when the last wait ended.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        loop {
            if let Some(at) = self.screen[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            assert!(self.read(), "ended without {text:?}:\n{}", self.screen);
        }
    }

    /// Types a text.
    pub fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits for the exit; returns the status and everything printed.
    #[track_caller]
    pub fn end(mut self) -> (ExitStatus, String) {
        while self.read() {}
        (self.child.wait().expect("it is our child"), self.screen)
    }

    /// Reads some more of the screen; `false` at its end.
    #[track_caller]
    fn read(&mut self) -> bool {
        match self.printed.recv_timeout(SILENCE_MAX) {
            Ok(bytes) => {
                self.screen.push_str(&String::from_utf8_lossy(&bytes));
                true
            }
            Err(RecvTimeoutError::Disconnected) => false,
            Err(RecvTimeoutError::Timeout) => {
                self.child.kill().ok();
                panic!("silence after:\n{}", self.screen);
            }
        }
    }
}
