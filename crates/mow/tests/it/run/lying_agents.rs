//! Tests agents that claim success falsely. No false claim is accepted, and the output says why.
//!
//! An executor is a shell script here. Each test lets it lie in one way: no work, failing or edited
//! tests, another branch, rewritten history, forged trailers, forged reports, altered plans.

use mow_core::report::Report;
use mow_core::worker::Event;
use mow_store::journal::{Header, Journal};
use mow_testkit::planned_project::{ALL, PhaseFixture, PlanFixture, PlannedProject, phase};

use super::{one_task_phase, project_with_config};

mod forged_index;
mod hidden_from_git;

/// A check that passes if `crop` contains rye.
const RYE_CHECK: &str = "sh tests/grow.sh";
/// A check that proves nothing, so the lie has to be found in another way.
const ALWAYS_PASSES: &str = "true";
/// A script that does what the plan asks for.
const HONEST_WORK: &str = "echo rye > crop";

/// Returns a plan that declares files and has one task per check.
fn plan_with_checks(files: &str, checks: &[&str]) -> PlanFixture {
    let mut text = format!(
        "---\nphase: 01-field-1\nplan: 01\ntype: execute\nwave: 1\ndepends_on: []\n\
         files_modified: [{files}]\nautonomous: true\nmust_haves:\n  truths:\n    - It grows\n  \
         artifacts:\n    - path: README.md\n      contains: field\n---\n\n<tasks>\n\n"
    );
    for (n, check) in (1..).zip(checks) {
        text += &format!(
            "<task type=\"auto\">\n<name>Task {n}: Sow</name>\n<action>Sow rye.</action>\n\
             <verify><automated>{check}</automated></verify>\n<done>Sown</done>\n</task>\n\n"
        );
    }
    PlanFixture::from_text(&(text + "</tasks>\n"))
}

/// Returns a phase with one plan of one task, which writes rye into `crop`.
fn rye_phase(check: &str) -> PhaseFixture {
    phase("1", &[]).with(plan_with_checks("crop", &[check]))
}

/// Makes a project whose executor is a script.
fn project_with_executor(executor: &str, phases: &[PhaseFixture]) -> PlannedProject {
    let command = serde_json::Value::from(executor).to_string();
    let project = project_with_config(
        &format!("\"roles\": {{\"executor\": {{\"command\": {command}}}}}"),
        phases,
    );
    project.write("tests/grow.sh", "grep -q rye crop\n");
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "Tests"]);
    project
}

/// Runs a project whose executor lies. The run must exit with a code and print the reason.
#[track_caller]
fn assert_refused(project: &PlannedProject, code: i32, reason: &str) {
    let output = project.exits_with(&ALL, code);
    assert!(output.contains(reason), "{output}");
    let log = project.git(&["log", "--format=%s", "main"]);
    assert!(!log.contains("Merge phase 1"), "{log}");
    assert!(!project.git(&["show", "main:.planning/ROADMAP.md"]).contains("[x]"));
    project.assert_consistent();
}

#[track_caller]
fn assert_lie_refused(executor: &str, phases: &[PhaseFixture], reason: &str) -> PlannedProject {
    let project = project_with_executor(executor, phases);
    assert_refused(&project, 1, reason);
    assert!(!project.target_files().contains_key("crop"), "the unproven work is in the target");
    project
}

/// `git update-ref` writes no message that would identify who moved the branch.
#[test]
fn a_commit_put_on_main_by_update_ref_is_noticed() {
    let script = format!(
        "commit=$(git commit-tree main:tests -p main -m Weed)\ngit update-ref refs/heads/main \
         $commit\n{HONEST_WORK}"
    );
    let project = project_with_executor(&script, &[rye_phase(RYE_CHECK)]);
    let output = project.exits_with(&ALL, 1);
    assert!(output.contains("on main, which is not its branch; check that branch"), "{output}");
    assert!(!project.git(&["log", "--format=%s", "main"]).contains("Merge phase 1"));
}

/// An agent puts an unchecked commit on the ref that the run merges to.
#[test]
fn a_commit_put_on_the_target_ref_is_not_merged() {
    let smuggle = "target=$(git for-each-ref --format='%(refname)' refs/mow/run)\n\
        object=$(echo weed | git hash-object -w --stdin)\n\
        export GIT_INDEX_FILE=$PWD/../index\n\
        git read-tree \"${target:-HEAD}\"\n\
        git update-index --add --cacheinfo 100644,$object,weed\n\
        commit=$(git commit-tree $(git write-tree) -p \"${target:-HEAD}\" -m Weed)\n\
        run=$(basename $(ls -d $(git rev-parse --git-common-dir)/mow/runs/2*))\n\
        git update-ref refs/mow/run/$run/target $commit\n\
        rm $GIT_INDEX_FILE; unset GIT_INDEX_FILE\n";
    // Before the ref exists, while it exists, and in the last phase.
    for smuggler in ["1", "2", "3"] {
        let script = |number: &str| if number == smuggler { smuggle } else { "" };
        let phases = [
            one_task_phase("1", &[], script("1")),
            one_task_phase("2", &["1"], script("2")),
            one_task_phase("3", &["2"], script("3")),
        ];
        let project = project_with_config("", &phases);
        let output = project.run_all();
        assert!(output.contains("moved back"), "{smuggler}: {output}");
        let log = project.exits_with(&["log"], 0);
        assert!(
            log.contains("it was moved back, and what it stood at is kept"),
            "{smuggler}: {log}"
        );
        assert!(
            !project.target_files().contains_key("weed"),
            "{smuggler}: the smuggled file is in the target"
        );
        for n in 1..=3 {
            assert_eq!(project.text(&format!("crop-{n}")), format!("{n}\n"));
        }
        assert!(project.git(&["log", "--format=%s", "--glob=refs/mow/rescue/*"]).contains("Weed"));
        project.assert_consistent();
    }
}

#[test]
fn honest_work_is_accepted_and_its_evidence_recorded() {
    let project = project_with_executor(HONEST_WORK, &[rye_phase(RYE_CHECK)]);
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("crop"), "rye\n");
    let records = project.records("01-1.ndjson");
    let proved: Vec<_> = records.iter().filter(|r| r.body.contains("\"proved\"")).collect();
    assert_eq!(proved.len(), 1, "the same code is checked once: {proved:?}");
    let evidence: serde_json::Value = proved[0].parse().unwrap();
    let commit = evidence["commit"].as_str().unwrap();
    let tree = project.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
    assert_eq!(
        (evidence["tree"].as_str(), evidence["exit"].as_i64()),
        (Some(tree.trim()), Some(0))
    );
    let dir = ".planning/phases/01-field-1";
    let summary = project.text(&format!("{dir}/01-01-SUMMARY.md"));
    assert!(summary.contains(&format!("| `{RYE_CHECK}` | 0 | `{}` |", &tree[..8])), "{summary}");
    let verification = project.text(&format!("{dir}/01-VERIFICATION.md"));
    assert!(verification.contains("## Not Checked by a Machine\n\n- It grows"), "{verification}");
}

#[test]
fn a_commit_by_the_agent_itself_counts_and_undeclared_files_are_reported() {
    let script = format!("{HONEST_WORK}; echo > extra; git add --all; git commit -q -m 'My own'");
    let project = project_with_executor(&script, &[rye_phase(RYE_CHECK)]);
    let output = project.run_all();
    assert!(output.contains("`extra` is not among files_modified"), "{output}");
    let summary = project.text(".planning/phases/01-field-1/01-01-SUMMARY.md");
    assert!(summary.contains("- `extra` is not among files_modified"), "{summary}");
    assert!(summary.contains("- `crop`"), "{summary}");
    assert_eq!(project.trailers("Mow-Task").len(), 1);
    project.assert_consistent();
}

#[test]
fn no_work_at_all() {
    assert_lie_refused(
        "echo 'All done!'",
        &[rye_phase(ALWAYS_PASSES)],
        "it changed no code, although files_modified names crop",
    );
}

#[test]
fn an_empty_commit() {
    let script = "git commit -q --allow-empty -m 'feat: sow rye'";
    assert_lie_refused(
        script,
        &[rye_phase(ALWAYS_PASSES)],
        "it changed no code, although files_modified names crop",
    );
}

#[test]
fn the_test_fails() {
    let script = "echo weeds > crop; echo 'All tests pass.'";
    assert_lie_refused(
        script,
        &[rye_phase(RYE_CHECK)],
        "its check `sh tests/grow.sh` failed, exit 1",
    );
}

#[test]
fn the_test_was_edited() {
    let script = "echo weeds > crop; echo true > tests/grow.sh";
    let project = assert_lie_refused(
        script,
        &[rye_phase(RYE_CHECK)],
        "evidence altered: tests/grow.sh is a test outside",
    );
    let kept = project.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    let name = kept.lines().next().expect("its work is rescued");
    assert_eq!(project.git(&["show", &format!("{name}:tests/grow.sh")]), "true\n");
    assert_eq!(project.text(".worktrees/p01/tests/grow.sh"), "grep -q rye crop\n");
}

#[test]
fn the_test_was_deleted() {
    let script = "echo weeds > crop; git rm -q tests/grow.sh; git commit -q -a -m 'Tidy up'";
    let check = "for t in tests/*.sh; do test ! -e $t || sh $t; done";
    assert_lie_refused(
        script,
        &[rye_phase(check)],
        "evidence altered: tests/grow.sh is a test outside files_modified",
    );
}

#[test]
fn the_tests_are_skipped() {
    let script = "echo weeds > crop; echo 'collect_ignore_glob = [\"*\"]' > conftest.py";
    assert_lie_refused(
        script,
        &[rye_phase(ALWAYS_PASSES)],
        "evidence altered: conftest.py is a test outside files_modified",
    );
}

#[test]
fn it_worked_on_another_branch() {
    let script =
        format!("git checkout -q -b mine; {HONEST_WORK}; git add crop; git commit -q -m Sow");
    let words = "it left the branch phase-01 and is on mine";
    let project = assert_lie_refused(&script, &[rye_phase(ALWAYS_PASSES)], words);
    assert_eq!(
        project.git(&["show", "mine:crop"]),
        "rye\n",
        "the work on the other branch is not lost"
    );
}

#[test]
fn the_check_in_the_plan_was_altered() {
    let script = "echo weeds > crop; sed -i 's/sh tests.grow.sh/true/' $MOW_PLAN_FILE";
    let words = "evidence altered: 01-01-PLAN.md: the check of task 1 was changed";
    let project = assert_lie_refused(script, &[rye_phase(RYE_CHECK)], words);
    let plan = ".worktrees/p01/.planning/phases/01-field-1/01-01-PLAN.md";
    assert!(project.text(plan).contains(RYE_CHECK), "the plan is restored");
}

#[test]
fn the_check_was_altered_and_the_worker_killed() {
    let script = "echo weeds > crop; sed -i 's/sh tests.grow.sh/true/' $MOW_PLAN_FILE\n\
                  git add --all; git commit -q -m Sow; kill -9 $PPID; sleep 60";
    let project = project_with_executor(script, &[rye_phase(RYE_CHECK)]);
    let words = "evidence altered: 01-01-PLAN.md: the check of task 1 was changed; \
                 `mow resume 1` takes it as it is";
    assert_refused(&project, 1, words);
}

#[test]
fn the_must_haves_were_altered() {
    let script = "sed -i 's/contains: field/contains: A/' $MOW_PLAN_FILE; echo A > README.md";
    let words = "evidence altered: 01-01-PLAN.md: must_haves was changed";
    assert_lie_refused(script, &[rye_phase(ALWAYS_PASSES)], words);
}

#[test]
fn the_must_haves_are_not_met() {
    let script = format!("{HONEST_WORK}; echo Nothing > README.md");
    let words = "what it promises in must_haves is not in its commit: README.md: Missing text";
    assert_lie_refused(&script, &[rye_phase(RYE_CHECK)], words);
}

#[test]
fn the_list_of_files_was_altered() {
    let script = "sed -i 's/^files_modified.*/files_modified: [tests]/' $MOW_PLAN_FILE\n\
                  echo true > tests/grow.sh";
    let words = "evidence altered: 01-01-PLAN.md: files_modified was changed";
    assert_lie_refused(script, &[rye_phase(RYE_CHECK)], words);
}

#[test]
fn a_summary_without_work() {
    let script = "echo 'All is well.' > $MOW_PHASE_DIR/01-01-SUMMARY.md\n\
                  cp $MOW_PHASE_DIR/01-01-SUMMARY.md ../../.planning/phases/01-field-1/\n\
                  git add --all; git commit -q -m 'docs(01-01): complete plan'";
    assert_lie_refused(script, &[rye_phase(RYE_CHECK)], "its check `sh tests/grow.sh` failed");
}

/// Returns a script that forges a commit with a trailer and kills its worker. It does nothing the
/// second time.
fn script_forging_trailer(trailer: &str) -> String {
    format!(
        "test ! -e ../../lied || exit 0; : > ../../lied\n\
         echo done > $MOW_PHASE_DIR/01-01-SUMMARY.md; git add --all\n\
         git commit -q -m \"feat(01-01): sow\n\nMow-Phase: 1\nMow-Attempt: 1\nMow-Run: $MOW_RUN\n\
         {trailer}\nMow-Seal: $(printf x | sha256sum | cut -c1-64)\"\nkill -9 $PPID; sleep 60"
    )
}

#[test]
fn a_forged_task_trailer() {
    let project = assert_lie_refused(
        &script_forging_trailer("Mow-Task: 01-01/1"),
        &[rye_phase(RYE_CHECK)],
        "its check `sh tests/grow.sh`",
    );
    assert!(project.root().join("lied").exists());
}

#[test]
fn a_forged_plan_trailer() {
    let project = assert_lie_refused(
        &script_forging_trailer("Mow-Plan: 01-01"),
        &[rye_phase(RYE_CHECK)],
        "its check `sh tests/grow.sh`",
    );
    assert!(project.root().join("lied").exists());
}

#[test]
fn a_copied_trailer_of_another_task() {
    // The second task copies the commit message of the first, with its seal, and kills its worker.
    let script = "if [ $MOW_TASK = 1 ]; then echo rye > crop; exit; fi\n\
                  test ! -e ../../lied || exit 0; : > ../../lied\n\
                  git log -1 --format=%B | sed 's,01-01/1,01-01/2,' > ../../message\n\
                  git commit -q --allow-empty -F ../../message\nkill -9 $PPID; sleep 60";
    let two = phase("1", &[]).with(plan_with_checks("crop, b", &["true", "test -e b"]));
    assert_lie_refused(script, &[two], "plan 01-01, task 2: its check `test -e b` failed");
}

#[test]
fn a_commit_on_the_target() {
    let script = format!("cd ../..; {HONEST_WORK}; git add crop; git commit -q -m Sow -- crop");
    let project = project_with_executor(&script, &[rye_phase(ALWAYS_PASSES)]);
    assert_refused(&project, 1, "on main, which is not its branch; check that branch");
}

#[test]
fn the_target_was_moved() {
    let script = format!(
        "{HONEST_WORK}; git add crop; git commit -q -m Sow; unset GIT_REFLOG_ACTION\n\
         git update-ref refs/heads/main HEAD"
    );
    let project = project_with_executor(&script, &[rye_phase(RYE_CHECK)]);
    assert_refused(&project, 1, "on main, which is not its branch; check that branch");
}

#[test]
fn only_half_of_the_plans_are_done() {
    let script = format!("test $MOW_PLAN = 01-02 || {HONEST_WORK}");
    let both = rye_phase(RYE_CHECK).with(plan_with_checks("oats", &[ALWAYS_PASSES]));
    let words = "plan 01-02: it changed no code, although files_modified names oats";
    assert_lie_refused(&script, &[both], words);
}

#[test]
fn only_half_of_the_tasks_are_done() {
    let script = format!("test $MOW_TASK = 2 || {HONEST_WORK}");
    let two = phase("1", &[]).with(plan_with_checks("crop, oats", &[RYE_CHECK, "test -e oats"]));
    assert_lie_refused(
        &script,
        &[two],
        "plan 01-01, task 2: its check `test -e oats` failed, exit 1",
    );
}

#[test]
fn work_that_is_in_no_commit() {
    let script = "git init -q barn; echo rye > barn/crop; echo >> README.md";
    let words = "in a fresh checkout of";
    assert_lie_refused(script, &[rye_phase("grep -q rye barn/crop")], words);
}

#[test]
fn work_that_git_ignores() {
    let script = format!("echo crop > .gitignore; {HONEST_WORK}");
    let words = "what is ignored was changed and is not in files_modified";
    let project = assert_lie_refused(&script, &[rye_phase(RYE_CHECK)], words);
    assert!(!project.root().join(".worktrees/01-fresh").exists());
}

#[test]
fn work_that_git_excludes() {
    let script =
        format!("echo crop >> $(git rev-parse --git-common-dir)/info/exclude; {HONEST_WORK}");
    assert_lie_refused(
        &script,
        &[rye_phase(RYE_CHECK)],
        "git's own settings were changed meanwhile: info/exclude",
    );
}

#[test]
fn work_that_index_flags_hide_from_git() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let script = format!("echo rye > README.md; git update-index {flag} README.md");
        let check = "grep -q rye README.md";
        let project =
            assert_lie_refused(&script, &[rye_phase(check)], "it hid changes from git: README.md");
        let kept = project.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
        let name = kept.lines().next().expect("its work is rescued");
        assert_eq!(project.git(&["show", &format!("{name}:README.md")]), "rye\n");
    }
}

#[test]
fn history_was_rewritten() {
    for second in
        ["echo weeds > crop; git commit -q -a --amend --no-edit", "git reset -q --hard @~1"]
    {
        let script = format!("if [ $MOW_TASK = 1 ]; then {HONEST_WORK}; else {second}; fi");
        let two = phase("1", &[]).with(plan_with_checks("crop", &[RYE_CHECK, ALWAYS_PASSES]));
        let project = assert_lie_refused(&script, &[two], "it rewrote history: ");
        assert_eq!(project.git(&["show", "phase-01:crop"]), "rye\n", "the branch is restored");
    }
}

/// The roadmap in the main checkout belongs to the user. If it marks a phase as done that no run
/// has started, the run asks about it and does not build on it.
#[test]
fn another_phase_ticked_in_the_roadmap_of_the_main_checkout() {
    let tick_script =
        "sed -i 's/^- \\[ \\] \\*\\*Phase 2/- [x] **Phase 2/' ../../.planning/ROADMAP.md\n";
    let phases = [
        one_task_phase("1", &[], tick_script),
        one_task_phase("2", &["1"], ""),
        one_task_phase("3", &["2"], ""),
    ];
    let project = project_with_config("", &phases);
    let output = project.exits_with(&ALL, 5);
    assert!(
        output.contains("Phase 2 was marked as done during this run, but not by this run"),
        "{output}"
    );
    assert!(
        !project.target_files().contains_key("crop-3"),
        "a phase was built on the unproven one"
    );
    let output = project.exits_with(&["answer", "1", "not done"], 0);
    assert!(output.contains("not done"), "{output}");
    project.run_all();
    for n in 1..=3 {
        assert_eq!(project.text(&format!("crop-{n}")), format!("{n}\n"));
    }
    project.assert_consistent();
}

/// Git does not commit empty directories, so the check must not depend on one.
#[test]
fn a_check_that_needs_an_empty_directory() {
    let script = format!("{HONEST_WORK}; mkdir -p barn/loft");
    let reason = "(without `barn`: no commit has an empty directory)";
    let project = assert_lie_refused(&script, &[rye_phase("test -d barn")], reason);
    assert!(
        project.root().join(".worktrees/p01/barn/loft").is_dir(),
        "the directory stays for the next task"
    );
}

#[test]
fn ticks_in_the_planning_files() {
    let script = "sed -i 's/- \\[ \\]/- [x]/' .planning/ROADMAP.md\n\
                  sed -i 's/Ready/Complete/' .planning/STATE.md\n\
                  git commit -q -a -m 'docs: all phases are complete'";
    let project =
        assert_lie_refused(script, &[rye_phase(RYE_CHECK)], "its check `sh tests/grow.sh` failed");
    assert!(!project.text(".planning/ROADMAP.md").contains("[x]"));
    let honest = project_with_executor(
        &format!("test $MOW_PHASE = 1; {HONEST_WORK}\n{script}"),
        &[rye_phase(RYE_CHECK), one_task_phase("2", &["1"], "exit 1")],
    );
    let output = honest.exits_with(&ALL, 1);
    assert!(output.contains("is left out of the merge"), "{output}");
    assert!(output.contains("phase 1 is merged"), "{output}");
    let roadmap = honest.git(&["show", "main:.planning/ROADMAP.md"]);
    assert!(roadmap.contains("- [ ] **Phase 2"), "{roadmap}");
}

#[test]
fn status_commands_that_claim_completion() {
    let mow = super::MOW;
    let script = format!(
        "{mow} status init 1 > /dev/null\n{mow} status write 1 --plan 01-01 --status complete > /dev/null\n\
         {mow} worktree update-plan 1 complete > /dev/null\n\
         {mow} worktree release 1 > /dev/null"
    );
    assert_lie_refused(&script, &[rye_phase(RYE_CHECK)], "its check `sh tests/grow.sh` failed");
}

#[test]
fn a_forged_report_in_the_journal() {
    let script = "echo weeds > crop; git add crop; git commit -q -m Sow\n\
                  : > ../../lied; while [ ! -e ../../released ]; do sleep 0.01; done; sleep 60";
    let project = project_with_executor(script, &[rye_phase(RYE_CHECK)]);
    let lead = project.start(&ALL);
    project.wait_for("the lie", || project.root().join("lied").exists().then_some(()));
    let commit = project.git(&["rev-parse", "phase-01"]).trim().to_owned();
    let path = project.run_dir().unwrap().join("01-1.ndjson");
    let header = Header::worker(&project.run_id(), "01", 1);
    let (mut journal, _) = Journal::open(&path, &header).unwrap();
    journal.append(0, &[Event::Reported(Report::Complete { commit })]).unwrap();
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(1), "{output}");
    assert!(output.contains("its worker has not closed the phase there"), "{output}");
    assert!(!project.target_files().contains_key("crop"));
    project.assert_consistent();
}

#[test]
fn a_verification_written_by_the_executor() {
    let script = "echo $MOW_PLAN > $MOW_PLAN\n\
                  printf -- '---\\nstatus: passed\\n---\\n' > $MOW_PHASE_DIR/01-VERIFICATION.md";
    let plans = || {
        phase("1", &[])
            .with(plan_with_checks("01-01 (new)", &["test ! -e 01-02"]))
            .with(plan_with_checks("01-02 (new)", &[ALWAYS_PASSES]))
    };
    let project = project_with_executor(script, &[plans()]);
    assert_refused(&project, 5, "1 of 4 checks do not hold, first: test ! -e 01-02");
    let project = project_with_executor(script, &[plans()]);
    let config = project.text(".planning/config.json");
    let lazy =
        config.replace("\"executor\"", "\"verifier\": {\"command\": \"true\"}, \"executor\"");
    project.write(".planning/config.json", lazy);
    assert_refused(&project, 1, "it left no VERIFICATION.md");
}

#[test]
fn code_committed_after_the_last_check() {
    let project = project_with_executor(HONEST_WORK, &[rye_phase(RYE_CHECK)]);
    let config = project.text(".planning/config.json");
    let late = "\"verifier\": {\"command\": \"echo weeds > crop; git commit -qam Late\"}, ";
    let late = config.replace("\"executor\"", &format!("{late}\"executor\""));
    project.write(".planning/config.json", late);
    assert_refused(&project, 1, "the verifier changed code after the last check");
}

/// Returns shell code that waits for a condition, for 30 seconds at most.
fn shell_wait_until(test: &str) -> String {
    format!("i=0; until {test} || test $i = 600; do i=$((i + 1)); sleep 0.05; done")
}

#[test]
fn lies_of_parallel_plans_are_refused() {
    let sow = |id: &str| plan_with_checks(id, &["test -e $MOW_PLAN"]);
    let both = || [phase("1", &[]).with(sow("01-01")).with(sow("01-02"))];
    let marker = "$(git rev-parse --git-dir)/lied";
    let wait = shell_wait_until(&format!("test -e {marker}"));
    for (deception, reason) in [
        ("echo true > tests/grow.sh; git commit -q tests -m Tests", "evidence altered: tests/grow"),
        ("echo > wild; git add wild; git commit -q wild -m Wild", "wild changed while plans"),
        ("sed -i 's/test -e/true/' $MOW_PLAN_FILE", "01-02-PLAN.md: the check of task 1"),
        (
            "git config core.hooksPath /dev/null",
            "git's own settings were changed meanwhile: core.hookspath",
        ),
        ("git commit -q --amend -m Mine", "it rewrote history"),
    ] {
        // The other plan works all the time, and does nothing that could disturb the deception.
        let script = format!(
            "echo > $MOW_PLAN\n\
             if test $MOW_PLAN = 01-01; then {wait}; else {deception}; touch {marker}; fi"
        );
        let project = project_with_executor(&script, &both());
        assert_refused(&project, 1, reason);
        assert!(!project.target_files().contains_key("01-02"), "{deception}");
    }
}

#[test]
fn the_commit_of_a_parallel_plan_was_rewritten() {
    let sow = |id: &str| plan_with_checks(id, &["test -e $MOW_PLAN"]);
    let wait = shell_wait_until("git log -1 --format=%B | grep -q '^Mow-Task: 01-01/1'");
    let amend = shell_wait_until("git commit -q --amend -m Mine");
    let script = format!(
        "echo > $MOW_PLAN; test $MOW_PLAN = 01-01 && exit\n\
         {wait}; {amend}"
    );
    let project =
        project_with_executor(&script, &[phase("1", &[]).with(sow("01-01")).with(sow("01-02"))]);
    assert_refused(&project, 1, "it rewrote history");
    assert!(project.exits_with(&["rescue", "list"], 0).contains("unmade"));
}

#[test]
fn a_commit_to_the_directory_of_another_phase() {
    let script = format!(
        "{HONEST_WORK}; echo Easy > .planning/phases/02-field-2/02-CONTEXT.md; git add --all\n\
         git commit -q -m Sow"
    );
    let phases = [rye_phase(RYE_CHECK), one_task_phase("2", &["1"], "")];
    assert_lie_refused(&script, &phases, "02-CONTEXT.md, which belongs to another phase");
}

#[test]
fn changes_to_the_files_of_another_plan() {
    let script = "echo rye > crop; echo oats > oats";
    // The plans run one after the other, because `oats (new)` is not a clear path.
    let both = rye_phase(RYE_CHECK).with(plan_with_checks("oats (new)", &[ALWAYS_PASSES]));
    assert_lie_refused(script, &[both], "it changed oats, which belongs to plan 01-02");
}

#[test]
fn hooks_that_are_switched_off() {
    let script = format!("git config core.hooksPath /dev/null; {HONEST_WORK}");
    assert_lie_refused(
        &script,
        &[rye_phase(RYE_CHECK)],
        "git's own settings were changed meanwhile: core.hookspath",
    );
}
