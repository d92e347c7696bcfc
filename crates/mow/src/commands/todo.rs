//! `mow list-todos` and `mow todo …`.

use clap::Subcommand;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::todo::{self, Filed, Shelf};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;

/// Commands on one todo.
#[derive(Debug, Subcommand)]
pub(crate) enum Todo {
    /// Move a todo from pending to in-progress
    Start {
        /// The name of its file
        #[arg(allow_hyphen_values = true)]
        filename: String,
    },
    /// Move a todo to completed
    Complete {
        /// The name of its file
        #[arg(allow_hyphen_values = true)]
        filename: String,
    },
}

impl Todo {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Start { filename } => start(context, filename),
            Self::Complete { filename } => complete(context, filename),
        }
    }
}

/// A todo as it is printed.
#[derive(Serialize)]
pub(super) struct TodoJson {
    file: String,
    created: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    title: String,
    area: String,
    state: &'static str,
    path: String,
}

/// The open todos, those that are worked on first.
pub(super) struct Listing {
    pub(super) in_progress: usize,
    pub(super) todos: Vec<TodoJson>,
}

impl Listing {
    /// Lists the todos of an area, or all of them.
    pub(super) fn load(context: &Context, area: Option<&str>) -> Self {
        let planning = &context.project.planning;
        let area = area.filter(|area| !area.is_empty());
        let of = |shelf| {
            let filed = todo::list(planning, shelf).into_iter();
            filed.filter(|filed| area.is_none_or(|area| filed.todo.area == area)).map(item)
        };
        let mut todos: Vec<_> = of(Shelf::InProgress).collect();
        let in_progress = todos.len();
        todos.extend(of(Shelf::Pending));
        Self { in_progress, todos }
    }
}

fn item(filed: Filed) -> TodoJson {
    let unknown = || "unknown".to_owned();
    let Filed { file, shelf, todo } = filed;
    TodoJson {
        created: todo.created.unwrap_or_else(unknown),
        started: (shelf == Shelf::InProgress).then(|| todo.started.unwrap_or_else(unknown)),
        title: todo.title.unwrap_or_else(|| "Untitled".to_owned()),
        area: todo.area,
        state: shelf.word(),
        path: format!(".planning/{}/{file}", shelf.dir()),
        file,
    }
}

/// `mow list-todos`.
pub(super) fn list(context: &Context, area: Option<&str>) -> Output {
    let Listing { in_progress, todos } = Listing::load(context, area);
    let count = todos.len();
    let answer = json!({ "count": count, "in_progress_count": in_progress, "todos": todos });
    Output::with_raw(answer, count.to_string())
}

fn start(context: &Context, file: &str) -> Result<Output, Failure> {
    let date = today();
    let moved = shelve(context, file, &[Shelf::Pending], Shelf::InProgress, ("started", &date))?;
    let mut answer = Map::new();
    answer.insert("started".to_owned(), json!(true));
    answer.insert("file".to_owned(), json!(file));
    answer.insert("from".to_owned(), json!(moved.from.word()));
    answer.insert("to".to_owned(), json!(Shelf::InProgress.word()));
    let warnings = overlaps(context, &moved);
    if !warnings.is_empty() {
        answer.insert("warnings".to_owned(), Value::Array(warnings));
    }
    Ok(Output::json(answer))
}

/// Names the other todos in progress that touch the same files.
fn overlaps(context: &Context, moved: &Moved) -> Vec<Value> {
    let others = todo::list(&context.project.planning, Shelf::InProgress).into_iter();
    let others = others.filter(|other| other.file != moved.file);
    let overlapping = others.filter_map(|other| {
        let shared = other.todo.files.iter().filter(|file| moved.touches.contains(file));
        let shared: Vec<_> = shared.cloned().collect();
        let name = other.todo.title.unwrap_or(other.file);
        (!shared.is_empty()).then(|| json!({ "todo": name, "overlapping_files": shared }))
    });
    overlapping.collect()
}

fn complete(context: &Context, file: &str) -> Result<Output, Failure> {
    let date = today();
    let from = [Shelf::Pending, Shelf::InProgress];
    let moved = shelve(context, file, &from, Shelf::Completed, ("completed", &date))?;
    let from = moved.from.word();
    let answer = json!({ "completed": true, "file": file, "from": from, "date": date });
    Ok(Output::with_raw(answer, "completed"))
}

/// A todo that was moved.
struct Moved {
    file: String,
    from: Shelf,
    touches: Vec<String>,
}

/// Moves a todo from the first shelf that has it to another, and records a key in it.
fn shelve(
    context: &Context,
    file: &str,
    from: &[Shelf],
    to: Shelf,
    (key, value): (&str, &str),
) -> Result<Moved, Failure> {
    let places: Vec<_> = from.iter().map(|shelf| shelf.word()).collect();
    let not_found = || {
        let message = format!("Todo not found in {}: {file}", places.join(" or "));
        Failure::refused(message).hint("mow list-todos shows the names of the files")
    };
    if !todo::is_file_name(file) {
        return Err(not_found());
    }
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    let path_on = |shelf: Shelf| context.planning(&shelf.dir()).join(file);
    let is_on = |shelf: &&Shelf| path_on(**shelf).is_file();
    let shelf = *from.iter().find(is_on).ok_or_else(not_found)?;
    let old = disk::read(&path_on(shelf))?.ok_or_else(not_found)?;
    let new = todo::add_line(&old, key, value)?;
    let target = path_on(to);
    // A call that was cut off may have left its copy there; anything else is not overwritten.
    if disk::read(&target)?.is_some_and(|there| there != new) {
        let message = format!("{} is already there", context.shown(&target));
        return Err(Failure::refused(message).hint("rename one of the two files"));
    }
    writer.create_dir(&context.planning(&to.dir()))?;
    writer.replace(&target, &new)?;
    writer.remove_file(&path_on(shelf))?;
    Ok(Moved { file: file.to_owned(), from: shelf, touches: todo::parse(&new).files })
}
