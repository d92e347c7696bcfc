//! Kill points: where a process of which role dies, and their text form.

use std::fmt;

/// The role of a process in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProcessRole {
    /// The scheduler of the run.
    Lead,
    /// The process that works on a phase.
    Worker,
    /// A process that runs any other command for a person.
    Person,
}

impl ProcessRole {
    /// Every role, in declaration order.
    pub const ALL: [Self; 3] = [Self::Lead, Self::Worker, Self::Person];

    /// Returns the name in `MOW_FAILPOINT`, the trace and marker files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lead => "lead",
            Self::Worker => "worker",
            Self::Person => "person",
        }
    }

    /// Parses a name; `None` for an unknown one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Where a process is killed: `merge.ref.moved@lead#2` is the second pass of that point in a lead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KillPoint {
    /// The name of the failpoint.
    pub point: String,
    /// The roles whose processes die; each role dies once.
    pub roles: Vec<ProcessRole>,
    /// The pass within one process at which it dies, counted from 1.
    pub hit: u32,
}

impl KillPoint {
    /// Parses a kill point. The default role is the lead, the default pass the first one.
    ///
    /// Unknown role names are ignored.
    pub fn parse(text: &str) -> Self {
        let (point, rest) = text.split_once('@').unwrap_or((text, "lead"));
        let (roles, hit) = rest.split_once('#').unwrap_or((rest, "1"));
        let roles = roles.split(',').filter_map(ProcessRole::parse).collect();
        Self { point: point.to_owned(), roles, hit: hit.parse().unwrap_or(1) }
    }
}

impl fmt::Display for KillPoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles: Vec<_> = self.roles.iter().map(|role| role.name()).collect();
        write!(formatter, "{}@{}#{}", self.point, roles.join(","), self.hit)
    }
}
