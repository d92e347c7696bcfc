//! Tests of attempts that look ahead, and of plans whose files other phases may change.

use super::*;
use crate::stage::Stage;

fn ahead(through: Stage) -> impl Fn(&mut Brief) {
    move |brief| brief.through = Some(through)
}

#[test]
fn a_look_ahead_ends_before_the_next_stage() {
    let found = PhaseSnapshot { context: true, settings: all_roles(), ..PhaseSnapshot::default() };
    let mut auto = AutoWorker::new(found);
    auto.begin_as(ahead(Stage::Research));
    assert_eq!(auto.done, ["researcher"]);
    assert_eq!(*auto.last(), Report::LookaheadDone { through: Stage::Research });
}

#[test]
fn a_look_ahead_drafts_and_checks_plans_and_never_executes() {
    let settings = all_roles();
    let found =
        PhaseSnapshot { settings, research: true, ..planned(vec![plan("03-01", 1, &[], 1)]) };
    let mut auto = AutoWorker::new(found);
    auto.begin_as(ahead(Stage::Plan));
    assert_eq!(auto.done, ["plan-checker"]);
    assert_eq!(*auto.last(), Report::LookaheadDone { through: Stage::Plan });
}

#[test]
fn a_look_ahead_asks_nobody_for_plans_and_leaves_no_checkpoint() {
    let mut auto = AutoWorker::new(planned(Vec::new()));
    auto.begin_as(ahead(Stage::Plan));
    assert_eq!(
        (auto.asked(), auto.last()),
        (vec![], &Report::LookaheadDone { through: Stage::Plan })
    );
    let found = PhaseSnapshot { context: true, settings: all_roles(), ..PhaseSnapshot::default() };
    let mut auto = AutoWorker::new(found);
    let failed = || ("researcher", Outcome::Failed { reason: "so".to_owned() });
    auto.outcomes = vec![failed(), failed()];
    auto.begin_as(ahead(Stage::Research));
    assert_eq!(auto.done, ["researcher", "researcher"]);
    assert_eq!(*auto.last(), Report::Failed { reason: "researcher: so".to_owned() });
}

fn touching(files: &[&str]) -> PhaseSnapshot {
    let mut plans = vec![plan("03-01", 1, &[], 1), plan("03-02", 1, &[], 1)];
    plans[0].done = true;
    plans[0].files = vec!["src/a/done".to_owned()];
    plans[1].files = files.iter().map(|file| (*file).to_owned()).collect();
    planned(plans)
}

fn clear(files: &'static [&'static str]) -> impl Fn(&mut Brief) {
    move |brief| brief.clear = files.iter().map(|file| (*file).to_owned()).collect()
}

#[test]
fn plans_wait_unless_their_files_are_cleared() {
    let mut auto = AutoWorker::new(touching(&["./src/b", "src/a"]));
    auto.begin_as(clear(&["src/a"]));
    assert_eq!(auto.done, [""; 0]);
    let files = ["src/a", "src/a/done", "src/b"].map(str::to_owned).to_vec();
    assert_eq!(*auto.last(), Report::Planned { files: files.clone(), waits: true });
    auto.begin_as(clear(&["src"]));
    assert!(auto.reports.contains(&Report::Planned { files, waits: false }));
    assert_eq!(*auto.last(), Report::Complete { commit: "c1".to_owned() });
}

#[test]
fn plans_that_name_no_further_files_do_not_wait() {
    let mut auto = AutoWorker::new(touching(&[]));
    auto.begin_as(clear(&["src/a"]));
    assert_eq!(*auto.last(), Report::Complete { commit: "c1".to_owned() });
}

#[test]
fn plans_that_were_checked_just_before_are_not_checked_again() {
    let check = |checked: bool| {
        let settings = all_roles();
        let found =
            PhaseSnapshot { settings, research: true, ..planned(vec![plan("03-01", 1, &[], 1)]) };
        let mut auto = AutoWorker::new(found);
        auto.begin_as(|brief| brief.checked = checked);
        auto.done.iter().any(|done| done == "plan-checker")
    };
    assert!(check(false) && !check(true));
}
