//! `worktree create` and `create-native`: creates the worktree of a phase, or reuses it.
//!
//! Nothing is overwritten: an existing worktree is reused, an existing branch is checked out, and a
//! started phase keeps its own planning files. [`mow_host::phase_worktree`] creates the worktree,
//! as for a run. This module also copies the planning files, because no lead does it here, and
//! writes the manifest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::phase_worktree::{self, PreparedWorktree, WorktreeError, WorktreeSpec};
use mow_store::disk::Lock;
use mow_store::manifest::ManifestEntry;
use mow_store::phase_dirs::{self, PhaseDirs};
use mow_store::project::Project;
use mow_store::worktree_home::{WorktreeHome, is_plain_name, worktrees_lock};
use mow_store::{disk, git_exclude, planning_copy, roadmap};
use serde_json::{Value, json};

use super::locations::{below_top, home, main_planning_dir, phase_number};
use super::{manifest, stash};
use crate::context::{Context, now};
use crate::failure::{Failure, error_chain};
use crate::output::{Output, notice, warn};
use crate::status_file;

/// A worktree that was created or reused.
pub(crate) struct CreatedWorktree {
    pub(crate) path: PathBuf,
    branch: String,
    phase: Option<PhaseNumber>,
    /// `Some` for a reused worktree: whether stashed work was restored.
    restored: Option<bool>,
}

impl CreatedWorktree {
    /// Returns the JSON output of the command.
    pub(crate) fn output(&self) -> Output {
        let phase = self.phase.as_ref().map(PhaseNumber::padded);
        let mut value = json!({
            "path": self.path.display().to_string(), "branch": self.branch, "phase": phase,
            "reused": self.restored.is_some(),
        });
        if let Some(restored) = self.restored {
            value["stash_restored"] = json!(restored);
        }
        Output::json(value)
    }
}

/// Creates or reuses the worktree of a phase, or a worktree with a name.
pub(crate) fn create(
    context: &Context,
    phase: Option<&str>,
    name: Option<&str>,
) -> Result<CreatedWorktree, Failure> {
    let home = home(context)?;
    let phase = match (name, phase) {
        (Some(name), _) if !is_plain_name(name) => {
            let name = name.escape_debug();
            return Err(Failure::refused(format!("`{name}` cannot be the name of a worktree"))
                .hint("use letters, digits, dots and dashes, such as phase-03"));
        }
        (Some(name), _) => home.phase_in(name).ok_or(name),
        (None, Some(phase)) => Ok(phase_number(phase)?),
        (None, None) => {
            return Err(
                Failure::refused("a phase or --name is required").hint("mow worktree create 3")
            );
        }
    };
    if context.project.repository.is_none() {
        return Err(Failure::refused("worktrees need a git repository").hint("git init"));
    }
    // Held until the manifest entry is written, so that a concurrent call for the same worktree
    // reuses it.
    let _lock = Lock::acquire(&worktrees_lock(&context.project), WAIT_CREATE)?;
    match phase {
        Ok(phase) => create_for_phase(context, &home, &phase),
        Err(name) => create_named(&home, name),
    }
}

/// How long to wait for other calls: the checkout of a large repository is slow.
const WAIT_CREATE: Duration = Duration::from_secs(120);

/// Returns the branch that new worktrees start from: `main`, `master`, or the current branch of the
/// main root.
fn base_branch(git: &Git) -> Result<String, Failure> {
    for name in ["main", "master"] {
        if git.branch_exists(name)? {
            return Ok(name.to_owned());
        }
    }
    let current = git.current_branch()?;
    match current.filter(|name| git.branch_exists(name).unwrap_or(false)) {
        Some(name) => Ok(name),
        None => Err(Failure::refused(
            "a worktree needs a branch with a commit to start from, and there is none",
        )
        .hint("git add -A && git commit -m 'First commit'")),
    }
}

/// Creates a worktree that belongs to no phase.
fn create_named(home: &WorktreeHome, name: &str) -> Result<CreatedWorktree, Failure> {
    let git = Git::new(&home.root);
    let path = home.path().join(name);
    if git.branch_exists(name)? {
        return Err(Failure::refused(format!("a branch named `{name}` already exists")));
    }
    exclude_home(home)?;
    prepare(&git, &path, name)?;
    Ok(CreatedWorktree { path, branch: name.to_owned(), phase: None, restored: None })
}

/// Creates or reuses the worktree of a phase, and writes its manifest entry.
fn create_for_phase(
    context: &Context,
    home: &WorktreeHome,
    phase: &PhaseNumber,
) -> Result<CreatedWorktree, Failure> {
    let branch = home.branch(phase);
    let old_entry = manifest::entry(home, phase)?;
    if let Some((key, entry)) = &old_entry {
        let path = path_of(home, key, entry);
        if path.is_dir() {
            let branch = entry.text("branch").unwrap_or(branch);
            notice(&format!("worktree {} already exists and is reused", path.display()));
            let restored = stash::restore(context, home, (key, entry), &path)?;
            manifest::set(home, key, &[("status", json!("active"))])?;
            let (phase, restored) = (Some(*phase), Some(restored));
            return Ok(CreatedWorktree { path, branch, phase, restored });
        }
    }
    let key = home.name(phase);
    let path = home.path().join(&key);
    let git = Git::new(&home.root);
    exclude_home(home)?;
    let prepared = prepare(&git, &path, &branch)?;
    if prepared.reused {
        notice(&format!("worktree {} already exists and is reused", path.display()));
    }
    copy_planning(context, home, &path, phase, prepared.created_branch)?;
    let head = Git::new(&path).commit_of("HEAD")?;
    let stash_ref = old_entry.as_ref().and_then(|(_, entry)| entry.text("stash_ref"));
    // Replace the entry of a directory that no longer exists.
    if let Some((old, _)) = old_entry.as_ref().filter(|(old, _)| *old != key) {
        manifest::change(home, |bytes| Ok(mow_store::manifest::remove_entry(bytes, old, &now())?))?;
    }
    let fields = [
        ("path", json!(home.dir.join(&key).display().to_string())),
        ("branch", json!(branch)),
        ("phase", json!(phase.padded())),
        ("phase_name", phase_name(context, home, phase)?),
        ("created", json!(now())),
        ("status", json!("active")),
        ("stash_ref", json!(stash_ref)),
        ("last_commit", json!(head)),
        ("merged", json!(false)),
        ("merged_at", Value::Null),
    ];
    manifest::set(home, &key, &fields)?;
    if let Some((_, entry)) = old_entry.as_ref().filter(|_| stash_ref.is_some()) {
        stash::restore(context, home, (&key, entry), &path)?;
    }
    Ok(CreatedWorktree { path, branch, phase: Some(*phase), restored: None })
}

/// Returns the path of a manifest entry's worktree.
pub(crate) fn path_of(home: &WorktreeHome, key: &str, entry: &ManifestEntry) -> PathBuf {
    let path = entry.text("path").map_or_else(|| home.dir.join(key), PathBuf::from);
    home.root.join(path)
}

/// Creates the worktree unless it exists, with the same function as a run.
///
/// A run would switch an existing worktree back to its branch. Here a person may have checked out
/// another branch, so that is refused. An existing branch is not moved to the base.
fn prepare(git: &Git, path: &Path, branch: &str) -> Result<PreparedWorktree, Failure> {
    let full = format!("refs/heads/{branch}");
    let worktrees = git.worktrees()?;
    let existing = worktrees.iter().find(|worktree| worktree.path == path && path.is_dir());
    if existing.is_some_and(|existing| existing.branch.as_ref() != Some(&full)) {
        let message = format!("{} already exists, and is not on branch {branch}", path.display());
        return Err(Failure::refused(message).hint(format!("run `git checkout {branch}` in it")));
    }
    let base = if git.branch_exists(branch)? { full } else { base_branch(git)? };
    let spec =
        WorktreeSpec { path: path.to_path_buf(), branch: branch.to_owned(), base, live_file: None };
    phase_worktree::prepare(git.dir(), &spec).map_err(|error| match error {
        WorktreeError::Git(error) => error.into(),
        WorktreeError::BranchInUse { branch, path } => {
            let path = path.display();
            Failure::refused(format!("branch {branch} is checked out in {path}"))
                .hint("work there, or check out another branch there first")
        }
        error => Failure::refused(error_chain(&error)),
    })
}

/// Excludes the worktree home from git through `.git/info/exclude`.
fn exclude_home(home: &WorktreeHome) -> Result<(), Failure> {
    let Some(line) = home.exclude_line() else { return Ok(()) };
    Ok(git_exclude::add_line(&Project::find_or_cwd(&home.root)?, &line)?)
}

/// Copies the planning files of the main root into the worktree, and creates a STATUS.md.
fn copy_planning(
    context: &Context,
    home: &WorktreeHome,
    path: &Path,
    phase: &PhaseNumber,
    is_new: bool,
) -> Result<(), Failure> {
    let source = main_planning_dir(context, &home.root);
    if !source.is_dir() {
        return Ok(());
    }
    let root = path.join(below_top(&context.project));
    let mut project = Project::find_or_cwd(path)?;
    (project.root, project.planning) = (root.clone(), root.join(".planning"));
    project.planned = true;
    // An existing branch has its own version of its phase's files.
    let own = phase_dirs::find(&project.planning, &phase.to_string()).filter(|_| !is_new);
    let own = own.map(|dir| Path::new("phases").join(dir.name));
    let keeps = |file: &Path| own.as_ref().is_some_and(|own| file.starts_with(own));
    let differing = planning_copy::mirror(&source, &project, keeps)?;
    if let Some(file) = differing.first() {
        let message = format!("{} differs from the main root after copying", file.display());
        return Err(Failure::refused(message).hint("run the command again"));
    }
    let inner = Context { raw: context.raw, json: context.json, project };
    let has_status = inner
        .phase_dir(&phase.to_string())
        .is_some_and(|dir| dir.files().any(|file| file.ends_with("-STATUS.md")));
    if !has_status && let Err(failure) = status_file::init(&inner, &phase.to_string()) {
        warn(&format!("STATUS.md was not created: {}", failure.message));
    }
    Ok(())
}

/// Returns the phase's name from the roadmap, else from its directory.
fn phase_name(
    context: &Context,
    home: &WorktreeHome,
    phase: &PhaseNumber,
) -> Result<Value, Failure> {
    let planning = main_planning_dir(context, &home.root);
    let bytes = disk::read(&planning.join("ROADMAP.md"))?.unwrap_or_default();
    let entries = roadmap::parse(&bytes).entries;
    let named = entries.into_iter().find(|entry| entry.phase.number == *phase);
    let in_roadmap = named.map(|entry| entry.phase.name).filter(|name| !name.is_empty());
    let from_dir = || PhaseDirs::load(&planning).find(phase)?.label().map(str::to_owned);
    Ok(json!(in_roadmap.or_else(from_dir)))
}
