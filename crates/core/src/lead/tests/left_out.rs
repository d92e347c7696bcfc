//! Tests phases that a person left out, and phases that the roadmap keeps from starting.

use super::*;

#[test]
fn only_named_phases_start_and_merge() {
    let phases = vec![spec("1", &[]), spec("2", &[]), spec("3", &["1"])];
    let mut harness =
        LeadHarness::new(unlimited_settings(), vec![spec("1", &[]), spec("3", &["1"])]);
    harness.prepare_and_start("1");
    harness.report_and_exit("1", 1, Report::Failed { reason: "no".to_owned() });
    let left_out = vec![number("1"), number("3")];
    harness.input(&Input::LeadStarted { settings: Settings { left_out, ..unlimited_settings() } });
    harness.input(&Input::Roadmap { scope: RunScope::All, phases });
    assert!(!harness.lead.is_named_work_over());
    harness.complete("2");
    harness.merge("c1");
    assert_eq!(harness.status("2"), Status::Merged, "a phase that is left out holds up no wave");
    assert_eq!((harness.status("1"), harness.status("3")), (Status::Failed, Status::Waiting));
    assert!(harness.lead.is_named_work_over());
    assert_ne!(harness.lead.status(), RunStatus::Done, "the run has unfinished phases");
    harness.lead.check_indices().unwrap();
    // A person who resumes a phase names it.
    harness.command(1, Command::Resume { phase: Some(number("1")) });
    assert_eq!(harness.status("1"), Status::Preparing);
    harness.lead.check_indices().unwrap();
}

#[test]
fn a_held_phase_starts_when_the_roadmap_is_corrected() {
    let held = PhaseSpec { held: Some("because".to_owned()), ..spec("1", &[]) };
    let mut harness = LeadHarness::new(unlimited_settings(), vec![held, spec("2", &["1"])]);
    assert_eq!(harness.status("1"), Status::Waiting);
    assert_eq!(harness.lead.status(), RunStatus::Waiting);
    harness.lead.check_indices().unwrap();
    let phases = vec![spec("1", &[]), spec("2", &["1"])];
    harness.input(&Input::Roadmap { scope: RunScope::All, phases });
    assert_eq!(harness.status("1"), Status::Preparing);
    harness.lead.check_indices().unwrap();
}
