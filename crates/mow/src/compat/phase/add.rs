//! `mow phase add` and `mow phase insert` create a phase: its section in the roadmap and its
//! directory.

use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use mow_store::compat::roadmap_edit::{self, NewPhase};
use mow_store::disk::Writer;
use mow_store::phase_dirs::{self, PhaseDirs};
use mow_store::roadmap::{self, PhaseLookup};
use serde_json::json;

use super::{load_roadmap, next_decimal_number, open_writer, parse_phase_number};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// The maximum length of the slug in a directory name; file systems allow names of 255 bytes.
const SLUG_MAX: usize = 200;

pub(super) fn add(context: &Context, description: &str) -> Result<Output, Failure> {
    let name = check_description(description)?;
    let (writer, _) = open_writer(context)?;
    let roadmap = load_roadmap(context)?;
    let planning = &context.project.planning;
    let dirs = PhaseDirs::load(planning);
    let on_disk = dirs.iter().filter_map(|dir| dir.number);
    let archived = phase_dirs::archived(planning).into_iter().map(|(number, _)| number);
    let used = on_disk.chain(archived).filter(|number| !number.is_backlog());
    let highest =
        used.map(|number| number.major()).chain(roadmap_edit::highest_number(&roadmap)).max();
    let value = highest.unwrap_or(0).saturating_add(1);
    let new = NewPhase {
        number: PhaseNumber::whole(value),
        name: &name,
        after: highest.filter(|highest| *highest > 0).map(PhaseNumber::whole),
        inserted: false,
    };
    let created = create_phase(context, &writer, &roadmap, &new)?;
    let padded = new.number.padded();
    let json = json!({
        "phase_number": value,
        "padded": padded,
        "name": name,
        "slug": created.slug,
        "directory": created.directory,
    });
    Ok(Output::with_raw(json, padded))
}

pub(super) fn insert(context: &Context, after: &str, description: &str) -> Result<Output, Failure> {
    let name = check_description(description)?;
    let base = parse_phase_number(after)?;
    let (writer, _) = open_writer(context)?;
    let roadmap = load_roadmap(context)?;
    if !matches!(roadmap::describe_phase(&roadmap, &base), PhaseLookup::Found(_)) {
        return Err(Failure::refused(format!("Phase {after} not found in ROADMAP.md"))
            .hint("mow roadmap phases lists what the roadmap declares"));
    }
    let new = NewPhase {
        number: next_decimal_number(context, &base, &roadmap)?,
        name: &name,
        after: Some(base),
        inserted: true,
    };
    let created = create_phase(context, &writer, &roadmap, &new)?;
    let padded = new.number.padded();
    let json = json!({
        "phase_number": padded,
        "after_phase": after,
        "name": name,
        "slug": created.slug,
        "directory": created.directory,
    });
    Ok(Output::with_raw(json, padded))
}

/// Trims a description, and refuses one that is empty or has control characters.
fn check_description(description: &str) -> Result<String, Failure> {
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

struct CreatedPhase {
    slug: String,
    directory: String,
}

/// Creates the phase. The roadmap is written first, because a phase may lack a directory.
fn create_phase(
    context: &Context,
    writer: &Writer,
    roadmap: &[u8],
    new: &NewPhase<'_>,
) -> Result<CreatedPhase, Failure> {
    let mut slug = slug(new.name);
    slug.truncate(SLUG_MAX);
    let padded = new.number.padded();
    let name = if slug.is_empty() { padded } else { format!("{padded}-{slug}") };
    let dir = context.planning("phases").join(name);
    writer.replace(&context.planning("ROADMAP.md"), &roadmap_edit::insert(roadmap, new))?;
    writer.create_dir(&dir)?;
    writer.replace(&dir.join(".gitkeep"), b"")?;
    Ok(CreatedPhase { slug, directory: context.display_path(&dir) })
}
