//! A generated planned project of any size: roadmap, state, phase folders with eight plans each.

use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const PLANS: usize = 8;

pub(super) struct BenchProject {
    pub(super) root: PathBuf,
    state: String,
}

impl BenchProject {
    /// Writes the project, the first phases of it at work; one that a broken-off run left at the
    /// same place is replaced.
    pub(super) fn generate(root: &Path, phases: usize, active: usize) -> Result<Self> {
        if root.exists() {
            fs::remove_dir_all(root).with_context(|| format!("cannot clear {}", root.display()))?;
        }
        let planning = root.join(".planning");
        for phase in 1..=phases {
            write_phase(&planning.join(format!("phases/{phase:04}-step")), phase, phases)?;
        }
        save(&planning.join("ROADMAP.md"), &roadmap(phases))?;
        save(&planning.join("config.json"), "{}")?;
        let project = Self { root: root.to_path_buf(), state: state(phases, active) };
        project.restore()?;
        Ok(project)
    }

    /// Puts STATE.md back, so that every run of a writing command meets the same file.
    pub(super) fn restore(&self) -> Result<()> {
        let path = self.root.join(".planning/STATE.md");
        // An unchanged file is left alone: rewriting it would leave dirty pages for the next run.
        if fs::read_to_string(&path).is_ok_and(|found| found == self.state) {
            return Ok(());
        }
        save(&path, &self.state)
    }
}

fn save(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The first half of the phases is complete, the next tenth has some summaries.
fn summaries(phase: usize, phases: usize) -> usize {
    if phase * 2 <= phases {
        PLANS
    } else if phase * 10 <= phases * 6 {
        phase % PLANS
    } else {
        0
    }
}

fn write_phase(folder: &Path, phase: usize, phases: usize) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut rows = String::new();
    for plan in 1..=PLANS {
        let id = format!("{phase:04}-{plan:02}");
        save(&folder.join(format!("{id}-PLAN.md")), &plan_text(phase, plan))?;
        if plan <= summaries(phase, phases) {
            let summary = format!("---\nphase: {phase}\nplan: {plan}\n---\n\n# Summary\n\nDone.\n");
            save(&folder.join(format!("{id}-SUMMARY.md")), &summary)?;
        }
        writeln!(rows, "| {id} | not started | -- | -- | -- | 0/2 |")?;
    }
    let status = format!(
        "# Phase {phase:04}: Step {phase} -- Status\n\n**Phase:** {phase:04}\n\
         **Status:** not started\n**Worker:** --\n**Worktree:** --\n**Started:** --\n\
         **Last update:** --\n**Blocker mode:** skip\n\n## Plan Progress\n\n\
         | Plan | Status | Started | Duration | Commit | Tasks |\n\
         |------|--------|---------|----------|--------|-------|\n{rows}\n## Aggregate\n\n\
         **Plans:** 0 complete, 0 in progress, {PLANS} not started, 0 failed\n\
         **Commits:** --\n\n## Blockers\n\nNone.\n\n## Decisions\n\nNone.\n\n## Context\n\nNone.\n"
    );
    save(&folder.join(format!("{phase:04}-STATUS.md")), &status)
}

fn plan_text(phase: usize, plan: usize) -> String {
    format!(
        "---\nphase: {phase:04}-step\nplan: {plan}\ntype: execute\nwave: {plan}\ndepends_on: []\n\
         files_modified:\n  - src/step_{phase}_{plan}.rs\nautonomous: true\nmust_haves:\n  \
         truths:\n    - \"step {phase} works\"\n---\n\n<objective>Take step {plan}.</objective>\n\n\
         <task type=\"auto\"><name>Step</name><action>Walk.</action></task>\n"
    )
}

fn roadmap(phases: usize) -> String {
    let mut checklist = String::new();
    let mut sections = String::new();
    let mut rows = String::new();
    for phase in 1..=phases {
        let done = summaries(phase, phases);
        let complete = done == PLANS;
        let tick = if complete { 'x' } else { ' ' };
        let word = if complete { "Complete" } else { "Not started" };
        // Three lanes side by side: each phase needs the one three before it.
        let needs = match phase.checked_sub(3) {
            None | Some(0) => "Nothing".to_owned(),
            Some(before) => format!("Phase {before}"),
        };
        writeln!(checklist, "- [{tick}] **Phase {phase}: Step {phase}** - One more step")
            .expect("a String grows");
        writeln!(
            sections,
            "### Phase {phase}: Step {phase}\n\n**Goal**: The walker stands one step further.\n\
             **Depends on**: {needs}\n**Plans**: {done}/{PLANS} plans executed\n"
        )
        .expect("a String grows");
        writeln!(rows, "| {phase}. Step {phase} | {done}/{PLANS} | {word} | - |")
            .expect("a String grows");
    }
    format!(
        "# Roadmap: A long walk\n\n## Phases\n\n{checklist}\n## Phase Details\n\n{sections}\
         ## Progress\n\n| Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n{rows}"
    )
}

fn state(phases: usize, active: usize) -> String {
    let mut table = String::new();
    if active > 0 {
        table.push_str(
            "## Active Phases\n\n| Phase | Name | Status | Worker | Plans | Last Update |\n\
             |---|---|---|---|---|---|\n",
        );
    }
    for phase in 1..=active {
        writeln!(table, "| {phase:04} | Step {phase} | executing | -- | 0/{PLANS} | -- |")
            .expect("a String grows");
    }
    format!(
        "# BenchProject State\n\n## BenchProject Reference\n\nSee: .planning/PROJECT.md\n\n\
         ## Current Position\n\nPhase: 1 of {phases} (Step 1)\nPlan: 1 of {PLANS} in current phase\n\
         Status: Ready to execute\nLast activity: 2026-01-01 — planned\n\
         Progress: [░░░░░░░░░░] 0%\n\n{table}\n## Accumulated Context\n\n### Decisions\n\nNone yet.\n\n\
         ### Blockers/Concerns\n\nNone yet.\n\n## Session Continuity\n\n\
         Last session: 2026-01-01\nStopped at: nothing\nResume file: None\n"
    )
}
