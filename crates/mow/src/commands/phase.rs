//! `mow phase …`: phases are added, inserted, removed and completed.

mod complete;
mod grow;
mod remove;

use clap::Subcommand;
use mow_core::phase::PhaseNumber;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, PhaseDirs};
use mow_store::{phase_removal, roadmap};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, warn};

/// Commands on phases.
#[derive(Debug, Subcommand)]
pub(crate) enum Phase {
    /// Work out the number for a phase between this one and the next
    NextDecimal {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Add a phase behind the last one
    Add {
        /// What it is about
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        description: Vec<String>,
    },
    /// Insert an urgent phase behind another
    Insert {
        /// The phase it follows
        after: String,
        /// What it is about
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        description: Vec<String>,
    },
    /// Remove a phase and move those behind it up by one
    Remove {
        /// The phase, such as 3 or 03
        phase: String,
        /// Remove it even if plans of it were executed, with the decimals that hang on it
        #[arg(long)]
        force: bool,
    },
    /// Mark a phase complete and move on to the next
    Complete {
        /// The phase, such as 3 or 03
        phase: String,
    },
}

impl Phase {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::NextDecimal { phase } => next_decimal(context, phase),
            Self::Add { description } => grow::add(context, &description.join(" ")),
            Self::Insert { after, description } => {
                grow::insert(context, after, &description.join(" "))
            }
            Self::Remove { phase, force } => remove::run(context, phase, *force),
            Self::Complete { phase } => complete::run(context, phase),
        }
    }
}

/// Reads a phase that must be a number.
fn number(phase: &str) -> Result<PhaseNumber, Failure> {
    phase_dirs::parse_argument(phase).ok_or_else(|| {
        Failure::refused(format!("`{phase}` is not a phase number"))
            .hint("give a number such as 3, 03 or 3.1")
    })
}

fn load_roadmap(context: &Context) -> Result<Vec<u8>, Failure> {
    context.load("ROADMAP.md")?.ok_or_else(|| {
        Failure::refused("ROADMAP.md not found")
            .hint("ROADMAP.md lives in .planning/ of the project")
    })
}

/// Takes the lock; a removal that was cut off is finished before anything else happens.
fn writer(context: &Context) -> Result<(Writer, Option<String>), Failure> {
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    let finished = phase_removal::finish_interrupted(&writer, &context.project.planning)?;
    if let Some(phase) = &finished {
        warn(&format!("finished the removal of phase {phase}, which had been cut off"));
    }
    Ok((writer, finished))
}

/// Returns the number behind the highest decimal of a phase, on disk, archived or in the roadmap.
fn next_child(
    context: &Context,
    base: &PhaseNumber,
    roadmap: &[u8],
) -> Result<PhaseNumber, Failure> {
    let planning = &context.project.planning;
    let mut highest = 0;
    let dirs = PhaseDirs::load(planning);
    let on_disk = dirs.iter().filter_map(|dir| dir.number);
    let archived = phase_dirs::archived(planning).into_iter().map(|(number, _)| number);
    let declared = roadmap::parse(roadmap).entries.into_iter().map(|entry| entry.phase.number);
    for value in on_disk.chain(archived).chain(declared).filter_map(|n| n.child_of(base)) {
        highest = highest.max(value);
    }
    base.child(highest.saturating_add(1)).ok_or_else(|| {
        Failure::refused(format!("phase {base} is nested too deep to insert behind"))
    })
}

fn next_decimal(context: &Context, phase: &str) -> Result<Output, Failure> {
    let base = number(phase)?;
    let dirs = PhaseDirs::load(&context.project.planning);
    let numbers = || dirs.iter().filter_map(|dir| dir.number);
    let mut existing: Vec<_> =
        numbers().filter(|number| number.child_of(&base).is_some()).collect();
    existing.dedup();
    let existing: Vec<_> = existing.iter().map(PhaseNumber::padded).collect();
    let roadmap = context.load("ROADMAP.md")?.unwrap_or_default();
    let next = next_child(context, &base, &roadmap)?.padded();
    let value = json!({
        "found": numbers().any(|number| number == base),
        "base_phase": base.padded(),
        "next": next,
        "existing": existing,
    });
    Ok(Output::with_raw(value, next))
}
