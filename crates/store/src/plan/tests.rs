//! Tests of reading plans in all dialects: frontmatter, dependencies, tasks, evidence.

use proptest::prelude::*;

use super::*;
use crate::corpus;

const SAMPLE: &str = "\
---
phase: 03-hull
plan: 02
type: execute
wave: 2
depends_on: [\"03-01\"]  # ids
files_modified:
  - src/hull.rs
autonomous: false
requirements: [HULL-01, HULL-02]
must_haves:
  truths:
    - \"It floats: always\"
  artifacts:
    - path: src/hull.rs
      provides: Hull
      min_lines: 10
      exports: [\"fn float\", \"fn sink\"]
    - src/keel.rs
  key_links:
    - from: src/hull.rs
      to: src/keel.rs
      via: mod
      pattern: \"mod\\\\s+keel\"
    - \"hull -> keel via bolts\"
---

<objective>
Build the hull.
</objective>

<tasks>

<task type=\"auto\" tdd=\"true\">
  <name>Task 1: Planks</name>
  <files>src/hull.rs</files>
  <action>
    Write `<task type=\"auto\">` nowhere. HTML such as <name>x</name> may occur:
    ```xml
    <task type=\"auto\">
      <name>not a task</name>
    </task>
    ```
  </action>
  <verify>
    <automated>cargo test | grep -c '<'</automated>
  </verify>
  <done>Floats</done>
</task>

<task type=\"checkpoint:human-verify\" gate=\"blocking\">
  <what-built>The hull</what-built>
  <how-to-verify>Look</how-to-verify>
  <resume-signal>Type \"approved\"</resume-signal>
</task>

</tasks>
";

#[test]
fn reads_the_frontmatter() {
    let plan = parse(SAMPLE.as_bytes());
    assert_eq!(plan.phase.as_deref(), Some("03-hull"));
    assert_eq!(plan.plan.as_deref(), Some("02"));
    assert_eq!((plan.wave, plan.autonomous, plan.gap_closure), (2, false, false));
    assert_eq!(plan.files_modified, ["src/hull.rs"]);
    assert_eq!(plan.requirements, ["HULL-01", "HULL-02"]);
    assert_eq!(plan.objective.as_deref(), Some("Build the hull."));
    assert_eq!(plan.missing_keys(), [""; 0]);
    assert_eq!(plan.problems, []);
    let goals = plan.must_haves;
    assert_eq!(goals.truths, ["It floats: always"]);
    assert_eq!(goals.artifacts[0].exports, ["fn float", "fn sink"]);
    assert_eq!(goals.artifacts[0].min_lines, Some(10));
    assert_eq!(goals.artifacts[1].path, "src/keel.rs");
    assert_eq!(goals.key_links[0].pattern.as_deref(), Some("mod\\s+keel"));
    assert_eq!(
        (goals.key_links[1].from.as_str(), goals.key_links[1].to.as_str()),
        ("hull", "keel")
    );
}

#[test]
fn scans_tasks_around_code_and_html() {
    let plan = parse(SAMPLE.as_bytes());
    let [first, second] = &plan.tasks[..] else { panic!("{:?}", plan.tasks) };
    assert_eq!((first.name.as_str(), first.kind(), first.line), ("Task 1: Planks", "auto", 34));
    assert_eq!(first.attribute("tdd"), Some("true"));
    assert!(first.element("action").unwrap().contains("not a task"));
    assert_eq!(first.element("automated"), Some("cargo test | grep -c '<'"));
    let tags: Vec<_> = first.elements.iter().map(|element| element.tag.as_str()).collect();
    assert_eq!(tags, ["name", "files", "action", "verify", "automated", "done"]);
    for element in &first.elements {
        assert_eq!(SAMPLE[element.range.clone()].trim(), element.text);
    }
    assert!(second.is_checkpoint());
    assert_eq!(second.attribute("gate"), Some("blocking"));
    assert_eq!(second.element("resume-signal"), Some("Type \"approved\""));
    assert!(SAMPLE[second.range.clone()].ends_with("</task>"));
}

#[test]
fn reads_tasks_of_other_dialects() {
    let count = |text: &str| parse(text.as_bytes()).tasks.len();
    assert_eq!(count("```xml\n<tasks>\n<task>\n<name>a</name>\n</task>\n</tasks>\n```\n"), 1);
    assert_eq!(count("<tasks><task type='auto'><name>a</name></task></tasks>"), 1);
    assert_eq!(count("<task type=\"auto\">\n<name>a</name>\n<task>\n<name>b</name>"), 2);
    let stray = "<task>\n<action>\n```\nopen\n</action>\n</task>\n<task>\n```sh\nx\n```\n</task>\n";
    assert_eq!(count(stray), 2);
    assert_eq!(count("<task>\n</task>\n<!--\n<task>\n</task>\n-->\n"), 1);
    assert_eq!(count("Count `<task` in prose and <tasks> too.\n"), 0);
    let plan = parse(
        b"### Task 1: Saw\n**Files:** a.rs\n**Action:**\n1. cut\n\n#### Task 2 - Nail\n## Tasks\n",
    );
    assert_eq!(plan.tasks[0].name, "Saw");
    assert_eq!(plan.tasks[0].element("files"), Some("a.rs"));
    assert_eq!(plan.tasks[1].name, "Nail");
    assert_eq!(plan.tasks.len(), 2);
}

#[test]
fn invalid_values_count_as_absent() {
    for (wave, expected) in [("A", 1), ("N/A", 1), ("0", 1), ("\"3\"", 3), ("", 1)] {
        let plan = parse(format!("---\nwave: {wave}\n---\n").as_bytes());
        assert_eq!(plan.wave, expected, "{wave}");
        assert!(plan.autonomous);
    }
    let plan = parse(b"---\nautonomous: false   # needs a person\nfiles-modified: [a]\n---\n");
    assert!(!plan.autonomous);
    assert_eq!(plan.files_modified, ["a"]);
    assert!(!plan.missing_keys().contains(&"files_modified"));
}

#[test]
fn resolves_dependencies_of_all_shapes() {
    let ids: Vec<String> =
        ["03-01", "03-02", "04-01", "3.1e-00", "03-03-docs"].map(str::to_owned).to_vec();
    let check = |value: &str, expected: &[Option<&str>]| {
        let plan = parse(format!("---\ndepends_on: {value}\n---\n").as_bytes());
        let found: Vec<_> =
            plan.depends_on.iter().map(|reference| reference.resolve("03-hull", &ids)).collect();
        assert_eq!(found, expected, "{value}: {:?}", plan.depends_on);
    };
    check("[\"03-01\"]", &[Some("03-01")]);
    check("[1, 02]", &[Some("03-01"), Some("03-02")]);
    check("03-02-PLAN.md", &[Some("03-02")]);
    check("[04-sail/01]", &[Some("04-01")]);
    check("[04-sail/04-01-PLAN.md]", &[Some("04-01")]);
    check("\n  - phase: 4\n    plan: 1", &[Some("04-01")]);
    check("\n  - plan: 03-02\n    why: it comes first", &[Some("03-02")]);
    check("[3.1e-00]", &[Some("3.1e-00")]);
    check("[03-03]", &[Some("03-03-docs")]);
    check("03-01, 03-02", &[Some("03-01"), Some("03-02")]);
    check("\"Plan 01\"", &[Some("03-01")]);
    check("[]", &[]);
    check("none", &[]);
    check("", &[]);
    check("Phase 2 must be merged", &[None]);
    check("[05-01]", &[None]);
}

#[test]
fn corpus_plans_have_tasks() {
    let files = corpus::files(|name| name.ends_with("PLAN.md"), SAMPLE);
    let (mut with_tasks, mut tasks, mut checkpoints, mut problems, mut prose) = (0, 0, 0, 0, 0);
    let mut without = Vec::new();
    let mut unnamed = 0;
    for (path, bytes) in &files {
        let plan = parse(bytes);
        with_tasks += usize::from(!plan.tasks.is_empty());
        if plan.tasks.is_empty() {
            without.push(path);
        }
        tasks += plan.tasks.len();
        checkpoints += plan.tasks.iter().filter(|task| task.is_checkpoint()).count();
        unnamed += plan.tasks.iter().filter(|task| task.name.is_empty()).count();
        problems += usize::from(!plan.problems.is_empty());
        for reference in plan.depends_on.iter().filter(|reference| reference.plan.is_none()) {
            prose += 1;
            corpus::print_line(&format!("depends: {}", reference.text));
        }
    }
    let files = files.len();
    corpus::print_line(&format!(
        "plans: {files}, with tasks {with_tasks}, tasks {tasks} ({checkpoints} checkpoints, \
         {unnamed} unnamed), block problems {problems}, dependencies in prose {prose}"
    ));
    corpus::print_line(&format!("without tasks: {without:?}"));
    assert!(with_tasks * 10 >= files * 9);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        bytes: Vec<u8>,
        text in "(<task|<task>|</task>|</tasks>|<verify>|</verify>|<automated>|<name>|</name|>|\"|=| |\n|```|é|## Task 1|---|a: |- )*",
    ) {
        parse(&bytes);
        parse(text.as_bytes());
    }

    #[test]
    fn no_dependency_makes_it_panic(text in "[0-9a-zP./\\-, é]{0,12}") {
        let plan = parse(format!("---\ndepends_on: [\"{text}\"]\n---\n").as_bytes());
        for reference in plan.depends_on {
            reference.resolve(&text, std::slice::from_ref(&text));
        }
    }
}

#[test]
fn changed_evidence_is_reported_and_changed_descriptions_are_not() {
    let text = "---\nfiles_modified: [a]\nmust_haves:\n  artifacts:\n    - path: a\n---\n\n\
                <task>\n<name>One</name>\n<action>do</action>\n\
                <verify><automated>test -e a</automated></verify>\n</task>\n";
    let plan = parse(text.as_bytes());
    for (old, new, wanted) in [
        ("<name>One", "<name>Two", None),
        ("<action>do", "<action>do it", None),
        ("test -e a", "true", Some("the check of task 1 was changed")),
        ("- path: a", "- path: b", Some("must_haves was changed")),
        ("[a]", "[a, b]", Some("files_modified was changed")),
        ("<task>", "<task></task>\n<task>", Some("the number of tasks changed from 1 to 2")),
        ("<task>", "<task type=\"checkpoint\">", Some("the check of task 1 was changed")),
    ] {
        let changed = plan.changed_evidence(&parse(text.replacen(old, new, 1).as_bytes()));
        assert_eq!(changed.as_deref(), wanted, "{new}");
    }
}
