//! Writes the planning files of a field.

use std::path::Path;

/// A phase of the roadmap.
#[derive(Clone, Debug)]
pub struct Phase {
    number: String,
    depends_on: Vec<String>,
    plans: Vec<Plan>,
    context: bool,
    details: String,
}

/// A plan of a phase.
#[derive(Clone, Debug)]
pub struct Plan {
    wave: u32,
    files: Vec<String>,
    tasks: Vec<Task>,
    text: Option<String>,
}

/// A task of a plan.
#[derive(Clone, Debug)]
pub struct Task {
    script: String,
    check: String,
    kind: String,
}

/// A phase that comes after others.
pub fn phase(number: &str, depends_on: &[&str]) -> Phase {
    let depends_on = depends_on.iter().map(|number| (*number).to_owned()).collect();
    let (number, details) = (number.to_owned(), String::new());
    Phase { number, depends_on, plans: Vec::new(), context: true, details }
}

impl Phase {
    /// Adds a plan.
    #[must_use]
    pub fn with(mut self, plan: Plan) -> Self {
        self.plans.push(plan);
        self
    }

    /// Leaves out the file that says what is wanted.
    #[must_use]
    pub fn undiscussed(self) -> Self {
        Self { context: false, ..self }
    }

    /// Adds lines to its section of the roadmap.
    #[must_use]
    pub fn details(self, lines: &str) -> Self {
        Self { details: format!("{lines}\n"), ..self }
    }

    /// Its name in the roadmap.
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

    /// Its section of the roadmap.
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

    /// Its line in the roadmap's list.
    pub fn line(&self) -> String {
        format!("- [ ] **Phase {}: {}** - sown\n", self.number, self.name())
    }

    /// Its files, with their paths in the project.
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

/// A plan of these tasks, in the first wave.
pub fn plan(tasks: Vec<Task>) -> Plan {
    Plan { wave: 1, files: Vec::new(), tasks, text: None }
}

impl Plan {
    /// Puts it into a later wave.
    #[must_use]
    pub fn wave(self, wave: u32) -> Self {
        Self { wave, ..self }
    }

    /// Lets it say which files it changes.
    #[must_use]
    pub fn changes(self, files: &[&str]) -> Self {
        Self { files: files.iter().map(|file| (*file).to_owned()).collect(), ..self }
    }

    /// A plan of any text at all.
    pub fn of_text(text: &str) -> Self {
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

/// A task that runs a script and is checked by nothing.
pub fn task(script: &str) -> Task {
    Task { script: script.to_owned(), check: "true".to_owned(), kind: "auto".to_owned() }
}

impl Task {
    /// Makes a command its check.
    #[must_use]
    pub fn check(self, check: &str) -> Self {
        Self { check: check.to_owned(), ..self }
    }

    /// Leaves out the check.
    #[must_use]
    pub fn unchecked(self) -> Self {
        Self { check: String::new(), ..self }
    }

    /// Makes it wait for a person.
    #[must_use]
    pub fn checkpoint(self, kind: &str) -> Self {
        Self { kind: format!("checkpoint:{kind}"), ..self }
    }

    fn render(&self, number: usize, id: &str, sync: &Path) -> String {
        let Self { script, check, kind } = self;
        let meet = meet(sync);
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

/// The function by which a script stops at a point until the test lets it go on, or is over itself.
pub(super) fn meet(sync: &Path) -> String {
    format!(
        "meet() {{ : > '{sync}'/at-$1; while [ ! -e '{sync}'/go-$1 ]; do \
         [ -d '{sync}' ] || exit 9; sleep 0.01; done; }}",
        sync = sync.display()
    )
}

/// All planning files of some phases.
pub(super) fn files(phases: &[Phase], sync: &Path) -> Vec<(String, String)> {
    let lines: String = phases.iter().map(Phase::line).collect();
    let sections: String = phases.iter().map(Phase::section).collect();
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
