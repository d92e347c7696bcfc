//! Each text can be said, is short, and shows forms that mow itself can read.

use std::collections::BTreeSet;

use mow_core::said::{Discussion, Review, Said, TaskReport, Verification};
use mow_core::worker::Role;
use mow_store::{phase_files, plan};
use proptest::prelude::*;

use super::*;

/// How long a text may be.
const LINES_MAX: usize = 80;
const SIZE_MAX: usize = 5_000;

/// The names in the places of a text.
fn places(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for mut line in text.lines() {
        while let Some((_, name, after)) = next_place(line) {
            found.insert(name);
            line = after;
        }
    }
    found
}

/// Values for some variables.
fn values(names: &BTreeSet<&str>) -> Values {
    let all = names.iter().map(|name| Variable::find(name).expect(name));
    all.fold(Values::default(), |values, variable| {
        let value = match variable {
            Variable::Phase => "3",
            Variable::PhaseSlug => "03-search",
            Variable::Prefix => "03",
            other => other.name(),
        };
        values.with(variable, value)
    })
}

fn said(prompt: Prompt) -> String {
    render(prompt, None, &values(&places(prompt.text()))).unwrap()
}

/// The variables that README.md says are known for a role.
fn documented(role: &str) -> BTreeSet<&'static str> {
    let rows = include_str!("../../../prompts/README.md").lines().filter(|l| l.starts_with("| `"));
    let known = rows.filter(|row| {
        let roles = row.rsplit('|').nth(1).unwrap();
        roles.split(',').any(|name| [role, "all"].contains(&name.trim()))
    });
    known.map(|row| row.split('`').nth(1).unwrap()).collect()
}

#[test]
fn each_text_needs_what_is_documented_for_its_role_and_no_more() {
    let mut all = BTreeSet::new();
    for prompt in Prompt::ALL {
        let (role, names) = (prompt.role(), places(prompt.text()));
        let known = documented(role);
        assert!(names.is_subset(&known), "{role}: {:?}", names.difference(&known));
        all.extend(known);
        let text = said(prompt);
        assert!(!text.contains("{{") && !text.contains("}}"), "{text}");
        for name in &names {
            let mut fewer = names.clone();
            fewer.remove(name);
            let error = render(prompt, None, &values(&fewer)).unwrap_err().to_string();
            let wanted = format!("{{{{{name}}}}} is not known for the {role}");
            assert!(error.starts_with(&format!("prompts/{role}.md:")), "{error}");
            assert!(error.ends_with(&wanted), "{error}");
        }
    }
    let names: BTreeSet<_> = Variable::all().map(Variable::name).collect();
    assert_eq!(all, names, "README.md lists all variables");
    for variable in Variable::all() {
        assert_eq!(Variable::find(variable.name()), Some(variable));
    }
}

#[test]
fn the_first_line_says_who_is_spoken_to() {
    for prompt in Prompt::ALL {
        let text = render(
            prompt,
            None,
            &values(&places(prompt.text())).with(Variable::Role, prompt.role()),
        );
        let text = text.unwrap();
        let first = text.lines().next().unwrap();
        let wanted = format!("role: {}, phase: 3 (phase_name)", prompt.role());
        assert!(first.starts_with(&wanted), "{first}");
        assert_eq!(Prompt::find(prompt.role()), Some(prompt));
    }
    for role in Role::ALL {
        assert!(Prompt::find(role.name()).is_some(), "nothing is said to the {}", role.name());
    }
}

#[test]
fn texts_are_short_and_speak_of_nobody_else() {
    let others = [
        "claude",
        "codex",
        "gemini",
        "opencode",
        "cursor",
        "aider",
        "gsd",
        "mowism",
        "subagent",
        "todowrite",
        "websearch",
        "webfetch",
        "context7",
        "askuserquestion",
        "slash command",
        "ultrathink",
        "/mow:",
    ];
    for prompt in Prompt::ALL {
        let (role, text) = (prompt.role(), prompt.text());
        let lines = text.lines().count();
        assert!(
            lines <= LINES_MAX && text.len() <= SIZE_MAX,
            "{role}: {lines} lines, {}",
            text.len()
        );
        let lower = text.to_lowercase();
        let found = others.iter().find(|word| lower.contains(*word));
        assert_eq!(found, None, "{role}");
        for rule in ["other agents", "instructions in", "branch"] {
            assert!(lower.contains(rule), "{role} is told nothing of {rule}");
        }
    }
}

#[test]
fn the_answers_that_are_shown_can_be_read() {
    let discussion = Discussion::parse(&said(Prompt::Discusser)).unwrap();
    assert_eq!(discussion.questions.len(), 1);
    assert!(Review::parse(&said(Prompt::PlanChecker)).unwrap().is_refusal());
    assert!(TaskReport::parse(&said(Prompt::Executor)).unwrap().blocker.is_none());
    assert_eq!(Verification::parse(&said(Prompt::Verifier)).unwrap().gaps.len(), 1);
    let bare = |prompt: Prompt| {
        let text = said(prompt);
        text.split('`').find(|part| part.starts_with("{\"")).unwrap().to_owned()
    };
    assert!(Discussion::parse(&bare(Prompt::Discusser)).unwrap().clear);
    assert!(!Review::parse(&bare(Prompt::PlanChecker)).unwrap().is_refusal());
}

/// The file that a text shows as an example.
fn example(prompt: Prompt) -> String {
    let text = said(prompt);
    let (_, rest) = text.split_once("```markdown\n").unwrap();
    rest.split_once("\n```").unwrap().0.to_owned()
}

#[test]
fn the_plan_that_is_shown_is_one() {
    let plan = plan::parse(example(Prompt::Planner).as_bytes());
    assert_eq!(plan.structure(), plan::Structure::default());
    assert_eq!(plan.problems, []);
    assert_eq!(plan.phase.as_deref(), Some("03-search"));
    assert_eq!(plan.tasks[0].element("automated"), Some("cargo test --test search"));
    assert_eq!(plan.files_modified, ["src/search.rs", "tests/search.rs"]);
    let goals = &plan.must_haves;
    assert_eq!((goals.truths.len(), goals.artifacts.len(), goals.key_links.len()), (1, 1, 1));
    assert!(plan.objective.is_some() && !goals.artifacts[0].contains.is_empty());
}

#[test]
fn the_verification_that_is_shown_is_one() {
    let found = phase_files::parse_verification(example(Prompt::Verifier).as_bytes());
    assert_eq!((found.status.as_deref(), found.met), (Some("gaps_found"), Some((3, 4))));
    assert_eq!(found.gaps[0].missing.len(), 1);
    for key in phase_files::VERIFICATION_KEYS {
        assert!(example(Prompt::Verifier).contains(&format!("\n{key}: ")), "{key}");
    }
}

#[test]
fn a_project_has_its_own_words() {
    let values = Values::default().with(Variable::Goal, "Say {{phase}}");
    let own = |text: &str| render(Prompt::Planner, Some(text), &values).map_err(|e| e.to_string());
    assert_eq!(
        own("{{ goal }} and {{goal}}, {{\n}} {x}").unwrap(),
        "Say {{phase}} and Say {{phase}}, {{\n}} {x}"
    );
    let file = ".planning/prompts/planner.md";
    assert_eq!(own("a\n{{golf}}"), Err(format!("{file}:2: there is no variable {{{{golf}}}}")));
    let unfilled = format!("{file}:1: {{{{task}}}} is not known for the planner");
    assert_eq!(own("{{task}}"), Err(unfilled));
    let long = "x".repeat(BYTES_MAX + 1);
    assert_eq!(own(&long), Err(format!("{file}: has 65537 bytes, at most 65536 are said")));
}

#[test]
fn values_are_bounded_and_quoted() {
    let say = |variable: Variable, value: &str| {
        let values = Values::default().with(variable, value);
        render(Prompt::Executor, Some(&format!("{{{{{}}}}}", variable.name())), &values).unwrap()
    };
    assert_eq!(say(Variable::TaskName, " two\n## lines "), "two ## lines");
    assert_eq!(say(Variable::Issues, " "), NONE);
    assert_eq!(say(Variable::Criteria, "1. a\n2. b\n"), "1. a\n2. b");
    assert_eq!(say(Variable::AttemptProblem, "exit 1"), "exit 1");
    assert_eq!(say(Variable::AttemptProblem, "exit 1\n# Now do\n"), "\n> exit 1\n> # Now do");
    let long = say(Variable::Goal, &"é".repeat(9_000));
    assert!(long.ends_with("é … (cut)") && long.chars().count() < 8_010);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\{\\{|\\}\\}|\\{|\\}|goal|task|é| |\n)*", value in "(?s).{0,40}") {
        let values = Values::default().with(Variable::Goal, &value);
        let _ = render(Prompt::Planner, Some(&text), &values);
    }
}
