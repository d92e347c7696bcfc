//! Renders the first planning files of a new project from templates.
//!
//! Returns texts; the caller writes the files that do not exist yet. The tests prove that the
//! parsers of this crate understand them.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use serde_json::json;

/// The facts of a new project. Every text is one line.
#[derive(Clone, Debug)]
pub struct NewProjectFiles<'a> {
    /// The project's name.
    pub name: &'a str,
    /// The project's goal.
    pub goal: &'a str,
    /// The names of the phases, in order; at least one.
    pub phases: &'a [String],
    /// The index of the first open phase, counted from 0.
    pub current: usize,
    /// The current date, `YYYY-MM-DD`.
    pub date: &'a str,
}

/// The names of the files that [`NewProjectFiles::files`] returns, in the same order.
pub const FILES: [&str; 5] =
    ["PROJECT.md", "REQUIREMENTS.md", "ROADMAP.md", "STATE.md", "config.json"];

impl NewProjectFiles<'_> {
    /// Returns each file's name, relative to `.planning/`, and its text.
    pub fn files(&self) -> Vec<(&'static str, String)> {
        let texts = [
            self.fill(include_str!("../templates/PROJECT.md")),
            self.fill(include_str!("../templates/REQUIREMENTS.md")),
            self.fill(include_str!("../templates/ROADMAP.md")),
            self.fill(include_str!("../templates/STATE.md")),
            config(),
        ];
        FILES.into_iter().zip(texts).collect()
    }

    /// Returns the directories of the phases, relative to `.planning/`.
    pub fn phase_dirs(&self) -> Vec<String> {
        let dirs = self.phases.iter().zip(1..).map(|(name, number)| {
            let (number, slug) = (PhaseNumber::whole(number).padded(), slug(name));
            // A name without a single Latin letter or digit has no slug.
            let slug = if slug.is_empty() { "phase".to_owned() } else { slug };
            format!("phases/{number}-{slug}")
        });
        dirs.collect()
    }

    /// Fills in a template in one pass, so that a value is never read as a placeholder.
    fn fill(&self, template: &str) -> String {
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (key, after) = after.split_once('}').expect("placeholders are closed");
            text.push_str(before);
            text.push_str(&self.value(key));
            rest = after;
        }
        text + rest
    }

    fn value(&self, key: &str) -> String {
        let current = self.phases.get(self.current).map_or("", String::as_str);
        let number = self.current + 1;
        match key {
            "name" => self.name.to_owned(),
            "goal" => self.goal.to_owned(),
            "date" => self.date.to_owned(),
            "phase" => number.to_string(),
            "total" => self.phases.len().to_string(),
            "phase_name" => current.to_owned(),
            "focus" => format!("Phase {number}: {current}"),
            "checklist" => self.each_phase("\n", |n, name| format!("- [ ] **Phase {n}: {name}**")),
            "details" => self.each_phase("\n\n", section),
            "progress" => self.each_phase("\n", |n, name| {
                format!("| {n}. {} | 0/0 | Not started |  |", cell(name))
            }),
            _ => unreachable!("the templates hold no other placeholder"),
        }
    }

    fn each_phase(&self, between: &str, line: impl Fn(usize, &str) -> String) -> String {
        let lines: Vec<_> =
            (1..).zip(self.phases).map(|(number, name)| line(number, name)).collect();
        lines.join(between)
    }
}

/// Returns the roadmap section of a phase. Each phase depends on the one before it.
fn section(number: usize, name: &str) -> String {
    let depends = match number {
        1 => "Nothing (first phase)".to_owned(),
        _ => format!("Phase {}", number - 1),
    };
    let mut text = format!("### Phase {number}: {name}\n\n");
    let _ = write!(
        text,
        "**Goal:** to be written\n**Depends on:** {depends}\n**Requirements:** none named yet\n\
         **Success Criteria** (what must be true):\n  1. to be written\n**Plans:** 0 plans\n\n\
         Plans:\n- [ ] TBD"
    );
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Returns `config.json` with the usual settings; the other settings have their defaults.
fn config() -> String {
    let config = json!({
        "model_profile": "balanced",
        "commit_docs": true,
        "search_gitignored": false,
        "branching_strategy": "none",
        "phase_branch_template": "mow/phase-{phase}-{slug}",
        "milestone_branch_template": "mow/{milestone}-{slug}",
        "workflow": { "research": true, "plan_check": true, "verifier": true },
        "parallelization": true,
        "brave_search": false,
    });
    serde_json::to_string_pretty(&config).expect("plain values can be printed")
}
