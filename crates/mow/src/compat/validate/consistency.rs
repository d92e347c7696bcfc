//! `mow validate consistency` compares the roadmap with the phase directories and looks for gaps in
//! the numbering of phases and plans.

use std::collections::BTreeSet;

use mow_core::phase::PhaseNumber;
use mow_store::phase_dirs::{self, PhaseDir, PhaseDirs, PhaseFileKind};
use mow_store::project_phases::{self, DependencyCause, DependencyProblem};
use mow_store::roadmap::{self, RoadmapEntry};
use mow_store::{disk, frontmatter};
use serde_json::json;

use crate::commands::roadmap::unparsed_dependencies;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    let Some(bytes) = context.load("ROADMAP.md")? else {
        let value = json!({
            "passed": false, "errors": ["ROADMAP.md not found"], "warnings": [],
        });
        return Ok(Output::with_raw(value, "failed"));
    };
    let entries = roadmap::parse(&bytes).entries;
    let errors = dependency_errors(context)?;
    let planning = &context.project.planning;
    let dirs = PhaseDirs::load(planning);
    let archived: Vec<_> =
        phase_dirs::archived(planning).into_iter().map(|(number, _)| number).collect();
    let mut warnings = Vec::new();
    for entry in without_directory(&entries, &dirs, &archived) {
        let RoadmapEntry { phase, .. } = entry;
        warnings.push(format!("Phase {} is in ROADMAP.md but has no directory", phase.written));
    }
    for dir in not_in_roadmap(&entries, &dirs) {
        let number = dir.written().unwrap_or(&dir.name);
        warnings.push(format!("Phase {number} is on disk but not in ROADMAP.md ({})", dir.name));
    }
    warnings.extend(unparsed_dependencies(&entries));
    warnings.extend(phase_gaps(&dirs, &archived));
    for dir in dirs.iter() {
        check_plans(dir, &mut warnings)?;
    }
    let count = warnings.len();
    let value = json!({
        "passed": errors.is_empty(), "errors": errors, "warnings": warnings, "warning_count": count,
    });
    Ok(Output::with_raw(value, if errors.is_empty() { "passed" } else { "failed" }))
}

/// Returns the dependency cycles, and the dependencies that no run can satisfy.
///
/// The contract lists neither. A phase with such a dependency can never start correctly, so they
/// are errors.
fn dependency_errors(context: &Context) -> Result<Vec<String>, Failure> {
    let planning = &context.project.planning;
    let Some(survey) = project_phases::load(planning)? else { return Ok(Vec::new()) };
    let scheduled = survey.scheduled();
    let graph = survey.graph(planning, &scheduled);
    let cycles = graph.waves().err().map(|error| error.cycles.as_slice()).unwrap_or_default();
    let mut errors: Vec<_> = cycles
        .iter()
        .map(|cycle| {
            let first = &scheduled[cycle.path[0]].entry;
            let line = first.depends_line.unwrap_or(first.phase.line);
            format!("ROADMAP.md:{line}: the dependencies form a cycle: {cycle}")
        })
        .collect();
    let open = survey.phases.iter();
    let open = open.filter(|phase| !phase.is_done() && phase.withdrawal().is_none());
    let problems = survey.dependency_problems(planning, open, &BTreeSet::new());
    // The contract wants a warning for a field that names no phase.
    let is_error =
        |problem: &&DependencyProblem| !matches!(problem.cause, DependencyCause::Unreadable(_));
    errors.extend(problems.iter().filter(is_error).map(ToString::to_string));
    Ok(errors)
}

/// Returns the phases with a section that have neither a current nor an archived directory.
///
/// In a roadmap without sections all phases count. Phases in a collapsed block are shipped, so they
/// need no directory.
pub(super) fn without_directory<'a>(
    entries: &'a [RoadmapEntry],
    dirs: &PhaseDirs,
    archived: &[PhaseNumber],
) -> Vec<&'a RoadmapEntry> {
    let has_sections = entries.iter().any(|entry| entry.phase.sources.heading);
    let lacks = |entry: &&RoadmapEntry| {
        (entry.phase.sources.heading || !has_sections)
            && !entry.phase.archived
            && dirs.find(&entry.phase.number).is_none()
            && !archived.contains(&entry.phase.number)
    };
    entries.iter().filter(lacks).collect()
}

/// Returns the numbered directories whose phase is not in the roadmap.
pub(super) fn not_in_roadmap<'a>(
    entries: &[RoadmapEntry],
    dirs: &'a PhaseDirs,
) -> Vec<&'a PhaseDir> {
    let is_undeclared = |dir: &&PhaseDir| {
        dir.number.is_some_and(|number| entries.iter().all(|entry| entry.phase.number != number))
    };
    dirs.iter().map(|dir| &**dir).filter(is_undeclared).collect()
}

fn phase_gaps(dirs: &PhaseDirs, archived: &[PhaseNumber]) -> Vec<String> {
    let whole = dirs.iter().filter_map(|dir| dir.number);
    let mut numbers: Vec<u32> = whole
        .filter(|number| number.is_whole() && !number.is_backlog())
        .map(|number| number.major())
        .collect();
    numbers.dedup();
    let is_archived = |number: u32| archived.contains(&PhaseNumber::whole(number));
    let gaps = numbers.windows(2).filter(|pair| (pair[0] + 1..pair[1]).any(|n| !is_archived(n)));
    gaps.map(|pair| format!("Gap in phase numbering: {} → {}", pair[0], pair[1])).collect()
}

fn check_plans(dir: &PhaseDir, warnings: &mut Vec<String>) -> Result<(), Failure> {
    let plans: Vec<_> =
        dir.files_of(PhaseFileKind::Plan).filter_map(|file| PhaseFileKind::Plan.id(file)).collect();
    let mut numbers: Vec<u32> = plans.iter().filter_map(|id| plan_number(id)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    for pair in numbers.windows(2).filter(|pair| pair[0] + 1 != pair[1]) {
        let [a, b] = [pair[0], pair[1]];
        warnings.push(format!("Gap in plan numbering in {}: {a} → {b}", dir.name));
    }
    for file in dir.files_of(PhaseFileKind::Summary) {
        if PhaseFileKind::Summary.id(file).is_some_and(|id| !plans.contains(&id)) {
            warnings.push(format!("{}/{file} is a summary without a plan", dir.name));
        }
    }
    for file in dir.files_of(PhaseFileKind::Plan) {
        let bytes = disk::read(&dir.path.join(file))?.unwrap_or_default();
        let block = frontmatter::parse(&bytes);
        if block.is_none_or(|block| block.entry("wave").is_none()) {
            warnings.push(format!("{}/{file} has no `wave` in its frontmatter", dir.name));
        }
    }
    Ok(())
}

/// Returns the number of a plan: 2 of `03-02`, 112 of `03.1-112`.
fn plan_number(id: &str) -> Option<u32> {
    id.rsplit('-').next()?.parse().ok()
}
