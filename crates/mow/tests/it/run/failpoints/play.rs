//! A field on which processes die: whoever is killed is started again by the same command, until the
//! scene is over or it is clear that it never will be.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use mow_testkit::field::{Field, Going};

/// How long one command may take.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often a command is given again after somebody died.
const TRIES_MAX: usize = 6;
const KILLED: i32 = 9;

/// Where somebody is to die.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Blow {
    pub(super) point: String,
    /// Who: `lead`, `worker`, `person`, or several with commas, each of which dies once.
    pub(super) roles: String,
    pub(super) hit: u32,
}

impl Blow {
    fn deaths(&self) -> usize {
        self.roles.split(',').count()
    }
}

/// A field in which a scene is played.
pub(super) struct Play {
    pub(super) field: Field,
    /// What happens first, and what happens once that has happened.
    blows: Vec<Blow>,
}

impl Play {
    pub(super) fn new(field: Field, blows: Vec<Blow>) -> Self {
        Self { field, blows }
    }

    /// Carries out a command until it ends with a code; whoever dies is started again.
    #[track_caller]
    pub(super) fn ends(&self, words: &[&str], code: i32) {
        let mut story = String::new();
        for _ in 0..TRIES_MAX {
            let (status, said) = self.finish(self.start(words));
            story += &format!("$ mow {}\n{status}\n{said}\n", words.join(" "));
            if status.code() == Some(code) {
                return;
            }
            assert!(self.fell() > 0, "nobody died, and yet:\n{story}");
        }
        panic!("it does not come to {code}:\n{story}\n{}", self.logs());
    }

    /// Carries out what a person wants once. If it dies it is said again, and may then be refused
    /// because it is done already.
    #[track_caller]
    pub(super) fn says(&self, words: &[&str]) {
        let (mut status, mut said) = self.finish(self.start(words));
        let has_died = status.signal() == Some(KILLED);
        if has_died {
            (status, said) = self.finish(self.start(words));
        }
        let is_fine = status.success() || has_died && status.code() == Some(1);
        assert!(is_fine, "mow {}: {status}\n{said}", words.join(" "));
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
        let (status, said) = self.finish(lead);
        if status.code() == Some(code) {
            return;
        }
        assert!(self.fell() > 0, "nobody died, and yet {status}:\n{said}");
        self.ends(words, code);
    }

    pub(super) fn start(&self, words: &[&str]) -> Going {
        let mut call = self.field.call(words).env("MOW_FAILPOINT_TRACE", self.trace());
        if let Some((at, blow)) = self.next() {
            call = call
                .env("MOW_FAILPOINT", &blow.point)
                .env("MOW_FAILPOINT_IN", &blow.roles)
                .env("MOW_FAILPOINT_HIT", blow.hit.to_string())
                .env("MOW_FAILPOINT_MARK", self.mark(at));
        }
        Going::new(call.spawn())
    }

    /// The blow that has not fallen altogether yet.
    fn next(&self) -> Option<(usize, &Blow)> {
        let mut all = self.blows.iter().enumerate();
        all.find(|(at, blow)| self.fallen(*at) < blow.deaths())
    }

    #[track_caller]
    fn finish(&self, mut going: Going) -> (ExitStatus, String) {
        let end = Instant::now() + PATIENCE;
        while !going.has_ended() {
            if Instant::now() > end {
                panic!("it does not end\n{}", self.logs());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        going.end()
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

    fn trace(&self) -> PathBuf {
        self.field.sandbox.outside().join("trace")
    }

    fn mark(&self, at: usize) -> PathBuf {
        self.field.sandbox.outside().join(format!("mark-{at}"))
    }

    /// How many have died of a blow.
    fn fallen(&self, at: usize) -> usize {
        let roles = self.blows[at].roles.split(',');
        let mark = self.mark(at).to_string_lossy().into_owned();
        roles.filter(|role| PathBuf::from(format!("{mark}-{role}")).exists()).count()
    }

    /// How many have died.
    fn fell(&self) -> usize {
        (0..self.blows.len()).map(|at| self.fallen(at)).sum()
    }

    /// The blows that did not fall, or not on all they were meant for.
    pub(super) fn missed(&self) -> Vec<&Blow> {
        self.next().into_iter().map(|(_, blow)| blow).collect()
    }

    /// Who passed which points so far.
    pub(super) fn passed(&self) -> BTreeSet<(String, String)> {
        let text = fs::read_to_string(self.trace()).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(role, point)| (point.to_owned(), role.to_owned())).collect()
    }
}
