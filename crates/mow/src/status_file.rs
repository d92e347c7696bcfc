//! The STATUS.md of a phase: where it is, and how a new one is written.

use std::path::PathBuf;

use mow_store::phase_dirs::{PhaseDir, PhaseFileKind};
use mow_store::status::{self, NewStatus};
use mow_store::{disk, plan};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// A phase's directory and the STATUS.md in it.
pub(crate) struct Place {
    pub(crate) dir: PhaseDir,
    /// The number in the form of file names: `03`.
    pub(crate) padded: String,
    pub(crate) path: PathBuf,
}

pub(crate) fn find(context: &Context, phase: &str) -> Result<Place, Failure> {
    let dir = context.phase_dir(phase).ok_or_else(|| {
        Failure::refused(format!("Phase {phase} not found in .planning/phases/"))
            .hint("mow roadmap phases lists what the roadmap declares")
    })?;
    Ok(place(dir))
}

pub(crate) fn place(dir: PhaseDir) -> Place {
    let padded = dir.number.map_or_else(|| dir.name.clone(), |number| number.padded());
    let name = format!("{padded}-STATUS.md");
    let path = dir.path.join(dir.status_file().unwrap_or(&name));
    Place { dir, padded, path }
}

/// Returns the text of a new file, and the number of plans in it.
pub(crate) fn new_text(context: &Context, place: &Place) -> Result<(String, usize), Failure> {
    let mut plans = Vec::new();
    for file in place.dir.files_of(PhaseFileKind::Plan) {
        let bytes = disk::read(&place.dir.path.join(file))?.unwrap_or_default();
        let id = PhaseFileKind::Plan.id(file).unwrap_or(file).to_owned();
        plans.push((id, plan::parse(&bytes).tasks.len()));
    }
    let name = place.dir.label().map_or_else(|| "Unnamed".to_owned(), capitalised);
    let new = NewStatus { phase: &place.padded, name: &name, plans: &plans };
    let text = match context.template("status.md")? {
        Some(template) => status::render_with(&template, &new),
        None => status::render(&new),
    };
    Ok((text, plans.len()))
}

/// Writes the file anew; `worktree create` does so in the worktree it made.
pub(crate) fn init(context: &Context, phase: &str) -> Result<Output, Failure> {
    let place = find(context, phase)?;
    let (text, plans) = new_text(context, &place)?;
    disk::update(&context.project, &place.path, |_| {
        Ok::<_, Failure>(Some(text.clone().into_bytes()))
    })?;
    let shown = context.display_path(&place.path);
    let value = json!({ "created": true, "path": shown, "plans": plans });
    Ok(Output::with_raw(value, shown))
}

/// Makes `user-auth` into `User Auth`.
fn capitalised(label: &str) -> String {
    let words = label.split('-').filter(|word| !word.is_empty()).map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string());
        first.unwrap_or_default() + letters.as_str()
    });
    words.collect::<Vec<_>>().join(" ")
}
