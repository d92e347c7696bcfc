//! `mow validate health` checks that all planning files exist, can be read and agree on the current
//! phase.

use mow_core::phase::PhaseNumber;
use mow_store::config;
use mow_store::phase_dirs::{self, PhaseDirs, PhaseFileKind};
use mow_store::roadmap::{self, RoadmapEntry};
use mow_store::state::snapshot;
use mow_store::text::Text;
use mow_store::text::heading::headings;
use serde::Serialize;

use super::consistency::{not_in_roadmap, without_directory};
use super::repair::{self, Repair, RepairResult};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// One finding, with a stable code for programs.
#[derive(Serialize)]
struct HealthIssue {
    code: &'static str,
    message: String,
    fix: &'static str,
    repairable: bool,
}

#[derive(Serialize)]
struct HealthReport {
    status: &'static str,
    errors: Vec<HealthIssue>,
    warnings: Vec<HealthIssue>,
    info: Vec<HealthIssue>,
    repairable_count: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repairs_performed: Vec<RepairResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cleanup_suggestion: Option<String>,
}

/// The findings of the checks so far.
#[derive(Default)]
struct HealthFindings {
    errors: Vec<HealthIssue>,
    warnings: Vec<HealthIssue>,
    info: Vec<HealthIssue>,
    repairs: Vec<Repair>,
}

impl HealthFindings {
    fn error(
        &mut self,
        code: &'static str,
        message: String,
        fix: &'static str,
        repair: Option<Repair>,
    ) {
        self.errors.push(HealthIssue { code, message, fix, repairable: repair.is_some() });
        self.repairs.extend(repair);
    }

    fn warn(
        &mut self,
        code: &'static str,
        message: String,
        fix: &'static str,
        repair: Option<Repair>,
    ) {
        self.warnings.push(HealthIssue { code, message, fix, repairable: repair.is_some() });
        self.repairs.extend(repair);
    }
}

pub(super) fn run(context: &Context, repair: bool) -> Result<Output, Failure> {
    let mut findings = HealthFindings::default();
    if !context.project.planned {
        let message = ".planning/ not found".to_owned();
        findings.error("E001", message, "start a plan: mow init", None);
        return Ok(Output::json(report(findings, Vec::new(), None)));
    }
    check_project(context, &mut findings)?;
    check_phases(context, &mut findings)?;
    check_config(context, &mut findings)?;
    let repairs = std::mem::take(&mut findings.repairs);
    let count = repairs.len();
    let performed =
        if repair && count > 0 { repair::perform(context, &repairs)? } else { Vec::new() };
    findings.repairs = repairs;
    Ok(Output::json(report(findings, performed, repair::cleanup_suggestion(context))))
}

fn report(
    findings: HealthFindings,
    performed: Vec<RepairResult>,
    cleanup: Option<String>,
) -> HealthReport {
    let status = match (findings.errors.is_empty(), findings.warnings.is_empty()) {
        (false, _) => "broken",
        (true, false) => "degraded",
        (true, true) => "healthy",
    };
    let repairable =
        findings.errors.iter().chain(&findings.warnings).filter(|issue| issue.repairable);
    HealthReport {
        status,
        repairable_count: repairable.count(),
        errors: findings.errors,
        warnings: findings.warnings,
        info: findings.info,
        repairs_performed: performed,
        cleanup_suggestion: cleanup,
    }
}

/// The sections PROJECT.md must have.
const PROJECT_SECTIONS: [&str; 3] = ["What This Is", "Core Value", "Requirements"];

fn check_project(context: &Context, findings: &mut HealthFindings) -> Result<(), Failure> {
    match context.load("PROJECT.md")? {
        None => {
            let message = "PROJECT.md not found".to_owned();
            findings.error("E002", message, "write it: mow init --missing", None);
        }
        Some(bytes) => {
            let text = Text::new(&bytes);
            let titles: Vec<_> =
                headings(&text).into_iter().map(|heading| text.slice(heading.text)).collect();
            for wanted in PROJECT_SECTIONS {
                if !titles.iter().any(|title| title.eq_ignore_ascii_case(wanted)) {
                    let message = format!("PROJECT.md has no section \"## {wanted}\"");
                    findings.warn("W001", message, "add the section", None);
                }
            }
        }
    }
    if context.load("ROADMAP.md")?.is_none() {
        let message = "ROADMAP.md not found".to_owned();
        findings.error("E003", message, "write it with /mow:new-milestone", None);
    }
    Ok(())
}

fn check_phases(context: &Context, findings: &mut HealthFindings) -> Result<(), Failure> {
    let planning = &context.project.planning;
    let dirs = PhaseDirs::load(planning);
    let archived: Vec<_> =
        phase_dirs::archived(planning).into_iter().map(|(number, _)| number).collect();
    let roadmap = context.load("ROADMAP.md")?;
    let entries = roadmap.as_deref().map(|bytes| roadmap::parse(bytes).entries).unwrap_or_default();
    check_state(context, &dirs, &archived, &entries, findings)?;
    for dir in dirs.iter().filter(|dir| !is_well_named(&dir.name)) {
        let message = format!("phase directory {} is not named NN-name", dir.name);
        findings.warn("W005", message, "rename it to its padded number, a hyphen and a name", None);
    }
    for entry in without_directory(&entries, &dirs, &archived) {
        let message =
            format!("Phase {} is in ROADMAP.md but has no directory", entry.phase.written);
        findings.warn("W006", message, "plan the phase, or take it out of the roadmap", None);
    }
    if roadmap.is_some() {
        for dir in not_in_roadmap(&entries, &dirs) {
            let message = format!("phase directory {} is on disk but not in ROADMAP.md", dir.name);
            findings.warn(
                "W007",
                message,
                "add the phase to the roadmap, or move the directory",
                None,
            );
        }
    }
    for dir in dirs.iter() {
        let summaries: Vec<_> = dir
            .files_of(PhaseFileKind::Summary)
            .filter_map(|file| PhaseFileKind::Summary.id(file))
            .collect();
        for file in dir.files_of(PhaseFileKind::Plan) {
            if PhaseFileKind::Plan.id(file).is_some_and(|id| !summaries.contains(&id)) {
                let message = format!("{}/{file} has no summary", dir.name);
                let fix = "it may be in progress";
                findings.info.push(HealthIssue { code: "I001", message, fix, repairable: false });
            }
        }
    }
    Ok(())
}

/// Checks that STATE.md exists, and that its current phase has a directory.
fn check_state(
    context: &Context,
    dirs: &PhaseDirs,
    archived: &[PhaseNumber],
    entries: &[RoadmapEntry],
    findings: &mut HealthFindings,
) -> Result<(), Failure> {
    let Some(bytes) = context.load("STATE.md")? else {
        let message = "STATE.md not found".to_owned();
        let repair = Some(Repair::RegenerateState);
        findings.error("E004", message, "mow validate health --repair writes a new one", repair);
        return Ok(());
    };
    let Some(current) = current_phase(&bytes) else { return Ok(()) };
    let known = dirs.find(&current).is_some() || archived.contains(&current);
    if known || dirs.iter().next().is_none() {
        return Ok(());
    }
    // The current phase may be one that is only in the roadmap so far; then nothing is repaired.
    let is_declared = entries.iter().any(|entry| entry.phase.number == current);
    let repair = (!is_declared).then_some(Repair::RegenerateState);
    let message = format!("STATE.md is at phase {current}, which has no directory");
    findings.warn("W002", message, "check the current phase in STATE.md", repair);
    Ok(())
}

/// Returns the current phase in STATE.md, from its field or else from a sentence with "current".
pub(super) fn current_phase(bytes: &[u8]) -> Option<PhaseNumber> {
    let in_field = snapshot::parse(bytes).current_phase;
    if let Some(phase) = in_field {
        return phase_dirs::parse_argument(&phase);
    }
    let text = Text::new(bytes);
    let visible = text.visible().to_lowercase();
    let mut sentences = visible.lines().filter(|line| line.contains("current"));
    sentences.find_map(|line| {
        let (_, rest) = line.split_once("phase ")?;
        PhaseNumber::parse_prefix(rest).map(|(number, _)| number)
    })
}

/// Returns whether a directory name has the form `NN[.d]-name`.
fn is_well_named(name: &str) -> bool {
    let Some((number, rest)) = PhaseNumber::parse_prefix(name) else { return false };
    let is_padded = name.starts_with(&number.padded());
    let label = rest.strip_prefix('-').unwrap_or("");
    let is_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    is_padded && !label.is_empty() && label.chars().all(is_word)
}

const PROFILES: [&str; 3] = ["quality", "balanced", "budget"];

fn check_config(context: &Context, findings: &mut HealthFindings) -> Result<(), Failure> {
    let Some(bytes) = context.load("config.json")? else {
        let message = "config.json not found".to_owned();
        let fix = "mow validate health --repair writes one with the defaults";
        findings.warn("W003", message, fix, Some(Repair::CreateConfig));
        return Ok(());
    };
    // An empty file is not valid JSON, although `Config::parse` reads it as all defaults.
    let parsed = serde_json::from_slice::<serde_json::Value>(bytes.trim_ascii());
    if let Err(error) = parsed
        .map_err(|error| error.to_string())
        .and_then(|_| config::Config::parse(&bytes).map(|_| ()).map_err(|error| error.to_string()))
    {
        let message = format!("config.json is not valid: {error}");
        let fix = "mow validate health --repair writes the defaults";
        findings.error("E005", message, fix, Some(Repair::ResetConfig));
        return Ok(());
    }
    let config = config::Config::parse(&bytes)?;
    let profile = config.settings().model_profile;
    if !PROFILES.contains(&profile.as_str()) {
        let message = format!("config.json: model_profile `{profile}` is unknown");
        findings.warn("W004", message, "use quality, balanced or budget", None);
    }
    Ok(())
}
