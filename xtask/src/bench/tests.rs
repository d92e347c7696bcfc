//! Tests of the bench: the generated project and the arithmetic.

use super::*;

#[test]
fn the_median_ignores_the_outlier() {
    let times = [9, 1, 2].map(Duration::from_millis).to_vec();
    assert_eq!(median(times), Duration::from_millis(2));
}

#[test]
fn runs_must_be_a_positive_number() {
    let parse =
        |words: &[&str]| parse_runs(&words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>());
    assert_eq!(parse(&[]).ok(), Some(RUNS_DEFAULT));
    assert_eq!(parse(&["--runs", "7"]).ok(), Some(7));
    for words in [&["--runs", "0"][..], &["--runs"], &["--runs", "x"], &["7"]] {
        assert!(parse(words).is_err(), "{words:?}");
    }
}

#[test]
fn a_generated_project_has_every_phase_and_restores_its_state() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let project = BenchProject::generate(temp.path(), 10, 2).expect("a project");
    let planning = temp.path().join(".planning");
    let roadmap = fs::read_to_string(planning.join("ROADMAP.md")).expect("a roadmap");
    assert_eq!(roadmap.matches("### Phase ").count(), 10);
    assert_eq!(roadmap.matches("- [x] **Phase ").count(), 5);
    let count = |folder: &str, suffix: &str| {
        let entries = fs::read_dir(planning.join("phases").join(folder)).expect("a phase folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.filter(|name| name.to_string_lossy().ends_with(suffix)).count()
    };
    assert_eq!((count("0001-step", "-PLAN.md"), count("0001-step", "-SUMMARY.md")), (8, 8));
    assert_eq!((count("0010-step", "-PLAN.md"), count("0010-step", "-SUMMARY.md")), (8, 0));

    let state = planning.join("STATE.md");
    let before = fs::read_to_string(&state).expect("a state");
    fs::write(&state, "changed").expect("a change");
    project.restore().expect("restored");
    assert_eq!(fs::read_to_string(&state).expect("a state"), before);
}
