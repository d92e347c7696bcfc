//! Tests `mow init` without a subcommand, which creates the planning files.

use serde_json::json;

use crate::sandbox;

const CALL: [&str; 9] = [
    "init",
    "--name",
    "Shop",
    "--goal",
    "Sell books",
    "--phase",
    "Ground",
    "--phase",
    "Roof | top",
];

#[test]
fn every_command_reads_a_new_project() {
    let project = sandbox();
    project.git("", &["init", "-q"]);
    let _ = project.call(CALL).run().stdout_on_success();
    let mut names: Vec<_> = project.files().into_keys().collect();
    names.sort();
    assert_eq!(
        names,
        [
            ".planning/PROJECT.md",
            ".planning/REQUIREMENTS.md",
            ".planning/ROADMAP.md",
            ".planning/STATE.md",
            ".planning/config.json",
            ".planning/phases/01-ground/.gitkeep",
            ".planning/phases/02-roof-top/.gitkeep",
        ]
    );
    let analysis = project.call(["roadmap", "analyze"]).run().json();
    assert_eq!(analysis["phase_count"], 2);
    assert_eq!(analysis["phases"][1]["name"], "Roof | top");
    assert_eq!(analysis["phases"][1]["depends_on_parsed"], json!(["1"]));
    assert_eq!(analysis["missing_phase_details"], json!(null));
    let snapshot = project.call(["state-snapshot"]).run().json();
    assert_eq!(snapshot["current_phase"], "1");
    assert_eq!(snapshot["blockers"], json!([]));
    let doctor = project.call(["doctor", "--json"]).run();
    let report: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    for check in report["plan"].as_array().unwrap() {
        assert_eq!(check["level"], "ok", "{check}");
    }
}

#[test]
fn existing_planning_files_are_adopted_unchanged() {
    let project = sandbox()
        .file(".planning/ROADMAP.md", "## Phases\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n")
        .file("src/main.rs", "");
    let before = project.files();
    let text = project.call(CALL).cwd("src").run().stdout_on_success();
    assert!(text.contains("Nothing was changed") && text.contains("2 phases"), "{text}");
    assert!(text.contains("1 done") && text.contains("mow init --missing"), "{text}");
    let answer = project.call(["init", "--json", "--yes"]).run().json();
    assert_eq!(answer["started"], false);
    assert_eq!(answer["reason"], "already_planned");
    assert_eq!(answer["found"], json!(["ROADMAP.md"]));
    assert_eq!(project.files(), before);
}

#[test]
fn missing_files_are_written_and_existing_ones_kept() {
    let roadmap = "## Phases\n- [x] **Phase 1: A**\n- [ ] **Phase 2: B**\n";
    let project = sandbox()
        .file(".planning/ROADMAP.md", roadmap)
        .file(".planning/config.json", "{ \"mode\": \"yolo\" }");
    let answer = project.call(["init", "--missing", "--yes", "--json"]).run().json();
    assert_eq!(
        answer["created"],
        json!([".planning/PROJECT.md", ".planning/REQUIREMENTS.md", ".planning/STATE.md"])
    );
    assert_eq!(project.text(".planning/ROADMAP.md"), roadmap);
    assert_eq!(project.text(".planning/config.json"), "{ \"mode\": \"yolo\" }");
    assert!(project.text(".planning/STATE.md").contains("\nPhase: 2 of 2 (B)\n"));
    let again = project.call(["init", "--missing", "--yes", "--json"]).run().json();
    assert_eq!(again["created"], json!([]));
}

#[test]
fn without_a_terminal_init_needs_flags() {
    let project = sandbox();
    project.call(["init"]).run().refuses("no terminal to ask on");
    for bad in ["", "  ", "two\nlines", "\u{1b}[31m"] {
        project.call(["init", "--name", bad]).run().refuses("");
        project.call(["init", "--name", "A", "--phase", bad]).run().refuses("");
    }
    assert!(project.files().is_empty());
    let answer = project.call(["init", "--yes", "--json"]).run().json();
    assert_eq!(answer["started"], true);
    assert_eq!(answer["repository"], false);
    assert!(project.text(".planning/PROJECT.md").starts_with("# project\n"));
    assert!(project.text(".planning/ROADMAP.md").contains("Phase 1: First steps"));
}

#[test]
fn an_existing_file_named_planning_is_not_touched() {
    let project = sandbox().file(".planning", "mine");
    let ran = project.call(CALL).run();
    assert!(!ran.status.success() && ran.stderr.starts_with("Error: "), "{}", ran.transcript());
    assert_eq!(project.text(".planning"), "mine");
}

#[test]
fn on_a_terminal_init_asks() {
    let project = sandbox();
    project.git("", &["init", "-q"]);
    let mut terminal = project.call(["init"]).on_terminal();
    terminal.wait_for("Name ");
    terminal.type_in("Shop\n");
    terminal.wait_for("Goal, in one sentence: ");
    terminal.type_in("Sell \u{1}books\n");
    terminal.wait_for("not one line of plain text");
    terminal.wait_for("Goal, in one sentence: ");
    terminal.type_in("Sell books\n");
    for (number, name) in ["Ground", "Roof", ""].iter().enumerate() {
        terminal.wait_for(&format!("Phase {}: ", number + 1));
        terminal.type_in(&format!("{name}\n"));
    }
    terminal.wait_for("[Y/n] ");
    assert!(project.files().is_empty(), "nothing is written before the answer");
    terminal.type_in("\n");
    let (status, screen) = terminal.end();
    assert!(status.success() && screen.contains("wrote .planning/ROADMAP.md"), "{screen}");
    assert!(screen.contains("\x1b["), "a terminal has colours: {screen}");
    let text = project.text(".planning/PROJECT.md");
    assert!(text.starts_with("# Shop\n") && text.contains("Sell books"), "{text}");
    assert!(project.text(".planning/ROADMAP.md").contains("Phase 2: Roof"));
}

#[test]
fn on_a_terminal_a_person_may_decline_or_quit() {
    let project = sandbox();
    let flags = ["init", "--name", "A", "--goal", "B", "--phase", "C"];
    let mut terminal = project.call(flags).on_terminal();
    terminal.wait_for("[Y/n] ");
    terminal.type_in("no\n");
    let (status, screen) = terminal.end();
    assert!(status.success() && screen.contains("Nothing was written."), "{screen}");
    let mut terminal = project.call(["init"]).env("NO_COLOR", "1").on_terminal();
    terminal.wait_for("Name ");
    terminal.type_in("\u{4}");
    let (status, screen) = terminal.end();
    assert_eq!(status.code(), Some(1), "{screen}");
    assert!(screen.contains("the input ended") && !screen.contains('\x1b'), "{screen}");
    assert!(project.files().is_empty());
}
