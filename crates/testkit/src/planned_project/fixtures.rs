//! Builders for phases, plans and tasks, and the planning files that they render to.

use std::path::Path;

/// A phase of the test roadmap.
#[derive(Clone, Debug)]
pub struct PhaseFixture {
    number: String,
    depends_on: Vec<String>,
    plans: Vec<PlanFixture>,
    context: bool,
    details: String,
}

/// A plan of a test phase.
#[derive(Clone, Debug)]
pub struct PlanFixture {
    wave: u32,
    files: Vec<String>,
    tasks: Vec<TaskFixture>,
    text: Option<String>,
}

/// A task of a test plan.
#[derive(Clone, Debug)]
pub struct TaskFixture {
    script: String,
    check: String,
    kind: String,
}

/// Creates a phase without plans that depends on other phases.
pub fn phase(number: &str, depends_on: &[&str]) -> PhaseFixture {
    let depends_on = depends_on.iter().map(|number| (*number).to_owned()).collect();
    let (number, details) = (number.to_owned(), String::new());
    PhaseFixture { number, depends_on, plans: Vec::new(), context: true, details }
}

impl PhaseFixture {
    /// Adds a plan.
    #[must_use]
    pub fn with(mut self, plan: PlanFixture) -> Self {
        self.plans.push(plan);
        self
    }

    /// Leaves out the CONTEXT.md file, so that the phase needs a discussion.
    #[must_use]
    pub fn without_context(self) -> Self {
        Self { context: false, ..self }
    }

    /// Adds lines to its section of the roadmap.
    #[must_use]
    pub fn details(self, lines: &str) -> Self {
        Self { details: format!("{lines}\n"), ..self }
    }

    /// The name in the roadmap.
    pub fn name(&self) -> String {
        format!("Field {}", self.number)
    }

    fn padded(&self) -> String {
        let (whole, rest) = self.number.split_once('.').unwrap_or((&self.number, ""));
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{whole:0>2}{dot}{rest}")
    }

    fn dir(&self) -> String {
        format!(".planning/phases/{}-field-{}", self.padded(), self.number.replace('.', "-"))
    }

    /// The section in the roadmap.
    pub fn section(&self) -> String {
        let on: Vec<_> = self.depends_on.iter().map(|number| format!("Phase {number}")).collect();
        let on = if on.is_empty() { "Nothing".to_owned() } else { on.join(", ") };
        let Self { number, details, .. } = self;
        format!(
            "### Phase {number}: {}\n\n**Goal**: Field {number} is sown\n**Depends on**: {on}\n\
             {details}**Plans**: {} plans\n\n",
            self.name(),
            self.plans.len()
        )
    }

    /// The line in the roadmap's list.
    pub fn line(&self) -> String {
        format!("- [ ] **Phase {}: {}** - sown\n", self.number, self.name())
    }

    /// The planning files as pairs of path and text.
    pub fn files(&self, sync: &Path) -> Vec<(String, String)> {
        let (dir, padded) = (self.dir(), self.padded());
        let mut files = Vec::new();
        if self.context {
            let text = format!("# Phase {}\n\nAll is said.\n", self.number);
            files.push((format!("{dir}/{padded}-CONTEXT.md"), text));
        }
        for (n, plan) in self.plans.iter().enumerate() {
            let id = format!("{padded}-{:02}", n + 1);
            let text = plan.text.clone().unwrap_or_else(|| plan.render(&dir, &id, sync));
            files.push((format!("{dir}/{id}-PLAN.md"), text));
        }
        files
    }
}

/// Creates a plan of these tasks in the first wave.
pub fn plan(tasks: Vec<TaskFixture>) -> PlanFixture {
    PlanFixture { wave: 1, files: Vec::new(), tasks, text: None }
}

impl PlanFixture {
    /// Sets the wave.
    #[must_use]
    pub fn wave(self, wave: u32) -> Self {
        Self { wave, ..self }
    }

    /// Sets the files that the plan declares to change.
    #[must_use]
    pub fn changes(self, files: &[&str]) -> Self {
        Self { files: files.iter().map(|file| (*file).to_owned()).collect(), ..self }
    }

    /// Creates a plan with exactly this text.
    pub fn from_text(text: &str) -> Self {
        Self { text: Some(text.to_owned()), ..plan(Vec::new()) }
    }

    fn render(&self, dir: &str, id: &str, sync: &Path) -> String {
        let phase = dir.rsplit('/').next().unwrap_or(dir);
        let number = id.rsplit('-').next().unwrap_or(id);
        let mut text = format!(
            "---\nphase: {phase}\nplan: {number}\ntype: execute\nwave: {}\ndepends_on: []\n\
             files_modified: [{}]\nautonomous: true\n---\n\n<objective>\nSow {id}.\n</objective>\n\n\
             <tasks>\n\n",
            self.wave,
            self.files.join(", ")
        );
        for (n, task) in self.tasks.iter().enumerate() {
            text += &task.render(n + 1, id, sync);
        }
        text + "</tasks>\n"
    }
}

/// Creates a task that runs a script; its check always succeeds.
pub fn task(script: &str) -> TaskFixture {
    TaskFixture { script: script.to_owned(), check: "true".to_owned(), kind: "auto".to_owned() }
}

impl TaskFixture {
    /// Sets the command that checks the task.
    #[must_use]
    pub fn check(self, check: &str) -> Self {
        Self { check: check.to_owned(), ..self }
    }

    /// Leaves out the check.
    #[must_use]
    pub fn unchecked(self) -> Self {
        Self { check: String::new(), ..self }
    }

    /// Makes the task a checkpoint that waits for a person.
    #[must_use]
    pub fn checkpoint(self, kind: &str) -> Self {
        Self { kind: format!("checkpoint:{kind}"), ..self }
    }

    fn render(&self, number: usize, id: &str, sync: &Path) -> String {
        let Self { script, check, kind } = self;
        let meet = meet_function(sync);
        let verify = match check.as_str() {
            "" => String::new(),
            check => {
                format!("  <verify>\n    <automated>{check}</automated>\n  </verify>\n")
            }
        };
        format!(
            "<task type=\"{kind}\">\n  <name>Task {number}: sow {id}</name>\n  <action>\n\
             ```sh\n{meet}\n{script}\n```\n  </action>\n{verify}  <done>Sown</done>\n\
             </task>\n\n"
        )
    }
}

/// Returns the shell function `meet`, which waits at a point until the test releases it or ends.
pub(super) fn meet_function(sync: &Path) -> String {
    format!(
        "meet() {{ : > '{sync}'/at-$1; while [ ! -e '{sync}'/go-$1 ]; do \
         [ -d '{sync}' ] || exit 9; sleep 0.01; done; }}",
        sync = sync.display()
    )
}

/// Returns all planning files of these phases.
pub(super) fn files(phases: &[PhaseFixture], sync: &Path) -> Vec<(String, String)> {
    let lines: String = phases.iter().map(PhaseFixture::line).collect();
    let sections: String = phases.iter().map(PhaseFixture::section).collect();
    let roadmap =
        format!("# Roadmap: Field\n\n## Phases\n\n{lines}\n## Phase Details\n\n{sections}");
    let state = "# Project State\n\n## Current Position\n\nPhase: 1\nStatus: Ready\n\n\
                 ## Notes\n\nA person wrote this.\n";
    let mut files = vec![
        (".planning/ROADMAP.md".to_owned(), roadmap),
        (".planning/STATE.md".to_owned(), state.to_owned()),
    ];
    files.extend(phases.iter().flat_map(|phase| phase.files(sync)));
    files
}
