//! Who gave a command. Stored in journals: the serialised names never change.

use serde::{Deserialize, Serialize};

/// Who gave a command, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// What the person used.
    #[serde(rename = "face")]
    pub interface: Interface,
    /// The name of the person's account; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The id of the process that the person used.
    pub process: u32,
}

/// What a person used to give a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interface {
    /// The command line.
    Cli,
    /// The terminal dashboard.
    Dashboard,
    /// The web page.
    Web,
    /// Another program, over MCP.
    Mcp,
    /// A hook of another program.
    Hook,
    /// One that a newer version of mow has.
    #[serde(other)]
    Other,
}

impl Interface {
    /// Returns the name for people and for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Dashboard => "dashboard",
            Self::Web => "web",
            Self::Mcp => "mcp",
            Self::Hook => "hook",
            Self::Other => "other",
        }
    }
}
