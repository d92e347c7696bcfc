//! Several planned projects in one repository: each has its own lead, runs, worktrees and branches.

use mow_testkit::field::{ALL, Field, Going, phase, plan, task};

use super::{MOW, answer, field, sown};

const OTHER: &str = "apps/other";

fn run(field: &Field, below: &str, words: &[&str], code: i32) -> String {
    let ran = field.sandbox.call(words).cwd(below).run();
    assert_eq!(ran.status.code(), Some(code), "{}", field.story(&ran));
    ran.transcript()
}

fn branches(field: &Field) -> Vec<String> {
    let all = field.git(&["branch", "--format=%(refname:short)", "--list", "phase-*"]);
    all.lines().map(str::to_owned).collect()
}

/// A project at the top with one below it; both have a phase 1.
fn two(first: &str, second: &str) -> Field {
    let field = field(&[sown("1", &[], first)]);
    field.add_project(OTHER, &[sown("1", &[], second)]);
    field
}

#[test]
fn an_unfinished_run_is_left_alone_by_the_other_project() {
    let field = field(&[sown("1", &[], "").undiscussed()]);
    field.add_project(OTHER, &[sown("1", &[], "")]);
    field.ends(&ALL, 5); // it waits for answers
    let waiting = field.run_id();
    let said = run(&field, OTHER, &ALL, 0);
    assert!(said.contains("1 of 1 phases merged") && !said.contains(&waiting), "{said}");
    let of_other = branches(&field);
    assert!(of_other.contains(&"phase-01".to_owned()), "{of_other:?}");
    assert!(of_other.iter().any(|name| name.starts_with("phase-01-apps-other-")), "{of_other:?}");
    let inbox = run(&field, OTHER, &["inbox", "--json"], 0);
    assert!(inbox.contains("\"questions\": []"), "it has no questions of its own: {inbox}");
    for item in 1..=3 {
        answer(&field, &item.into(), "Barley.");
    }
    let said = field.ends(&ALL, 0);
    assert!(said.contains(&format!("run {waiting} goes on")), "{said}");
    let code: Vec<_> = field.code().into_keys().collect();
    assert_eq!(code, ["README.md", "apps/other/crop-1", "crop-1"]);
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    let log = run(&field, OTHER, &["log", "--run", &waiting], 0);
    assert!(log.contains("phase 1"), "by its name it can be read from everywhere: {log}");
}

#[test]
fn two_projects_run_at_the_same_time() {
    let field = two("meet 1", "meet 2");
    let first = field.start(&ALL);
    field.reached("1");
    let second = Going::of(field.sandbox.call(ALL).cwd(OTHER));
    field.reached("2");
    let again = run(&field, OTHER, &ALL, 4);
    assert!(again.contains("another run has this project"), "{again}");
    let pids = |below| run(&field, below, &["ps", "--json"], 0);
    assert!(pids(".").contains(&first.pid().to_string()));
    assert!(pids(OTHER).contains(&second.pid().to_string()));
    field.open("2");
    field.open("1");
    for lead in [first, second] {
        let (status, said) = lead.end();
        assert!(status.success() && !said.contains("To finish"), "{said}");
    }
    let code: Vec<_> = field.code().into_keys().collect();
    assert_eq!(code, ["README.md", "apps/other/crop-1", "crop-1"]);
    assert_eq!(branches(&field).len(), 2);
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    assert_eq!(field.git(&["fsck", "--no-dangling", "--no-progress"]), "");
    for below in [".", OTHER] {
        let done = run(&field, below, &ALL, 0);
        assert!(done.contains("Nothing to do"), "{done}");
    }
}

#[test]
fn a_killed_lead_takes_up_its_own_run_while_the_other_goes_on() {
    let field = two("meet 1", "meet 2");
    let first = field.start(&ALL);
    field.reached("1");
    let mine = field.run_id();
    let second = Going::of(field.sandbox.call(ALL).cwd(OTHER));
    field.reached("2");
    first.kill();
    field.open("1");
    let said = field.ends(&ALL, 0);
    assert!(said.contains(&format!("run {mine} goes on")), "{said}");
    field.open("2");
    let (status, said) = second.end();
    assert!(status.success(), "{said}");
    assert_eq!(field.code().len(), 3, "{:?}", field.code());
    assert_eq!(field.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_worker_below_the_top_is_known_wherever_it_stands() {
    let script = format!("cd ../..\n{MOW} state update Status x > \"$OLDPWD/said\" 2>&1 || true");
    let tasks = vec![task(&script), task("cat said > kept; rm -f said")];
    let field = field(&[sown("1", &[], "")]);
    field.add_project(OTHER, &[phase("1", &[]).with(plan(tasks))]);
    run(&field, OTHER, &ALL, 0);
    let said = field.git(&["show", &format!("main:{OTHER}/kept")]);
    assert!(said.contains("only the lead of run"), "{said}");
}
