//! `mow phase add` and `mow phase insert`: a directory, and a place in the roadmap.

use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use mow_store::disk::Writer;
use mow_store::phase_dirs::{self, PhaseDirs};
use mow_store::roadmap::edit::{self, NewPhase};
use mow_store::roadmap::{self, Lookup};
use serde_json::json;

use super::{load_roadmap, next_child, number, writer};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// How long a directory's name may be behind its number; file systems allow 255 bytes.
const SLUG_MAX: usize = 200;

pub(super) fn add(context: &Context, description: &str) -> Result<Output, Failure> {
    let name = checked(description)?;
    let (writer, _) = writer(context)?;
    let roadmap = load_roadmap(context)?;
    let planning = &context.project.planning;
    let dirs = PhaseDirs::load(planning);
    let on_disk = dirs.iter().filter_map(|dir| dir.number);
    let archived = phase_dirs::archived(planning).into_iter().map(|(number, _)| number);
    let used = on_disk.chain(archived).filter(|number| !number.is_backlog());
    let highest = used.map(|number| number.major()).chain(edit::highest(&roadmap)).max();
    let value = highest.unwrap_or(0).saturating_add(1);
    let new = NewPhase {
        number: PhaseNumber::whole(value),
        name: &name,
        after: highest.filter(|highest| *highest > 0).map(PhaseNumber::whole),
        inserted: false,
    };
    let made = make(context, &writer, &roadmap, &new)?;
    let padded = new.number.padded();
    let json = json!({
        "phase_number": value,
        "padded": padded,
        "name": name,
        "slug": made.slug,
        "directory": made.directory,
    });
    Ok(Output::with_raw(json, padded))
}

pub(super) fn insert(context: &Context, after: &str, description: &str) -> Result<Output, Failure> {
    let name = checked(description)?;
    let base = number(after)?;
    let (writer, _) = writer(context)?;
    let roadmap = load_roadmap(context)?;
    if !matches!(roadmap::details(&roadmap, &base), Lookup::Found(_)) {
        return Err(Failure::refused(format!("Phase {after} not found in ROADMAP.md"))
            .hint("mow roadmap phases lists what the roadmap declares"));
    }
    let new = NewPhase {
        number: next_child(context, &base, &roadmap)?,
        name: &name,
        after: Some(base),
        inserted: true,
    };
    let made = make(context, &writer, &roadmap, &new)?;
    let padded = new.number.padded();
    let json = json!({
        "phase_number": padded,
        "after_phase": after,
        "name": name,
        "slug": made.slug,
        "directory": made.directory,
    });
    Ok(Output::with_raw(json, padded))
}

/// Refuses a description that cannot stand on one line.
fn checked(description: &str) -> Result<String, Failure> {
    let name = description.trim();
    if name.is_empty() {
        return Err(Failure::refused("description required")
            .hint("say in a few words what the phase is about"));
    }
    if name.chars().any(char::is_control) {
        return Err(Failure::refused("a description must be one line without control characters"));
    }
    Ok(name.to_owned())
}

struct Made {
    slug: String,
    directory: String,
}

/// Writes the roadmap first: a phase without a directory is an ordinary one.
fn make(
    context: &Context,
    writer: &Writer,
    roadmap: &[u8],
    new: &NewPhase<'_>,
) -> Result<Made, Failure> {
    let mut slug = slug(new.name);
    slug.truncate(SLUG_MAX);
    let padded = new.number.padded();
    let name = if slug.is_empty() { padded } else { format!("{padded}-{slug}") };
    let dir = context.planning("phases").join(name);
    writer.replace(&context.planning("ROADMAP.md"), &edit::insert(roadmap, new))?;
    writer.create_dir(&dir)?;
    writer.replace(&dir.join(".gitkeep"), b"")?;
    Ok(Made { slug, directory: context.shown(&dir) })
}
