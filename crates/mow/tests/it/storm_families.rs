//! Tests 50 concurrent callers for every command that writes: no call fails, and nothing is lost.
//!
//! [`crate::storm`] tests some of these commands for longer.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::thread;

use mow_testkit::sandbox::Sandbox;
use serde_json::Value;

use crate::storm::STORM_LOCK;
use crate::worktree_fixture::repository_in;

const CALLERS: usize = 50;

const STATE: &str = ".planning/STATE.md";
const ROADMAP: &str = ".planning/ROADMAP.md";
const REQUIREMENTS: &str = ".planning/REQUIREMENTS.md";

/// A command that writes: the project before, the call, and the condition after all calls.
struct CommandFamily {
    about: &'static str,
    before: fn() -> Sandbox,
    /// A `@` stands for the caller's number, from 1 to 50.
    call: &'static str,
    holds: fn(&Sandbox, &[String]) -> bool,
}

fn sandbox() -> Sandbox {
    Sandbox::in_memory(env!("CARGO_BIN_EXE_mow"))
}

/// Returns one line for each caller, with `@` replaced by its number.
fn lines(pattern: &str) -> String {
    (1..=CALLERS).map(|caller| pattern.replace('@', &caller.to_string()) + "\n").collect()
}

/// Returns whether a file has a line for each caller, once.
fn has_all(project: &Sandbox, file: &str, pattern: &str) -> bool {
    let text = project.text(file);
    let count = |line: &str| text.lines().filter(|other| *other == line).count();
    (1..=CALLERS).all(|caller| count(&pattern.replace('@', &caller.to_string())) == 1)
}

/// Counts the files whose path contains a text.
fn count(project: &Sandbox, part: &str) -> usize {
    project.files().into_keys().filter(|path| path.contains(part)).count()
}

/// Returns whether the answers are all different.
fn all_differ(answers: &[String]) -> bool {
    answers.iter().collect::<BTreeSet<_>>().len() == answers.len()
}

/// Makes a project with a phase, a plan and a summary for each caller.
fn phases() -> Sandbox {
    let roadmap = format!(
        "# Roadmap\n\n{}\n{}\n| Phase | Plans | Status | Completed |\n|---|---|---|---|\n{}",
        lines("- [ ] **Phase @: P@**"),
        lines("### Phase @: P@\n**Requirements**: R-@\n"),
        lines("| @. P@ | 0/1 | Planned | - |"),
    );
    let mut project =
        sandbox().file(ROADMAP, roadmap).file(REQUIREMENTS, lines("- [ ] **R-@**: r"));
    for phase in 1..=CALLERS {
        let path = format!(".planning/phases/{phase:02}-p/{phase:02}-01");
        project = project.file(&format!("{path}-PLAN.md"), "---\nwave: 1\n---\n");
        project = project.file(&format!("{path}-SUMMARY.md"), "");
    }
    project
}

fn state(text: &str) -> Sandbox {
    sandbox().file(STATE, text)
}

fn todos() -> Sandbox {
    let file = |project: Sandbox, caller| {
        project.file(&format!(".planning/todos/pending/t{caller}.md"), "# T\n")
    };
    (1..=CALLERS).fold(sandbox(), file)
}

fn manifest() -> Sandbox {
    let entry =
        |caller| format!("\"p{caller:02}\": {{\"phase\": \"{caller:02}\", \"merged\": true}}");
    let entries: Vec<_> = (1..=CALLERS).map(entry).collect();
    let text = format!("{{\"version\": \"1.0\", \"worktrees\": {{{}}}}}", entries.join(", "));
    let project = repository_in(sandbox());
    project.write(".worktrees/manifest.json", text);
    project
}

fn commits() -> Sandbox {
    let project = repository_in(sandbox());
    for (name, value) in [("user.name", "T"), ("user.email", "t@t")] {
        project.git(".", &["config", name, value]);
    }
    for caller in 1..=CALLERS {
        project.write(&format!(".planning/c{caller}.md"), "");
    }
    project
}

const PLANNING_COMMANDS: &[CommandFamily] = &[
    CommandFamily {
        about: "requirements",
        before: || sandbox().file(REQUIREMENTS, lines("- [ ] **R-@**: r")),
        call: "requirements mark-complete R-@",
        holds: |project, _| has_all(project, REQUIREMENTS, "- [x] **R-@**: r"),
    },
    CommandFamily {
        about: "progress rows",
        before: phases,
        call: "roadmap update-plan-progress @ --raw",
        holds: |project, answers| {
            answers.iter().all(|answer| answer == "1/1 Complete")
                && project.text(ROADMAP).matches(" | 1/1 | Complete ").count() == CALLERS
        },
    },
    CommandFamily {
        about: "completed phases",
        before: phases,
        call: "phase complete @",
        holds: |project, _| {
            project.text(ROADMAP).matches("- [x] **Phase ").count() == CALLERS
                && has_all(project, REQUIREMENTS, "- [x] **R-@**: r")
        },
    },
    CommandFamily {
        about: "added phases",
        before: || sandbox().file(ROADMAP, "# Roadmap\n\n### Phase 1: A\n\n---\n"),
        call: "phase add New @ --raw",
        holds: |project, answers| {
            let headings = project.text(ROADMAP).matches("\n### Phase ").count();
            all_differ(answers) && headings == CALLERS + 1 && count(project, "-new-") == CALLERS
        },
    },
    CommandFamily {
        about: "inserted phases",
        before: || sandbox().file(ROADMAP, "# Roadmap\n\n### Phase 1: A\n\n### Phase 2: B\n"),
        call: "phase insert 1 New @ --raw",
        holds: |project, answers| {
            let headings = project.text(ROADMAP).matches("(INSERTED)").count();
            all_differ(answers) && headings >= CALLERS && count(project, "-new-") == CALLERS
        },
    },
    CommandFamily {
        about: "removed phases",
        before: || sandbox().file(ROADMAP, lines("### Phase @: P") + "### Phase 51: Last\n"),
        call: "phase remove 1",
        holds: |project, _| project.text(ROADMAP) == "### Phase 1: Last\n",
    },
    CommandFamily {
        about: "milestones",
        before: || sandbox().file(ROADMAP, "# R\n").file(REQUIREMENTS, "# Q\n"),
        call: "milestone complete v1.@",
        holds: |project, _| {
            let text = project.text(".planning/MILESTONES.md");
            (1..=CALLERS).all(|n| text.contains(&format!("## v1.{n} ")))
                && count(project, "-REQUIREMENTS.md") == CALLERS
        },
    },
    CommandFamily {
        about: "filled templates",
        before: phases,
        call: "template fill plan --phase 1 --plan 1@",
        holds: |project, _| count(project, "01-p/01-1") == CALLERS,
    },
    CommandFamily {
        about: "scaffolds",
        before: phases,
        call: "scaffold uat --phase @",
        holds: |project, _| count(project, "-UAT.md") == CALLERS,
    },
    CommandFamily {
        about: "phase directories",
        before: sandbox,
        call: "scaffold phase-dir --phase @ --name N --raw",
        holds: |_, answers| {
            all_differ(answers) && answers.iter().all(|path| std::path::Path::new(path).is_dir())
        },
    },
    CommandFamily {
        about: "frontmatter",
        before: || sandbox().file("a.md", "---\na: 1\n---\n"),
        call: "frontmatter set a.md --field k@ --value @",
        holds: |project, _| has_all(project, "a.md", "k@: @"),
    },
];

const STATE_COMMANDS: &[CommandFamily] = &[
    CommandFamily {
        about: "metrics",
        before: || state("## Performance Metrics\n\nNone yet\n"),
        call: "state record-metric --phase @ --plan 1 --duration @min",
        holds: |project, _| project.text(STATE).matches("min |").count() == CALLERS,
    },
    CommandFamily {
        about: "decisions",
        before: || state("## Decisions\n\nNone yet.\n"),
        call: "state add-decision --phase 1 --summary S@",
        holds: |project, _| has_all(project, STATE, "- [Phase 1]: S@"),
    },
    CommandFamily {
        about: "resolved blockers",
        before: || state(&format!("## Blockers\n\n{}", lines("- <@>"))),
        call: "state resolve-blocker --text <@>",
        holds: |project, _| project.text(STATE) == "## Blockers\n\nNone\n",
    },
    CommandFamily {
        about: "sessions",
        before: || state("**Last session:** x\n**Stopped At:** x\n**Resume File:** x\n"),
        call: "state record-session --stopped-at S@ --resume-file S@",
        holds: |project, _| {
            let text = project.text(STATE);
            let field = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                line.expect("the field stays").to_owned()
            };
            let stopped = field("**Stopped At:** ");
            stopped == field("**Resume File:** ") && stopped.starts_with('S')
        },
    },
    CommandFamily {
        about: "fields",
        before: || state(&lines("**F@:** old")),
        call: "state update F@ new",
        holds: |project, _| has_all(project, STATE, "**F@:** new"),
    },
    CommandFamily {
        about: "plans",
        before: || state("**Current Plan:** 1\n**Total Plans in Phase:** 60\n"),
        call: "state advance-plan",
        holds: |project, answers| {
            all_differ(answers) && project.text(STATE).contains("**Current Plan:** 51\n")
        },
    },
    CommandFamily {
        about: "teammates",
        before: || {
            let project = state("# State\n\n## Session Continuity\n");
            project
                .call(["team-update", "--action", "start", "--team-name", "T"])
                .run()
                .stdout_on_success();
            project
        },
        call: "team-update --action add-teammate --name N@",
        holds: |project, _| project.text(STATE).matches("\n| N").count() == CALLERS,
    },
    CommandFamily {
        about: "verification results",
        before: || state("# State\n"),
        call: "worktree verify-result @ --tier T --result pass",
        holds: |project, _| project.text(STATE).matches("| T | pass |").count() == CALLERS,
    },
];

const OTHER_COMMANDS: &[CommandFamily] = &[
    CommandFamily {
        about: "started todos",
        before: todos,
        call: "todo start t@.md",
        holds: |project, _| count(project, "todos/in-progress/") == CALLERS,
    },
    CommandFamily {
        about: "completed todos",
        before: todos,
        call: "todo complete t@.md",
        holds: |project, _| {
            count(project, "todos/completed/") == CALLERS && count(project, "/pending/") == 0
        },
    },
    CommandFamily {
        about: "settings",
        before: sandbox,
        call: "config-set a.k@ @",
        holds: |project, _| {
            let config: Value = serde_json::from_str(&project.text(".planning/config.json"))
                .expect("the file is whole");
            (1..=CALLERS).all(|n| config["a"][format!("k{n}")] == n)
        },
    },
    CommandFamily {
        about: "the first settings",
        before: sandbox,
        call: "config-ensure-section --raw",
        holds: |_, answers| answers.iter().filter(|answer| *answer == "created").count() == 1,
    },
    CommandFamily {
        about: "a new plan",
        before: sandbox,
        call: "init --yes --name N",
        holds: |project, answers| {
            let wrote = |answer: &&String| answer.contains("wrote .planning/STATE.md");
            answers.iter().filter(wrote).count() <= 1 && count(project, ".planning/") == 6
        },
    },
    CommandFamily {
        about: "the manifest",
        before: manifest,
        call: "worktree remove-manifest @",
        holds: |project, _| !project.text(".worktrees/manifest.json").contains("\"merged\""),
    },
    CommandFamily {
        about: "commits",
        before: commits,
        call: "commit c@ --files .planning/c@.md --raw",
        holds: |project, answers| {
            let log = project.git(".", &["log", "--name-only", "--format=%h %s"]);
            let is_there = |n| log.contains(&format!(" c{n}\n\n.planning/c{n}.md\n"));
            all_differ(answers) && (1..=CALLERS).all(is_there)
        },
    },
    CommandFamily {
        about: "the shim",
        before: sandbox,
        call: "install shim bin",
        holds: |_, answers| {
            answers.iter().filter(|answer| answer.starts_with("wrote")).count() == 1
        },
    },
    CommandFamily {
        about: "hooks",
        before: sandbox,
        call: "install hooks s.json",
        holds: |project, _| project.text("s.json").matches("mow hook ").count() == 4,
    },
];

/// Runs 50 callers at once and returns their answers. Panics if a call fails.
fn storm(family: &CommandFamily, project: &Sandbox) -> Vec<String> {
    thread::scope(|scope| {
        let callers: Vec<_> = (1..=CALLERS)
            .map(|caller| {
                let words = family.call.split(' ');
                let call: Vec<_> =
                    words.map(|word| word.replace('@', &caller.to_string())).collect();
                scope.spawn(move || project.call(call).run().stdout_on_success())
            })
            .collect();
        let answers = callers.into_iter().map(thread::ScopedJoinHandle::join);
        answers.map(|answer| answer.unwrap_or_else(|_| panic!("{}", family.about))).collect()
    })
}

fn check(families: &[CommandFamily]) {
    let _alone = STORM_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    for family in families {
        let project = (family.before)();
        let answers = storm(family, &project);
        let files: Vec<_> = project.files().into_keys().collect();
        assert!((family.holds)(&project, &answers), "{}: {answers:?}\n{files:?}", family.about);
        assert!(!files.iter().any(|path| path.contains(".mow-tmp-")), "{}", family.about);
    }
}

#[test]
fn d14_fifty_callers_lose_no_planning_data() {
    check(PLANNING_COMMANDS);
}

#[test]
fn d14_fifty_callers_lose_no_state() {
    check(STATE_COMMANDS);
}

#[test]
fn d14_fifty_callers_lose_no_other_data() {
    check(OTHER_COMMANDS);
}
