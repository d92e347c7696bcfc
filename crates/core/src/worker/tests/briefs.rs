//! Attempts that look ahead, and plans that others may get in the way of.

use super::*;
use crate::stage::Stage;

fn ahead(through: Stage) -> impl Fn(&mut Brief) {
    move |brief| brief.through = Some(through)
}

#[test]
fn a_look_ahead_ends_before_the_next_stage() {
    let found = Found { context: true, settings: all_roles(), ..Found::default() };
    let mut bench = Bench::new(found);
    bench.begin_as(ahead(Stage::Research));
    assert_eq!(bench.done, ["researcher"]);
    assert_eq!(*bench.last(), Report::Ahead { through: Stage::Research });
}

#[test]
fn a_look_ahead_drafts_and_checks_plans_and_never_executes() {
    let settings = all_roles();
    let found = Found { settings, research: true, ..planned(vec![plan("03-01", 1, &[], 1)]) };
    let mut bench = Bench::new(found);
    bench.begin_as(ahead(Stage::Plan));
    assert_eq!(bench.done, ["plan-checker"]);
    assert_eq!(*bench.last(), Report::Ahead { through: Stage::Plan });
}

#[test]
fn a_look_ahead_asks_nobody_for_plans_and_leaves_no_checkpoint() {
    let mut bench = Bench::new(planned(Vec::new()));
    bench.begin_as(ahead(Stage::Plan));
    assert_eq!((bench.asked(), bench.last()), (vec![], &Report::Ahead { through: Stage::Plan }));
    let found = Found { context: true, settings: all_roles(), ..Found::default() };
    let mut bench = Bench::new(found);
    let failed = || ("researcher", Outcome::Failed { reason: "so".to_owned() });
    bench.outcomes = vec![failed(), failed()];
    bench.begin_as(ahead(Stage::Research));
    assert_eq!(bench.done, ["researcher", "researcher"]);
    assert_eq!(*bench.last(), Report::Failed { reason: "researcher: so".to_owned() });
}

fn touching(files: &[&str]) -> Found {
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
    let mut bench = Bench::new(touching(&["./src/b", "src/a"]));
    bench.begin_as(clear(&["src/a"]));
    assert_eq!(bench.done, [""; 0]);
    let files = ["src/a", "src/a/done", "src/b"].map(str::to_owned).to_vec();
    assert_eq!(*bench.last(), Report::Planned { files: files.clone(), waits: true });
    bench.begin_as(clear(&["src"]));
    assert!(bench.reports.contains(&Report::Planned { files, waits: false }));
    assert_eq!(*bench.last(), Report::Complete { commit: "c1".to_owned() });
}

#[test]
fn plans_that_name_no_further_files_wait_for_nobody() {
    let mut bench = Bench::new(touching(&[]));
    bench.begin_as(clear(&["src/a"]));
    assert_eq!(*bench.last(), Report::Complete { commit: "c1".to_owned() });
}

#[test]
fn plans_that_were_checked_just_before_are_not_checked_again() {
    let check = |checked: bool| {
        let settings = all_roles();
        let found = Found { settings, research: true, ..planned(vec![plan("03-01", 1, &[], 1)]) };
        let mut bench = Bench::new(found);
        bench.begin_as(|brief| brief.checked = checked);
        bench.done.iter().any(|done| done == "plan-checker")
    };
    assert!(check(false) && !check(true));
}
