//! What points do in a build for tests.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::Role;

/// All that is read from the environment.
pub(crate) const VARIABLES: [&str; 5] = [
    "MOW_FAILPOINT",
    "MOW_FAILPOINT_IN",
    "MOW_FAILPOINT_HIT",
    "MOW_FAILPOINT_MARK",
    "MOW_FAILPOINT_TRACE",
];

static ROLE: OnceLock<Role> = OnceLock::new();
static ORDER: OnceLock<Option<Order>> = OnceLock::new();
static PASSED: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);

/// What the environment says.
struct Order {
    point: Option<String>,
    roles: Option<String>,
    hit: u32,
    mark: Option<PathBuf>,
    trace: Option<File>,
}

impl Order {
    /// Reads the environment; `None` when it says nothing, which is the usual case.
    fn read() -> Option<Self> {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let [point, roles, hit, mark, trace] = VARIABLES.map(text);
        if point.is_none() && trace.is_none() {
            return None;
        }
        let hit = hit.and_then(|hit| hit.parse().ok()).unwrap_or(1);
        let open = |path: String| OpenOptions::new().append(true).create(true).open(path).ok();
        let (mark, trace) = (mark.map(PathBuf::from), trace.and_then(open));
        Some(Self { point, roles, hit, mark, trace })
    }

    /// Whether it is this process that dies at this point, and now.
    fn is_meant(&self, point: &str, role: &str) -> bool {
        if self.point.as_deref() != Some(point) {
            return false;
        }
        if self.roles.as_ref().is_some_and(|roles| !roles.split(',').any(|one| one == role)) {
            return false;
        }
        let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
        let count = passed.get_or_insert_default().entry(point.to_owned()).or_default();
        *count += 1;
        *count == self.hit && self.is_first(role)
    }

    /// Whether no other process of this role has died yet.
    fn is_first(&self, role: &str) -> bool {
        let Some(mark) = &self.mark else { return true };
        let mut name = mark.as_os_str().to_owned();
        name.push(format!("-{role}"));
        File::create_new(name).is_ok()
    }
}

pub(crate) fn enter(role: Role) {
    // The first word counts: nobody changes sides.
    ROLE.set(role).ok();
}

pub(crate) fn reach(point: &str, half: impl FnOnce()) {
    let Some(order) = ORDER.get_or_init(Order::read) else { return };
    let role = match ROLE.get() {
        Some(Role::Lead) => "lead",
        Some(Role::Worker) => "worker",
        None => "person",
    };
    if let Some(mut trace) = order.trace.as_ref() {
        // One write of a short line, so that lines of several processes do not mix.
        trace.write_all(format!("{role} {point}\n").as_bytes()).ok();
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
