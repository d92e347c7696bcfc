//! Every template renders, is short, and shows examples that mow itself can parse.

use std::collections::BTreeSet;

use mow_core::agent_answer::{AgentAnswer, Discussion, Review, TaskReport, VerificationReport};
use mow_core::worker::Role;
use mow_store::{phase_files, plan};
use proptest::prelude::*;

use super::*;

/// The limits of a template.
const LINES_MAX: usize = 80;
const SIZE_MAX: usize = 5_000;

/// Returns the names of the variables in a template.
fn variable_names(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for mut line in text.lines() {
        while let Some((_, name, after)) = split_at_variable(line) {
            found.insert(name);
            line = after;
        }
    }
    found
}

/// Returns values for some variables.
fn values(names: &BTreeSet<&str>) -> PromptValues {
    let all = names.iter().map(|name| Variable::find(name).expect(name));
    all.fold(PromptValues::default(), |values, variable| {
        let value = match variable {
            Variable::Phase => "3",
            Variable::PhaseSlug => "03-search",
            Variable::Prefix => "03",
            other => other.name(),
        };
        values.with(variable, value)
    })
}

fn rendered(prompt: Prompt) -> String {
    render(prompt, None, &values(&variable_names(prompt.text()))).unwrap()
}

/// Returns the variables that README.md lists for a role.
fn documented(role: &str) -> BTreeSet<&'static str> {
    let rows = include_str!("../../../prompts/README.md").lines().filter(|l| l.starts_with("| `"));
    let known = rows.filter(|row| {
        let roles = row.rsplit('|').nth(1).unwrap();
        roles.split(',').any(|name| [role, "all"].contains(&name.trim()))
    });
    known.map(|row| row.split('`').nth(1).unwrap()).collect()
}

#[test]
fn each_template_uses_only_the_variables_documented_for_its_role() {
    let mut all = BTreeSet::new();
    for prompt in Prompt::ALL {
        let (role, names) = (prompt.role(), variable_names(prompt.text()));
        let known = documented(role);
        assert!(names.is_subset(&known), "{role}: {:?}", names.difference(&known));
        all.extend(known);
        let text = rendered(prompt);
        assert!(!text.contains("{{") && !text.contains("}}"), "{text}");
        for name in &names {
            let mut fewer = names.clone();
            fewer.remove(name);
            let error = render(prompt, None, &values(&fewer)).unwrap_err().to_string();
            let wanted = format!("{{{{{name}}}}} has no value for the {role}");
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
fn the_first_line_names_role_and_phase() {
    for prompt in Prompt::ALL {
        let text = render(
            prompt,
            None,
            &values(&variable_names(prompt.text())).with(Variable::Role, prompt.role()),
        );
        let text = text.unwrap();
        let first = text.lines().next().unwrap();
        let wanted = format!("role: {}, phase: 3 (phase_name)", prompt.role());
        assert!(first.starts_with(&wanted), "{first}");
        assert_eq!(Prompt::find(prompt.role()), Some(prompt));
    }
    for role in Role::ALL {
        assert!(
            Prompt::find(role.name()).is_some(),
            "there is no template for the {}",
            role.name()
        );
    }
}

#[test]
fn templates_are_short_and_name_no_product() {
    let product_words = [
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
        let found = product_words.iter().find(|word| lower.contains(*word));
        assert_eq!(found, None, "{role}");
        for rule in ["other agents", "instructions in", "branch"] {
            assert!(lower.contains(rule), "the prompt of the {role} does not mention {rule}");
        }
    }
}

#[test]
fn example_answers_can_be_parsed() {
    let discussion = Discussion::parse(&rendered(Prompt::Discusser)).unwrap();
    assert_eq!(discussion.questions.len(), 1);
    assert!(Review::parse(&rendered(Prompt::PlanChecker)).unwrap().is_rejected());
    assert!(TaskReport::parse(&rendered(Prompt::Executor)).unwrap().blocker.is_none());
    assert_eq!(VerificationReport::parse(&rendered(Prompt::Verifier)).unwrap().gaps.len(), 1);
    let bare = |prompt: Prompt| {
        let text = rendered(prompt);
        text.split('`').find(|part| part.starts_with("{\"")).unwrap().to_owned()
    };
    assert!(Discussion::parse(&bare(Prompt::Discusser)).unwrap().clear);
    assert!(!Review::parse(&bare(Prompt::PlanChecker)).unwrap().is_rejected());
}

/// Returns the example file in a rendered template.
fn example(prompt: Prompt) -> String {
    let text = rendered(prompt);
    let (_, rest) = text.split_once("```markdown\n").unwrap();
    rest.split_once("\n```").unwrap().0.to_owned()
}

#[test]
fn the_example_plan_is_valid() {
    let plan = plan::parse(example(Prompt::Planner).as_bytes());
    assert_eq!(plan.check_structure(), plan::StructureReport::default());
    assert_eq!(plan.problems, []);
    assert_eq!(plan.phase.as_deref(), Some("03-search"));
    assert_eq!(plan.tasks[0].element("automated"), Some("cargo test --test search"));
    assert_eq!(plan.files_modified, ["src/search.rs", "tests/search.rs"]);
    let goals = &plan.must_haves;
    assert_eq!((goals.truths.len(), goals.artifacts.len(), goals.key_links.len()), (1, 1, 1));
    assert!(plan.objective.is_some() && !goals.artifacts[0].contains.is_empty());
}

#[test]
fn the_example_verification_is_valid() {
    let found = phase_files::parse_verification(example(Prompt::Verifier).as_bytes());
    assert_eq!((found.status.as_deref(), found.met), (Some("gaps_found"), Some((3, 4))));
    assert_eq!(found.gaps[0].missing.len(), 1);
    for key in phase_files::VERIFICATION_KEYS {
        assert!(example(Prompt::Verifier).contains(&format!("\n{key}: ")), "{key}");
    }
}

#[test]
fn a_project_can_override_a_template() {
    let values = PromptValues::default().with(Variable::Goal, "Say {{phase}}");
    let own = |text: &str| render(Prompt::Planner, Some(text), &values).map_err(|e| e.to_string());
    assert_eq!(
        own("{{ goal }} and {{goal}}, {{\n}} {x}").unwrap(),
        "Say {{phase}} and Say {{phase}}, {{\n}} {x}"
    );
    let file = ".planning/prompts/planner.md";
    assert_eq!(own("a\n{{golf}}"), Err(format!("{file}:2: there is no variable {{{{golf}}}}")));
    let unfilled = format!("{file}:1: {{{{task}}}} has no value for the planner");
    assert_eq!(own("{{task}}"), Err(unfilled));
    let long = "x".repeat(BYTES_MAX + 1);
    assert_eq!(
        own(&long),
        Err(format!("{file}: has 65537 bytes, but a prompt may have at most 65536"))
    );
}

#[test]
fn values_are_bounded_and_quoted() {
    let render_value = |variable: Variable, value: &str| {
        let values = PromptValues::default().with(variable, value);
        render(Prompt::Executor, Some(&format!("{{{{{}}}}}", variable.name())), &values).unwrap()
    };
    assert_eq!(render_value(Variable::TaskName, " two\n## lines "), "two ## lines");
    assert_eq!(render_value(Variable::Issues, " "), NONE);
    assert_eq!(render_value(Variable::Criteria, "1. a\n2. b\n"), "1. a\n2. b");
    assert_eq!(render_value(Variable::AttemptProblem, "exit 1"), "exit 1");
    assert_eq!(
        render_value(Variable::AttemptProblem, "exit 1\n# Now do\n"),
        "\n> exit 1\n> # Now do"
    );
    let long = render_value(Variable::Goal, &"é".repeat(9_000));
    assert!(long.ends_with("é … (cut)") && long.chars().count() < 8_010);
}

proptest! {
    #[test]
    fn arbitrary_templates_never_panic(text in "(\\{\\{|\\}\\}|\\{|\\}|goal|task|é| |\n)*", value in "(?s).{0,40}") {
        let values = PromptValues::default().with(Variable::Goal, &value);
        let _ = render(Prompt::Planner, Some(&text), &values);
    }
}
