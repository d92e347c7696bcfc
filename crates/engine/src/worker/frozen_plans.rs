//! Freezes the plans when the execution of a phase begins, and compares them from then on.
//!
//! The checks, the promises and the declared files of a plan must stay as they were frozen. An
//! attempt that reported its end either left the plans unchanged or failed because of them. So a
//! person made any later difference. After an attempt that just died the author is unknown, and a
//! person is asked.

use mow_core::hash;
use mow_core::worker::{FrozenPlan, Input, Outcome};
use mow_store::disk;
use mow_store::phase_dirs::{self, PhaseFileKind};
use mow_store::plan::{self, Plan};

use super::phase_workspace::PhaseWorkspace;
use super::plan_files::{artifact_ids, plan_file_name, plans_complete_at_base};
use super::text::short;
use super::trusted_state::FrozenPlanFile;
use crate::EngineError;
use crate::git_integrity;

/// The beginning of every reason that says that evidence was changed.
pub(super) const EVIDENCE_ALTERED: &str = "evidence altered";

/// The plans of the phase as they were frozen.
#[derive(Clone, Copy)]
pub(super) struct FrozenPlans<'a> {
    workspace: &'a PhaseWorkspace,
}

impl<'a> FrozenPlans<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace }
    }

    /// Freezes all plans of the phase; fails if they changed since an attempt that died.
    pub(super) fn freeze(&self) -> Result<Outcome, EngineError> {
        let workspace = self.workspace;
        let number = workspace.brief.phase.to_string();
        let plans = self.freeze_files()?;
        let earlier = workspace.earlier_journals()?;
        for evidence in earlier.iter().flat_map(|journal| &journal.evidence) {
            workspace.trusted().accept_evidence(evidence);
        }
        let settings =
            hash::hex(format!("{:?}", git_integrity::load_settings(&workspace.git())?).as_bytes());
        let before = earlier.iter().find_map(|journal| Some((journal.frozen.as_ref()?, journal)));
        if let Some(((old, old_settings), journal)) = before {
            let mut changed = differences(old, &plans);
            if *old_settings != settings {
                changed.push("git's own settings (config, hooks, info/exclude)".to_owned());
            }
            match (changed.first(), &journal.last) {
                (Some(first), None) => {
                    let hint = format!("`mow resume {number}` takes it as it is");
                    let reason = format!("{EVIDENCE_ALTERED}: {first}; {hint}");
                    return Ok(Outcome::Failed { reason });
                }
                (Some(_), Some(_)) => {
                    let changed = changed.join("; ");
                    let text = format!("accepted, because a person changed it: {changed}");
                    workspace.send(Input::Noted { text });
                }
                (None, _) => {}
            }
        }
        if let Some(first) = workspace.sealed_commits()?.forged.first() {
            let first = short(first);
            let text = format!("ignored the mark of commit {first}: no worker made it");
            workspace.send(Input::Noted { text });
        }
        failpoint::reach("plans.frozen");
        Ok(Outcome::Frozen { plans, settings })
    }

    /// Reads all plan files into the trusted state.
    fn freeze_files(&self) -> Result<Vec<FrozenPlan>, EngineError> {
        let workspace = self.workspace;
        let number = workspace.brief.phase.to_string();
        let dir = phase_dirs::find(&workspace.project.planning, &number);
        let all: Vec<_> =
            dir.iter().flat_map(|dir| artifact_ids(dir, PhaseFileKind::Plan)).collect();
        let has_summary =
            |id: &&String| workspace.phase_dir().join(PhaseFileKind::Summary.file(id)).exists();
        let with_summary: Vec<_> = all.iter().filter(has_summary).cloned().collect();
        let complete_at_base = plans_complete_at_base(workspace, &with_summary)?;
        let mut plans = Vec::new();
        for id in all {
            let file = workspace.phase_dir().join(plan_file_name(&id));
            let bytes = disk::read(&file)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let (hash, older) = (hash::hex(&bytes), complete_at_base.contains(&id));
            let frozen = FrozenPlanFile { plan: plan::parse(&bytes), bytes };
            workspace.trusted().plans.insert(id.clone(), frozen);
            plans.push(FrozenPlan { id, hash, text, older });
        }
        Ok(plans)
    }

    /// Returns a plan as it was frozen.
    pub(super) fn plan(&self, id: &str) -> Result<Plan, EngineError> {
        let plan = self.workspace.trusted().plans.get(id).map(|frozen| frozen.plan.clone());
        let missing = || EngineError::refused(format!("there is no plan {id}"), "mow resume");
        plan.ok_or_else(missing)
    }

    /// Returns the first plan whose file was altered since the freeze, and the difference.
    pub(super) fn altered(&self) -> Result<Option<String>, EngineError> {
        let plans = self.workspace.trusted().plans.clone();
        for (id, frozen) in plans {
            let now = disk::read(&self.workspace.phase_dir().join(plan_file_name(&id)))?;
            let difference = match &now {
                Some(now) if *now == frozen.bytes => continue,
                Some(now) => frozen.plan.changed_evidence(&plan::parse(now)),
                None => Some("it is gone".to_owned()),
            };
            if let Some(difference) = difference {
                let file = plan_file_name(&id);
                return Ok(Some(format!("{EVIDENCE_ALTERED}: {file}: {difference}")));
            }
        }
        Ok(None)
    }

    /// Writes the frozen contents back to every plan file that differs.
    pub(super) fn restore(&self) -> Result<(), EngineError> {
        let plans = self.workspace.trusted().plans.clone();
        for (id, frozen) in plans {
            let file = plan_file_name(&id);
            let now = disk::read(&self.workspace.phase_dir().join(&file))?;
            if now.as_ref() != Some(&frozen.bytes) {
                self.workspace.write_phase_file(&file, &frozen.bytes)?;
            }
        }
        Ok(())
    }
}

/// Returns how the plans differ from those that an earlier attempt froze.
fn differences(before: &[FrozenPlan], now: &[FrozenPlan]) -> Vec<String> {
    let mut differences = Vec::new();
    for old in before {
        let difference = match now.iter().find(|new| new.id == old.id) {
            Some(new) if new.hash == old.hash => None,
            Some(new) => {
                let [old, new] = [old, new].map(|plan| plan::parse(plan.text.as_bytes()));
                old.changed_evidence(&new)
            }
            None => Some("it is gone".to_owned()),
        };
        let difference = difference.map(|text| format!("{}: {text}", plan_file_name(&old.id)));
        differences.extend(difference);
    }
    differences
}
