//! Moves the files that a look-ahead wrote to the main root, and into the phase's branch when it
//! starts.
//!
//! A file that exists in the root is never changed: a person or an earlier look-ahead wrote it. The
//! last line of a look-ahead file says so, and names its base commit. When the phase starts, the
//! files are committed to its branch and removed from the root, where they would block the merge.

use std::path::{Path, PathBuf};

use mow_core::lead::Outcome;
use mow_core::phase::PhaseNumber;
use mow_core::stage::Stage;
use mow_host::commit::{self, Paths};
use mow_host::git::{Git, parse_names};
use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, PhaseFileKind};

use super::prepare::project_in;
use crate::EngineError;
use crate::run_context::{PhaseWorktree, RunContext};

/// The beginning of the line that marks a file as made by a look-ahead.
const MARK: &str = "<!-- Made ahead on ";

/// Moves the files of complete stages to the main root; moves the rest to a rescue ref.
pub(super) fn collect(
    ctx: &RunContext,
    phase: &PhaseNumber,
    through: Option<Stage>,
) -> Result<Outcome, EngineError> {
    let worktree = ctx.worktree(phase)?;
    let git = Git::at_top(&worktree.path);
    let planning = ctx.planning_in(&worktree.path);
    if let Some(dir) = phase_dirs::find(&planning, &phase.to_string()) {
        let head = git.commit_of("HEAD")?.unwrap_or_default();
        let own = untracked(&git, &ctx.below_top().join(".planning/phases").join(&dir.name))?;
        let is_wanted = |name: &str| stage_of(name).is_some_and(|stage| Some(stage) <= through);
        for file in own.iter().filter(|file| is_wanted(&file_name(file))) {
            move_to_root(ctx, &worktree, (&dir.name, &worktree.path.join(file)), &head)?;
        }
    }
    failpoint::reach("gather.moved");
    rescue::reset_to(&git, &worktree.branch, "HEAD")
        .map_err(|error| EngineError::Host(error.into()))?;
    failpoint::reach("gather.reset");
    Ok(Outcome::Done)
}

/// Returns the stage that writes a file; `None` for other files.
fn stage_of(file: &str) -> Option<Stage> {
    let is = |kind: PhaseFileKind| kind.id(file).is_some();
    match () {
        () if is(PhaseFileKind::Context) => Some(Stage::Discuss),
        () if is(PhaseFileKind::Research) => Some(Stage::Research),
        () if is(PhaseFileKind::Plan) => Some(Stage::Plan),
        () => None,
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the untracked files below a directory, relative to the top of the worktree.
fn untracked(git: &Git, dir: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let dir = dir.display().to_string();
    let args = ["--literal-pathspecs", "ls-files", "--others", "-z", "--", &dir];
    Ok(parse_names(&git.run(&args)?.stdout).into_iter().map(PathBuf::from).collect())
}

/// Moves one file to the main root, unless a file of its name exists current.
fn move_to_root(
    ctx: &RunContext,
    worktree: &PhaseWorktree,
    (dir, file): (&str, &Path),
    head: &str,
) -> Result<(), EngineError> {
    let Some(bytes) = disk::read(file)? else { return Ok(()) };
    let marked = with_mark(&bytes, head);
    let dir = ctx.project.planning.join("phases").join(dir);
    let writer = Writer::open(&ctx.project, WAIT_DEFAULT)?;
    writer.create_dir(&dir)?;
    let mut current = None;
    writer.update(&dir.join(file_name(file)), |old| {
        current = Some(old.map_or_else(|| marked.clone(), <[u8]>::to_vec));
        Ok::<_, EngineError>(old.is_none().then(|| marked.clone()))
    })?;
    drop(writer);
    failpoint::reach("gather.brought");
    // If a person wrote the file meanwhile, that one counts; the reset rescues this one.
    if current.is_some_and(|current| current == marked || current == bytes) {
        Writer::open(&project_in(ctx, worktree)?, WAIT_DEFAULT)?.remove_file(file)?;
    }
    Ok(())
}

/// Appends the line that marks a look-ahead file and names its base commit.
fn with_mark(bytes: &[u8], head: &str) -> Vec<u8> {
    let close = if bytes.is_empty() || bytes.ends_with(b"\n") { "" } else { "\n" };
    let short = head.get(..8).unwrap_or(head);
    let line = format!("{close}\n{MARK}{short}; the code may have changed since. -->\n");
    [bytes, line.as_bytes()].concat()
}

fn is_marked(bytes: &[u8]) -> bool {
    bytes.windows(MARK.len()).any(|part| part == MARK.as_bytes())
}

/// Returns whether a file is marked as made by a look-ahead.
pub fn is_look_ahead_file(path: &Path) -> bool {
    disk::read(path).ok().flatten().is_some_and(|bytes| is_marked(&bytes))
}

/// Commits the look-ahead files that the phase's worktree has to its branch; removes them from the
/// root.
pub(super) fn commit_to_branch(
    ctx: &RunContext,
    worktree: &PhaseWorktree,
    phase: &PhaseNumber,
) -> Result<(), EngineError> {
    let Some(dir) = phase_dirs::find(&ctx.project.planning, &phase.to_string()) else {
        return Ok(());
    };
    let target = ctx.planning_in(&worktree.path).join("phases").join(&dir.name);
    let mut taken = Vec::new();
    for name in dir.files().filter(|name| stage_of(name).is_some()) {
        let bytes = disk::read(&dir.path.join(name))?.unwrap_or_default();
        if is_marked(&bytes)
            && disk::read(&target.join(name))?.is_some_and(|current| current == bytes)
        {
            taken.push(name.to_owned());
        }
    }
    if taken.is_empty() || !ctx.commits_docs()? {
        return Ok(());
    }
    let below = ctx.below_top().join(".planning/phases").join(&dir.name);
    let number = phase.to_string();
    let subject = format!("docs({}): what was done ahead", phase.padded());
    let paths = taken.iter().map(|name| below.join(name).display().to_string()).collect();
    let git = Git::at_top(&worktree.path);
    commit::commit_paths(&git, &Paths::Only(paths), &subject, &[("Mow-Phase", &number)])
        .map_err(|error| EngineError::Host(error.into()))?;
    failpoint::reach("ahead.committed");
    let loose = untracked(&Git::at_top(ctx.top()), &below)?;
    let writer = Writer::open(&ctx.project, WAIT_DEFAULT)?;
    for name in taken.iter().filter(|name| loose.contains(&below.join(name))) {
        writer.remove_file(&dir.path.join(name))?;
        failpoint::reach("ahead.taken");
    }
    Ok(())
}
