//! A file of a merge conflict, as outcomes and messages name it. Stored in journals.

use serde::{Deserialize, Serialize};

/// A file that git cannot merge automatically.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredConflictedFile")]
pub struct ConflictedFile {
    /// The path in the repository.
    pub path: String,
    /// The kind of conflict, for people; empty when it is unknown.
    pub kind: String,
}

/// The stored forms: older journals have only the path.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredConflictedFile {
    Name(String),
    Whole { path: String, kind: String },
}

impl From<StoredConflictedFile> for ConflictedFile {
    fn from(written: StoredConflictedFile) -> Self {
        match written {
            StoredConflictedFile::Name(path) => Self { path, kind: String::new() },
            StoredConflictedFile::Whole { path, kind } => Self { path, kind },
        }
    }
}

impl std::fmt::Display for ConflictedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind.as_str() {
            "" => f.write_str(&self.path),
            kind => write!(f, "{} ({kind})", self.path),
        }
    }
}
