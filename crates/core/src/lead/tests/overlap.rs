//! Tests of phases that change the same files.

use super::*;

fn files(paths: &[&str]) -> Option<Vec<String>> {
    Some(paths.iter().map(|path| (*path).to_owned()).collect())
}

fn spec_with_files(text: &str, depends_on: &[&str], paths: &[&str]) -> PhaseSpec {
    PhaseSpec { touches: files(paths), ..spec(text, depends_on) }
}

fn planned(paths: &[&str], waits: bool) -> Report {
    Report::Planned { files: files(paths).unwrap(), waits }
}

/// Returns the files that the last started worker may change without asking.
fn cleared_files(harness: &LeadHarness) -> Vec<String> {
    let mut briefs = harness.events.iter().rev().filter_map(|event| match event {
        Event::Intended { effect: Effect::Start { brief }, .. } => Some(brief.clear.clone()),
        _ => None,
    });
    briefs.next().unwrap()
}

#[test]
fn phases_that_change_the_same_files_run_one_after_the_other() {
    let phases = vec![
        spec_with_files("1", &[], &["src/a"]),
        spec_with_files("2", &[], &["src"]),
        spec_with_files("3", &[], &["doc"]),
    ];
    let mut harness = LeadHarness::new(unlimited_settings(), phases);
    assert_eq!(harness.status("2"), Status::Waiting);
    let why = harness.lead.explain_status(&harness.lead.phases[&number("2")]);
    assert_eq!(why, "it waits for 1, which also changes src/a");
    harness.complete("3");
    assert_eq!(harness.status("3"), Status::Complete, "its wave is open");
    harness.complete("1");
    assert_eq!(harness.status("1"), Status::Merging, "2 waits for it");
    harness.merge("c1");
    assert_eq!(harness.status("2"), Status::Preparing);
    let wanted =
        |e: &Effect| matches!(e, Effect::Prepare { base, renew: true, .. } if base == "c1");
    assert!(
        harness.pending_effects.iter().any(|(_, effect)| wanted(effect)),
        "it begins from that merge"
    );
    harness.lead.check_indices().unwrap();
}

#[test]
fn forced_phases_run_in_parallel() {
    let settings = Settings { force: true, ..unlimited_settings() };
    let phases = vec![spec_with_files("1", &[], &["a"]), spec_with_files("2", &[], &["a"])];
    let harness = LeadHarness::new(settings, phases);
    assert_eq!((harness.status("1"), harness.status("2")), (Status::Preparing, Status::Preparing));
}

#[test]
fn a_halted_phase_blocks_no_other_phase() {
    let phases = vec![spec_with_files("1", &[], &["a"]), spec_with_files("2", &[], &["a"])];
    let mut harness = LeadHarness::new(unlimited_settings(), phases);
    harness.prepare_and_start("1");
    harness.report_and_exit("1", 1, Report::Failed { reason: "so".to_owned() });
    assert_eq!(harness.status("2"), Status::Preparing);
}

#[test]
fn plans_written_during_the_run_are_compared_before_they_are_executed() {
    let mut harness = LeadHarness::new(unlimited_settings(), vec![spec("1", &[]), spec("2", &[])]);
    harness.prepare_and_start("1");
    assert_eq!(cleared_files(&harness), [""; 0], "2 runs in parallel");
    harness.prepare_and_start("2");
    harness.report_and_exit("2", 1, planned(&["a", "b"], true));
    assert_eq!(harness.status("2"), Status::Preparing, "nobody else has these files");
    harness.prepare_and_start("2");
    assert_eq!(cleared_files(&harness), ["a", "b"]);
    harness.report_and_exit("1", 1, planned(&["b"], true));
    assert_eq!(harness.status("1"), Status::Waiting, "the other one has begun");
    let why = harness.lead.phases[&number("1")].why.to_string();
    assert_eq!(why, "its plans change b, and so does phase 2, which is merged first");
    harness.report_and_exit("2", 2, Report::Complete { commit: "p2".to_owned() });
    harness.merge("c1");
    assert_eq!(harness.status("1"), Status::Preparing);
    let checked = harness.lead.phases[&number("1")].plans_checked;
    assert!(checked, "the plans need not be checked again");
}

#[test]
fn a_phase_that_runs_alone_need_not_ask() {
    let mut harness =
        LeadHarness::new(unlimited_settings(), vec![spec("1", &[]), spec("2", &["1"])]);
    harness.prepare_and_start("1");
    assert_eq!(cleared_files(&harness), ["."]);
    let phases = vec![spec("1", &[]), spec("2", &["1"]), spec_with_files("3", &[], &["a"])];
    harness.input(&Input::Roadmap { scope: RunScope::All, phases });
    assert_eq!(harness.status("3"), Status::Waiting, "nobody knows yet what 1 changes");
    harness.report("1", 1, planned(&["b"], false));
    assert_eq!(harness.status("3"), Status::Waiting, "phase 1 has all agents");
    let count = Settings::default().max_agents - 1;
    harness.report("1", 2, Report::Agents { count });
    assert_eq!(harness.status("3"), Status::Preparing);
}

#[test]
fn phases_that_have_executed_start_before_those_that_have_not() {
    let settings = Settings { max_workers: 1, ..unlimited_settings() };
    let phases = vec![spec_with_files("1", &[], &["a"]), spec_with_files("2", &[], &["a"])];
    let mut harness = LeadHarness::new(settings, phases);
    harness.prepare_and_start("1");
    let ask = ask("1/blocker/01-01/1#1", QuestionKind::Blocker, &[]);
    harness.report("1", 1, Report::Asked { ask });
    harness.report_and_exit("1", 2, Report::Parked);
    harness.prepare_and_start("2");
    let (from, to, artifact) = (None, Stage::Execute, String::new());
    harness.report("2", 1, Report::Stage { from, to, artifact });
    harness.command(1, Command::Answer { item: 1, text: "so".to_owned() });
    harness.input(&Input::WorkerExited { phase: number("2"), attempt: 1 });
    assert_eq!(harness.status("2"), Status::Preparing, "its worker died in the middle");
    assert_eq!(harness.status("1"), Status::Waiting);
    harness.lead.check_indices().unwrap();
}
