//! `mow phase …` adds, inserts, removes and completes phases.

mod add;
mod complete;
mod remove;

use clap::Subcommand;
use mow_core::phase::PhaseNumber;
use mow_store::compat::phase_removal::{self, RemovalError};
use mow_store::disk::{WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, PhaseDirs};
use mow_store::roadmap;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Failure, error_chain};
use crate::output::{Output, warn};

/// The subcommands of `mow phase`.
#[derive(Debug, Subcommand)]
pub(crate) enum PhaseCommand {
    /// Print the next free decimal number after a phase, such as 3.1
    NextDecimal {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Add a phase after the last one
    Add {
        /// A short description, which becomes the name of the phase
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        description: Vec<String>,
    },
    /// Insert an urgent phase after another one
    Insert {
        /// The phase after which to insert
        after: String,
        /// A short description, which becomes the name of the phase
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        description: Vec<String>,
    },
    /// Remove a phase and renumber the phases after it
    Remove {
        /// The phase, such as 3 or 03
        phase: String,
        /// Remove the phase even if it has executed plans, and its decimal phases with it
        #[arg(long)]
        force: bool,
    },
    /// Mark a phase complete and make the next phase the current one
    Complete {
        /// The phase, such as 3 or 03
        phase: String,
    },
}

impl PhaseCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::NextDecimal { phase } => next_decimal(context, phase),
            Self::Add { description } => add::add(context, &description.join(" ")),
            Self::Insert { after, description } => {
                add::insert(context, after, &description.join(" "))
            }
            Self::Remove { phase, force } => remove::run(context, phase, *force),
            Self::Complete { phase } => complete::run(context, phase),
        }
    }
}

/// Parses a phase number, or refuses the argument.
fn parse_phase_number(phase: &str) -> Result<PhaseNumber, Failure> {
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

/// Takes the lock and first finishes a removal that was interrupted.
///
/// The second value is the phase of that removal.
fn open_writer(context: &Context) -> Result<(Writer, Option<String>), Failure> {
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    let finished = phase_removal::finish_interrupted(&writer, &context.project.planning)?;
    if let Some(phase) = &finished {
        warn(&format!("finished the removal of phase {phase}, which had been cut off"));
    }
    Ok((writer, finished))
}

/// Returns the next decimal number of a phase.
///
/// Directories, archived directories and the roadmap are all searched for the highest one in use.
fn next_decimal_number(
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
        Failure::refused(format!("phase {base} is nested too deep to insert a phase after it"))
    })
}

fn next_decimal(context: &Context, phase: &str) -> Result<Output, Failure> {
    let base = parse_phase_number(phase)?;
    let dirs = PhaseDirs::load(&context.project.planning);
    let numbers = || dirs.iter().filter_map(|dir| dir.number);
    let mut existing: Vec<_> =
        numbers().filter(|number| number.child_of(&base).is_some()).collect();
    existing.dedup();
    let existing: Vec<_> = existing.iter().map(PhaseNumber::padded).collect();
    let roadmap = context.load("ROADMAP.md")?.unwrap_or_default();
    let next = next_decimal_number(context, &base, &roadmap)?.padded();
    let value = json!({
        "found": numbers().any(|number| number == base),
        "base_phase": base.padded(),
        "next": next,
        "existing": existing,
    });
    Ok(Output::with_raw(value, next))
}

impl From<RemovalError> for Failure {
    fn from(error: RemovalError) -> Self {
        match error {
            RemovalError::Disk(error) => error.into(),
            error => Self::refused(error_chain(&error)),
        }
    }
}
