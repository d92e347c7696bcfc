//! `mow list-todos` and `mow todo …` list todos and move their files between folders.

use clap::Subcommand;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::todo::{self, TodoFile, TodoFolder};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `mow todo`.
#[derive(Debug, Subcommand)]
pub(crate) enum TodoCommand {
    /// Move a todo from pending to in-progress
    Start {
        /// The file name of the todo
        #[arg(allow_hyphen_values = true)]
        filename: String,
    },
    /// Move a todo to completed
    Complete {
        /// The file name of the todo
        #[arg(allow_hyphen_values = true)]
        filename: String,
    },
}

impl TodoCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Start { filename } => start(context, filename),
            Self::Complete { filename } => complete(context, filename),
        }
    }
}

/// A todo as it is printed.
#[derive(Serialize)]
pub(crate) struct TodoJson {
    file: String,
    created: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    title: String,
    area: String,
    state: &'static str,
    path: String,
}

/// The open todos; those in progress come first.
pub(crate) struct OpenTodos {
    pub(crate) in_progress: usize,
    pub(crate) todos: Vec<TodoJson>,
}

impl OpenTodos {
    /// Lists the todos of an area, or all of them.
    pub(crate) fn load(context: &Context, area: Option<&str>) -> Self {
        let planning = &context.project.planning;
        let area = area.filter(|area| !area.is_empty());
        let in_folder = |folder| {
            let todo_file = todo::list(planning, folder).into_iter();
            todo_file
                .filter(|todo_file| area.is_none_or(|area| todo_file.todo.area == area))
                .map(todo_json)
        };
        let mut todos: Vec<_> = in_folder(TodoFolder::InProgress).collect();
        let in_progress = todos.len();
        todos.extend(in_folder(TodoFolder::Pending));
        Self { in_progress, todos }
    }
}

fn todo_json(todo_file: TodoFile) -> TodoJson {
    let unknown = || "unknown".to_owned();
    let TodoFile { file, folder, todo } = todo_file;
    TodoJson {
        created: todo.created.unwrap_or_else(unknown),
        started: (folder == TodoFolder::InProgress).then(|| todo.started.unwrap_or_else(unknown)),
        title: todo.title.unwrap_or_else(|| "Untitled".to_owned()),
        area: todo.area,
        state: folder.word(),
        path: format!(".planning/{}/{file}", folder.dir()),
        file,
    }
}

/// Runs `mow list-todos`.
pub(crate) fn list(context: &Context, area: Option<&str>) -> Output {
    let OpenTodos { in_progress, todos } = OpenTodos::load(context, area);
    let count = todos.len();
    let answer = json!({ "count": count, "in_progress_count": in_progress, "todos": todos });
    Output::with_raw(answer, count.to_string())
}

fn start(context: &Context, file: &str) -> Result<Output, Failure> {
    let date = today();
    let moved = move_todo(
        context,
        file,
        &[TodoFolder::Pending],
        TodoFolder::InProgress,
        ("started", &date),
    )?;
    let mut answer = Map::new();
    answer.insert("started".to_owned(), json!(true));
    answer.insert("file".to_owned(), json!(file));
    answer.insert("from".to_owned(), json!(moved.from.word()));
    answer.insert("to".to_owned(), json!(TodoFolder::InProgress.word()));
    let warnings = overlaps(context, &moved);
    if !warnings.is_empty() {
        answer.insert("warnings".to_owned(), Value::Array(warnings));
    }
    Ok(Output::json(answer))
}

/// Returns a warning for each other todo in progress that names the same files.
fn overlaps(context: &Context, moved: &MovedTodo) -> Vec<Value> {
    let others = todo::list(&context.project.planning, TodoFolder::InProgress).into_iter();
    let others = others.filter(|other| other.file != moved.file);
    let overlapping = others.filter_map(|other| {
        let shared = other.todo.files.iter().filter(|file| moved.named_files.contains(file));
        let shared: Vec<_> = shared.cloned().collect();
        let name = other.todo.title.unwrap_or(other.file);
        (!shared.is_empty()).then(|| json!({ "todo": name, "overlapping_files": shared }))
    });
    overlapping.collect()
}

fn complete(context: &Context, file: &str) -> Result<Output, Failure> {
    let date = today();
    let from = [TodoFolder::Pending, TodoFolder::InProgress];
    let moved = move_todo(context, file, &from, TodoFolder::Completed, ("completed", &date))?;
    let from = moved.from.word();
    let answer = json!({ "completed": true, "file": file, "from": from, "date": date });
    Ok(Output::with_raw(answer, "completed"))
}

/// A todo whose file was moved to another folder.
struct MovedTodo {
    file: String,
    from: TodoFolder,
    /// The files that the todo names.
    named_files: Vec<String>,
}

/// Moves a todo out of the first `from` folder that has it, and sets a key in its frontmatter.
fn move_todo(
    context: &Context,
    file: &str,
    from: &[TodoFolder],
    to: TodoFolder,
    (key, value): (&str, &str),
) -> Result<MovedTodo, Failure> {
    let folder_names: Vec<_> = from.iter().map(|folder| folder.word()).collect();
    let not_found = || {
        let message = format!("Todo not found in {}: {file}", folder_names.join(" or "));
        Failure::refused(message).hint("mow list-todos shows the file names")
    };
    if !todo::is_file_name(file) {
        return Err(not_found());
    }
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    let path_in = |folder: TodoFolder| context.planning(&folder.dir()).join(file);
    let is_in = |folder: &&TodoFolder| path_in(**folder).is_file();
    let folder = *from.iter().find(is_in).ok_or_else(not_found)?;
    let old = disk::read(&path_in(folder))?.ok_or_else(not_found)?;
    let new = todo::set_key(&old, key, value)?;
    let target = path_in(to);
    // An interrupted call may have left its copy there. A different file is not overwritten.
    if disk::read(&target)?.is_some_and(|existing| existing != new) {
        let message = format!("{} is already there", context.display_path(&target));
        return Err(Failure::refused(message).hint("rename one of the two files"));
    }
    writer.create_dir(&context.planning(&to.dir()))?;
    writer.replace(&target, &new)?;
    writer.remove_file(&path_in(folder))?;
    Ok(MovedTodo { file: file.to_owned(), from: folder, named_files: todo::parse(&new).files })
}
