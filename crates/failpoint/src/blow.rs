//! Who is to die where, and how that is written.

use std::fmt;

/// What a process is to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It leads the run.
    Lead,
    /// It works on a phase.
    Worker,
    /// It carries out any other command.
    Person,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Lead, Self::Worker, Self::Person];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lead => "lead",
            Self::Worker => "worker",
            Self::Person => "person",
        }
    }

    /// Reads a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A death: `merge.ref.moved@lead#2` is the second pass of that point in a lead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Blow {
    /// The point.
    pub point: String,
    /// Who dies, each once.
    pub roles: Vec<Role>,
    /// At which pass in one process, counted from 1.
    pub hit: u32,
}

impl Blow {
    /// Reads a blow: the first pass, where no other is given, and nobody but those who are named.
    pub fn parse(text: &str) -> Self {
        let (point, rest) = text.split_once('@').unwrap_or((text, "lead"));
        let (roles, hit) = rest.split_once('#').unwrap_or((rest, "1"));
        let roles = roles.split(',').filter_map(Role::parse).collect();
        Self { point: point.to_owned(), roles, hit: hit.parse().unwrap_or(1) }
    }
}

impl fmt::Display for Blow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles: Vec<_> = self.roles.iter().map(|role| role.name()).collect();
        write!(formatter, "{}@{}#{}", self.point, roles.join(","), self.hit)
    }
}
