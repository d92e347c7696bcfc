//! Merges complete phases onto the run's own ref, and lets the target branch follow.

use std::path::Path;

use mow_core::lead::Outcome;
use mow_core::phase::PhaseNumber;
use mow_host::commit::with_trailers;
use mow_host::follow::{self, Followed};
use mow_host::git::Git;
use mow_host::merge::{self, Merge, MergeOutcome};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::{phase_dirs, planning_copy};
use serde_json::json;

use super::prepare::{change_manifest, release};
use super::proof::{self, Claim};
use crate::EngineError;
use crate::clock::now_text;
use crate::site::Site;

/// The planning files that only the lead writes.
const SHARED: [&str; 3] = ["STATE.md", "ROADMAP.md", "REQUIREMENTS.md"];

/// Returns the ref that a run merges onto.
fn run_ref(site: &Site) -> String {
    format!("refs/mow/run/{}/target", site.run.run())
}

/// Makes sure that the run's ref exists; it begins where the run began.
fn ensure_ref(site: &Site, git: &Git, tip: &str) -> Result<(), EngineError> {
    let name = run_ref(site);
    if git.commit_of(&name)?.is_none() {
        git.run(&["update-ref", &name, tip, ""])?;
    }
    Ok(())
}

pub(super) fn merge(
    site: &Site,
    phase: &PhaseNumber,
    attempt: u32,
    [commit, onto]: [&str; 2],
) -> Result<Outcome, EngineError> {
    let git = Git::new(site.top());
    ensure_ref(site, &git, onto)?;
    let place = site.worktree(phase)?;
    let planning = site.below_top().join(".planning").display().to_string();
    let dir = phase_dirs::find(&site.planning_in(&place.path), &phase.to_string());
    let own = dir.map(|dir| format!("{planning}/phases/{}", dir.name));
    let head = git.commit_of(&format!("refs/heads/{}", place.branch))?;
    let claim = Claim { phase, attempt, commit, onto, branch: &place.branch };
    let commit = match proof::check(site, &git, &claim, head.as_deref())? {
        Ok(commit) => commit,
        Err(reason) => return Ok(Outcome::Refuted { reason }),
    };
    let job = Merge {
        run_ref: run_ref(site),
        branch_commit: commit,
        message: with_trailers(
            &format!("Merge phase {phase}"),
            &[
                ("Mow-Phase", &phase.to_string()),
                ("Mow-Attempt", &attempt.to_string()),
                ("Mow-Run", site.run.run()),
            ],
        ),
        keep_from_ours: vec![planning],
        own,
        overlay: Vec::new(),
    };
    let merged = merge::merge(&git, &job).map_err(|error| EngineError::Host(error.into()))?;
    let commit = match merged {
        MergeOutcome::Merged { commit, .. } | MergeOutcome::AlreadyMerged { commit, .. } => commit,
        MergeOutcome::Conflict { files } => {
            let files = files.into_iter().map(|file| file.path).collect();
            return Ok(Outcome::Conflict { files });
        }
        MergeOutcome::Moved => {
            let reason = format!("{} was moved by somebody else", run_ref(site));
            return Ok(Outcome::Failed { reason });
        }
    };
    bring_papers(site, phase, &place.path)?;
    let fields = [
        ("merged", json!(true)),
        ("merged_at", json!(now_text())),
        ("last_commit", json!(commit)),
        ("status", json!("merged")),
    ];
    change_manifest(site, &place, &fields)?;
    release(site, phase)?;
    Ok(Outcome::Merged { commit })
}

/// Copies the phase's planning files to the main root, where git does not carry them.
fn bring_papers(site: &Site, phase: &PhaseNumber, worktree: &Path) -> Result<(), EngineError> {
    if crate::worker::commits_docs(site, &site.project.root)? {
        return Ok(());
    }
    let Some(dir) = phase_dirs::find(&site.planning_in(worktree), &phase.to_string()) else {
        return Ok(());
    };
    let target = site.project.planning.join("phases").join(&dir.name);
    let writer = Writer::open(&site.project, WAIT_DEFAULT)?;
    writer.create_dir(&target)?;
    for file in planning_copy::missing_in(&dir.path, &target)? {
        if let Some(parent) = target.join(&file).parent() {
            writer.create_dir(parent)?;
        }
        writer.copy(&dir.path.join(&file), &target.join(&file))?;
    }
    Ok(())
}

/// Lets the branch of the run follow to a commit, as far as git allows without harm.
///
/// Where people have committed to the branch meanwhile, their work is merged first.
pub(super) fn follow(site: &Site, target: &str, commit: &str) -> Result<Outcome, EngineError> {
    let git = Git::new(site.top());
    let theirs = git.commit_of(&format!("refs/heads/{target}"))?;
    let moved = match theirs {
        Some(theirs) if !git.is_ancestor(&theirs, commit)? => Some(theirs),
        _ => None,
    };
    let merged = match moved {
        Some(theirs) if !git.is_ancestor(commit, &theirs)? => {
            match take_in(site, &git, target, &theirs)? {
                Ok(merged) => Some(merged),
                Err(refused) => return Ok(refused),
            }
        }
        _ => None,
    };
    let to = merged.as_deref().unwrap_or(commit);
    Ok(match (follow::follow(site.top(), target, to, &dirty(site, &git)?)?, merged) {
        (Followed::Refused { reason, command_to_finish }, _) => {
            Outcome::Refused { reason, command: command_to_finish }
        }
        (Followed::Updated | Followed::UpToDate, Some(commit)) => Outcome::Merged { commit },
        (Followed::Updated | Followed::UpToDate, None) => Outcome::Done,
    })
}

/// Returns the planning files in the root that are not committed.
fn dirty(site: &Site, git: &Git) -> Result<Vec<String>, EngineError> {
    let planning = site.below_top().join(".planning").display().to_string();
    let args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--"];
    let status = git.run(&[&args[..], &[&planning]].concat())?;
    // Two letters and a blank stand before each name.
    let lines = status.stdout.split(|byte| *byte == 0).filter(|line| line.len() > 3);
    Ok(lines.map(|line| String::from_utf8_lossy(&line[3..]).into_owned()).collect())
}

/// Merges what people have committed to the branch onto the run's ref.
fn take_in(
    site: &Site,
    git: &Git,
    target: &str,
    theirs: &str,
) -> Result<Result<String, Outcome>, EngineError> {
    let job = Merge {
        run_ref: run_ref(site),
        branch_commit: theirs.to_owned(),
        message: with_trailers(
            &format!("Merge what is new on {target}"),
            &[("Mow-Run", site.run.run()), ("Mow-Taken-In", theirs)],
        ),
        keep_from_ours: Vec::new(),
        own: None,
        overlay: Vec::new(),
    };
    let merged = merge::merge(git, &job).map_err(|error| EngineError::Host(error.into()))?;
    let refused = |reason: String| {
        Ok(Err(Outcome::Refused { reason, command: format!("git merge {}", run_ref(site)) }))
    };
    match merged {
        MergeOutcome::Merged { commit, .. } | MergeOutcome::AlreadyMerged { commit, .. } => {
            Ok(Ok(commit))
        }
        MergeOutcome::Conflict { files } => {
            let files: Vec<_> = files.into_iter().map(|file| file.path).collect();
            refused(format!("{target} has commits that conflict in {}", files.join(", ")))
        }
        MergeOutcome::Moved => refused(format!("{} was moved by somebody else", run_ref(site))),
    }
}

/// Returns whether the planning files in the root are those of a branch: it is checked out there, or
/// they are not in git at all.
///
/// Asked often, so that it starts no process in the usual case.
pub(super) fn is_live(site: &Site, target: &str) -> Result<bool, EngineError> {
    Ok(is_checked_out(site, target)? || !crate::worker::commits_docs(site, &site.project.root)?)
}

fn is_checked_out(site: &Site, target: &str) -> Result<bool, EngineError> {
    match disk::read(&site.top().join(".git/HEAD")) {
        Ok(Some(head)) => {
            let head = String::from_utf8_lossy(&head);
            Ok(head.trim().strip_prefix("ref: refs/heads/") == Some(target))
        }
        _ => Ok(Git::new(site.top()).current_branch()?.as_deref() == Some(target)),
    }
}

/// Commits the shared planning files, by their names below the planning directory.
pub(super) fn close(
    site: &Site,
    tip: &str,
    picture: &[(String, Vec<u8>)],
) -> Result<Outcome, EngineError> {
    if !crate::worker::commits_docs(site, &site.project.root)? {
        return Ok(Outcome::Done);
    }
    let git = Git::new(site.top());
    ensure_ref(site, &git, tip)?;
    let planning = site.below_top().join(".planning");
    let named = |(file, bytes): &(String, Vec<u8>)| {
        (planning.join(file).display().to_string(), bytes.clone())
    };
    let overlay: Vec<_> = picture.iter().map(named).collect();
    let message = format!("docs: record run {}", site.run.run());
    let commit = merge::overlay(&git, &run_ref(site), &overlay, &message)
        .map_err(|error| EngineError::Host(error.into()))?;
    Ok(Outcome::Merged { commit })
}

/// Returns the shared planning files as they are in the root, or else in a commit.
pub(super) fn shared(
    site: &Site,
    from: Option<&str>,
) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
    let git = Git::new(site.top());
    let mut files = Vec::new();
    for file in SHARED {
        let bytes = match from {
            None => disk::read(&site.project.planning.join(file))?,
            Some(commit) => git.file_in(commit, &site.below_top().join(".planning").join(file))?,
        };
        files.extend(bytes.map(|bytes| (file.to_owned(), bytes)));
    }
    Ok(files)
}
