//! Tests several projects in one repository: each has its own lead, runs, worktrees, branches.

use mow_testkit::planned_project::{ALL, PlannedProject, RunningCommand, phase, plan, task};

use super::{MOW, answer, one_task_phase, project};

const OTHER: &str = "apps/other";

fn run_in(project: &PlannedProject, below: &str, words: &[&str], code: i32) -> String {
    let ran = project.sandbox.call(words).cwd(below).run();
    assert_eq!(ran.status.code(), Some(code), "{}", project.transcript_with_logs(&ran));
    ran.transcript()
}

fn branches(project: &PlannedProject) -> Vec<String> {
    let all = project.git(&["branch", "--format=%(refname:short)", "--list", "phase-*"]);
    all.lines().map(str::to_owned).collect()
}

/// Makes a project at the repository root and one in a subdirectory. Both have a phase 1.
fn two_projects(first: &str, second: &str) -> PlannedProject {
    let project = project(&[one_task_phase("1", &[], first)]);
    project.add_project(OTHER, &[one_task_phase("1", &[], second)]);
    project
}

#[test]
fn a_project_does_not_touch_the_unfinished_run_of_another() {
    let project = project(&[one_task_phase("1", &[], "").without_context()]);
    project.add_project(OTHER, &[one_task_phase("1", &[], "")]);
    project.exits_with(&ALL, 5); // phase 1 waits for answers
    let waiting = project.run_id();
    let output = run_in(&project, OTHER, &ALL, 0);
    assert!(output.contains("1 of 1 phase merged") && !output.contains(&waiting), "{output}");
    let phase_branches = branches(&project);
    assert!(phase_branches.contains(&"phase-01".to_owned()), "{phase_branches:?}");
    assert!(
        phase_branches.iter().any(|name| name.starts_with("phase-01-apps-other-")),
        "{phase_branches:?}"
    );
    let inbox = run_in(&project, OTHER, &["inbox", "--json"], 0);
    assert!(inbox.contains("\"questions\": []"), "it has no questions of its own: {inbox}");
    for item in 1..=3 {
        answer(&project, &item.into(), "Barley.");
    }
    let output = project.exits_with(&ALL, 0);
    assert!(output.contains(&format!("run {waiting} continues")), "{output}");
    let code: Vec<_> = project.target_files().into_keys().collect();
    assert_eq!(code, ["README.md", "apps/other/crop-1", "crop-1"]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let log = run_in(&project, OTHER, &["log", "--run", &waiting], 0);
    assert!(log.contains("phase 1"), "a run can be named from any project: {log}");
}

#[test]
fn two_projects_run_at_the_same_time() {
    let project = two_projects("meet 1", "meet 2");
    let first = project.start(&ALL);
    project.wait_for_point("1");
    let second = RunningCommand::start(project.sandbox.call(ALL).cwd(OTHER));
    project.wait_for_point("2");
    let again = run_in(&project, OTHER, &ALL, 4);
    assert!(again.contains("another run has this project"), "{again}");
    let pids = |below| run_in(&project, below, &["ps", "--json"], 0);
    assert!(pids(".").contains(&first.pid().to_string()));
    assert!(pids(OTHER).contains(&second.pid().to_string()));
    project.release_point("2");
    project.release_point("1");
    for lead in [first, second] {
        let (status, output) = lead.end();
        assert!(status.success() && !output.contains("To finish"), "{output}");
    }
    let code: Vec<_> = project.target_files().into_keys().collect();
    assert_eq!(code, ["README.md", "apps/other/crop-1", "crop-1"]);
    assert_eq!(branches(&project).len(), 2);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(project.git(&["fsck", "--no-dangling", "--no-progress"]), "");
    for below in [".", OTHER] {
        let done = run_in(&project, below, &ALL, 0);
        assert!(done.contains("Nothing to do"), "{done}");
    }
}

#[test]
fn a_new_lead_resumes_its_own_run_while_the_other_project_runs() {
    let project = two_projects("meet 1", "meet 2");
    let first = project.start(&ALL);
    project.wait_for_point("1");
    let mine = project.run_id();
    let second = RunningCommand::start(project.sandbox.call(ALL).cwd(OTHER));
    project.wait_for_point("2");
    first.kill();
    project.release_point("1");
    let output = project.exits_with(&ALL, 0);
    assert!(output.contains(&format!("run {mine} continues")), "{output}");
    project.release_point("2");
    let (status, output) = second.end();
    assert!(status.success(), "{output}");
    assert_eq!(project.target_files().len(), 3, "{:?}", project.target_files());
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_worker_of_a_project_in_a_subdirectory_is_recognised_in_any_directory() {
    let script =
        format!("cd ../..\n{MOW} state update Status x > \"$OLDPWD/printed\" 2>&1 || true");
    let tasks = vec![task(&script), task("cat printed > kept; rm -f printed")];
    let project = project(&[one_task_phase("1", &[], "")]);
    project.add_project(OTHER, &[phase("1", &[]).with(plan(tasks))]);
    run_in(&project, OTHER, &ALL, 0);
    let output = project.git(&["show", &format!("main:{OTHER}/kept")]);
    assert!(output.contains("only the lead of run"), "{output}");
}
