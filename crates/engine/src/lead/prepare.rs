//! Makes the worktree of a phase: claimed, checked out, with the planning files it needs.

use std::fs;
use std::path::Path;

use mow_core::lead::Outcome;
use mow_core::phase::PhaseNumber;
use mow_host::commit::{self, Paths};
use mow_host::follow::quoted;
use mow_host::git::Git;
use mow_host::life;
use mow_host::phase_worktree::{self, Prepare, Prepared};
use mow_host::{in_progress, rescue};
use mow_store::claims::{self, Claim, Claims, Taken};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::project::Project;
use mow_store::state::assignments::{Assignment, NO_PLAN};
use mow_store::{manifest, phase_dirs, planning_copy};
use serde_json::json;

use super::effects::Repository;
use super::merge::host;
use crate::EngineError;
use crate::clock::now_text;
use crate::site::{Place, Site};

/// The key of the commit that brings a stash back.
const STASH_KEY: &str = "Mow-Stash";

/// Makes the worktree, or takes up the one that is there.
pub(super) fn prepare(
    site: &Site,
    phase: &PhaseNumber,
    attempt: u32,
    (base, renew): (&str, bool),
    repository: &Repository,
) -> Result<Outcome, EngineError> {
    for earlier in 1..attempt {
        let lock = site.run.life_lock(phase, earlier);
        if life::is_alive(&lock).map_err(EngineError::io("look for a worker"))? {
            let reason = format!("the worker of attempt {earlier} is still alive");
            return Ok(Outcome::Failed { reason });
        }
    }
    failpoint::reach("prepare.begun");
    let place = site.worktree(phase)?;
    let job =
        Prepare { path: place.path.clone(), branch: place.branch.clone(), base: base.to_owned() };
    let begun = repository.alone(|| {
        if let Some(reason) = claim(site, phase, attempt, &place)? {
            return Ok(Err(reason));
        }
        Ok(Ok(phase_worktree::begin(site.top(), &job).map_err(host)?))
    })?;
    let prepared = match begun {
        Ok(prepared) => prepared,
        Err(reason) => return Ok(Outcome::Failed { reason }),
    };
    phase_worktree::fill(&prepared).map_err(host)?;
    failpoint::reach("prepare.made");
    repository.alone(|| furnish(site, phase, &place, (base, renew), prepared))
}

/// Brings into a worktree what it needs beside its files.
fn furnish(
    site: &Site,
    phase: &PhaseNumber,
    place: &Place,
    (base, renew): (&str, bool),
    prepared: Prepared,
) -> Result<Outcome, EngineError> {
    let git = Git::at_top(&place.path);
    if renew && prepared.behind {
        // Plans, and work of an earlier run, go on from what has been merged since.
        if let Some(reason) = bring_up_to(&git, place, base)? {
            return Ok(Outcome::Failed { reason });
        }
    }
    // What the phase itself did is what comes after the point where it left the target.
    let fork = match prepared.head == base {
        true => prepared.head,
        false => git.run(&["merge-base", "HEAD", base])?.text(),
    };
    give_planning(site, place, phase)?;
    failpoint::reach("prepare.planned");
    bring_changes(site, place, phase, &fork)?;
    if renew {
        super::gather::take_over(site, place, phase)?;
    }
    restore_stash(place, phase, &fork)?;
    failpoint::reach("prepare.stashed");
    note_in_manifest(place, phase)?;
    failpoint::reach("prepare.noted");
    Ok(Outcome::Prepared { base: fork })
}

/// Merges the target into the branch of a phase; returns why that cannot be.
///
/// A merge that somebody has begun there by hand is left alone.
fn bring_up_to(git: &Git, place: &Place, base: &str) -> Result<Option<String>, EngineError> {
    let (branch, path) = (&place.branch, quoted(&place.path.to_string_lossy()));
    if in_progress::is_merging(&place.path) {
        let how = format!("git -C {path} commit, or git -C {path} merge --abort");
        return Ok(Some(format!("a merge is in progress in its worktree; finish it: {how}")));
    }
    let failed = |error: rescue::RescueError| EngineError::Host(error.into());
    rescue::keep_ignored(git, branch, base).map_err(failed)?;
    let answer = git.ask(&["merge", "--quiet", "--no-edit", base])?;
    if answer.success {
        return Ok(None);
    }
    let files = git.conflicts()?;
    if in_progress::is_merging(&place.path) {
        git.run(&["merge", "--abort"])?;
    }
    if files.is_empty() {
        let said = answer.complaint();
        return Ok(Some(format!("the target cannot be merged into branch {branch}: {said}")));
    }
    let files = files.join(", ");
    let how = format!("to settle that: git -C {path} merge {base}, then mow run");
    Ok(Some(format!("branch {branch} conflicts with the target in {files}; {how}")))
}

/// Makes the worktree of a phase that will start later, so that it need not wait for that then.
pub(super) fn make_ahead(site: &Site, phase: &PhaseNumber, base: &str) -> Result<(), EngineError> {
    let place = site.worktree(phase)?;
    if !place.path.exists() {
        let job = Prepare { path: place.path, branch: place.branch, base: base.to_owned() };
        phase_worktree::prepare(site.top(), &job)
            .map_err(|error| EngineError::Host(error.into()))?;
        failpoint::reach("ahead.made");
    }
    Ok(())
}

/// Claims the phase for its worktree; returns who has it when it is another one.
fn claim(
    site: &Site,
    phase: &PhaseNumber,
    attempt: u32,
    place: &Place,
) -> Result<Option<String>, EngineError> {
    let project = &site.project;
    let key = claims::project_key(project);
    let worktree = place.path.display().to_string();
    let claim = Claim {
        project: key.clone(),
        assignment: Assignment {
            worktree: worktree.clone(),
            branch: place.branch.clone(),
            phase: phase.padded(),
            plan: NO_PLAN.to_owned(),
            status: "executing".to_owned(),
            started: now_text(),
            agent: format!("phase-{}-worker", phase.padded()),
        },
        run: Some(site.run.run().to_owned()),
        attempt: Some(attempt.to_string()),
    };
    let mut held = None;
    let writer = Writer::open_engine(project, WAIT_DEFAULT)?;
    writer.update(&claims::path(project), |old| {
        let mut claims = Claims::parse(old.unwrap_or_default()).unwrap_or_default();
        claims.release_stale(|worktree| Path::new(worktree).is_dir());
        if claims.holder(&key, &phase.to_string()).is_some_and(|held| held.run.is_some()) {
            // An earlier attempt, of this run or of one whose lead is gone.
            claims.release(&key, &worktree, &phase.to_string());
        }
        if let Taken::Held(other) = claims.take(claim.clone(), &[]) {
            held = Some(format!("{} has it since {}", other.worktree, other.started));
            return Ok(None);
        }
        Ok::<_, EngineError>(Some(claims.render()))
    })?;
    failpoint::reach("claim.taken");
    Ok(held)
}

/// Gives up the claim of a phase that is merged.
pub(super) fn release(site: &Site, phase: &PhaseNumber) -> Result<(), EngineError> {
    let project = &site.project;
    let (key, place) = (claims::project_key(project), site.worktree(phase)?);
    let writer = Writer::open_engine(project, WAIT_DEFAULT)?;
    writer.update(&claims::path(project), |old| {
        let mut claims = Claims::parse(old.unwrap_or_default()).unwrap_or_default();
        let worktree = place.path.display().to_string();
        let released = claims.release(&key, &worktree, &phase.to_string());
        Ok::<_, EngineError>(released.then(|| claims.render()))
    })?;
    failpoint::reach("claim.released");
    Ok(())
}

/// Copies the planning files where git does not carry them; the phase's own ones stay.
fn give_planning(site: &Site, place: &Place, phase: &PhaseNumber) -> Result<(), EngineError> {
    let root = place.path.join(site.below_top());
    if site.commits_docs()? && root.join(".planning").is_dir() {
        return Ok(());
    }
    let project = project_in(site, place)?;
    let own = phase_dirs::find(&project.planning, &phase.to_string());
    let own = own.map(|dir| Path::new("phases").join(dir.name));
    let from = &site.project.planning;
    let keeps = |file: &Path| {
        own.as_ref().is_some_and(|own| file.starts_with(own))
            && !is_newer(&from.join(file), &project.planning.join(file))
    };
    keep_papers(site, place, &project, &keeps)?;
    let differing = planning_copy::mirror(from, &project, keeps)?;
    match differing.first() {
        None => Ok(()),
        Some(file) => Err(EngineError::refused(
            format!("{} differs from the main root after copying", file.display()),
            "run the command again",
        )),
    }
}

/// Keeps planning files that only the worktree has, before they make room: git does not carry them.
fn keep_papers(
    site: &Site,
    place: &Place,
    project: &Project,
    keeps: &impl Fn(&Path) -> bool,
) -> Result<(), EngineError> {
    let main = &site.project.planning;
    let mut kept = Vec::new();
    for file in planning_copy::missing_in(&project.planning, main)? {
        if !keeps(&file) && !main.join(&file).exists() {
            let bytes = disk::read(&project.planning.join(&file))?.unwrap_or_default();
            let name = site.below_top().join(".planning").join(&file);
            kept.push((name.display().to_string(), bytes));
        }
    }
    rescue::keep_files(&Git::at_top(&place.path), &place.branch, &kept)
        .map_err(|error| EngineError::Host(error.into()))?;
    Ok(())
}

/// Returns the project as a worktree has it.
pub(super) fn project_in(site: &Site, place: &Place) -> Result<Project, EngineError> {
    let root = place.path.join(site.below_top());
    let mut project = Project::find_or_cwd(&place.path)?;
    (project.planning, project.root) = (root.join(".planning"), root);
    project.planned = true;
    Ok(project)
}

/// Returns whether a file was changed after another one, or the other one is not there.
pub(super) fn is_newer(file: &Path, other: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
    changed(file) > changed(other)
}

/// Brings what people wrote into the phase's folder of the main root and did not commit: a plan that
/// was mended, or all of a phase that is new.
///
/// Of a file that the phase changed too, the newer one counts.
fn bring_changes(
    site: &Site,
    place: &Place,
    phase: &PhaseNumber,
    fork: &str,
) -> Result<(), EngineError> {
    let Some(dir) = phase_dirs::find(&site.project.planning, &phase.to_string()) else {
        return Ok(());
    };
    let project = project_in(site, place)?;
    let target = project.planning.join("phases").join(&dir.name);
    let git = Git::at_top(&place.path);
    let below = site.below_top().join(".planning/phases").join(&dir.name);
    let root = Git::new(&site.project.root);
    let text = |git: &Git, commit: &str, file: &Path| -> Result<Option<Vec<u8>>, EngineError> {
        let name = format!("{commit}:{}", below.join(file).display());
        let answer = git.ask(&["cat-file", "blob", &name])?;
        Ok(answer.success.then_some(answer.stdout))
    };
    let mut changed = Vec::new();
    let mut elsewhere = None;
    for file in planning_copy::missing_in(&dir.path, &target)? {
        let before = text(&git, fork, &file)?;
        // On another branch the root has other files, and nobody wrote them for this one.
        let is_elsewhere = match elsewhere {
            Some(known) => known,
            None => *elsewhere.insert(!root.is_ancestor(fork, "HEAD")?),
        };
        if is_elsewhere
            && before.is_some()
            && disk::read(&dir.path.join(&file))? == text(&root, "HEAD", &file)?
        {
            continue;
        }
        let (ours, theirs) = (disk::read(&dir.path.join(&file))?, disk::read(&target.join(&file))?);
        let is_ours = theirs == before || is_newer(&dir.path.join(&file), &target.join(&file));
        if ours != before && is_ours {
            changed.push(file);
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let writer = Writer::open(&project, WAIT_DEFAULT)?;
    for file in changed {
        writer.create_dir(target.join(&file).parent().unwrap_or(&target))?;
        writer.copy(&dir.path.join(&file), &target.join(&file))?;
        failpoint::reach("prepare.change.brought");
    }
    Ok(())
}

/// Brings back what was stashed of a phase, as a commit: the next task begins from commits only.
///
/// The commit names the stash, so that one that is back already is not brought back again.
fn restore_stash(place: &Place, phase: &PhaseNumber, fork: &str) -> Result<(), EngineError> {
    let bytes = disk::read(&place.home.manifest())?.unwrap_or_default();
    let known = manifest::parse(&bytes).ok();
    let entry = known.as_ref().and_then(|manifest| manifest.worktree(&place.name));
    let Some(stash) = entry.and_then(|entry| entry.text("stash_ref")) else { return Ok(()) };
    let git = Git::at_top(&place.path);
    if let Some(stash) = git.commit_of(&stash)? {
        let failed = |error: commit::CommitError| EngineError::Host(error.into());
        if commit::has_trailer(&git, fork, STASH_KEY, &stash).map_err(failed)?.is_none() {
            apply_stash(&git, place, phase, &stash)?;
            failpoint::reach("stash.applied");
            let subject = format!("wip({}): bring back stashed work", phase.padded());
            let marks = [("Mow-Phase", &*phase.to_string()), (STASH_KEY, &stash)];
            commit::commit_paths(&git, &Paths::All, &subject, &marks).map_err(failed)?;
            failpoint::reach("stash.committed");
        }
        rescue::drop_stash(&git, &place.branch, &stash)
            .map_err(|error| EngineError::Host(error.into()))?;
        failpoint::reach("stash.dropped");
    }
    change_manifest(place, &[("stash_ref", json!(null))])
}

/// Applies a stash to a worktree.
///
/// What is in its way is kept and put aside: most often that is the stash itself, applied by a lead
/// that died before it could commit it.
fn apply_stash(
    git: &Git,
    place: &Place,
    phase: &PhaseNumber,
    stash: &str,
) -> Result<(), EngineError> {
    let failed = |error: rescue::RescueError| EngineError::Host(error.into());
    rescue::keep_ignored(git, &place.branch, stash).map_err(failed)?;
    let apply = ["stash", "apply", "--quiet", stash];
    if git.ask(&apply)?.success {
        return Ok(());
    }
    rescue::reset_to(git, &place.branch, "HEAD").map_err(failed)?;
    let again = git.ask(&apply)?;
    if again.success {
        return Ok(());
    }
    Err(EngineError::refused(
        format!("the stashed work of phase {phase} does not apply: {}", again.complaint()),
        format!("git stash apply {stash}"),
    ))
}

fn note_in_manifest(place: &Place, phase: &PhaseNumber) -> Result<(), EngineError> {
    let head = Git::at_top(&place.path).commit_of("HEAD")?;
    let bytes = disk::read(&place.home.manifest())?.unwrap_or_default();
    let known = manifest::parse(&bytes).ok();
    let is_known = known.is_some_and(|manifest| manifest.worktree(&place.name).is_some());
    let path = place.path.strip_prefix(&place.home.root).unwrap_or(&place.path);
    let mut fields = vec![
        ("path", json!(path.display().to_string())),
        ("branch", json!(place.branch)),
        ("phase", json!(phase.padded())),
        ("status", json!("active")),
        ("last_commit", json!(head)),
    ];
    if !is_known {
        fields.insert(3, ("created", json!(now_text())));
        fields.extend([
            ("stash_ref", json!(null)),
            ("merged", json!(false)),
            ("merged_at", json!(null)),
        ]);
    }
    change_manifest(place, &fields)
}

/// Changes the entry of a worktree in the manifest.
pub(super) fn change_manifest(
    place: &Place,
    fields: &[(&str, serde_json::Value)],
) -> Result<(), EngineError> {
    // The lock that commands about worktrees take.
    let project = Project::find_or_cwd(&place.home.root)?;
    let mut writer = Writer::open(&project, WAIT_DEFAULT)?;
    if place.home.path().starts_with(&project.root) {
        writer.create_dir(&place.home.path())?;
    }
    writer = writer.with_root(&place.home.path())?;
    writer.update(&place.home.manifest(), |old| {
        let changed =
            manifest::set_entry(old.unwrap_or_default(), &place.name, fields, &now_text());
        changed.map(Some).map_err(|error| {
            let path = place.home.manifest();
            EngineError::refused(format!("{}: {error}", path.display()), "repair the file")
        })
    })?;
    Ok(())
}
