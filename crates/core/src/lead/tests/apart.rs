//! Phases that change the same files.

use super::*;

fn files(paths: &[&str]) -> Option<Vec<String>> {
    Some(paths.iter().map(|path| (*path).to_owned()).collect())
}

fn touching(text: &str, depends_on: &[&str], paths: &[&str]) -> PhaseSpec {
    PhaseSpec { touches: files(paths), ..spec(text, depends_on) }
}

fn planned(paths: &[&str], waits: bool) -> Report {
    Report::Planned { files: files(paths).unwrap(), waits }
}

/// Returns what the last worker that was started may change.
fn clear(table: &Table) -> Vec<String> {
    let mut briefs = table.events.iter().rev().filter_map(|event| match event {
        Event::Intended { effect: Effect::Start { brief }, .. } => Some(brief.clear.clone()),
        _ => None,
    });
    briefs.next().unwrap()
}

#[test]
fn phases_that_change_the_same_files_run_one_after_the_other() {
    let phases = vec![
        touching("1", &[], &["src/a"]),
        touching("2", &[], &["src"]),
        touching("3", &[], &["doc"]),
    ];
    let mut table = Table::new(at_once(), phases);
    assert_eq!(table.status("2"), Status::Waiting);
    let why = table.lead.why(&table.lead.phases[&number("2")]);
    assert_eq!(why, "it waits for 1, which changes src/a, too");
    table.complete("3");
    assert_eq!(table.status("3"), Status::Complete, "its wave is open");
    table.complete("1");
    assert_eq!(table.status("1"), Status::Merging, "2 waits for it");
    table.merge("c1");
    assert_eq!(table.status("2"), Status::Preparing);
    let wanted =
        |e: &Effect| matches!(e, Effect::Prepare { base, renew: true, .. } if base == "c1");
    assert!(table.wanted.iter().any(|(_, effect)| wanted(effect)), "it begins from that merge");
    table.lead.check_indices().unwrap();
}

#[test]
fn forced_phases_run_side_by_side() {
    let settings = Settings { force: true, ..at_once() };
    let phases = vec![touching("1", &[], &["a"]), touching("2", &[], &["a"])];
    let table = Table::new(settings, phases);
    assert_eq!((table.status("1"), table.status("2")), (Status::Preparing, Status::Preparing));
}

#[test]
fn a_phase_that_halts_holds_nobody_back() {
    let phases = vec![touching("1", &[], &["a"]), touching("2", &[], &["a"])];
    let mut table = Table::new(at_once(), phases);
    table.prepare_and_start("1");
    table.end("1", 1, Report::Failed { reason: "so".to_owned() });
    assert_eq!(table.status("2"), Status::Preparing);
}

#[test]
fn plans_that_are_made_in_the_run_are_looked_at_before_they_are_carried_out() {
    let mut table = Table::new(at_once(), vec![spec("1", &[]), spec("2", &[])]);
    table.prepare_and_start("1");
    assert_eq!(clear(&table), [""; 0], "2 runs beside it");
    table.prepare_and_start("2");
    table.end("2", 1, planned(&["a", "b"], true));
    assert_eq!(table.status("2"), Status::Preparing, "nobody else has these files");
    table.prepare_and_start("2");
    assert_eq!(clear(&table), ["a", "b"]);
    table.end("1", 1, planned(&["b"], true));
    assert_eq!(table.status("1"), Status::Waiting, "the other one has begun");
    let why = &table.lead.phases[&number("1")].why;
    assert_eq!(why, "its plans change b, and so does phase 2, which is merged first");
    table.end("2", 2, Report::Complete { commit: "p2".to_owned() });
    table.merge("c1");
    assert_eq!(table.status("1"), Status::Preparing);
    let checked = table.lead.phases[&number("1")].checked;
    assert!(checked, "the plans need not be checked again");
}

#[test]
fn a_phase_that_nothing_can_run_beside_need_not_ask() {
    let mut table = Table::new(at_once(), vec![spec("1", &[]), spec("2", &["1"])]);
    table.prepare_and_start("1");
    assert_eq!(clear(&table), ["."]);
    let phases = vec![spec("1", &[]), spec("2", &["1"]), touching("3", &[], &["a"])];
    table.put(&Input::Roadmap { scope: Scope::All, phases });
    assert_eq!(table.status("3"), Status::Waiting, "nobody knows yet what 1 changes");
    table.say("1", 1, planned(&["b"], false));
    assert_eq!(table.status("3"), Status::Preparing);
}

#[test]
fn what_has_executed_goes_on_before_what_has_not() {
    let settings = Settings { max_workers: 1, ..at_once() };
    let phases = vec![touching("1", &[], &["a"]), touching("2", &[], &["a"])];
    let mut table = Table::new(settings, phases);
    table.prepare_and_start("1");
    let ask = Ask {
        key: "1/x".to_owned(),
        kind: ItemKind::Blocker,
        question: "?".to_owned(),
        choices: Vec::new(),
    };
    table.say("1", 1, Report::Asked { ask });
    table.end("1", 2, Report::Parked);
    table.prepare_and_start("2");
    let (from, to, artifact) = (None, Stage::Execute, String::new());
    table.say("2", 1, Report::Stage { from, to, artifact });
    table.command(1, Command::Answer { item: 1, text: "so".to_owned() });
    table.put(&Input::Gone { phase: number("2"), attempt: 1 });
    assert_eq!(table.status("2"), Status::Preparing, "its worker died in the middle");
    assert_eq!(table.status("1"), Status::Waiting);
    table.lead.check_indices().unwrap();
}
