//! Tests runs in different repository layouts, and with changes by the user in the checkout.
//!
//! A run never overwrites uncommitted work. It fast-forwards the user's branch, or prints the
//! command that does so.
#![expect(clippy::disallowed_methods, reason = "the tests play the user who changes files")]

use std::fs;
use std::os::unix::fs::MetadataExt;

use mow_testkit::planned_project::{ALL, PlannedProject, ProjectOptions, RunningCommand};

use super::kills::wait_for_lock_waiter;
use super::{MOW, one_task_phase, project};

const SUMMARY: &str = ".planning/phases/01-field-1/01-01-SUMMARY.md";

#[test]
fn planning_files_may_be_tracked_ignored_or_left_out_of_commits() {
    let phases = [one_task_phase("1", &[], ""), one_task_phase("2", &["1"], "test -e crop-1")];
    let tracked = project(&phases);
    tracked.run_all();
    tracked.assert_consistent();
    assert!(tracked.git(&["ls-files"]).contains(SUMMARY));
    for (config, ignore) in [
        ("", ".planning/\n"),
        ("\"commit_docs\": false", ""),
        ("\"commit_docs\": false", ".planning/\n"),
    ] {
        let other = PlannedProject::with_options(
            MOW,
            &ProjectOptions { config, ignore, ..ProjectOptions::default() },
            &phases,
        );
        other.run_all();
        other.assert_consistent();
        let code: Vec<_> =
            other.target_files().into_iter().filter(|(path, _)| path != ".gitignore").collect();
        assert_eq!(
            code,
            tracked.target_files().into_iter().collect::<Vec<_>>(),
            "{config} {ignore}"
        );
        assert!(other.text(SUMMARY).contains("01"), "{config} {ignore}");
        assert!(!other.git(&["ls-files"]).contains(SUMMARY), "{config} {ignore}");
        let status = other.text(".planning/ROADMAP.md");
        assert!(status.contains("- [x] **Phase 2"), "{status}");
    }
}

#[test]
fn a_project_may_be_in_a_subdirectory_below_a_path_with_blanks_and_umlauts() {
    let options = ProjectOptions {
        top: "ein Feld/für Äpfel",
        below: "apps/site",
        ..ProjectOptions::default()
    };
    let phases = [
        one_task_phase("1", &[], ""),
        one_task_phase("2.1", &["1"], "test -e crop-1"),
        one_task_phase("10", &["2.1"], ""),
    ];
    let project = PlannedProject::with_options(MOW, &options, &phases);
    project.run_all();
    project.assert_consistent();
    let code: Vec<_> = project.target_files().into_keys().collect();
    let path = |name: &str| format!("apps/site/{name}");
    assert_eq!(code, [path("README.md"), path("crop-1"), path("crop-10"), path("crop-2.1")]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert!(project.text(".planning/phases/02.1-field-2-1/02.1-01-SUMMARY.md").contains("02.1"));
}

/// Runs all phases, makes a change while phase 1 works, and returns the output of the run.
fn run_with_change_meanwhile(project: &PlannedProject, change: impl FnOnce()) -> String {
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    change();
    project.release_point("1");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    output
}

/// Runs the command that the output names after "To finish:".
fn run_finish_command(project: &PlannedProject, output: &str) {
    let line = output.lines().find_map(|line| line.strip_prefix("To finish: ")).expect(output);
    let alias = format!("alias.finish=!{line}");
    project.git(&["-c", &alias, "finish"]);
}

#[test]
fn an_unrelated_change_stays_and_the_branch_is_fast_forwarded() {
    let project = project(&[one_task_phase("1", &[], "meet 1")]);
    let output =
        run_with_change_meanwhile(&project, || project.write("README.md", "My own words.\n"));
    assert!(!output.contains("To finish"), "{output}");
    assert_eq!(project.text("README.md"), "My own words.\n");
    assert_eq!(project.git(&["status", "--porcelain"]), " M README.md\n");
    assert_eq!(project.text("crop-1"), "1\n");
    project.assert_consistent();
}

#[test]
fn a_change_to_a_file_of_the_merge_stays_and_the_branch_waits() {
    let project = project(&[one_task_phase("1", &[], "meet 1\necho more >> README.md")]);
    let output =
        run_with_change_meanwhile(&project, || project.write("README.md", "My own words.\n"));
    assert_eq!(project.text("README.md"), "My own words.\n");
    assert!(!project.root().join("crop-1").exists());
    project
        .write(".planning/ROADMAP.md", project.text(".planning/ROADMAP.md").replace("[x]", "[ ]"));
    let refused = project.exits_with(&["run", "--all", "--plain"], 1);
    assert!(
        refused.contains("is not in `main` yet"),
        "no phase starts without the unmerged work: {refused}"
    );
    project
        .write(".planning/ROADMAP.md", project.text(".planning/ROADMAP.md").replace("[ ]", "[x]"));
    project.git(&["checkout", "-q", "README.md"]);
    run_finish_command(&project, &output);
    assert_eq!(project.text("README.md"), "A field.\nmore\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    project.assert_consistent();
}

#[test]
fn an_untracked_file_in_the_way_stays_and_the_branch_waits() {
    let project = project(&[one_task_phase("1", &[], "meet 1")]);
    let output = run_with_change_meanwhile(&project, || project.write("crop-1", "mine\n"));
    assert_eq!(project.text("crop-1"), "mine\n");
    fs::remove_file(project.root().join("crop-1")).unwrap();
    run_finish_command(&project, &output);
    assert_eq!(project.text("crop-1"), "1\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    project.assert_consistent();
}

#[test]
fn another_branch_that_is_checked_out_stays_as_it_is() {
    let project = project(&[one_task_phase("1", &[], "meet 1")]);
    let output = run_with_change_meanwhile(&project, || {
        // Wait for STATE.md: a write during the checkout could land on either branch.
        let row = "| executing | phase-01-worker | 0/1 |";
        project.wait_for(row, || project.text(".planning/STATE.md").contains(row).then_some(()));
        project.git(&["stash", "--quiet"]);
        project.git(&["checkout", "-q", "-b", "mine"]);
        project.write("README.md", "My own words.\n");
    });
    assert!(!output.contains("To finish"), "{output}");
    assert_eq!(project.git(&["branch", "--show-current"]), "mine\n");
    assert_eq!(project.git(&["status", "--porcelain"]), " M README.md\n");
    assert_eq!(project.git(&["show", "main:crop-1"]), "1\n");
    let roadmap = project.git(&["show", "main:.planning/ROADMAP.md"]);
    assert!(roadmap.contains("- [x] **Phase 1"), "{roadmap}");
    project.assert_consistent();
}

#[test]
fn ignored_planning_files_are_shared_by_all_branches() {
    let options = ProjectOptions { ignore: ".planning/\n", ..ProjectOptions::default() };
    let project =
        PlannedProject::with_options(MOW, &options, &[one_task_phase("1", &[], "meet 1")]);
    let output = run_with_change_meanwhile(&project, || {
        drop(project.git(&["checkout", "-q", "-b", "mine"]));
    });
    assert!(!output.contains("To finish"), "{output}");
    assert!(project.text(".planning/ROADMAP.md").contains("- [x] **Phase 1"));
    assert_eq!(project.git(&["show", "main:crop-1"]), "1\n");
    project.assert_consistent();
}

#[test]
fn a_detached_checkout_needs_a_target() {
    let project = project(&[one_task_phase("1", &[], "")]);
    project.git(&["checkout", "-q", "--detach"]);
    let refused = project.exits_with(&ALL, 1);
    assert!(refused.contains("--into"), "{refused}");
    project.exits_with(&["run", "--all", "--yes", "--plain", "--into", "main"], 0);
    assert_eq!(project.git(&["show", "main:crop-1"]), "1\n");
    assert_eq!(project.git(&["branch", "--show-current"]), "");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    project.assert_consistent();
    let output = project.exits_with(&["run", "--all", "--yes", "--plain", "--into", "main"], 0);
    assert!(output.contains("Nothing to do"), "the phase is done on the named branch: {output}");
}

#[test]
fn commits_by_others_on_the_target_branch_are_included() {
    let project = project(&[one_task_phase("1", &[], "meet 1")]);
    let output = run_with_change_meanwhile(&project, || {
        project.write("other", "other\n");
        project.git(&["add", "other"]);
        project.git(&["commit", "-q", "-m", "Other work", "--", "other"]);
    });
    assert!(!output.contains("To finish"), "{output}");
    assert_eq!((project.text("other"), project.text("crop-1")), ("other\n".into(), "1\n".into()));
    project.assert_consistent();
}

#[test]
fn a_run_is_refused_while_the_work_of_the_last_run_is_not_in_the_branch() {
    let phases = [
        one_task_phase("1", &[], "echo more >> README.md"),
        one_task_phase("2", &["1"], ""),
        one_task_phase("3", &["2"], "test -e crop-2"),
    ];
    let project = project(&phases);
    project.write("README.md", "My own words.\n");
    let output = project.exits_with(&["run", "1", "2", "--yes", "--plain"], 0);
    assert!(output.contains("merged into the run's target"), "{output}");
    for call in [&["run", "3", "--yes", "--plain"][..], &ALL] {
        let refused = project.exits_with(call, 1);
        assert!(refused.contains("is not in `main` yet"), "{refused}");
        assert!(refused.contains("--force to run without it"), "{refused}");
    }
    let overview = project.exits_with(&[], 0);
    assert!(overview.contains("is not in `main` yet"), "{overview}");
    assert!(!overview.contains("milestone complete"), "{overview}");
    project.git(&["checkout", "-q", "README.md"]);
    let output = project.run_all();
    assert!(output.contains("main now has the work of run"), "{output}");
    project.assert_consistent();
    assert_eq!(project.text("crop-3"), "3\n");
    assert!(
        !project.exits_with(&[], 0).contains("is not in `main` yet"),
        "the work is in the branch now"
    );
}

#[test]
fn a_run_from_a_worktree_on_another_branch_is_refused_with_the_target_it_would_use() {
    let project = project(&[one_task_phase("1", &[], "")]);
    let other = project.sandbox.outer_dir().join("other");
    let path = other.to_str().unwrap();
    project.git(&["worktree", "add", "-q", "-b", "feature", path]);
    let call = ["--cwd", path, "run", "--all", "--yes", "--plain"];
    let refused = project.exits_with(&call, 1);
    assert!(refused.contains("this worktree is on feature"), "{refused}");
    assert!(refused.contains("merges into main"), "{refused}");
    project.exits_with(&[&call[..], &["--into", "feature"]].concat(), 0);
    assert_eq!(project.git(&["show", "feature:crop-1"]), "1\n");
    assert!(!project.root().join("crop-1").exists(), "main is left alone");
}

#[test]
fn plans_are_read_from_the_target_branch_and_not_from_the_checkout() {
    let plan = ".planning/phases/01-field-1/01-01-PLAN.md";
    let project = project(&[one_task_phase("1", &[], "")]);
    project.git(&["switch", "-q", "-c", "feature"]);
    project.edit(plan, "echo 1 > crop-1", "echo feature > crop-1");
    project.git(&["commit", "-q", "-a", "-m", "Another plan"]);
    project.git(&["switch", "-q", "main"]);
    project.exits_with(&[&ALL[..], &["--into", "feature"]].concat(), 0);
    assert_eq!(project.git(&["show", "feature:crop-1"]), "feature\n");
    assert!(project.git(&["show", &format!("feature:{plan}")]).contains("echo feature"));
}

#[test]
fn a_commit_that_the_user_resets_during_the_run_does_not_return() {
    let project = project(&[one_task_phase("1", &[], "meet 1"), one_task_phase("2", &["1"], "")]);
    project.write("secret", "1\n");
    project.git(&["add", "secret"]);
    project.git(&["commit", "-q", "-m", "Leak"]);
    let output = run_with_change_meanwhile(&project, || {
        project.git(&["stash", "-q"]);
        project.git(&["reset", "-q", "--hard", "HEAD~1"]);
    });
    assert!(output.contains("somebody set main back from"), "{output}");
    assert!(!project.git(&["ls-tree", "--name-only", "main"]).contains("secret"));
    assert!(!project.root().join("secret").exists());
    run_finish_command(&project, &output);
    assert_eq!(project.text("crop-2"), "2\n");
}

#[test]
fn names_that_are_no_branch_are_refused() {
    let project = project(&[one_task_phase("1", &[], "")]);
    for name in ["main~0", "main^0", "main@{0}", "", "a..b"] {
        let refused = project.exits_with(&[&ALL[..], &["--into", name]].concat(), 1);
        assert!(refused.contains("is not a valid branch name"), "{name}: {refused}");
    }
}

/// Leaves an interrupted fast-forward of `main` behind, and returns the commit it was moving to.
fn interrupt_fast_forward(project: &PlannedProject) -> String {
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    // Git refuses to update the checkout while this lock file exists.
    project.write(".git/index.lock", "");
    project.release_point("1");
    let (_, output) = lead.end();
    assert!(output.contains("main was not fast-forwarded"), "{output}");
    let tip = project.git(&["for-each-ref", "--format=%(objectname)", "refs/mow/run"]);
    let head = project.git(&["rev-parse", "HEAD"]);
    project.write(".git/mow-follow", format!("{} {} main", head.trim(), tip.trim()));
    let change_time = |name: &str| {
        let attributes = fs::metadata(project.root().join(name)).expect("it was written");
        (attributes.ctime(), attributes.ctime_nsec())
    };
    // File times have a coarse clock. Rewrite the file until it is newer than the crash note.
    project.wait_for("a later file time", || {
        project.write("long", "1\n2\n3");
        (change_time("long") > change_time(".git/mow-follow")).then_some(())
    });
    let summary = project.git(&["show", &format!("{}:{SUMMARY}", tip.trim())]);
    project.write(SUMMARY, &summary[..summary.len() / 2]);
    tip
}

fn assert_fast_forward_finished(project: &PlannedProject, tip: &str) {
    assert_eq!(project.text("long").lines().count(), 100);
    assert_eq!(project.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    project.assert_consistent();
}

/// Git writes files one by one and moves the branch last.
#[test]
fn an_interrupted_fast_forward_is_finished_by_the_next_run() {
    let project = project(&[one_task_phase("1", &[], "seq 1 100 > long\nmeet 1")]);
    let tip = interrupt_fast_forward(&project);
    project.exits_with(&ALL, 0);
    assert_fast_forward_finished(&project, &tip);
}

/// A child that a dead lead was about to start keeps the lead lock for a moment. The lead of
/// another project in the repository may hold the worktrees lock while it moves the same branch.
#[test]
fn an_interrupted_fast_forward_is_finished_once_the_lock_is_released() {
    for name in ["lead", "worktrees"] {
        let project = project(&[one_task_phase("1", &[], "seq 1 100 > long\nmeet 1")]);
        let tip = interrupt_fast_forward(&project);
        let lock = project.repository_root().join(format!(".git/mow/locks/{name}.lock"));
        let lock = fs::File::open(lock).unwrap();
        lock.lock().unwrap();
        let lead = project.start(&ALL);
        wait_for_lock_waiter(&project, &lock);
        assert_eq!(project.text("long"), "1\n2\n3");
        drop(lock);
        let (status, output) = lead.end();
        assert!(status.success(), "{output}");
        assert!(output.contains("the interrupted fast-forward of main is finished"), "{output}");
        assert_fast_forward_finished(&project, &tip);
    }
}

#[test]
fn edits_made_after_the_lead_died_while_committing_planning_files_are_committed() {
    let project = project(&[one_task_phase("1", &[], "")]);
    let call = project.call(&ALL).env("MOW_FAILPOINT", "overlay.ref.moved@lead");
    let call = call.env("MOW_FAILPOINT_MARK", project.sandbox.outer_dir().join("mark"));
    assert!(!RunningCommand::start(call).end().0.success());
    project.edit(".planning/STATE.md", "A person wrote this.", "A person wrote this, and that.");
    let output = project.exits_with(&ALL, 0);
    assert!(!output.contains("not fast-forwarded"), "{output}");
    assert!(project.git(&["show", "main:.planning/STATE.md"]).contains("this, and that."));
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}
