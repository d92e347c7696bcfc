//! A field on which processes die: whoever is killed is started again by the same command, until the
//! scene is over or it is clear that it never will be.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use failpoint::{Blow, Role};
use mow_testkit::field::{Field, Going};

use super::Passed;

/// How long one command may take.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often a command is given again after somebody died.
const TRIES_MAX: usize = 6;
const KILLED: i32 = 9;

/// A field in which a scene is played.
pub(super) struct Play {
    pub(super) field: Field,
    /// What happens first, and what happens once that has happened.
    blows: Vec<Blow>,
    /// What was said so far.
    story: Mutex<String>,
}

impl Drop for Play {
    #[expect(clippy::print_stdout, reason = "it is part of why a test failed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("MOW_FAILPOINT='{}'\n{}\n{}", self.words(), self.story(), self.logs());
        }
    }
}

impl Play {
    pub(super) fn new(field: Field, blows: Vec<Blow>) -> Self {
        Self { field, blows, story: Mutex::default() }
    }

    /// Carries out a command until it ends with a code; whoever dies is started again.
    #[track_caller]
    pub(super) fn ends(&self, words: &[&str], code: i32) {
        for _ in 0..TRIES_MAX {
            let status = self.finish(self.start(words));
            if status.code() == Some(code) {
                return;
            }
            assert!(self.fell() > 0, "nobody died, and yet mow {}: {status}", words.join(" "));
        }
        panic!("mow {} does not come to {code}", words.join(" "));
    }

    /// Carries out what a person wants once. If it dies it is said again, and may then be refused
    /// because it is done already.
    #[track_caller]
    pub(super) fn says(&self, words: &[&str]) {
        for tries in 0..TRIES_MAX {
            let status = self.finish(self.start(words));
            if status.success() || tries > 0 && status.code() == Some(1) {
                return;
            }
            let is_dead = status.signal() == Some(KILLED);
            assert!(is_dead, "mow {}: {status}", words.join(" "));
        }
        panic!("mow {} dies again and again", words.join(" "));
    }

    /// Starts a lead and waits until something is the case; one that dies is started again.
    #[track_caller]
    pub(super) fn lead_until(&self, words: &[&str], is_so: impl Fn() -> bool) -> Going {
        let mut lead = self.start(words);
        let mut tries = 1;
        self.field.until("the scene to come so far", || {
            if is_so() {
                return Some(());
            }
            if lead.has_ended() && tries < TRIES_MAX {
                tries += 1;
                lead = self.start(words);
            }
            None
        });
        lead
    }

    /// Waits for the end of a lead, and goes on with the same command if it died.
    #[track_caller]
    pub(super) fn lead_ends(&self, lead: Going, words: &[&str], code: i32) {
        if !self.lived(lead, code) {
            self.ends(words, code);
        }
    }

    /// Waits for the end of a lead; returns whether it came to a code. Otherwise somebody has died.
    #[track_caller]
    pub(super) fn lived(&self, lead: Going, code: i32) -> bool {
        let status = self.finish(lead);
        let lived = status.code() == Some(code);
        assert!(lived || self.fell() > 0, "nobody died, and yet {status}");
        lived
    }

    pub(super) fn start(&self, words: &[&str]) -> Going {
        let outside = self.field.sandbox.outside();
        let mut call = self.field.call(words).env("MOW_FAILPOINT_TRACE", outside.join("trace"));
        if !self.blows.is_empty() {
            call = call.env("MOW_FAILPOINT", self.words());
            call = call.env("MOW_FAILPOINT_MARK", outside.join("mark"));
        }
        *self.story() += &format!("$ mow {}\n", words.join(" "));
        Going::of(call)
    }

    #[track_caller]
    fn finish(&self, mut going: Going) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        while !going.has_ended() {
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(LOOK_EVERY);
        }
        let (status, said) = going.end();
        *self.story() += &format!("{said}{status}\n");
        status
    }

    fn words(&self) -> String {
        let blows: Vec<_> = self.blows.iter().map(ToString::to_string).collect();
        blows.join(" ")
    }

    fn story(&self) -> MutexGuard<'_, String> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn logs(&self) -> String {
        let Some(dir) = self.field.run_dir() else { return String::new() };
        let mut text = String::new();
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            let from = bytes.len().saturating_sub(3_000);
            let end = String::from_utf8_lossy(&bytes[from..]).into_owned();
            text += &format!("--- {}\n{end}\n", entry.path().display());
        }
        text
    }

    /// Who has died of which blow; the words of a case are counted from 1.
    fn dead(&self, at: usize) -> usize {
        let mark = |role: &Role| format!("mark-{}-{}", at + 1, role.name());
        let outside = self.field.sandbox.outside();
        let roles = self.blows[at].roles.iter();
        roles.filter(|role| outside.join(mark(role)).exists()).count()
    }

    /// How many have died.
    fn fell(&self) -> usize {
        (0..self.blows.len()).map(|at| self.dead(at)).sum()
    }

    /// The blows that did not fall, or not on all they were meant for.
    pub(super) fn missed(&self) -> Vec<String> {
        let all = self.blows.iter().enumerate();
        let missed = all.filter(|(at, blow)| self.dead(*at) < blow.roles.len());
        missed.map(|(_, blow)| blow.to_string()).collect()
    }

    /// Who passed which points so far.
    pub(super) fn passed(&self) -> Passed {
        let text =
            fs::read_to_string(self.field.sandbox.outside().join("trace")).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        pairs.filter_map(|(role, point)| Some((point.to_owned(), Role::parse(role)?))).collect()
    }
}
