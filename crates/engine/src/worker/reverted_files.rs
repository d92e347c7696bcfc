//! Restores files that were committed for one of several parallel plans and that another agent's
//! own commit has reverted.
//!
//! The agent need not intend it: git reads the index before it locks it. An index that has just
//! become stale lacks the files committed for another plan in the meantime. Everything here is
//! read from the branch before the plan is checked, so it does not matter which worker ran the
//! plan.

use std::collections::BTreeMap;
use std::slice;

use mow_core::file_scope;
use mow_core::worker::Input;
use mow_host::commit;
use mow_host::tamper_detection::branch_moves;

use super::change_review::ChangeReview;
use super::frozen_plans::FrozenPlans;
use super::parallel_plans::declared_files;
use super::phase_commits::PhaseCommits;
use super::phase_workspace::PhaseWorkspace;
use super::repository_guard::AGENT_REFLOG_PREFIX;
use super::text::{list_names, short};
use crate::EngineError;
use crate::sealed_commits::SealedCommits;

/// Restores the files of a plan that is done but unchecked to their state after its last task,
/// with one more commit. Later changes by people stay.
pub(super) fn restore_reverted_files(
    workspace: &PhaseWorkspace,
    plan: &str,
) -> Result<(), EngineError> {
    let sealed = workspace.sealed_commits()?;
    let last = FrozenPlans::new(workspace).plan(plan)?.tasks.len();
    let Some(last_task) = sealed.tasks.get(&(plan.to_owned(), last)) else { return Ok(()) };
    let files = declared_files(workspace, plan)?;
    let changed = ChangeReview::new(workspace).changed_since(last_task)?;
    let is_own = |path: &String| file_scope::covers_all(&files, slice::from_ref(path));
    let changed: Vec<_> = changed.into_iter().map(|file| file.path).filter(is_own).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let reverted = reverted_by_agents(workspace, changed, &sealed, last_task)?;
    let Some((_, by)) = reverted.first() else { return Ok(()) };
    let by = short(by);
    let list: Vec<u8> =
        reverted.iter().flat_map(|(path, _)| format!("{path}\0").into_bytes()).collect();
    let subject = format!("restore({plan}): files that {by} reverted");
    let trailers = PhaseCommits::new(workspace).trailers(None)?;
    let trailers: Vec<_> = trailers.iter().map(|(key, value)| (*key, &**value)).collect();
    let commit = commit::revert_files(&workspace.git(), last_task, &list, &subject, &trailers)?;
    workspace.trusted().note_commit(None, &commit);
    failpoint::reach("beside.restored");
    let names = list_names(reverted.iter().map(|(path, _)| path.as_str()));
    let text = format!("{by} reverted {names}, committed for plan {plan}; mow restored it");
    workspace.send(Input::Noted { text });
    Ok(())
}

/// Returns each file whose last change after a commit was made by an agent's own commit, with that
/// commit.
fn reverted_by_agents(
    workspace: &PhaseWorkspace,
    files: Vec<String>,
    sealed: &SealedCommits,
    after: &str,
) -> Result<Vec<(String, String)>, EngineError> {
    let mut last_change: BTreeMap<&str, &str> = BTreeMap::new();
    // Merge commits list no changes here. Agents did not make what was merged.
    for one in sealed.history.commits.iter().take_while(|one| one.commit != after) {
        for change in &one.changes {
            last_change.entry(&change.path).or_insert(&one.commit);
        }
    }
    let moves = branch_moves(&workspace.git(), &workspace.branch)?;
    // A person's git commands write reflog messages without the agents' prefix.
    let is_by_people = |commit: &str| {
        let mut messages = moves.iter().filter(|(to, _)| to == commit).map(|(_, message)| message);
        messages.any(|text| !text.is_empty() && !text.starts_with(AGENT_REFLOG_PREFIX))
    };
    let by_agent = |path: String| {
        let by = (*last_change.get(path.as_str())?).to_owned();
        let is_other = sealed.commits.contains(&by) || is_by_people(&by);
        (!is_other).then_some((path, by))
    };
    Ok(files.into_iter().filter_map(by_agent).collect())
}
