//! `worktree create` and `create-native`: a checkout for a phase, or the one it has already.
//!
//! What is there is never overwritten: a directory that git knows is taken up again, an existing
//! branch is checked out, and the planning files of a phase that has begun stay its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_store::disk::Lock;
use mow_store::manifest::Worktree;
use mow_store::phase_dirs::{self, PhaseDirs};
use mow_store::project::Project;
use mow_store::worktree_home::{Home, is_plain_name, worktrees_lock};
use mow_store::{disk, exclude, planning_copy, roadmap};
use serde_json::{Value, json};

use super::place::{below_top, home, main_planning, phase_number};
use super::{manifest, stash};
use crate::commands::status;
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, notice, warn};

/// A worktree that was made, or was there.
pub(crate) struct Created {
    pub(crate) path: PathBuf,
    branch: String,
    phase: Option<PhaseNumber>,
    /// For one that was there, whether stashed work came back.
    restored: Option<bool>,
}

impl Created {
    pub(super) fn answer(&self) -> Output {
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

pub(crate) fn create(
    context: &Context,
    phase: Option<&str>,
    name: Option<&str>,
) -> Result<Created, Failure> {
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
    // Held from the first look to the entry in the manifest: whoever wants the same worktree at the
    // same time finds it made.
    let _lock = Lock::acquire(&worktrees_lock(&context.project), WAIT_CREATE)?;
    match phase {
        Ok(phase) => of_phase(context, &home, &phase),
        Err(name) => plain(&home, name),
    }
}

/// How long others may take to make their worktrees: checking out a large repository is slow.
const WAIT_CREATE: Duration = Duration::from_secs(120);

/// Returns the branch that worktrees start from: `main`, `master`, or else the one that is checked
/// out in the main root.
fn base(git: &Git) -> Result<String, Failure> {
    for name in ["main", "master"] {
        if git.branch_exists(name)? {
            return Ok(name.to_owned());
        }
    }
    let current = git.current_branch()?;
    match current.filter(|name| git.branch_exists(name).unwrap_or(false)) {
        Some(name) => Ok(name),
        None => Err(Failure::refused("there is no branch with a commit to start a worktree from")
            .hint("git add -A && git commit -m 'First commit'")),
    }
}

/// Makes a worktree that belongs to no phase.
fn plain(home: &Home, name: &str) -> Result<Created, Failure> {
    let git = Git::new(&home.root);
    let path = home.path().join(name);
    let base = base(&git)?;
    ignore(home)?;
    let arguments = ["worktree", "add", "--quiet", "-b", name].map(Path::new);
    git.run(&[&arguments[..], &[&path, Path::new(&base)]].concat())?;
    Ok(Created { path, branch: name.to_owned(), phase: None, restored: None })
}

fn of_phase(context: &Context, home: &Home, phase: &PhaseNumber) -> Result<Created, Failure> {
    let branch = home.branch(phase);
    let known = manifest::entry(home, phase)?;
    if let Some((key, entry)) = &known {
        let path = path_of(home, key, entry);
        if path.is_dir() {
            let branch = entry.text("branch").unwrap_or(branch);
            notice(&format!("worktree {} is there already and is used again", path.display()));
            let restored = stash::restore(context, home, (key, entry), &path)?;
            manifest::set(home, key, &[("status", json!("active"))])?;
            let (phase, restored) = (Some(*phase), Some(restored));
            return Ok(Created { path, branch, phase, restored });
        }
    }
    let key = home.name(phase);
    let path = home.path().join(&key);
    let git = Git::new(&home.root);
    ignore(home)?;
    let is_new = add(&git, &path, &branch)?;
    copy_planning(context, home, &path, phase, is_new)?;
    let head = Git::new(&path).commit_of("HEAD")?;
    let stash_ref = known.as_ref().and_then(|(_, entry)| entry.text("stash_ref"));
    // The entry of a directory that is gone gives way to the new one.
    if let Some((old, _)) = known.as_ref().filter(|(old, _)| *old != key) {
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
    if let Some((_, entry)) = known.as_ref().filter(|_| stash_ref.is_some()) {
        stash::restore(context, home, (&key, entry), &path)?;
    }
    Ok(Created { path, branch, phase: Some(*phase), restored: None })
}

/// Returns where the worktree of an entry is.
pub(super) fn path_of(home: &Home, key: &str, entry: &Worktree) -> PathBuf {
    let path = entry.text("path").map_or_else(|| home.dir.join(key), PathBuf::from);
    home.root.join(path)
}

/// Has git make the worktree, unless it is there; returns whether its branch is new.
fn add(git: &Git, path: &Path, branch: &str) -> Result<bool, Failure> {
    let full = format!("refs/heads/{branch}");
    let known = git.worktrees()?;
    let here = known.iter().find(|worktree| worktree.path == path);
    if let Some(here) = here.filter(|here| path.is_dir() && here.branch.as_ref() == Some(&full)) {
        notice(&format!("worktree {} was made before and is taken up", here.path.display()));
        return Ok(false);
    }
    let elsewhere = known
        .iter()
        .find(|worktree| worktree.branch.as_ref() == Some(&full) && worktree.path.is_dir());
    if let Some(elsewhere) = elsewhere {
        let place = elsewhere.path.display();
        return Err(Failure::refused(format!("branch {branch} is checked out in {place}"))
            .hint("work there, or check out another branch there first"));
    }
    let mut arguments = vec![Path::new("worktree"), Path::new("add"), Path::new("--quiet")];
    if here.is_some() || known.iter().any(|worktree| worktree.branch.as_ref() == Some(&full)) {
        // Git still lists a directory that is gone.
        arguments.push(Path::new("--force"));
    }
    let is_new = !git.branch_exists(branch)?;
    let base = if is_new { base(git)? } else { String::new() };
    if is_new {
        arguments.extend([Path::new("-b"), Path::new(branch), path, Path::new(&base)]);
    } else {
        arguments.extend([path, Path::new(branch)]);
    }
    git.run(&arguments)?;
    Ok(is_new)
}

/// Keeps the home out of git without touching the user's files.
fn ignore(home: &Home) -> Result<(), Failure> {
    let Some(line) = home.ignore_line() else { return Ok(()) };
    Ok(exclude::add(&Project::find_or_cwd(&home.root)?, &line)?)
}

/// Gives the worktree the planning files of the main root and a STATUS.md for its phase.
fn copy_planning(
    context: &Context,
    home: &Home,
    path: &Path,
    phase: &PhaseNumber,
    is_new: bool,
) -> Result<(), Failure> {
    let source = main_planning(context, &home.root);
    if !source.is_dir() {
        return Ok(());
    }
    let place = path.join(below_top(&context.project));
    let mut project = Project::find_or_cwd(path)?;
    (project.root, project.planning) = (place.clone(), place.join(".planning"));
    project.planned = true;
    // A branch that was there before has its own version of its phase's files.
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
    if !has_status && let Err(failure) = status::init(&inner, &phase.to_string()) {
        warn(&format!("STATUS.md was not made: {}", failure.message));
    }
    Ok(())
}

/// Returns a phase's name as the roadmap has it, or else its directory.
fn phase_name(context: &Context, home: &Home, phase: &PhaseNumber) -> Result<Value, Failure> {
    let planning = main_planning(context, &home.root);
    let bytes = disk::read(&planning.join("ROADMAP.md"))?.unwrap_or_default();
    let entries = roadmap::parse(&bytes).entries;
    let named = entries.into_iter().find(|entry| entry.phase.number == *phase);
    let in_roadmap = named.map(|entry| entry.phase.name).filter(|name| !name.is_empty());
    let of_dir = || PhaseDirs::load(&planning).find(phase)?.label().map(str::to_owned);
    Ok(json!(in_roadmap.or_else(of_dir)))
}
