//! What points do in a build for tests.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::{Blow, Role};

/// All that is read from the environment.
pub(crate) const VARIABLES: [&str; 3] =
    ["MOW_FAILPOINT", "MOW_FAILPOINT_MARK", "MOW_FAILPOINT_TRACE"];

static ROLE: OnceLock<Role> = OnceLock::new();
static ORDER: OnceLock<Option<Order>> = OnceLock::new();
static PASSED: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);

/// What the environment says.
struct Order {
    blows: Vec<Blow>,
    mark: Option<OsString>,
    trace: Option<File>,
}

impl Order {
    /// Reads the environment; `None` when it says nothing, which is the usual case.
    fn read() -> Option<Self> {
        let [blows, mark, trace] = VARIABLES.map(std::env::var_os);
        if blows.is_none() && trace.is_none() {
            return None;
        }
        let blows = blows.unwrap_or_default();
        let blows = blows.to_string_lossy().split_whitespace().map(Blow::parse).collect();
        let open = |path| OpenOptions::new().append(true).create(true).open(path).ok();
        Some(Self { blows, mark, trace: trace.and_then(open) })
    }

    /// Whether it is this process that dies at this point, and now.
    fn is_meant(&self, point: &str, role: Role) -> bool {
        if !self.blows.iter().any(|blow| blow.point == point) {
            return false;
        }
        let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
        let count = passed.get_or_insert_default().entry(point.to_owned()).or_default();
        *count += 1;
        let next = self.blows.iter().enumerate().find(|(at, blow)| !self.has_fallen(*at, blow));
        let Some((at, blow)) = next else { return false };
        let is_it = blow.point == point && blow.roles.contains(&role) && *count >= blow.hit;
        // Of several processes only one makes the mark.
        is_it && self.mark(at, role).is_none_or(|mark| File::create_new(mark).is_ok())
    }

    /// Whether all have died of a blow that were to.
    fn has_fallen(&self, at: usize, blow: &Blow) -> bool {
        let has_mark = |role: &Role| self.mark(at, *role).is_some_and(|mark| mark.exists());
        blow.roles.iter().all(has_mark)
    }

    fn mark(&self, at: usize, role: Role) -> Option<PathBuf> {
        let mut mark = self.mark.clone()?;
        mark.push(format!("-{}-{}", at + 1, role.name()));
        Some(mark.into())
    }
}

pub(crate) fn enter(role: Role) {
    // The first word counts: nobody changes sides.
    ROLE.set(role).ok();
}

pub(crate) fn reach(point: &str, half: impl FnOnce()) {
    let Some(order) = ORDER.get_or_init(Order::read) else { return };
    let role = ROLE.get().copied().unwrap_or(Role::Person);
    if let Some(mut trace) = order.trace.as_ref() {
        // One write of a short line, so that lines of several processes do not mix.
        trace.write_all(format!("{} {point}\n", role.name()).as_bytes()).ok();
    }
    if order.is_meant(point, role) {
        half();
        die();
    }
}

/// Ends this process the hard way.
fn die() -> ! {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).ok();
    std::process::abort()
}
