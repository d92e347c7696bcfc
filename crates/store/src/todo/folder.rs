//! The directories of todo files: pending, in progress and completed.
//!
//! Only reads. A todo is identified by its plain file name; a text with a path is not accepted.

use std::fs;
use std::path::Path;

use super::{Todo, parse};

/// A directory of todos, by the state of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoFolder {
    /// Work on the todo has not begun.
    Pending,
    /// Work on the todo has begun.
    InProgress,
    /// The todo is done.
    Completed,
}

impl TodoFolder {
    /// Returns the name of the directory, which commands also print.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in-progress",
            Self::Completed => "completed",
        }
    }

    /// Returns the directory's path below the planning directory.
    pub fn dir(self) -> String {
        format!("todos/{}", self.word())
    }
}

/// A todo with its file name and directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoFile {
    /// The file name.
    pub file: String,
    /// The directory that holds the file.
    pub folder: TodoFolder,
    /// The content of the file.
    pub todo: Todo,
}

/// Lists the todos of a folder, sorted by file name; unreadable files are left out.
pub fn list(planning: &Path, folder: TodoFolder) -> Vec<TodoFile> {
    let dir = planning.join(folder.dir());
    let Ok(entries) = fs::read_dir(&dir) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort_unstable();
    let todos = names.into_iter().filter_map(|file| {
        let todo = parse(&fs::read(dir.join(&file)).ok()?);
        Some(TodoFile { file, folder, todo })
    });
    todos.collect()
}

/// Returns whether a text is a file name without a path.
pub fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && !matches!(name, "." | "..")
        && !name.starts_with('-')
        && !name.contains(|c: char| c == '/' || c == '\\' || c.is_control())
}
