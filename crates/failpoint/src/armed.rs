//! The active failpoints of debug builds: counts passes, writes the trace and kills the process.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::{KillPoint, ProcessRole};

/// All environment variables that configure failpoints.
pub(crate) const VARIABLES: [&str; 3] =
    ["MOW_FAILPOINT", "MOW_FAILPOINT_MARK", "MOW_FAILPOINT_TRACE"];

static ROLE: OnceLock<ProcessRole> = OnceLock::new();
static CONFIG: OnceLock<Option<FailpointConfig>> = OnceLock::new();
/// How often this process has passed each configured point.
static PASSED: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);

/// The configuration from the environment.
struct FailpointConfig {
    kill_points: Vec<KillPoint>,
    /// The path prefix of the marker files.
    mark: Option<OsString>,
    /// The file that gets a line for every point that is passed.
    trace: Option<File>,
}

impl FailpointConfig {
    /// Reads the environment; `None` when failpoints are not configured, which is the usual case.
    fn read() -> Option<Self> {
        let [kill_points, mark, trace] = VARIABLES.map(std::env::var_os);
        if kill_points.is_none() && trace.is_none() {
            return None;
        }
        let kill_points = kill_points.unwrap_or_default();
        let kill_points =
            kill_points.to_string_lossy().split_whitespace().map(KillPoint::parse).collect();
        let open = |path| OpenOptions::new().append(true).create(true).open(path).ok();
        Some(Self { kill_points, mark, trace: trace.and_then(open) })
    }

    /// Counts a pass of a point and returns whether this process must die there now.
    fn must_die_here(&self, point: &str, role: ProcessRole) -> bool {
        if !self.kill_points.iter().any(|kill_point| kill_point.point == point) {
            return false;
        }
        let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
        let count = passed.get_or_insert_default().entry(point.to_owned()).or_default();
        *count += 1;
        let next = self
            .kill_points
            .iter()
            .enumerate()
            .find(|(at, kill_point)| !self.is_used_up(*at, kill_point));
        let Some((at, kill_point)) = next else { return false };
        let is_match = kill_point.point == point
            && kill_point.roles.contains(&role)
            && *count >= kill_point.hit;
        // Creating the marker file is atomic, so only one of several processes dies.
        is_match && self.mark(at, role).is_none_or(|mark| File::create_new(mark).is_ok())
    }

    /// Returns whether a process of every role has died at a kill point.
    fn is_used_up(&self, at: usize, kill_point: &KillPoint) -> bool {
        let has_mark = |role: &ProcessRole| self.mark(at, *role).is_some_and(|mark| mark.exists());
        kill_point.roles.iter().all(has_mark)
    }

    /// Returns the path of the marker file for a kill point and a role.
    fn mark(&self, at: usize, role: ProcessRole) -> Option<PathBuf> {
        let mut mark = self.mark.clone()?;
        mark.push(format!("-{}-{}", at + 1, role.name()));
        Some(mark.into())
    }
}

pub(crate) fn set_role(role: ProcessRole) {
    // Only the first call counts: a process never changes its role.
    ROLE.set(role).ok();
}

pub(crate) fn reach(point: &str, half: impl FnOnce()) {
    let Some(config) = CONFIG.get_or_init(FailpointConfig::read) else { return };
    let role = ROLE.get().copied().unwrap_or(ProcessRole::Person);
    if let Some(mut trace) = config.trace.as_ref() {
        // One write per line, so that lines of several processes do not mix.
        trace.write_all(format!("{} {point}\n", role.name()).as_bytes()).ok();
    }
    if config.must_die_here(point, role) {
        half();
        die();
    }
}

/// Kills this process with SIGKILL.
fn die() -> ! {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).ok();
    std::process::abort()
}
