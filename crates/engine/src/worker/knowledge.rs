//! Keeps what agents decided and deferred: first in the journal, then in the phase's documents.
//!
//! A report is on disk before its task is committed. The documents are written from the journals
//! of all attempts, so a crash between a task and the summary of its plan loses nothing.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use mow_core::agent_answer::TaskReport;
use mow_core::worker::Input;
use mow_core::worker::task_knowledge::{TaskKnowledge, add_new_texts};
use mow_store::phase_documents::deferred_items;
use mow_store::{disk, status};

use super::phase_documents::PhaseDocuments;
use super::phase_workspace::PhaseWorkspace;
use super::task_runner::TaskId;
use super::text::one_line;
use crate::EngineError;
use crate::sealed_commits::AttemptJournal;

/// What the agents of one plan reported, each text once.
#[derive(Clone, Debug, Default)]
pub(super) struct PlanKnowledge {
    /// The last summary of each task, in the order of the tasks.
    pub(super) summaries: Vec<String>,
    pub(super) decisions: Vec<String>,
    pub(super) deferred: Vec<String>,
    pub(super) patterns: Vec<String>,
}

/// What the agents of the phase reported, in all attempts.
#[derive(Clone, Copy)]
pub(super) struct PhaseKnowledge<'a> {
    workspace: &'a PhaseWorkspace,
}

impl<'a> PhaseKnowledge<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace }
    }

    /// Records the report of a task's agent, and waits until it is on disk.
    pub(super) fn record(
        &self,
        (plan, task): TaskId<'_>,
        report: &TaskReport,
    ) -> Result<(), EngineError> {
        let lines = |texts: &[String]| texts.iter().map(|text| item_text(text)).collect::<Vec<_>>();
        let knowledge = TaskKnowledge {
            plan: plan.to_owned(),
            task,
            summary: one_line(&report.summary),
            decisions: lines(&report.decisions),
            deferred: lines(&report.deferred),
            patterns: lines(&report.patterns),
        };
        for decision in &knowledge.decisions {
            self.workspace.note(&format!("plan {plan}, task {task}: decided: {decision}"));
        }
        for deferred in &knowledge.deferred {
            self.workspace.note(&format!("plan {plan}, task {task}: left for later: {deferred}"));
        }
        self.workspace.record(Input::TaskReported(knowledge.clone()))?;
        self.workspace.trusted().note_knowledge(&knowledge);
        Ok(())
    }

    /// Loads the reports of all attempts. Attempts of earlier runs count if they made commits.
    fn load(&self) -> Result<Vec<TaskKnowledge>, EngineError> {
        let workspace = self.workspace;
        // This loads the journals of the attempts that the commits name.
        workspace.sealed_commits()?;
        let (run, phase) = (&workspace.ctx.run, &workspace.brief.phase);
        let mut trusted = workspace.trusted();
        for attempt in 1..workspace.brief.attempt {
            let key = (run.run().to_owned(), attempt);
            if let Entry::Vacant(missing) = trusted.journals.entry(key) {
                missing.insert(AttemptJournal::load(run, phase, attempt)?);
            }
        }
        Ok(trusted.journals.values().flat_map(|journal| &journal.knowledge).cloned().collect())
    }

    /// Returns what the agents of a plan reported.
    pub(super) fn of_plan(&self, id: &str) -> Result<PlanKnowledge, EngineError> {
        let all = self.load()?;
        Ok(plan_knowledge(all.iter().filter(|report| report.plan == id)))
    }

    /// Returns the decisions of all plans.
    pub(super) fn decisions(&self) -> Result<Vec<String>, EngineError> {
        Ok(plan_knowledge(self.load()?.iter()).decisions)
    }

    /// Adds the decisions to STATUS.md and the deferred items to `deferred-items.md`.
    ///
    /// Texts that the files have already are not added again.
    pub(super) fn write_documents(&self) -> Result<(), EngineError> {
        let all = self.load()?;
        let has_decisions = all.iter().any(|report| !report.decisions.is_empty());
        if has_decisions {
            let documents = PhaseDocuments::new(self.workspace);
            documents.change_status(|old| Some(with_decisions(old, &all)))?;
            failpoint::reach("knowledge.status");
        }
        if all.iter().any(|report| !report.deferred.is_empty()) {
            let path = self.workspace.phase_dir().join(deferred_items::FILE);
            disk::update(&self.workspace.project, &path, |old| {
                let old = old.unwrap_or_default();
                let new = all.iter().fold(old.to_vec(), |bytes, report| {
                    deferred_items::add(&bytes, &report.plan, &report.deferred)
                });
                Ok::<_, EngineError>((new != old).then_some(new))
            })?;
            failpoint::reach("knowledge.deferred");
        }
        Ok(())
    }
}

/// Puts a text on one line that cannot begin a code block in a list.
fn item_text(text: &str) -> String {
    let line = one_line(text);
    let is_fence = line.starts_with("```") || line.starts_with("~~~");
    if is_fence { line.trim_start_matches(['`', '~']).trim_start().to_owned() } else { line }
}

/// Joins the reports of several tasks and tries.
fn plan_knowledge<'a>(reports: impl Iterator<Item = &'a TaskKnowledge>) -> PlanKnowledge {
    let mut plan = PlanKnowledge::default();
    let mut summaries = BTreeMap::new();
    for report in reports {
        summaries.insert(report.task, report.summary.clone());
        add_new_texts(&mut plan.decisions, &report.decisions);
        add_new_texts(&mut plan.deferred, &report.deferred);
        add_new_texts(&mut plan.patterns, &report.patterns);
    }
    plan.summaries = summaries.into_values().filter(|text| !text.is_empty()).collect();
    plan
}

/// Adds the decisions that a STATUS.md does not have yet.
fn with_decisions(old: &[u8], reports: &[TaskKnowledge]) -> Vec<u8> {
    let mut known = status::parse(old).decisions;
    let mut bytes = old.to_vec();
    for report in reports {
        for decision in &report.decisions {
            let text = format!("Plan {}: {decision}", report.plan);
            if !known.contains(&text) {
                bytes = status::add_decision(&bytes, &text).unwrap_or(bytes);
                known.push(text);
            }
        }
    }
    bytes
}
