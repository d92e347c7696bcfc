//! `mow roadmap get-phase` prints the roadmap section of a phase.

use mow_store::phase_dirs;
use mow_store::roadmap::{self, PhaseLookup};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(context: &Context, phase: &str) -> Result<Output, Failure> {
    if phase.trim().is_empty() {
        return Err(Failure::refused("phase required"));
    }
    let Some(bytes) = context.load("ROADMAP.md")? else {
        let value = json!({ "found": false, "error": "ROADMAP.md not found" });
        return Ok(Output::with_raw(value, ""));
    };
    let number = phase_dirs::parse_argument(phase);
    let lookup =
        number.map_or(PhaseLookup::Missing, |number| roadmap::describe_phase(&bytes, &number));
    Ok(match lookup {
        PhaseLookup::Found(details) => {
            let value = json!({
                "found": true,
                "phase_number": phase,
                "phase_name": details.name,
                "goal": details.goal,
                "success_criteria": details.success_criteria,
                "section": details.section,
            });
            Output::with_raw(value, details.section)
        }
        PhaseLookup::ListedOnly { name } => {
            let message = format!(
                "Phase {phase} is in the summary list, but its detail section \
                 (### Phase {phase}: …) is missing"
            );
            let value = json!({
                "found": false,
                "phase_number": phase,
                "phase_name": name,
                "error": "malformed_roadmap",
                "message": message,
            });
            Output::with_raw(value, "")
        }
        PhaseLookup::Missing => {
            Output::with_raw(json!({ "found": false, "phase_number": phase }), "")
        }
    })
}
