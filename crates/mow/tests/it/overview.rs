//! Tests `mow` without arguments: the state of the project and the next commands.

use serde_json::json;

use crate::sandbox;

const ROADMAP: &str = "\
# Roadmap: Shop

### 🚧 v1.1 Payments (In Progress)

- [x] **Phase 1: Ground**
- [ ] **Phase 2: Walls**
- [ ] **Phase 3: Roof**
- [ ] **Phase 4: A name that is far too long to fit into eighty columns together with all the rest**

## Phase Details

### Phase 1: Ground
**Depends on:** Nothing

### Phase 2: Walls
**Depends on:** Phase 1

### Phase 3: Roof
**Depends on:** Phase 2

### Phase 4: A name that is far too long to fit into eighty columns together with all the rest
**Depends on:** Phase 1
";

const STATE: &str = "\
# Project State

## Current Position

Phase: 2 of 4 (Walls)
Plan: 1 of 3 in current phase
Status: Executing
Last activity: 2026-01-02 — plan 02-01 done

## Active Phases

| Phase | Name | Status | Worker | Plans | Last Update |
|-------|------|--------|--------|-------|-------------|
| 1 | Ground | complete | -- | 1/1 | -- |
| 2 | Walls | executing | w1 | 1/3 | -- |

## Blockers

- No crane
";

fn shop() -> mow_testkit::sandbox::Sandbox {
    sandbox()
        .file(".planning/PROJECT.md", "# Shop\n")
        .file(".planning/ROADMAP.md", ROADMAP)
        .file(".planning/STATE.md", STATE)
}

#[test]
fn the_overview_shows_the_state_of_the_project() {
    shop().call([""; 0]).run().prints(
        "\
Shop, v1.1 Payments
█████░░░░░░░░░░░░░░░  1 of 4 phases done

Now        Phase 2 of 4: Walls, plan 1 of 3
Status     Executing
Last       2026-01-02: plan 02-01 done
Running    2 Walls (executing), plans 1/3, w1
Ready      4 A name that is far too long to fit into eighty columns together...
Blocked    3 Roof (waits for 2)
Blockers   No crane

Next
  mow scaffold phase-dir --phase 4 --name 'A name that is far too long to fit into eighty columns together with all the rest'
      create the directory of phase 4
  mow roadmap graph  show the dependencies of the phases
",
    );
}

#[test]
fn json_has_the_same_content() {
    let answer = shop().call(["--json"]).run().json();
    assert_eq!(answer["milestone"], "v1.1 Payments");
    assert_eq!(
        answer["phases"],
        json!({ "total": 4, "done": 1, "ready": 1, "blocked": 1, "running": 1 })
    );
    assert_eq!(answer["blocked"], json!([{ "number": "3", "name": "Roof", "waiting_on": ["2"] }]));
    assert_eq!(answer["position"]["phase"], "2");
    assert_eq!(answer["blockers"], json!(["No crane"]));
    assert_eq!(answer["next"][1]["command"], "mow roadmap graph");
}

#[test]
fn no_line_except_commands_is_wider_than_the_terminal() {
    for columns in ["40", "60", "80"] {
        let text = shop().call([""; 0]).env("COLUMNS", columns).run().stdout_on_success();
        let wide = text.lines().filter(|line| !line.starts_with("  mow"));
        for line in wide {
            assert!(line.chars().count() <= columns.parse().unwrap(), "{columns}: {line}");
        }
    }
}

#[test]
fn colours_are_for_terminals_and_ascii_for_plain_locales() {
    let plain = shop().call([""; 0]).env("LC_ALL", "C").run().stdout_on_success();
    assert!(plain.is_ascii() && !plain.contains('\x1b'), "{plain}");
    let forced = shop().call([""; 0]).env("CLICOLOR_FORCE", "1").run().stdout_on_success();
    assert!(forced.contains("\x1b["), "{forced}");
    let both = shop().call([""; 0]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").run();
    assert!(!both.stdout_on_success().contains('\x1b'));
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let evil = STATE.replace("No crane", "No \u{1b}]0;crane\u{7}");
    let project = shop().file(".planning/STATE.md", evil);
    assert!(
        project
            .call([""; 0])
            .run()
            .stdout_on_success()
            .chars()
            .all(|c| c == '\n' || !c.is_control())
    );
}

#[test]
fn outside_of_a_project_the_overview_says_how_to_start() {
    let text = sandbox().call([""; 0]).run().stdout_on_success();
    assert!(text.contains("mow init") && text.contains("git init"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80));
    let project = sandbox();
    project.git("", &["init", "-q"]);
    let text = project.call([""; 0]).run().stdout_on_success();
    assert!(text.contains("mow init") && !text.contains("git init"), "{text}");
    assert_eq!(project.call(["--json"]).run().json()["planned"], false);
    assert!(project.files().is_empty());
}

#[test]
fn a_missing_file_is_reported_with_the_command_that_creates_it() {
    let project = sandbox().file(".planning/PROJECT.md", "# Shop\n");
    let text = project.call([""; 0]).run().stdout_on_success();
    assert!(text.contains("! ROADMAP.md is missing"), "{text}");
    assert!(text.contains("mow init --missing"), "{text}");
}

#[test]
fn the_next_commands_depend_on_the_existing_files() {
    let cases = [
        ("phases/02-walls/02-CONTEXT.md", "mow template fill plan --phase 2"),
        ("phases/02-walls/02-01-PLAN.md", "mow phase-plan-index 2"),
    ];
    let roadmap = "## Phases\n- [x] **Phase 1: Ground**\n- [ ] **Phase 2: It's**\n";
    let project = || sandbox().file(".planning/ROADMAP.md", roadmap);
    let commands = |answer: serde_json::Value| {
        let steps = answer["next"].as_array().unwrap().clone();
        steps.iter().map(|step| step["command"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (file, command) in cases {
        let project = project().file(&format!(".planning/{file}"), "");
        let commands = commands(project.call(["--json"]).run().json());
        assert!(commands.iter().any(|c| c == command), "{commands:?}");
    }
    let made = commands(project().call(["--json"]).run().json());
    assert!(made.contains(&r#"mow scaffold phase-dir --phase 2 --name "It's""#.to_owned()));
    let finished = project()
        .file(".planning/phases/02-walls/02-01-PLAN.md", "")
        .file(".planning/phases/02-walls/02-01-SUMMARY.md", "");
    let commands = commands(finished.call(["--json"]).run().json());
    assert!(commands.contains(&"mow phase complete 2".to_owned()), "{commands:?}");
    assert!(commands.contains(&"mow milestone complete v1.0".to_owned()), "{commands:?}");
}
