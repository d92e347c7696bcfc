//! Checks the planning files: whether they can be read, agree with each other, and leave no
//! temporary files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_store::config::{Config, UnknownKeys};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::project_phases::{self, ProjectPhases};
use mow_store::state::snapshot;
use mow_store::{frontmatter, new_project};

use super::{DoctorCheck, with_problems};
use crate::commands::plural::counted;
use crate::commands::roadmap::unparsed_dependencies;
use crate::context::Context;
use crate::failure::Failure;

/// How deep directories are searched; planning files are three levels deep.
const DEPTH_MAX: usize = 8;

pub(super) fn checks(context: &Context, fix: bool) -> Vec<DoctorCheck> {
    if !context.project.planned {
        return vec![
            DoctorCheck::ok("planning", "there is no `.planning/` directory yet")
                .advise("mow init"),
        ];
    }
    let mut checks = vec![files(context)];
    let all_phases = match project_phases::load(&context.project.planning) {
        Ok(Some(all_phases)) => {
            checks.extend(roadmap(context, &all_phases));
            Some(all_phases)
        }
        Ok(None) => None,
        Err(error) => {
            checks.push(DoctorCheck::fail("roadmap", Failure::from(error).message));
            None
        }
    };
    checks.extend(state(context, all_phases.as_ref()));
    checks.push(config(context));
    let tree = PlanningTree::load(&context.project.planning);
    checks.push(frontmatter_blocks(context, &tree));
    checks.extend(temporary_files(context, &tree, fix));
    checks
}

fn files(context: &Context) -> DoctorCheck {
    let is_missing = |file: &&str| !context.planning(file).exists();
    let missing: Vec<_> = new_project::FILES.into_iter().filter(is_missing).collect();
    let needed = ["ROADMAP.md", "STATE.md", "PROJECT.md"];
    let message = format!("missing in `.planning/`: {}", missing.join(", "));
    let check = if missing.is_empty() {
        return DoctorCheck::ok("files", format!("{} exist", new_project::FILES.join(", ")));
    } else if missing.iter().any(|file| needed.contains(file)) {
        DoctorCheck::fail("files", message)
    } else {
        DoctorCheck::warn("files", message)
    };
    check.advise("mow init --missing")
}

fn roadmap(context: &Context, all_phases: &ProjectPhases) -> Vec<DoctorCheck> {
    let phases = all_phases.scheduled();
    let graph = all_phases.graph(&context.project.planning, &phases);
    let written = |index: usize| phases[index].entry.phase.written.as_str();
    let done = all_phases.phases.iter().filter(|phase| phase.is_done()).count();
    let count = all_phases.phases.len();
    let mut checks = vec![match (graph.waves(), count) {
        (Err(cyclic), _) => DoctorCheck::fail("roadmap", format!("ROADMAP.md: {cyclic}"))
            .advise("change one `Depends on` in the cycle; `mow roadmap graph` shows it"),
        (_, 0) => DoctorCheck::warn("roadmap", "ROADMAP.md declares no phases")
            .advise("mow phase add 'First phase'"),
        _ => DoctorCheck::ok(
            "roadmap",
            format!(
                "ROADMAP.md: {}, {done} done, {} ready",
                counted(count, "phase"),
                graph.ready().len()
            ),
        ),
    }];
    let unknown_refs: Vec<_> = graph
        .missing_refs()
        .iter()
        .map(|missing| format!("phase {} depends on phase {}", written(missing.from), missing.to))
        .collect();
    if !unknown_refs.is_empty() {
        let check = DoctorCheck::warn(
            "references",
            "some phases depend on phases that are not in the roadmap",
        );
        checks.push(with_problems(check, &unknown_refs));
    }
    let open = all_phases.phases.iter().filter(|phase| !phase.is_done());
    let unparsed = unparsed_dependencies(open.map(|phase| &phase.entry));
    if !unparsed.is_empty() {
        let check = DoctorCheck::warn("dependencies", "some `Depends on` fields name no phase");
        checks.push(with_problems(check.advise("write phase numbers, or `None`"), &unparsed));
    }
    let contradictory = all_phases.phases.iter().map(|phase| &phase.entry.phase);
    let contradictory: Vec<_> = contradictory
        .filter(|phase| !phase.completion.certain)
        .map(|phase| format!("ROADMAP.md:{}: phase {}", phase.line, phase.written))
        .collect();
    if !contradictory.is_empty() {
        let message =
            "the roadmap marks phases as both done and not done (checkbox against table or status)";
        checks.push(with_problems(DoctorCheck::warn("contradictions", message), &contradictory));
    }
    checks.extend(duplicate_numbers(all_phases));
    checks
}

/// Finds unfinished phases with the same number, which a run could not tell apart.
fn duplicate_numbers(all_phases: &ProjectPhases) -> Option<DoctorCheck> {
    let mut lines: BTreeMap<PhaseNumber, Vec<usize>> = BTreeMap::new();
    for phase in all_phases.phases.iter().filter(|phase| !phase.is_done()) {
        lines.entry(phase.entry.phase.number).or_default().push(phase.entry.phase.line);
    }
    let duplicate_numbers: Vec<_> = lines
        .into_iter()
        .filter(|(_, lines)| lines.len() > 1)
        .map(|(number, lines)| {
            let lines: Vec<_> = lines.iter().map(|line| format!("ROADMAP.md:{line}")).collect();
            format!("phase {number}: {}", lines.join(", "))
        })
        .collect();
    let message = "several unfinished phases have the same number; give each its own";
    (!duplicate_numbers.is_empty())
        .then(|| with_problems(DoctorCheck::warn("numbers", message), &duplicate_numbers))
}

fn state(context: &Context, all_phases: Option<&ProjectPhases>) -> Option<DoctorCheck> {
    let bytes = match context.load("STATE.md") {
        Ok(bytes) => bytes?,
        Err(failure) => return Some(DoctorCheck::fail("state", failure.message)),
    };
    let Some(phase) = snapshot::parse(&bytes).current_phase else {
        return Some(DoctorCheck::ok("state", "STATE.md names no current phase"));
    };
    let number = PhaseNumber::parse(&phase)?;
    let is_known = all_phases.is_none_or(|all_phases| all_phases.by_number(&number).is_some());
    Some(if is_known {
        DoctorCheck::ok("state", format!("STATE.md: the current phase is {phase}"))
    } else {
        DoctorCheck::warn(
            "state",
            format!("STATE.md names phase {phase}, which is not in the roadmap"),
        )
        .advise("compare `mow state get` with `mow roadmap phases`")
    })
}

fn config(context: &Context) -> DoctorCheck {
    let bytes = match context.load("config.json") {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            return DoctorCheck::ok(
                "config",
                "there is no config.json; all settings have their defaults",
            );
        }
        Err(failure) => return DoctorCheck::fail("config", failure.message),
    };
    match Config::parse(&bytes) {
        Err(error) => DoctorCheck::fail("config", format!("config.json: {error}"))
            .advise("fix the file; until then mow uses the defaults"),
        Ok(config) => match config.unknown_keys() {
            UnknownKeys { typing_errors, .. } if !typing_errors.is_empty() => {
                let message = "config.json has unknown keys, which have no effect";
                with_problems(DoctorCheck::warn("config", message), &typing_errors)
            }
            UnknownKeys { foreign, .. } if !foreign.is_empty() => {
                let message = "config.json is valid; mow ignores these keys";
                with_problems(DoctorCheck::ok("config", message), &foreign)
            }
            _ => DoctorCheck::ok("config", "config.json: every key is known"),
        },
    }
}

/// The directories and Markdown files below `.planning/`; symbolic links are not followed.
#[derive(Default)]
struct PlanningTree {
    dirs: Vec<PathBuf>,
    documents: Vec<PathBuf>,
}

impl PlanningTree {
    fn load(planning: &Path) -> Self {
        let mut tree = Self::default();
        let mut folders = vec![(planning.to_path_buf(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            // A directory that cannot be listed is skipped; its files could not be read either.
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let path = entry.path();
                let is_document = path.extension().is_some_and(|extension| extension == "md");
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && depth < DEPTH_MAX => {
                        folders.push((path, depth + 1));
                    }
                    Ok(kind) if kind.is_file() && is_document => tree.documents.push(path),
                    _ => {}
                }
            }
            tree.dirs.push(folder);
        }
        tree.documents.sort();
        tree
    }
}

/// Parses the YAML block of every document.
fn frontmatter_blocks(context: &Context, tree: &PlanningTree) -> DoctorCheck {
    let mut problems = Vec::new();
    for path in &tree.documents {
        match disk::read(path) {
            Ok(Some(bytes)) => {
                let found = frontmatter::parse(&bytes).map(|block| block.problems);
                problems.extend(found.unwrap_or_default().into_iter().map(|problem| {
                    format!("{}:{}: {}", context.display_path(path), problem.line, problem.message)
                }));
            }
            Ok(None) => {}
            Err(error) => problems.push(Failure::from(error).message),
        }
    }
    let count = tree.documents.len();
    if problems.is_empty() {
        return DoctorCheck::ok(
            "documents",
            format!("{}, every YAML block is valid", counted(count, "document")),
        );
    }
    let message = format!("{} in YAML blocks", counted(problems.len(), "problem"));
    with_problems(DoctorCheck::warn("documents", message), &problems)
}

/// Reports or removes temporary files, under the lock, so that no running writer's file is counted.
fn temporary_files(context: &Context, tree: &PlanningTree, fix: bool) -> Option<DoctorCheck> {
    let count_files = |dir: &PathBuf| disk::list_temp_files(dir).map_or(0, |files| files.len());
    if tree.dirs.iter().all(|dir| count_files(dir) == 0) {
        return None;
    }
    let writer = match Writer::open(&context.project, WAIT_DEFAULT) {
        Ok(writer) => writer,
        Err(error) => return Some(DoctorCheck::warn("leftovers", Failure::from(error).message)),
    };
    if !fix {
        let count: usize = tree.dirs.iter().map(count_files).sum();
        let message = format!("found {} left by a crash", counted(count, "temporary file"));
        return (count > 0)
            .then(|| DoctorCheck::warn("leftovers", message).advise("mow doctor --fix"));
    }
    let removed: Result<Vec<usize>, _> =
        tree.dirs.iter().map(|dir| writer.remove_temp_files(dir)).collect();
    Some(match removed {
        Ok(counts) => {
            let count: usize = counts.iter().sum();
            DoctorCheck::ok("leftovers", format!("removed {}", counted(count, "temporary file")))
        }
        Err(error) => DoctorCheck::warn("leftovers", Failure::from(error).message),
    })
}
