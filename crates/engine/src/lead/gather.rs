//! Brings what a look-ahead wrote to the main root, and from there to the phase when it begins.
//!
//! A file of the root is never changed: what is there, a person wrote or an earlier look-ahead. What
//! was made ahead says so in its last line, and on which commit. When the phase begins these files
//! become part of its branch and leave the root, so that they do not stand in the way of its merge.

use std::path::{Path, PathBuf};

use mow_core::lead::Outcome;
use mow_core::phase::PhaseNumber;
use mow_core::stage::Stage;
use mow_host::commit::{self, Paths};
use mow_host::git::{Git, parse_names};
use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, Artifact};

use super::prepare::project_in;
use crate::EngineError;
use crate::site::{Place, Site};

/// How the line begins that says that a file was made ahead.
const MARK: &str = "<!-- Made ahead on ";

/// Brings the files of the stages that are complete to the root; puts the rest aside.
pub(super) fn gather(
    site: &Site,
    phase: &PhaseNumber,
    through: Option<Stage>,
) -> Result<Outcome, EngineError> {
    let place = site.worktree(phase)?;
    let git = Git::at_top(&place.path);
    let planning = site.planning_in(&place.path);
    if let Some(dir) = phase_dirs::find(&planning, &phase.to_string()) {
        let head = git.commit_of("HEAD")?.unwrap_or_default();
        let own = untracked(&git, &site.below_top().join(".planning/phases").join(&dir.name))?;
        let is_wanted = |name: &str| stage_of(name).is_some_and(|stage| Some(stage) <= through);
        for file in own.iter().filter(|file| is_wanted(&file_name(file))) {
            bring(site, &place, (&dir.name, &place.path.join(file)), &head)?;
        }
    }
    failpoint::reach("gather.moved");
    rescue::reset_to(&git, &place.branch, "HEAD")
        .map_err(|error| EngineError::Host(error.into()))?;
    failpoint::reach("gather.reset");
    Ok(Outcome::Done)
}

/// Returns the stage that leaves a file.
fn stage_of(file: &str) -> Option<Stage> {
    let is = |kind: Artifact| kind.id(file).is_some();
    match () {
        () if is(Artifact::Context) => Some(Stage::Discuss),
        () if is(Artifact::Research) => Some(Stage::Research),
        () if is(Artifact::Plan) => Some(Stage::Plan),
        () => None,
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the files below a directory that git does not know, by their paths from the top.
fn untracked(git: &Git, dir: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let dir = dir.display().to_string();
    let args = ["--literal-pathspecs", "ls-files", "--others", "-z", "--", &dir];
    Ok(parse_names(&git.run(&args)?.stdout).into_iter().map(PathBuf::from).collect())
}

/// Moves one file to the root, unless there is one of its name.
fn bring(
    site: &Site,
    place: &Place,
    (dir, file): (&str, &Path),
    head: &str,
) -> Result<(), EngineError> {
    let Some(bytes) = disk::read(file)? else { return Ok(()) };
    let marked = marked(&bytes, head);
    let dir = site.project.planning.join("phases").join(dir);
    let writer = Writer::open(&site.project, WAIT_DEFAULT)?;
    writer.create_dir(&dir)?;
    let mut there = None;
    writer.update(&dir.join(file_name(file)), |old| {
        there = Some(old.map_or_else(|| marked.clone(), <[u8]>::to_vec));
        Ok::<_, EngineError>(old.is_none().then(|| marked.clone()))
    })?;
    drop(writer);
    failpoint::reach("gather.brought");
    // What a person wrote meanwhile counts, and what is here is kept under a rescue reference.
    if there.is_some_and(|there| there == marked || there == bytes) {
        Writer::open(&project_in(site, place)?, WAIT_DEFAULT)?.remove_file(file)?;
    }
    Ok(())
}

/// Adds a line that says how old a text is.
fn marked(bytes: &[u8], head: &str) -> Vec<u8> {
    let close = if bytes.is_empty() || bytes.ends_with(b"\n") { "" } else { "\n" };
    let short = head.get(..8).unwrap_or(head);
    let line = format!("{close}\n{MARK}{short}; the code may have changed since. -->\n");
    [bytes, line.as_bytes()].concat()
}

fn is_marked(bytes: &[u8]) -> bool {
    bytes.windows(MARK.len()).any(|part| part == MARK.as_bytes())
}

/// Returns whether a file says that it was made ahead.
pub fn is_made_ahead(path: &Path) -> bool {
    disk::read(path).ok().flatten().is_some_and(|bytes| is_marked(&bytes))
}

/// Makes what was made ahead part of the phase's branch, once its worktree has it.
pub(super) fn take_over(
    site: &Site,
    place: &Place,
    phase: &PhaseNumber,
) -> Result<(), EngineError> {
    let Some(dir) = phase_dirs::find(&site.project.planning, &phase.to_string()) else {
        return Ok(());
    };
    let target = site.planning_in(&place.path).join("phases").join(&dir.name);
    let mut taken = Vec::new();
    for name in dir.files().filter(|name| stage_of(name).is_some()) {
        let bytes = disk::read(&dir.path.join(name))?.unwrap_or_default();
        if is_marked(&bytes) && disk::read(&target.join(name))?.is_some_and(|there| there == bytes)
        {
            taken.push(name.to_owned());
        }
    }
    if taken.is_empty() || !site.commits_docs()? {
        return Ok(());
    }
    let below = site.below_top().join(".planning/phases").join(&dir.name);
    let number = phase.to_string();
    let subject = format!("docs({}): what was done ahead", phase.padded());
    let paths = taken.iter().map(|name| below.join(name).display().to_string()).collect();
    let git = Git::at_top(&place.path);
    commit::commit_paths(&git, &Paths::Only(paths), &subject, &[("Mow-Phase", &number)])
        .map_err(|error| EngineError::Host(error.into()))?;
    failpoint::reach("ahead.committed");
    let loose = untracked(&Git::at_top(site.top()), &below)?;
    let writer = Writer::open(&site.project, WAIT_DEFAULT)?;
    for name in taken.iter().filter(|name| loose.contains(&below.join(name))) {
        writer.remove_file(&dir.path.join(name))?;
        failpoint::reach("ahead.taken");
    }
    Ok(())
}
