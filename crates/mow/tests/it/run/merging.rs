//! Tests what can prevent a merge, and the instructions that the run prints then.
//!
//! Each test runs every command that the output names, as a person would paste it.
#![expect(clippy::disallowed_methods, reason = "the tests play the user who changes files")]

use std::fs;
use std::process::Command;

use mow_testkit::planned_project::{ALL, PlannedProject, ProjectOptions, phase, plan, task};

use super::{MOW, answer_all, one_task_phase, project, project_with_config};

/// Runs a printed command in a shell, as a person would paste it.
#[track_caller]
fn run_pasted_command(project: &PlannedProject, command: &str) {
    let alias = format!("alias.pasted=!{command}");
    project.git(&["-c", &alias, "pasted"]);
}

/// Returns the part of a text between two others.
#[track_caller]
fn text_between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = text.split_once(start).unwrap_or_else(|| panic!("no {start:?} in {text}")).1;
    rest.split_once(end).unwrap_or_else(|| panic!("no {end:?} in {text}")).0
}

/// Finishes a phase without a run: creates its worktree, runs a script, writes the summary,
/// commits.
fn finish_phase_manually(project: &PlannedProject, number: u32, script: &str) {
    project.exits_with(&["worktree", "create", &number.to_string()], 0);
    let worktree = format!(".worktrees/p0{number}");
    let dir = format!("{worktree}/.planning/phases/0{number}-field-{number}");
    project.write(&format!("{dir}/0{number}-01-SUMMARY.md"), "# Done\n");
    let alias = format!("alias.do=!{script}");
    project.git(&["-C", &worktree, "-c", &alias, "do"]);
    project.git(&["-C", &worktree, "add", "--all"]);
    project.git(&["-C", &worktree, "commit", "-q", "-m", "By hand"]);
}

fn main_commit(project: &PlannedProject) -> String {
    project.git(&["rev-parse", "main"])
}

#[test]
fn a_conflict_resolved_in_the_worktree_is_merged_when_the_phase_is_resumed() {
    let phases = [
        one_task_phase("1", &[], "echo rye > both"),
        one_task_phase("2", &[], "echo oats > both\nrm README.md"),
    ];
    let project = project(&phases);
    let output = project.exits_with(&ALL, 5);
    assert!(
        output.contains("Phase 2 cannot be merged: conflicts in both (both added); "),
        "{output}"
    );
    assert!(output.contains("edit FILE, then git add FILE"), "{output}");
    project.exits_with(&["resume", "2"], 0);
    let again = project.exits_with(&ALL, 5);
    assert!(
        again.contains("conflicts in both (both added)"),
        "the conflict is still unresolved: {again}"
    );
    let merge = text_between(&output, "to resolve them: ", ", then for each").to_owned();
    // `git merge` exits with 1 because of the conflict.
    run_pasted_command(&project, &format!("{merge} || true"));
    project.exits_with(&["resume", "2"], 0);
    let half_resolved = project.exits_with(&ALL, 5);
    assert!(
        half_resolved.contains("finish the merge that is in progress there"),
        "{half_resolved}"
    );
    project.write(".worktrees/p02/both", "rye and oats\n");
    project.git(&["-C", ".worktrees/p02", "add", "both"]);
    let commit = text_between(&output, "; then git", ", and mow resume 2").to_owned();
    run_pasted_command(&project, &format!("git{commit} --no-edit -q"));
    project.exits_with(&["resume", "2"], 0);
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.git(&["show", "main:both"]), "rye and oats\n");
    assert_eq!(project.trailers("Mow-Task").len(), 2);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_conflict_resolved_in_the_worktree_is_merged_after_the_answer_retry() {
    let project = project(&[
        one_task_phase("1", &[], "echo rye > both"),
        one_task_phase("2", &[], "echo oats > both"),
    ]);
    let output = project.exits_with(&ALL, 5);
    let merge = text_between(&output, "to resolve them: ", ", then for each").to_owned();
    run_pasted_command(&project, &format!("{merge} -X ours --quiet"));
    answer_all(&project, "retry");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.git(&["show", "main:both"]), "oats\n");
}

#[test]
fn a_retried_phase_does_not_complete_a_merge_that_a_person_started_in_its_worktree() {
    let tasks = vec![task("echo oats > both"), task("test -e ../../seed\necho 2 > second")];
    let project = project(&[phase("1", &[]).with(plan(tasks))]);
    project.exits_with(&ALL, 1);
    project.write("both", "rye\n");
    project.git(&["add", "both"]);
    project.git(&["commit", "-q", "-m", "Mine", "--", "both"]);
    run_pasted_command(&project, "git -C .worktrees/p01 merge --quiet main || true");
    project.write(".worktrees/p01/both", "half settled\n");
    project.git(&["-C", ".worktrees/p01", "add", "both"]);
    project.write("seed", "");
    let output = project.exits_with(&ALL, 0);
    assert!(
        output.contains("To finish: "),
        "the branch has a commit that the run did not merge: {output}"
    );
    assert_eq!(project.git(&["show", "main:both"]), "rye\n");
    let heads = project.git(&["-C", ".worktrees/p01", "log", "--format=%p", "main..HEAD"]);
    assert!(heads.lines().all(|parents| !parents.contains(' ')), "no merge was made: {heads}");
    let kept = project.exits_with(&["rescue", "list", "--json"], 0);
    assert!(kept.contains("\"both\""), "the half-resolved file is rescued: {kept}");
}

#[test]
fn the_conflict_resolver_resolves_and_the_engine_creates_the_merge_commit() {
    let command = "sort -u both | grep -v '[<=>]' > ../sorted; cat ../sorted > both; rm ../sorted; \
                   test $(cat $MOW_CONFLICTS_FILE) = both; echo helped > helper";
    let config = format!("\"roles\": {{\"conflict-resolver\": {{\"command\": \"{command}\"}}}}");
    let phases =
        [one_task_phase("1", &[], "echo rye > both"), one_task_phase("2", &[], "echo oats > both")];
    let project = project_with_config(&config, &phases);
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.git(&["show", "main:both"]), "oats\nrye\n");
    assert_eq!(project.git(&["show", "main:helper"]), "helped\n");
    let parents = project.git(&["log", "-1", "--format=%P", "--grep=Merge phase 2", "main"]);
    assert_eq!(parents.split_whitespace().count(), 2, "a merge: {parents}");
    assert!(!project.root().join(".worktrees/merge").exists(), "the scratch checkout is gone");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_conflict_that_the_resolver_leaves_waits_for_a_person_and_its_work_is_rescued() {
    let command = "echo tried > trace";
    let config = format!("\"roles\": {{\"conflict-resolver\": {{\"command\": \"{command}\"}}}}");
    let phases =
        [one_task_phase("1", &[], "echo rye > both"), one_task_phase("2", &[], "echo oats > both")];
    let project = project_with_config(&config, &phases);
    let output = project.exits_with(&ALL, 5);
    assert!(output.contains("both still has conflict markers"), "{output}");
    let name = text_between(&output, "mow rescue restore ", ";").to_owned();
    assert_eq!(project.git(&["show", &format!("refs/mow/rescue/{name}:trace")]), "tried\n");
    let merge = text_between(&output, "to resolve them: ", ", then for each").to_owned();
    run_pasted_command(&project, &format!("{merge} -X theirs --quiet"));
    project.exits_with(&["resume", "2"], 0);
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.git(&["show", "main:both"]), "rye\n");
}

#[test]
fn a_merged_tree_that_fails_verification_is_not_merged() {
    let config = "\"multi_phase\": {\"verify\": \"if test -e crop-1 && test -e crop-2; \
                  then echo too many crops; exit 3; fi\"}";
    let project =
        project_with_config(config, &[one_task_phase("1", &[], ""), one_task_phase("2", &[], "")]);
    let output = project.exits_with(&ALL, 5);
    let words = "fails on the merged tree, exit 3: too many crops";
    assert!(output.contains(words), "{output}");
    assert_eq!(project.target_files().keys().filter(|name| name.starts_with("crop")).count(), 1);
    let config = project.text(".planning/config.json").replace("exit 3", "exit 0");
    project.write(".planning/config.json", config);
    project.exits_with(&["resume", "2"], 0);
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.target_files().keys().filter(|name| name.starts_with("crop")).count(), 2);
}

/// Git does not commit empty directories, so the merged tree lacks it.
#[test]
fn an_empty_directory_does_not_satisfy_the_check_of_the_merged_tree() {
    let config = "\"multi_phase\": {\"verify\": \"test -d out\"}";
    let project = project_with_config(config, &[one_task_phase("1", &[], "mkdir out")]);
    let output = project.exits_with(&ALL, 5);
    assert!(output.contains("(`test -d out`) fails on the merged tree, exit 1"), "{output}");
}

#[test]
fn a_killed_check_of_the_merged_tree_is_retried_once() {
    let config = "\"multi_phase\": {\"verify\": \"! mkdir $MOW_PLANNING/../../../../hit 2>&- || \
                  kill -9 $$\"}";
    let project = project_with_config(config, &[one_task_phase("1", &[], "")]);
    project.run_all();
    project.assert_consistent();
    assert!(project.sandbox.outer_dir().join("hit").is_dir(), "the first check was killed");
}

#[test]
fn a_merged_tree_equal_to_the_worktree_is_checked_in_the_worktree() {
    let config = "\"multi_phase\": {\"verify\": \"pwd >> $MOW_PLANNING/../../../../verified\"}";
    let project = project_with_config(
        config,
        &[one_task_phase("1", &[], ""), one_task_phase("2", &["1"], "")],
    );
    project.run_all();
    project.assert_consistent();
    let verified = project.sandbox.text("../verified");
    let worktrees: Vec<_> = verified.lines().map(|line| line.rsplit('/').next().unwrap()).collect();
    assert_eq!(worktrees, ["p01", "p02"], "no other checkout was made");
}

#[test]
fn planning_files_outside_the_phase_directory_are_left_out_of_the_merge_and_rescued() {
    let script = "echo mine >> .planning/PROJECT-NOTES.md\ngit add -f .planning\n\
                  git commit -q -m notes -- .planning";
    let project = project(&[one_task_phase("1", &[], script)]);
    let output = project.run_all();
    assert!(output.contains("left out of the merge: .planning/PROJECT-NOTES.md"), "{output}");
    assert!(!project.git(&["ls-tree", "-r", "--name-only", "main"]).contains("PROJECT-NOTES"));
    let restore = text_between(&output, "PROJECT-NOTES.md (mow ", ")").to_owned();
    project.exits_with(&restore.split(' ').collect::<Vec<_>>(), 0);
    assert_eq!(project.text(".planning/PROJECT-NOTES.md"), "mine\n");
    project.assert_consistent();
}

#[test]
fn a_target_branch_checked_out_in_another_worktree_is_fast_forwarded_there() {
    let project = project(&[one_task_phase("1", &[], "")]);
    project.git(&["checkout", "-q", "--detach"]);
    project.git(&["worktree", "add", "-q", "../elsewhere", "main"]);
    project.exits_with(&["run", "--all", "--yes", "--plain", "--into", "main"], 0);
    assert_eq!(project.sandbox.text("../elsewhere/crop-1"), "1\n");
    assert_eq!(project.git(&["-C", "../elsewhere", "status", "--porcelain"]), "");
    assert!(!project.root().join("crop-1").exists());
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_target_branch_with_new_conflicting_commits_waits_for_the_printed_command() {
    let project = project(&[one_task_phase("1", &[], "meet 1\necho rye > both")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.write("both", "oats\n");
    project.git(&["add", "both"]);
    project.git(&["commit", "-q", "-m", "Mine", "--", "both"]);
    project.git(&["stash", "--quiet"]);
    project.git(&["checkout", "-q", "-b", "aside"]);
    let (aside, mine) = (project.git(&["rev-parse", "aside"]), main_commit(&project));
    project.release_point("1");
    let (_, output) = lead.end();
    assert!(output.contains("main has commits that conflict in both (both added)"), "{output}");
    assert!(output.contains("1 of 1 phase merged into the run's target"), "{output}");
    assert_eq!(main_commit(&project), mine, "nothing moved");
    let command = text_between(&output, "To finish: ", "\n").to_owned();
    // The lead may have written planning files between the stash and the checkout above.
    project.git(&["checkout", "-q", "--force", "HEAD"]);
    run_pasted_command(&project, &format!("{command} || true"));
    assert_eq!(project.git(&["rev-parse", "aside"]), aside, "the other branch is not touched");
    project.write("both", "rye and oats\n");
    project.git(&["commit", "-q", "-a", "--no-edit"]);
    assert_eq!(project.git(&["branch", "--show-current"]), "main\n");
    assert_eq!(project.text("crop-1"), "1\n");
    project.assert_consistent();
}

#[test]
fn planning_files_that_people_changed_during_the_run_are_joined() {
    let project = project(&[
        one_task_phase("1", &[], "meet 1"),
        one_task_phase("2", &["1"], "").without_context(),
    ]);
    let lead = project.start(&["run", "1", "--yes", "--plain"]);
    project.wait_for_point("1");
    // A person commits to main in another worktree, on the line next to the one that the run ticks.
    project.git(&["worktree", "add", "-q", "-b", "mine", "../mine", "main"]);
    let roadmap = project.git(&["show", "main:.planning/ROADMAP.md"]);
    let changed =
        roadmap.replace("- [ ] **Phase 2: Field 2** - sown", "- [x] **Phase 2: Field 2** - sown");
    assert_ne!(changed, roadmap);
    project.sandbox.write("../mine/.planning/ROADMAP.md", changed);
    project.git(&["-C", "../mine", "commit", "-q", "-a", "-m", "Ticked by hand"]);
    project.git(&["stash", "--quiet"]);
    project.git(&["checkout", "-q", "--detach"]);
    project.git(&["branch", "-f", "main", "mine"]);
    project.release_point("1");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    let roadmap = project.git(&["show", "main:.planning/ROADMAP.md"]);
    assert!(
        roadmap.contains("- [x] **Phase 1") && roadmap.contains("- [x] **Phase 2"),
        "{roadmap}"
    );
    project.assert_consistent();
}

#[test]
fn the_configured_milestone_branch_is_the_target() {
    let config =
        "\"branching_strategy\": \"milestone\", \"git\": {\"milestone_branch_template\": \"m\"}";
    let project = project_with_config(config, &[one_task_phase("1", &[], "")]);
    let refused = project.exits_with(&ALL, 1);
    assert!(refused.contains("there is no branch `m` to merge into"), "{refused}");
    project.git(&["branch", "m"]);
    project.run_all();
    assert_eq!(project.git(&["show", "m:crop-1"]), "1\n");
    assert!(!project.root().join("crop-1").exists());
}

#[test]
fn conflicts_are_reported_before_the_wave_closes() {
    let phases = [
        one_task_phase("1", &[], "echo rye > both"),
        one_task_phase("2", &[], "echo oats > both"),
        one_task_phase("3", &[], "meet 3"),
    ];
    let project = project(&phases);
    let lead = project.start(&ALL);
    project.wait_for_event("a note", |event| {
        let text = event["text"].as_str().unwrap_or_default();
        event["event"] == "noted" && text.contains("both (both added)")
    });
    project.release_point("3");
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(5), "{output}");
    assert!(output.contains("will conflict with phase"), "{output}");
}

#[test]
fn mow_merge_merges_finished_phases() {
    let project = project(&[
        one_task_phase("1", &[], ""),
        one_task_phase("2", &[], ""),
        one_task_phase("3", &[], ""),
    ]);
    finish_phase_manually(&project, 1, "echo 1 > crop-1");
    finish_phase_manually(&project, 2, "echo 2 > crop-2; echo x >> .planning/STATE.md");
    project.exits_with(&["worktree", "create", "3"], 0);
    project.write("README.md", "My own words.\n");
    let before = main_commit(&project);
    let dry = project.exits_with(&["merge", "--dry-run"], 0);
    assert!(dry.contains("Phase 1 (phase-01) would be merged into main"), "{dry}");
    assert!(dry.contains("Phase 3 is skipped: 0 of 1 plans have a summary"), "{dry}");
    assert_eq!(main_commit(&project), before);
    let output = project.exits_with(&["merge"], 0);
    assert!(output.contains("Phase 1 (phase-01) is merged into main."), "{output}");
    assert!(output.contains("left out of the merge: .planning/STATE.md"), "{output}");
    assert_eq!((project.text("crop-1"), project.text("crop-2")), ("1\n".into(), "2\n".into()));
    assert_eq!(project.text("README.md"), "My own words.\n");
    assert_eq!(project.git(&["for-each-ref", "refs/mow/run"]), "", "its ref is gone");
    let again = project.exits_with(&["merge", "1"], 0);
    assert!(again.contains("Phase 1 (phase-01) is already in main"), "{again}");
    let refused = project.exits_with(&["merge", "3"], 1);
    assert!(refused.contains("`mow worktree merge 3` merges its branch as it is"), "{refused}");
}

#[test]
fn a_phase_without_changes_counts_as_merged() {
    let project = project(&[one_task_phase("1", &[], "")]);
    project.write(".planning/phases/01-field-1/01-01-SUMMARY.md", "# Done\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "Done"]);
    project.exits_with(&["worktree", "create", "1"], 0);
    let before = main_commit(&project);
    let output = project.exits_with(&["merge", "1"], 0);
    assert!(output.contains("Phase 1 (phase-01) is already in main"), "{output}");
    assert_eq!(main_commit(&project), before);
}

#[test]
fn mow_merge_reports_conflicts_per_file_and_merges_the_other_phases() {
    let project = project(&[one_task_phase("1", &[], ""), one_task_phase("2", &[], "")]);
    finish_phase_manually(&project, 1, "echo oats > both; printf 'a\\000b' > pic; rm README.md");
    finish_phase_manually(&project, 2, "echo 2 > crop-2");
    project.write("both", "rye\n");
    project.write("pic", "\0c");
    project.write("README.md", "Changed.\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "Mine"]);
    let dry = project.exits_with(&["merge", "--dry-run"], 1);
    assert!(dry.contains("  both (both added)\n"), "{dry}");
    let ran = project.run(&["merge", "--json"]);
    assert_eq!(ran.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let kinds = report["phases"][0]["conflicts"].to_string();
    assert_eq!(
        kinds,
        "[{\"path\":\"README.md\",\"kind\":\"changed in the target, deleted in the branch\"},\
         {\"path\":\"both\",\"kind\":\"both added\"},\
         {\"path\":\"pic\",\"kind\":\"binary, both changed\"}]"
    );
    assert_eq!(
        (&report["phases"][1]["outcome"], &report["followed"]),
        (&"merged".into(), &true.into())
    );
    assert_eq!(project.text("crop-2"), "2\n");
    let instructions = report["phases"][0]["reason"].as_str().unwrap();
    assert!(
        instructions.contains("git add FILE keeps it, git rm FILE removes it"),
        "{instructions}"
    );
    assert!(instructions.contains("git checkout --ours FILE"), "{instructions}");
}

#[test]
fn mow_merge_is_refused_during_a_live_run() {
    let project = project(&[one_task_phase("1", &[], "meet 1")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let refused = project.exits_with(&["merge", "1"], 1);
    assert!(refused.contains("a run is live and merges its phases itself: process "), "{refused}");
    project.release_point("1");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
}

#[test]
fn a_branch_that_mow_merge_cannot_fast_forward_waits_for_the_printed_command() {
    let project = project(&[one_task_phase("1", &[], "")]);
    finish_phase_manually(&project, 1, "echo 1 > crop-1");
    project.write("crop-1", "in the way\n");
    let output = project.exits_with(&["merge", "1"], 1);
    assert!(output.contains("main was not fast-forwarded: "), "{output}");
    assert!(output.contains("is merged, but not in main yet"), "{output}");
    assert_eq!(project.text("crop-1"), "in the way\n");
    fs::remove_file(project.root().join("crop-1")).unwrap();
    run_pasted_command(&project, text_between(&output, "To finish: ", "\n"));
    assert_eq!(project.text("crop-1"), "1\n");
    let again = project.exits_with(&["merge", "1"], 0);
    assert!(again.contains("is already in main"), "{again}");
}

#[test]
fn a_merge_without_disk_space_changes_nothing_and_reports_it() {
    let project = project(&[one_task_phase("1", &[], "")]);
    // The text is incompressible, so the merged file exceeds the file size limit.
    let script = "head -c 90000 /dev/urandom | base64 > noise";
    let alias = format!("alias.do=!{script}");
    project.git(&["-c", &alias, "do"]);
    project.git(&["add", "noise"]);
    project.git(&["commit", "-q", "-m", "Noise"]);
    finish_phase_manually(&project, 1, "echo below >> noise");
    project.git(&["-c", "alias.do=!sed -i '1s/^/above /' noise", "do"]);
    project.git(&["commit", "-q", "-a", "-m", "Above"]);
    let before = main_commit(&project);
    let limited = "trap '' XFSZ; ulimit -f 64; exec \"$0\" merge 1";
    let ran =
        Command::new("sh").args(["-c", limited, MOW]).current_dir(project.root()).output().unwrap();
    let output =
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(!ran.status.success(), "{output}");
    assert!(output.contains("File too large"), "{output}");
    assert_eq!(main_commit(&project), before);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    project.exits_with(&["merge", "1"], 0);
    let noise = project.text("noise");
    assert!(noise.starts_with("above ") && noise.ends_with("below\n"));
    assert_eq!(project.git(&["fsck", "--no-dangling", "--no-progress"]), "");
}

#[test]
fn every_commit_is_signed_if_configured_and_a_signing_failure_is_reported() {
    let project = project(&[one_task_phase("1", &[], "")]);
    let sign = project.sandbox.outer_dir().join("sign");
    fs::write(&sign, "#!/bin/sh\necho 'the key is at home' >&2\nexit 2\n").unwrap();
    mow_testkit::sandbox::make_executable(&sign);
    project.git(&["config", "commit.gpgSign", "true"]);
    project.git(&["config", "gpg.program", sign.to_str().unwrap()]);
    let output = project.exits_with(&ALL, 1);
    assert!(output.contains("the key is at home"), "{output}");
    let script = "#!/bin/sh\ncat > /dev/null\nprintf '[GNUPG:] SIG_CREATED ' >&2\necho signed\n";
    fs::write(&sign, script).unwrap();
    mow_testkit::sandbox::make_executable(&sign);
    project.run_all();
    project.assert_consistent();
    let all = project.git(&["log", "--format=%H", "main"]);
    // The first commit was made before signing was configured.
    let made: Vec<_> = all
        .lines()
        .filter(|c| !project.git(&["log", "-1", "--format=%s", c]).contains("Begin"))
        .collect();
    for commit in made {
        assert!(project.git(&["cat-file", "commit", commit]).contains("gpgsig signed"), "{commit}");
    }
}

#[test]
fn a_sparse_checkout_is_fast_forwarded_and_stays_sparse() {
    let options = ProjectOptions::default();
    let project = PlannedProject::with_options(
        MOW,
        &options,
        &[phase("1", &[])
            .with(plan(vec![task("mkdir -p out in\necho 1 > out/crop\necho 1 > in/crop")]))],
    );
    project.write("in/file", "i\n");
    project.write("out/file", "o\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "Directories"]);
    project.git(&["sparse-checkout", "set", "in", ".planning"]);
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.git(&["show", "main:out/crop"]), "1\n");
    assert_eq!(project.text("in/crop"), "1\n");
    assert!(!project.root().join("out").exists());
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn ignored_planning_files_of_a_failed_attempt_are_rescued_before_removal() {
    let options = ProjectOptions { ignore: ".planning/\n", ..ProjectOptions::default() };
    let script =
        "mkdir -p .planning/todos\necho idea > .planning/todos/idea.md\ntest -e ../../seed";
    let project = PlannedProject::with_options(MOW, &options, &[one_task_phase("1", &[], script)]);
    project.exits_with(&ALL, 1);
    assert_eq!(project.text(".worktrees/p01/.planning/todos/idea.md"), "idea\n");
    project.write("seed", "");
    project.run_all();
    let kept = project.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue/phase-01"]);
    let shown = |name: &str| project.git(&["show", &format!("{name}:.planning/todos/idea.md")]);
    assert_eq!(kept.lines().map(shown).collect::<Vec<_>>(), ["idea\n"]);
}
