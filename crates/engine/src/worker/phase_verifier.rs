//! Verifies a phase without an agent: runs every check and tests every promise of the plans on the
//! last commit.

use mow_core::worker::{Outcome, Verdict};
use mow_store::phase_documents::{self, VerificationCheck};
use mow_store::plan::Plan;

use super::change_review::ChangeReview;
use super::evidence::{CheckList, EvidenceChecker};
use super::leftovers::set_aside_changes;
use super::phase_survey::PhaseSurvey;
use super::phase_workspace::PhaseWorkspace;
use super::shell_blocks::check_commands;
use super::text::one_line;
use crate::EngineError;
use crate::clock::now_text;

/// What the plans promise: what was checked, and what no command can check.
struct Promises {
    checked: Vec<VerificationCheck>,
    unproven: Vec<String>,
}

/// Checks all that the plans promise.
#[derive(Clone, Copy)]
pub(super) struct PhaseVerifier<'a> {
    workspace: &'a PhaseWorkspace,
    evidence: EvidenceChecker<'a>,
}

impl<'a> PhaseVerifier<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace, evidence: EvidenceChecker::new(workspace) }
    }

    /// Checks all that the plans promise on the last commit, and writes VERIFICATION.md.
    pub(super) fn verify(&self) -> Result<Outcome, EngineError> {
        set_aside_changes(self.workspace, "verify", &[])?;
        let Some(promises) = self.check_promises()? else { return Ok(Outcome::Interrupted) };
        self.write_verification(&promises)?;
        Ok(Outcome::Verdict { verdict: verdict(&promises.checked) })
    }

    /// Checks all that the plans promise on the last commit, and writes nothing.
    pub(super) fn own_verdict(&self) -> Result<Outcome, EngineError> {
        let Some(promises) = self.check_promises()? else { return Ok(Outcome::Interrupted) };
        Ok(Outcome::Verdict { verdict: verdict(&promises.checked) })
    }

    /// Checks all that the plans promise on the last commit; `None` if the effect was stopped.
    fn check_promises(&self) -> Result<Option<Promises>, EngineError> {
        let workspace = self.workspace;
        let plans: Vec<_> =
            workspace.trusted().plans.values().map(|frozen| frozen.plan.clone()).collect();
        let mut commands: Vec<String> = Vec::new();
        for check in plans.iter().flat_map(|plan| &plan.tasks).flat_map(check_commands) {
            if !commands.contains(&check) {
                commands.push(check);
            }
        }
        let (commands_to_run, label) = (&commands[..], "verify");
        let list = CheckList {
            commands: commands_to_run,
            label,
            task: None,
            env: &[],
            fresh_reason: None,
        };
        let results = self.evidence.run_all(&list, false)?;
        if workspace.stop.is_stopped() {
            return Ok(None);
        }
        let evidence = workspace.trusted().newest_evidence(&commands);
        let mut checked: Vec<_> = results
            .into_iter()
            .map(|(what, gap)| {
                let evidence = evidence.iter().find(|one| one.command == what).cloned();
                VerificationCheck { what, gap, evidence }
            })
            .collect();
        for plan in &plans {
            self.check_files(plan, &mut checked);
        }
        let mut unproven: Vec<_> =
            plans.iter().flat_map(|plan| plan.must_haves.truths.clone()).collect();
        unproven.extend(self.tasks_without_check());
        Ok(Some(Promises { checked, unproven }))
    }

    /// Names the tasks that have no command that checks them.
    fn tasks_without_check(&self) -> Vec<String> {
        let trusted = self.workspace.trusted();
        let tasks = trusted.plans.iter().flat_map(|(id, frozen)| {
            frozen.plan.tasks.iter().zip(1..).map(move |(task, n)| (id, n, task))
        });
        let without = tasks.filter(|(_, _, task)| check_commands(task).is_empty());
        let named = without.map(|(id, n, task)| {
            format!("plan {id}, task {n} names no command that checks it: {}", task.name)
        });
        named.collect()
    }

    /// Checks what a plan promises about files: artifacts, and links between them.
    fn check_files(&self, plan: &Plan, checked: &mut Vec<VerificationCheck>) {
        let broken = ChangeReview::new(self.workspace).broken_promises(plan);
        let mut names: Vec<_> = plan.must_haves.artifacts.iter().map(|a| a.path.clone()).collect();
        let links = plan.must_haves.key_links.iter().filter(|link| link.has_endpoints());
        names.extend(links.map(|link| format!("{} -> {}", link.from, link.to)));
        for name in names {
            let gap = broken.iter().find(|(what, _)| *what == name).map(|(_, issue)| issue.clone());
            checked.push(VerificationCheck {
                what: format!("{name} is there"),
                gap,
                evidence: None,
            });
        }
    }

    fn write_verification(&self, promises: &Promises) -> Result<(), EngineError> {
        let workspace = self.workspace;
        let goal = PhaseSurvey::new(workspace).survey()?.goal;
        let (now, number) = (now_text(), workspace.brief.phase.to_string());
        let header = workspace.document_header(&number, &goal, &now);
        let Promises { checked, unproven } = promises;
        let text =
            phase_documents::render_verification(&header, &workspace.head()?, checked, unproven);
        let text = text?;
        let name = format!("{}-VERIFICATION.md", workspace.file_prefix());
        workspace.write_phase_file(&name, &text)?;
        failpoint::reach("verification.written");
        Ok(())
    }
}

fn verdict(checked: &[VerificationCheck]) -> Verdict {
    let gaps: Vec<_> = checked.iter().filter(|check| check.gap.is_some()).collect();
    match gaps.first() {
        None => Verdict::Passed,
        Some(first) => Verdict::Gaps {
            text: format!(
                "{} of {} checks do not hold, first: {} ({})",
                gaps.len(),
                checked.len(),
                one_line(&first.what),
                first.gap.as_deref().unwrap_or_default(),
            ),
        },
    }
}
