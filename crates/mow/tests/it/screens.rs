//! Snapshots of the main screens: a project before, during and after a run, and refusals.
//!
//! A screen that depends on timing, such as the log of a run, is left out or cut.

use mow_testkit::sandbox::Sandbox;

use crate::run_fixture::{planned, run_all};
use crate::sandbox;

/// Runs a command and compares all that it prints with the snapshot.
fn check_screen(name: &str, project: &Sandbox, words: &[&str]) {
    let result = project.call(words).run();
    let mut screen = format!("$ mow {}\n{}", words.join(" "), result.stdout);
    if !result.stderr.is_empty() {
        screen += &format!("--- stderr\n{}", result.stderr);
    }
    check(name, &screen);
}

/// Compares a screen with its snapshot, without times, ids and hashes.
fn check(name: &str, screen: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\b\d{8}-\d{4,6}(-\w+)?", "[run]");
    settings.add_filter(r" +\d+(\.\d+)? ?(ms|s|min|h)\b", " [duration]");
    settings.bind(|| insta::assert_snapshot!(name, screen));
}

#[test]
fn a_project_before_its_first_run() {
    check_screen("no_plan", &sandbox(), &[]);
    let project = planned(&[(&[], "true"), (&[1], "true")]);
    for (name, words) in [
        ("planned", &[][..]),
        ("graph", &["roadmap", "graph"]),
        ("phases", &["roadmap", "phases"]),
        ("ps_no_run", &["ps"]),
        ("unknown_phase", &["run", "77"]),
    ] {
        check_screen(name, &project, words);
    }
}

#[test]
fn a_run_that_merges() {
    let project = planned(&[(&[], "true"), (&[1], "true")]);
    let output = run_all(&project).stdout;
    let (_, ending) = output.split_once("\n2 of 2").expect("the run says how many were merged");
    check("run_ending", ending);
    for (name, words) in [
        ("done", &[][..]),
        ("ps", &["ps"]),
        ("inbox_empty", &["inbox"]),
        ("cost", &["cost"]),
        ("rescue_none", &["rescue", "list"]),
    ] {
        check_screen(name, &project, words);
    }
}

#[test]
fn a_run_that_waits_for_a_person() {
    let project = planned(&[(&[], "echo 'Which colour?'; exit 75"), (&[1], "true")]);
    let error = run_all(&project).stderr;
    let (_, ending) = error.split_once("Error").expect("the run waits for a person");
    check("waiting_ending", ending);
    for (name, words) in [
        ("waiting", &[][..]),
        ("waiting_ps", &["ps"]),
        ("inbox", &["inbox"]),
        ("unknown_question", &["answer", "9", "red"]),
        ("unknown_choice", &["answer", "1", "red"]),
    ] {
        check_screen(name, &project, words);
    }
}
