//! Takes the plans as they are when a phase begins to be carried out, and keeps to that.
//!
//! What proves a plan (its checks, its promises, the files it may change) is compared from then on.
//! An attempt that said its last word left the plans as they were, or failed over them: whatever is
//! different after it, a person has changed. After one that just died nobody knows, and a person is
//! asked.

use mow_core::hash;
use mow_core::worker::{FrozenPlan, Input, Outcome};
use mow_store::disk;
use mow_store::phase_dirs::{self, Artifact};
use mow_store::plan::{self, Plan};

use super::custody::short;
use super::desk::Desk;
use super::look::{ids, plan_file};
use super::trust::Frozen;
use crate::EngineError;
use crate::custody;

/// What the reason begins with when something that proves a plan was changed.
pub(super) const ALTERED: &str = "evidence altered";

impl Desk {
    /// Freezes all plans of the phase.
    pub(super) fn freeze(&self) -> Result<Outcome, EngineError> {
        let number = self.brief.phase.to_string();
        let dir = phase_dirs::find(&self.project.planning, &number);
        let all: Vec<_> = dir.iter().flat_map(|dir| ids(dir, Artifact::Plan)).collect();
        let has_summary = |id: &&String| self.phase_dir().join(Artifact::Summary.file(id)).exists();
        let older =
            self.older_plans(&all.iter().filter(has_summary).cloned().collect::<Vec<_>>())?;
        let mut plans = Vec::new();
        for id in all {
            let bytes = disk::read(&self.phase_dir().join(plan_file(&id)))?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let (hash, older) = (hash::hex(&bytes), older.contains(&id));
            let frozen = Frozen { plan: plan::parse(&bytes), bytes };
            self.trust().plans.insert(id.clone(), frozen);
            plans.push(FrozenPlan { id, hash, text, older });
        }
        let earlier = self.earlier()?;
        for evidence in earlier.iter().flat_map(|ledger| &ledger.evidence) {
            self.believe(evidence);
        }
        let settings = hash::hex(format!("{:?}", custody::settings(&self.git())?).as_bytes());
        let before = earlier.iter().find_map(|ledger| Some((ledger.frozen.as_ref()?, ledger)));
        if let Some(((old, old_settings), ledger)) = before {
            let mut changed = changed(old, &plans);
            if *old_settings != settings {
                changed.push("git's own settings (config, hooks, info/exclude)".to_owned());
            }
            match (changed.first(), &ledger.last) {
                (Some(what), None) => {
                    let hint = format!("`mow resume {number}` takes it as it is");
                    return Ok(Outcome::Failed { reason: format!("{ALTERED}: {what}; {hint}") });
                }
                (Some(_), Some(_)) => {
                    let text = format!("taken as a person changed it: {}", changed.join("; "));
                    self.tell(Input::Noted { text });
                }
                (None, _) => {}
            }
        }
        if let Some(first) = self.marks()?.forged.first() {
            let text =
                format!("{} has a mark that no worker made; it does not count", short(first));
            self.tell(Input::Noted { text });
        }
        failpoint::reach("plans.frozen");
        Ok(Outcome::Frozen { plans, settings })
    }

    /// Returns a plan as it was frozen.
    pub(super) fn frozen(&self, id: &str) -> Result<Plan, EngineError> {
        let plan = self.trust().plans.get(id).map(|frozen| frozen.plan.clone());
        let gone = || EngineError::refused(format!("there is no plan {id}"), "mow resume");
        plan.ok_or_else(gone)
    }

    /// Returns the first plan that is not what it was, and what is different.
    pub(super) fn altered_plan(&self) -> Result<Option<String>, EngineError> {
        let plans = self.trust().plans.clone();
        for (id, frozen) in plans {
            let now = disk::read(&self.phase_dir().join(plan_file(&id)))?;
            let what = match &now {
                Some(now) if *now == frozen.bytes => continue,
                Some(now) => frozen.plan.altered(&plan::parse(now)),
                None => Some("it is gone".to_owned()),
            };
            if let Some(what) = what {
                return Ok(Some(format!("{ALTERED}: {}: {what}", plan_file(&id))));
            }
        }
        Ok(None)
    }

    /// Writes plans back that somebody changed.
    pub(super) fn restore_plans(&self) -> Result<(), EngineError> {
        let plans = self.trust().plans.clone();
        for (id, frozen) in plans {
            let file = plan_file(&id);
            if disk::read(&self.phase_dir().join(&file))?.as_ref() != Some(&frozen.bytes) {
                self.write(&file, &frozen.bytes)?;
            }
        }
        Ok(())
    }
}

/// Returns what differs between plans as they were frozen before and as they are now.
fn changed(before: &[FrozenPlan], now: &[FrozenPlan]) -> Vec<String> {
    let mut changed = Vec::new();
    for old in before {
        let what = match now.iter().find(|new| new.id == old.id) {
            Some(new) if new.hash == old.hash => None,
            Some(new) => {
                let [old, new] = [old, new].map(|plan| plan::parse(plan.text.as_bytes()));
                old.altered(&new)
            }
            None => Some("it is gone".to_owned()),
        };
        changed.extend(what.map(|what| format!("{}: {what}", plan_file(&old.id))));
    }
    changed
}
