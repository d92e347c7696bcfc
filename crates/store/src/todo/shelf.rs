//! The directories that todo files lie in: what is waiting, what is worked on, what is done.
//!
//! Listing only reads. A file is named by its bare name; anything that could lead elsewhere is no
//! name.

use std::fs;
use std::path::Path;

use super::{Todo, parse};

/// A directory of todos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// What is waiting.
    Pending,
    /// What is worked on.
    InProgress,
    /// What is done.
    Completed,
}

impl Shelf {
    /// Returns the word for it, which is the name of its directory too.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in-progress",
            Self::Completed => "completed",
        }
    }

    /// Returns its directory below the planning directory.
    pub fn dir(self) -> String {
        format!("todos/{}", self.word())
    }
}

/// A todo and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filed {
    /// The name of its file.
    pub file: String,
    /// Its directory.
    pub shelf: Shelf,
    /// What it says.
    pub todo: Todo,
}

/// Lists the todos of a shelf by name; files that cannot be read are left out.
pub fn list(planning: &Path, shelf: Shelf) -> Vec<Filed> {
    let dir = planning.join(shelf.dir());
    let Ok(entries) = fs::read_dir(&dir) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort_unstable();
    let filed = names.into_iter().filter_map(|file| {
        let todo = parse(&fs::read(dir.join(&file)).ok()?);
        Some(Filed { file, shelf, todo })
    });
    filed.collect()
}

/// Returns whether a text is the bare name of a file.
pub fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && !matches!(name, "." | "..")
        && !name.starts_with('-')
        && !name.contains(|c: char| c == '/' || c == '\\' || c.is_control())
}
