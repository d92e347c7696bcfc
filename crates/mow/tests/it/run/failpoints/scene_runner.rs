//! Runs a scene and kills processes at failpoints.
//!
//! Each killed command is started again with the same arguments, until the scene is over or the
//! number of tries is used up.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use failpoint::{KillPoint, ProcessRole};
use mow_testkit::planned_project::{PlannedProject, RunningCommand};

use super::PassedPoints;

/// The longest time one command may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The maximum number of tries of one command.
const TRIES_MAX: usize = 6;
const KILLED: i32 = 9;

/// The project of a scene, with the points at which processes are killed.
pub(super) struct SceneRunner {
    pub(super) project: PlannedProject,
    /// The kills in order. Each is armed when the one before it has happened.
    kill_points: Vec<KillPoint>,
    /// The commands so far, with their output.
    transcript_text: Mutex<String>,
}

impl Drop for SceneRunner {
    #[expect(clippy::print_stdout, reason = "the transcript explains a failed test")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!(
                "MOW_FAILPOINT='{}'\n{}\n{}",
                self.kill_point_text(),
                self.transcript(),
                self.logs()
            );
        }
    }
}

impl SceneRunner {
    pub(super) fn new(project: PlannedProject, kill_points: Vec<KillPoint>) -> Self {
        Self { project, kill_points, transcript_text: Mutex::default() }
    }

    /// Runs a command until it exits with a code. If a process died, the command is repeated.
    #[track_caller]
    pub(super) fn exits_with(&self, arguments: &[&str], code: i32) {
        for _ in 0..TRIES_MAX {
            let status = self.wait_for_exit(self.start(arguments));
            if status.code() == Some(code) {
                return;
            }
            assert!(
                self.total_deaths() > 0,
                "no process died, and yet mow {}: {status}",
                arguments.join(" ")
            );
        }
        panic!("mow {} does not exit with {code}", arguments.join(" "));
    }

    /// Runs the command of a person. If it is killed it is repeated, and may then be refused
    /// because the first try took effect.
    #[track_caller]
    pub(super) fn run_as_person(&self, arguments: &[&str]) {
        for tries in 0..TRIES_MAX {
            let status = self.wait_for_exit(self.start(arguments));
            if status.success() || tries > 0 && status.code() == Some(1) {
                return;
            }
            let is_dead = status.signal() == Some(KILLED);
            assert!(is_dead, "mow {}: {status}", arguments.join(" "));
        }
        panic!("mow {} dies again and again", arguments.join(" "));
    }

    /// Starts a lead and waits for a condition. A lead that dies is started again.
    #[track_caller]
    pub(super) fn start_lead_until(
        &self,
        arguments: &[&str],
        condition: impl Fn() -> bool,
    ) -> RunningCommand {
        let mut lead = self.start(arguments);
        let mut tries = 1;
        self.project.wait_for("the condition of the scene", || {
            if condition() {
                return Some(());
            }
            if lead.has_ended() && tries < TRIES_MAX {
                tries += 1;
                lead = self.start(arguments);
            }
            None
        });
        lead
    }

    /// Waits for the exit of a lead, and repeats the command if a process died.
    #[track_caller]
    pub(super) fn finish_lead(&self, lead: RunningCommand, arguments: &[&str], code: i32) {
        if !self.exited_with(lead, code) {
            self.exits_with(arguments, code);
        }
    }

    /// Waits for the exit of a lead and returns whether it has the code. If not, a process has
    /// died.
    #[track_caller]
    pub(super) fn exited_with(&self, lead: RunningCommand, code: i32) -> bool {
        let status = self.wait_for_exit(lead);
        let is_expected = status.code() == Some(code);
        assert!(is_expected || self.total_deaths() > 0, "no process died, and yet {status}");
        is_expected
    }

    pub(super) fn start(&self, arguments: &[&str]) -> RunningCommand {
        let outer_dir = self.project.sandbox.outer_dir();
        let mut call =
            self.project.call(arguments).env("MOW_FAILPOINT_TRACE", outer_dir.join("trace"));
        if !self.kill_points.is_empty() {
            call = call.env("MOW_FAILPOINT", self.kill_point_text());
            call = call.env("MOW_FAILPOINT_MARK", outer_dir.join("mark"));
        }
        *self.transcript() += &format!("$ mow {}\n", arguments.join(" "));
        RunningCommand::start(call)
    }

    #[track_caller]
    fn wait_for_exit(&self, mut command: RunningCommand) -> ExitStatus {
        let end = Instant::now() + COMMAND_TIMEOUT;
        while !command.has_ended() {
            assert!(Instant::now() < end, "the command does not exit");
            std::thread::sleep(POLL_INTERVAL);
        }
        let (status, output) = command.end();
        *self.transcript() += &format!("{output}{status}\n");
        status
    }

    fn kill_point_text(&self) -> String {
        let kill_points: Vec<_> = self.kill_points.iter().map(ToString::to_string).collect();
        kill_points.join(" ")
    }

    fn transcript(&self) -> MutexGuard<'_, String> {
        self.transcript_text.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn logs(&self) -> String {
        let Some(dir) = self.project.run_dir() else { return String::new() };
        let mut text = String::new();
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            let from = bytes.len().saturating_sub(3_000);
            let end = String::from_utf8_lossy(&bytes[from..]).into_owned();
            text += &format!("--- {}\n{end}\n", entry.path().display());
        }
        text
    }

    /// Counts the processes that died at a kill point. The mark files count kill points from 1.
    fn death_count(&self, at: usize) -> usize {
        let mark = |role: &ProcessRole| format!("mark-{}-{}", at + 1, role.name());
        let outer_dir = self.project.sandbox.outer_dir();
        let roles = self.kill_points[at].roles.iter();
        roles.filter(|role| outer_dir.join(mark(role)).exists()).count()
    }

    /// Counts the processes that died at any kill point.
    fn total_deaths(&self) -> usize {
        (0..self.kill_points.len()).map(|at| self.death_count(at)).sum()
    }

    /// Returns the kill points at which not all of their processes died.
    pub(super) fn unreached_kill_points(&self) -> Vec<String> {
        let all = self.kill_points.iter().enumerate();
        let unreached =
            all.filter(|(at, kill_point)| self.death_count(*at) < kill_point.roles.len());
        unreached.map(|(_, kill_point)| kill_point.to_string()).collect()
    }

    /// Returns the points that were passed so far, from the trace file.
    pub(super) fn passed(&self) -> PassedPoints {
        let text =
            fs::read_to_string(self.project.sandbox.outer_dir().join("trace")).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        pairs
            .filter_map(|(role, point)| Some((point.to_owned(), ProcessRole::parse(role)?)))
            .collect()
    }
}
