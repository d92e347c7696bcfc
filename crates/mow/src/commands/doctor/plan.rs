//! The planning files: readable, in agreement with each other, without leftovers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_store::config::{Config, Unknown};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::state::snapshot;
use mow_store::survey::{self, Survey};
use mow_store::{frontmatter, starter};

use super::{Check, listed};
use crate::commands::validate::unread_dependencies;
use crate::context::Context;
use crate::failure::Failure;

/// How deep directories are searched; planning files lie three levels deep.
const DEPTH_MAX: usize = 8;

pub(super) fn checks(context: &Context, fix: bool) -> Vec<Check> {
    if !context.project.planned {
        return vec![Check::ok("planning", "no .planning/ here yet").advise("mow init")];
    }
    let mut checks = vec![files(context)];
    let survey = match survey::load(&context.project.planning) {
        Ok(Some(survey)) => {
            checks.extend(roadmap(context, &survey));
            Some(survey)
        }
        Ok(None) => None,
        Err(error) => {
            checks.push(Check::fail("roadmap", Failure::from(error).message));
            None
        }
    };
    checks.extend(state(context, survey.as_ref()));
    checks.push(config(context));
    let tree = Tree::load(&context.project.planning);
    checks.push(blocks(context, &tree));
    checks.extend(leftovers(context, &tree, fix));
    checks
}

fn files(context: &Context) -> Check {
    let is_missing = |file: &&str| !context.planning(file).exists();
    let missing: Vec<_> = starter::FILES.into_iter().filter(is_missing).collect();
    let needed = ["ROADMAP.md", "STATE.md", "PROJECT.md"];
    let message = format!("missing in .planning/: {}", missing.join(", "));
    let check = if missing.is_empty() {
        return Check::ok("files", format!("{} are there", starter::FILES.join(", ")));
    } else if missing.iter().any(|file| needed.contains(file)) {
        Check::fail("files", message)
    } else {
        Check::warn("files", message)
    };
    check.advise("mow init --missing")
}

fn roadmap(context: &Context, survey: &Survey) -> Vec<Check> {
    let phases = survey.scheduled();
    let graph = survey.graph(&context.project.planning, &phases);
    let written = |index: usize| phases[index].entry.phase.written.as_str();
    let done = survey.phases.iter().filter(|phase| phase.is_done()).count();
    let count = survey.phases.len();
    let mut checks = vec![match (graph.waves(), count) {
        (Err(cyclic), _) => Check::fail("roadmap", format!("ROADMAP.md: {cyclic}"))
            .advise("change one `Depends on` in the cycle; `mow roadmap graph` shows it"),
        (_, 0) => Check::warn("roadmap", "ROADMAP.md declares no phases")
            .advise("mow phase add 'First phase'"),
        _ => Check::ok(
            "roadmap",
            format!("ROADMAP.md: {count} phases, {done} done, {} ready", graph.ready().len()),
        ),
    }];
    let dangling: Vec<_> = graph
        .missing_refs()
        .iter()
        .map(|missing| format!("phase {} depends on phase {}", written(missing.from), missing.to))
        .collect();
    if !dangling.is_empty() {
        let check = Check::warn("references", "the roadmap depends on phases it does not have");
        checks.push(listed(check, &dangling));
    }
    let open = survey.phases.iter().filter(|phase| !phase.is_done());
    let unread = unread_dependencies(open.map(|phase| &phase.entry));
    if !unread.is_empty() {
        let check = Check::warn("dependencies", "some `Depends on` fields cannot be understood");
        checks.push(listed(check.advise("name phases, or write None"), &unread));
    }
    let unsure = survey.phases.iter().map(|phase| &phase.entry.phase);
    let unsure: Vec<_> = unsure
        .filter(|phase| !phase.completion.certain)
        .map(|phase| format!("ROADMAP.md:{}: phase {}", phase.line, phase.written))
        .collect();
    if !unsure.is_empty() {
        let message = "the roadmap says both done and not done (box against table or status)";
        checks.push(listed(Check::warn("contradictions", message), &unsure));
    }
    checks.extend(doubles(survey));
    checks
}

/// Finds unfinished phases that share a number: a run could not tell them apart.
fn doubles(survey: &Survey) -> Option<Check> {
    let mut lines: BTreeMap<PhaseNumber, Vec<usize>> = BTreeMap::new();
    for phase in survey.phases.iter().filter(|phase| !phase.is_done()) {
        lines.entry(phase.entry.phase.number).or_default().push(phase.entry.phase.line);
    }
    let doubles: Vec<_> = lines
        .into_iter()
        .filter(|(_, lines)| lines.len() > 1)
        .map(|(number, lines)| {
            let lines: Vec<_> = lines.iter().map(|line| format!("ROADMAP.md:{line}")).collect();
            format!("phase {number}: {}", lines.join(", "))
        })
        .collect();
    let message = "unfinished phases share a number: give each its own";
    (!doubles.is_empty()).then(|| listed(Check::warn("numbers", message), &doubles))
}

fn state(context: &Context, survey: Option<&Survey>) -> Option<Check> {
    let bytes = match context.load("STATE.md") {
        Ok(bytes) => bytes?,
        Err(failure) => return Some(Check::fail("state", failure.message)),
    };
    let Some(phase) = snapshot::parse(&bytes).current_phase else {
        return Some(Check::ok("state", "STATE.md names no current phase"));
    };
    let number = PhaseNumber::parse(&phase)?;
    let is_known = survey.is_none_or(|survey| survey.by_number(&number).is_some());
    Some(if is_known {
        Check::ok("state", format!("STATE.md: phase {phase} is the current one"))
    } else {
        Check::warn("state", format!("STATE.md is at phase {phase}, which the roadmap lacks"))
            .advise("mow state get    and    mow roadmap phases    show both sides")
    })
}

fn config(context: &Context) -> Check {
    let bytes = match context.load("config.json") {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Check::ok("config", "no config.json; all settings have defaults"),
        Err(failure) => return Check::fail("config", failure.message),
    };
    match Config::parse(&bytes) {
        Err(error) => Check::fail("config", format!("config.json: {error}"))
            .advise("mow uses the defaults until it is mended"),
        Ok(config) => match config.unknown_keys() {
            Unknown { slips, .. } if !slips.is_empty() => {
                let message = "config.json has keys that mow does not know; they have no effect";
                listed(Check::warn("config", message), &slips)
            }
            Unknown { foreign, .. } if !foreign.is_empty() => {
                let message = "config.json is sound; mow has no use for these keys";
                listed(Check::ok("config", message), &foreign)
            }
            _ => Check::ok("config", "config.json: every key is known"),
        },
    }
}

/// The directories and Markdown files below `.planning/`; links are not followed.
#[derive(Default)]
struct Tree {
    dirs: Vec<PathBuf>,
    documents: Vec<PathBuf>,
}

impl Tree {
    fn load(planning: &Path) -> Self {
        let mut tree = Self::default();
        let mut folders = vec![(planning.to_path_buf(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            // What cannot be listed holds nothing that could be read either.
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

/// Reads the YAML block of every document.
fn blocks(context: &Context, tree: &Tree) -> Check {
    let mut findings = Vec::new();
    for path in &tree.documents {
        match disk::read(path) {
            Ok(Some(bytes)) => {
                let problems = frontmatter::parse(&bytes).map(|block| block.problems);
                findings.extend(problems.unwrap_or_default().into_iter().map(|problem| {
                    format!("{}:{}: {}", context.shown(path), problem.line, problem.message)
                }));
            }
            Ok(None) => {}
            Err(error) => findings.push(Failure::from(error).message),
        }
    }
    let count = tree.documents.len();
    if findings.is_empty() {
        return Check::ok("documents", format!("{count} documents, every YAML block is sound"));
    }
    let message = format!("{} places in YAML blocks are not sound", findings.len());
    listed(Check::warn("documents", message), &findings)
}

/// Counts temporary files under the lock, so that none of a writer at work is meant.
fn leftovers(context: &Context, tree: &Tree, fix: bool) -> Option<Check> {
    let strays = |dir: &PathBuf| disk::strays(dir).map_or(0, |strays| strays.len());
    if tree.dirs.iter().all(|dir| strays(dir) == 0) {
        return None;
    }
    let writer = match Writer::open(&context.project, WAIT_DEFAULT) {
        Ok(writer) => writer,
        Err(error) => return Some(Check::warn("leftovers", Failure::from(error).message)),
    };
    if !fix {
        let count: usize = tree.dirs.iter().map(strays).sum();
        let message = format!("{count} temporary files were left behind");
        return (count > 0).then(|| Check::warn("leftovers", message).advise("mow doctor --fix"));
    }
    let swept: Result<Vec<usize>, _> = tree.dirs.iter().map(|dir| writer.sweep(dir)).collect();
    Some(match swept {
        Ok(counts) => {
            let count: usize = counts.iter().sum();
            Check::ok("leftovers", format!("{count} temporary files were removed"))
        }
        Err(error) => Check::warn("leftovers", Failure::from(error).message),
    })
}
