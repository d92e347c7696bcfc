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
use crate::EngineError;
use crate::clock::now_text;
use crate::site::Site;

/// The planning files that only the lead writes.
const SHARED: [&str; 3] = ["STATE.md", "ROADMAP.md", "REQUIREMENTS.md"];

/// Returns the ref that a run merges onto.
fn run_ref(site: &Site) -> String {
    format!("refs/mow/run/{}/target", site.run.run())
}

/// Reads where the run began, and for which branch.
fn beginning(site: &Site) -> Result<(String, String), EngineError> {
    let (lead, _) = super::load(&site.run)?;
    Ok((lead.target, lead.tip))
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
    commit: &str,
) -> Result<Outcome, EngineError> {
    let git = Git::new(site.top());
    ensure_ref(site, &git, &beginning(site)?.1)?;
    let place = site.worktree(phase)?;
    let planning = site.below_top().join(".planning").display().to_string();
    let dir = phase_dirs::find(&site.planning_in(&place.path), &phase.to_string());
    let own = dir.map(|dir| format!("{planning}/phases/{}", dir.name));
    let job = Merge {
        run_ref: run_ref(site),
        branch_commit: commit.to_owned(),
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
pub(super) fn follow(site: &Site, commit: &str) -> Result<Outcome, EngineError> {
    let (target, _) = beginning(site)?;
    let planning = site.below_top().join(".planning");
    let shared: Vec<_> =
        SHARED.iter().map(|file| planning.join(file).display().to_string()).collect();
    let followed = follow::follow(site.top(), &target, commit, &shared)?;
    Ok(match followed {
        Followed::Updated | Followed::UpToDate => Outcome::Done,
        Followed::Refused { reason, command_to_finish } => {
            Outcome::Refused { reason, command: command_to_finish }
        }
    })
}

/// Commits the shared planning files as they are now.
pub(super) fn close(site: &Site, tip: &str) -> Result<Outcome, EngineError> {
    if !crate::worker::commits_docs(site, &site.project.root)? {
        return Ok(Outcome::Done);
    }
    let git = Git::new(site.top());
    let (target, _) = beginning(site)?;
    // Where another branch is checked out, the files in the root are not those of the target.
    if git.current_branch()?.as_deref() != Some(target.as_str()) {
        return Ok(Outcome::Done);
    }
    ensure_ref(site, &git, tip)?;
    let planning = site.below_top().join(".planning");
    let mut overlay = Vec::new();
    for file in SHARED {
        if let Some(bytes) = disk::read(&site.project.planning.join(file))? {
            overlay.push((planning.join(file).display().to_string(), bytes));
        }
    }
    let message = format!("docs: record run {}", site.run.run());
    let commit = merge::overlay(&git, &run_ref(site), &overlay, &message)
        .map_err(|error| EngineError::Host(error.into()))?;
    Ok(Outcome::Merged { commit })
}
