//! `mow validate health`: is everything there, and can it be read?

use mow_core::phase::PhaseNumber;
use mow_store::config;
use mow_store::phase_dirs::{self, Artifact, PhaseDirs};
use mow_store::roadmap::{self, Entry};
use mow_store::state::snapshot;
use mow_store::text::Text;
use mow_store::text::heading::headings;
use serde::Serialize;

use super::consistency::{not_in_roadmap, without_directory};
use super::repair::{self, Repair, Repaired};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// Something that is wrong.
#[derive(Serialize)]
struct Issue {
    code: &'static str,
    message: String,
    fix: &'static str,
    repairable: bool,
}

#[derive(Serialize)]
struct Report {
    status: &'static str,
    errors: Vec<Issue>,
    warnings: Vec<Issue>,
    info: Vec<Issue>,
    repairable_count: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repairs_performed: Vec<Repaired>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cleanup_suggestion: Option<String>,
}

/// What the checks have found so far.
#[derive(Default)]
struct Findings {
    errors: Vec<Issue>,
    warnings: Vec<Issue>,
    info: Vec<Issue>,
    repairs: Vec<Repair>,
}

impl Findings {
    fn error(
        &mut self,
        code: &'static str,
        message: String,
        fix: &'static str,
        repair: Option<Repair>,
    ) {
        self.errors.push(Issue { code, message, fix, repairable: repair.is_some() });
        self.repairs.extend(repair);
    }

    fn warn(
        &mut self,
        code: &'static str,
        message: String,
        fix: &'static str,
        repair: Option<Repair>,
    ) {
        self.warnings.push(Issue { code, message, fix, repairable: repair.is_some() });
        self.repairs.extend(repair);
    }
}

pub(super) fn run(context: &Context, repair: bool) -> Result<Output, Failure> {
    let mut found = Findings::default();
    if !context.project.planned {
        let message = ".planning/ not found".to_owned();
        found.error("E001", message, "start a plan: mow init", None);
        return Ok(Output::json(report(found, Vec::new(), None)));
    }
    check_project(context, &mut found)?;
    check_phases(context, &mut found)?;
    check_config(context, &mut found)?;
    let wanted = std::mem::take(&mut found.repairs);
    let count = wanted.len();
    let performed =
        if repair && count > 0 { repair::perform(context, &wanted)? } else { Vec::new() };
    found.repairs = wanted;
    Ok(Output::json(report(found, performed, repair::cleanup_suggestion(context))))
}

fn report(found: Findings, performed: Vec<Repaired>, cleanup: Option<String>) -> Report {
    let status = match (found.errors.is_empty(), found.warnings.is_empty()) {
        (false, _) => "broken",
        (true, false) => "degraded",
        (true, true) => "healthy",
    };
    let repairable = found.errors.iter().chain(&found.warnings).filter(|issue| issue.repairable);
    Report {
        status,
        repairable_count: repairable.count(),
        errors: found.errors,
        warnings: found.warnings,
        info: found.info,
        repairs_performed: performed,
        cleanup_suggestion: cleanup,
    }
}

/// The sections PROJECT.md must have.
const PROJECT_SECTIONS: [&str; 3] = ["What This Is", "Core Value", "Requirements"];

fn check_project(context: &Context, found: &mut Findings) -> Result<(), Failure> {
    match context.load("PROJECT.md")? {
        None => {
            let message = "PROJECT.md not found".to_owned();
            found.error("E002", message, "write it: mow init --missing", None);
        }
        Some(bytes) => {
            let text = Text::new(&bytes);
            let titles: Vec<_> =
                headings(&text).into_iter().map(|heading| text.slice(heading.text)).collect();
            for wanted in PROJECT_SECTIONS {
                if !titles.iter().any(|title| title.eq_ignore_ascii_case(wanted)) {
                    let message = format!("PROJECT.md has no section \"## {wanted}\"");
                    found.warn("W001", message, "add the section", None);
                }
            }
        }
    }
    if context.load("ROADMAP.md")?.is_none() {
        let message = "ROADMAP.md not found".to_owned();
        found.error("E003", message, "write it with /mow:new-milestone", None);
    }
    Ok(())
}

fn check_phases(context: &Context, found: &mut Findings) -> Result<(), Failure> {
    let planning = &context.project.planning;
    let dirs = PhaseDirs::load(planning);
    let archived: Vec<_> =
        phase_dirs::archived(planning).into_iter().map(|(number, _)| number).collect();
    let roadmap = context.load("ROADMAP.md")?;
    let entries = roadmap.as_deref().map(|bytes| roadmap::parse(bytes).entries).unwrap_or_default();
    check_state(context, &dirs, &archived, &entries, found)?;
    for dir in dirs.iter().filter(|dir| !is_well_named(&dir.name)) {
        let message = format!("phase directory {} is not named NN-name", dir.name);
        found.warn("W005", message, "rename it to its padded number, a hyphen and a name", None);
    }
    for entry in without_directory(&entries, &dirs, &archived) {
        let message =
            format!("Phase {} is in ROADMAP.md but has no directory", entry.phase.written);
        found.warn("W006", message, "plan the phase, or take it out of the roadmap", None);
    }
    if roadmap.is_some() {
        for dir in not_in_roadmap(&entries, &dirs) {
            let message = format!("phase directory {} is on disk but not in ROADMAP.md", dir.name);
            found.warn(
                "W007",
                message,
                "add the phase to the roadmap, or move the directory",
                None,
            );
        }
    }
    for dir in dirs.iter() {
        let summaries: Vec<_> =
            dir.of(Artifact::Summary).filter_map(|file| Artifact::Summary.id(file)).collect();
        for file in dir.of(Artifact::Plan) {
            if Artifact::Plan.id(file).is_some_and(|id| !summaries.contains(&id)) {
                let message = format!("{}/{file} has no summary", dir.name);
                let fix = "it may be in progress";
                found.info.push(Issue { code: "I001", message, fix, repairable: false });
            }
        }
    }
    Ok(())
}

/// Checks that STATE.md is there, and that its current phase is.
fn check_state(
    context: &Context,
    dirs: &PhaseDirs,
    archived: &[PhaseNumber],
    entries: &[Entry],
    found: &mut Findings,
) -> Result<(), Failure> {
    let Some(bytes) = context.load("STATE.md")? else {
        let message = "STATE.md not found".to_owned();
        let repair = Some(Repair::RegenerateState);
        found.error("E004", message, "mow validate health --repair writes a new one", repair);
        return Ok(());
    };
    let Some(current) = current_phase(&bytes) else { return Ok(()) };
    let known = dirs.find(&current).is_some() || archived.contains(&current);
    if known || dirs.iter().next().is_none() {
        return Ok(());
    }
    // A phase that is only planned yet is where work may well be; then there is nothing to repair.
    let is_declared = entries.iter().any(|entry| entry.phase.number == current);
    let repair = (!is_declared).then_some(Repair::RegenerateState);
    let message = format!("STATE.md is at phase {current}, which has no directory");
    found.warn("W002", message, "check the current phase in STATE.md", repair);
    Ok(())
}

/// Returns the phase STATE.md is at; a document without fields may say it in a sentence.
pub(super) fn current_phase(bytes: &[u8]) -> Option<PhaseNumber> {
    let stated = snapshot::parse(bytes).current_phase;
    if let Some(stated) = stated {
        return phase_dirs::parse_argument(&stated);
    }
    let text = Text::new(bytes);
    let visible = text.visible().to_lowercase();
    let mut sentences = visible.lines().filter(|line| line.contains("current"));
    sentences.find_map(|line| {
        let (_, rest) = line.split_once("phase ")?;
        PhaseNumber::parse_prefix(rest).map(|(number, _)| number)
    })
}

/// `NN[.d]-name`.
fn is_well_named(name: &str) -> bool {
    let Some((number, rest)) = PhaseNumber::parse_prefix(name) else { return false };
    let is_padded = name.starts_with(&number.padded());
    let label = rest.strip_prefix('-').unwrap_or("");
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    is_padded && !label.is_empty() && label.chars().all(is_word)
}

const PROFILES: [&str; 3] = ["quality", "balanced", "budget"];

fn check_config(context: &Context, found: &mut Findings) -> Result<(), Failure> {
    let Some(bytes) = context.load("config.json")? else {
        let message = "config.json not found".to_owned();
        let fix = "mow validate health --repair writes one with the defaults";
        found.warn("W003", message, fix, Some(Repair::CreateConfig));
        return Ok(());
    };
    // An empty file is no JSON, though the settings are then all defaults.
    let parsed = serde_json::from_slice::<serde_json::Value>(bytes.trim_ascii());
    if let Err(error) = parsed
        .map_err(|error| error.to_string())
        .and_then(|_| config::Config::parse(&bytes).map(|_| ()).map_err(|error| error.to_string()))
    {
        let message = format!("config.json is not valid: {error}");
        let fix = "mow validate health --repair writes the defaults";
        found.error("E005", message, fix, Some(Repair::ResetConfig));
        return Ok(());
    }
    let config = config::Config::parse(&bytes)?;
    let profile = config.settings().model_profile;
    if !PROFILES.contains(&profile.as_str()) {
        let message = format!("config.json: model_profile `{profile}` is unknown");
        found.warn("W004", message, "use quality, balanced or budget", None);
    }
    Ok(())
}
