//! A worker's agent that claims success falsely, in every way we could think of: none is accepted,
//! and each time the run says why in words that a person understands.

use mow_core::report::Report;
use mow_core::worker::Event;
use mow_store::journal::{Header, Journal};
use mow_testkit::field::{ALL, Field, Phase, Plan, phase};

use super::{field_with, sown};

mod behind;
mod index;

/// What holds when rye was sown.
const GROWN: &str = "sh tests/grow.sh";
/// What holds in any case, so that other things must tell.
const NOTHING: &str = "true";
/// Work that is as it should be.
const HONEST: &str = "echo rye > crop";

/// A plan that changes files and is checked after each task.
fn plan_of(files: &str, checks: &[&str]) -> Plan {
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
    Plan::of_text(&(text + "</tasks>\n"))
}

/// A phase with one plan of one task, which sows rye.
fn rye(check: &str) -> Phase {
    phase("1", &[]).with(plan_of("crop", &[check]))
}

/// A field whose executor is a script.
fn field_of(executor: &str, phases: &[Phase]) -> Field {
    let command = serde_json::Value::from(executor).to_string();
    let field =
        field_with(&format!("\"roles\": {{\"executor\": {{\"command\": {command}}}}}"), phases);
    field.write("tests/grow.sh", "grep -q rye crop\n");
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "Tests"]);
    field
}

/// Runs a field whose executor lies; its words must be refused for a reason.
#[track_caller]
fn refused(field: &Field, code: i32, reason: &str) {
    let said = field.ends(&ALL, code);
    assert!(said.contains(reason), "{said}");
    let log = field.git(&["log", "--format=%s", "main"]);
    assert!(!log.contains("Merge phase 1"), "{log}");
    assert!(!field.git(&["show", "main:.planning/ROADMAP.md"]).contains("[x]"));
    field.inspect();
}

#[track_caller]
fn lie(executor: &str, phases: &[Phase], reason: &str) -> Field {
    let field = field_of(executor, phases);
    refused(&field, 1, reason);
    assert!(!field.code().contains_key("crop"), "the lie is in the target");
    field
}

/// Git's plumbing does not say who moves a branch.
#[test]
fn a_commit_put_on_main_by_plumbing_is_noticed() {
    let script = format!(
        "commit=$(git commit-tree main:tests -p main -m Weed)\ngit update-ref refs/heads/main \
         $commit\n{HONEST}"
    );
    let field = field_of(&script, &[rye(GROWN)]);
    let said = field.ends(&ALL, 1);
    assert!(said.contains("on main, which is not its branch; look at that"), "{said}");
    assert!(!field.git(&["log", "--format=%s", "main"]).contains("Merge phase 1"));
}

/// Work that nobody has checked, put where the run merges to.
#[test]
fn a_lie_on_the_run_s_own_ref_is_not_merged() {
    let smuggle = "target=$(git for-each-ref --format='%(refname)' refs/mow/run)\n\
        object=$(echo weed | git hash-object -w --stdin)\n\
        export GIT_INDEX_FILE=$PWD/../index\n\
        git read-tree \"${target:-HEAD}\"\n\
        git update-index --add --cacheinfo 100644,$object,weed\n\
        commit=$(git commit-tree $(git write-tree) -p \"${target:-HEAD}\" -m Weed)\n\
        run=$(basename $(ls -d $(git rev-parse --git-common-dir)/mow/runs/2*))\n\
        git update-ref refs/mow/run/$run/target $commit\n\
        rm $GIT_INDEX_FILE; unset GIT_INDEX_FILE\n";
    // Before the ref is there, when it is there, and in the last phase.
    for smuggler in ["1", "2", "3"] {
        let script = |number: &str| if number == smuggler { smuggle } else { "" };
        let phases = [
            sown("1", &[], script("1")),
            sown("2", &["1"], script("2")),
            sown("3", &["2"], script("3")),
        ];
        let field = field_with("", &phases);
        let said = field.run_all();
        assert!(said.contains("moved back"), "{smuggler}: {said}");
        let log = field.ends(&["log"], 0);
        assert!(
            log.contains("it was moved back, and what it stood at is kept"),
            "{smuggler}: {log}"
        );
        assert!(!field.code().contains_key("weed"), "{smuggler}: the weed is in the target");
        for n in 1..=3 {
            assert_eq!(field.text(&format!("crop-{n}")), format!("{n}\n"));
        }
        assert!(field.git(&["log", "--format=%s", "--glob=refs/mow/rescue/*"]).contains("Weed"));
        field.inspect();
    }
}

#[test]
fn the_truth_is_accepted_and_its_evidence_written_down() {
    let field = field_of(HONEST, &[rye(GROWN)]);
    field.run_all();
    field.inspect();
    assert_eq!(field.text("crop"), "rye\n");
    let records = field.records("01-1.ndjson");
    let proved: Vec<_> = records.iter().filter(|r| r.body.contains("\"proved\"")).collect();
    assert_eq!(proved.len(), 1, "the same code is checked once: {proved:?}");
    let evidence: serde_json::Value = proved[0].parse().unwrap();
    let commit = evidence["commit"].as_str().unwrap();
    let tree = field.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
    assert_eq!(
        (evidence["tree"].as_str(), evidence["exit"].as_i64()),
        (Some(tree.trim()), Some(0))
    );
    let dir = ".planning/phases/01-field-1";
    let summary = field.text(&format!("{dir}/01-01-SUMMARY.md"));
    assert!(summary.contains(&format!("| `{GROWN}` | 0 | `{}` |", &tree[..8])), "{summary}");
    let verification = field.text(&format!("{dir}/01-VERIFICATION.md"));
    assert!(verification.contains("## Not Checked by a Machine\n\n- It grows"), "{verification}");
}

#[test]
fn what_the_agent_committed_itself_counts_and_other_files_are_named() {
    let script = format!("{HONEST}; echo > extra; git add --all; git commit -q -m 'My own'");
    let field = field_of(&script, &[rye(GROWN)]);
    let said = field.run_all();
    assert!(said.contains("`extra` is not among files_modified"), "{said}");
    let summary = field.text(".planning/phases/01-field-1/01-01-SUMMARY.md");
    assert!(summary.contains("- `extra` is not among files_modified"), "{summary}");
    assert!(summary.contains("- `crop`"), "{summary}");
    assert_eq!(field.trailers("Mow-Task").len(), 1);
    field.inspect();
}

#[test]
fn nothing_was_done() {
    lie(
        "echo 'All done!'",
        &[rye(NOTHING)],
        "it changed no code, although files_modified names crop",
    );
}

#[test]
fn an_empty_commit() {
    let script = "git commit -q --allow-empty -m 'feat: sow rye'";
    lie(script, &[rye(NOTHING)], "it changed no code, although files_modified names crop");
}

#[test]
fn the_test_fails() {
    let script = "echo weeds > crop; echo 'All tests pass.'";
    lie(script, &[rye(GROWN)], "its check `sh tests/grow.sh` failed, exit 1");
}

#[test]
fn the_test_was_edited() {
    let script = "echo weeds > crop; echo true > tests/grow.sh";
    let field = lie(script, &[rye(GROWN)], "evidence altered: tests/grow.sh is a test outside");
    let kept = field.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    let name = kept.lines().next().expect("what it did is kept");
    assert_eq!(field.git(&["show", &format!("{name}:tests/grow.sh")]), "true\n");
    assert_eq!(field.text(".worktrees/p01/tests/grow.sh"), "grep -q rye crop\n");
}

#[test]
fn the_test_was_deleted() {
    let script = "echo weeds > crop; git rm -q tests/grow.sh; git commit -q -a -m 'Tidy up'";
    let check = "for t in tests/*.sh; do test ! -e $t || sh $t; done";
    lie(script, &[rye(check)], "evidence altered: tests/grow.sh is a test outside files_modified");
}

#[test]
fn the_tests_are_skipped() {
    let script = "echo weeds > crop; echo 'collect_ignore_glob = [\"*\"]' > conftest.py";
    lie(script, &[rye(NOTHING)], "evidence altered: conftest.py is a test outside files_modified");
}

#[test]
fn it_worked_on_another_branch() {
    let script = format!("git checkout -q -b mine; {HONEST}; git add crop; git commit -q -m Sow");
    let words = "it left the branch phase-01 and is on mine";
    let field = lie(&script, &[rye(NOTHING)], words);
    assert_eq!(field.git(&["show", "mine:crop"]), "rye\n", "nothing of it is lost");
}

#[test]
fn the_check_in_the_plan_was_altered() {
    let script = "echo weeds > crop; sed -i 's/sh tests.grow.sh/true/' $MOW_PLAN_FILE";
    let words = "evidence altered: 01-01-PLAN.md: the check of task 1 is another one";
    let field = lie(script, &[rye(GROWN)], words);
    let plan = ".worktrees/p01/.planning/phases/01-field-1/01-01-PLAN.md";
    assert!(field.text(plan).contains(GROWN), "the plan is what it was");
}

#[test]
fn the_check_was_altered_and_the_worker_killed() {
    let script = "echo weeds > crop; sed -i 's/sh tests.grow.sh/true/' $MOW_PLAN_FILE\n\
                  git add --all; git commit -q -m Sow; kill -9 $PPID; sleep 60";
    let field = field_of(script, &[rye(GROWN)]);
    let words = "evidence altered: 01-01-PLAN.md: the check of task 1 is another one; \
                 `mow resume 1` takes it as it is";
    refused(&field, 1, words);
}

#[test]
fn the_promises_were_altered() {
    let script = "sed -i 's/contains: field/contains: A/' $MOW_PLAN_FILE; echo A > README.md";
    let words = "evidence altered: 01-01-PLAN.md: must_haves is another one";
    lie(script, &[rye(NOTHING)], words);
}

#[test]
fn the_promises_are_not_kept() {
    let script = format!("{HONEST}; echo Nothing > README.md");
    let words = "what it promises in must_haves is not in its commit: README.md: Missing text";
    lie(&script, &[rye(GROWN)], words);
}

#[test]
fn the_list_of_files_was_altered() {
    let script = "sed -i 's/^files_modified.*/files_modified: [tests]/' $MOW_PLAN_FILE\n\
                  echo true > tests/grow.sh";
    let words = "evidence altered: 01-01-PLAN.md: files_modified is another one";
    lie(script, &[rye(GROWN)], words);
}

#[test]
fn a_summary_without_work() {
    let script = "echo 'All is well.' > $MOW_PHASE_DIR/01-01-SUMMARY.md\n\
                  cp $MOW_PHASE_DIR/01-01-SUMMARY.md ../../.planning/phases/01-field-1/\n\
                  git add --all; git commit -q -m 'docs(01-01): complete plan'";
    lie(script, &[rye(GROWN)], "its check `sh tests/grow.sh` failed");
}

/// A script that forges a commit with a mark, kills its worker, and does nothing the second time.
fn forging(trailer: &str) -> String {
    format!(
        "test ! -e ../../lied || exit 0; : > ../../lied\n\
         echo done > $MOW_PHASE_DIR/01-01-SUMMARY.md; git add --all\n\
         git commit -q -m \"feat(01-01): sow\n\nMow-Phase: 1\nMow-Attempt: 1\nMow-Run: $MOW_RUN\n\
         {trailer}\nMow-Seal: $(printf x | sha256sum | cut -c1-64)\"\nkill -9 $PPID; sleep 60"
    )
}

#[test]
fn a_forged_mark_of_a_task() {
    let field = lie(&forging("Mow-Task: 01-01/1"), &[rye(GROWN)], "its check `sh tests/grow.sh`");
    assert!(field.root().join("lied").exists());
}

#[test]
fn a_forged_mark_of_a_plan() {
    let field = lie(&forging("Mow-Plan: 01-01"), &[rye(GROWN)], "its check `sh tests/grow.sh`");
    assert!(field.root().join("lied").exists());
}

#[test]
fn the_mark_of_another_task_is_copied() {
    // The second task copies the commit of the first one, seal and all, and kills its worker.
    let script = "if [ $MOW_TASK = 1 ]; then echo rye > crop; exit; fi\n\
                  test ! -e ../../lied || exit 0; : > ../../lied\n\
                  git log -1 --format=%B | sed 's,01-01/1,01-01/2,' > ../../words\n\
                  git commit -q --allow-empty -F ../../words\nkill -9 $PPID; sleep 60";
    let two = phase("1", &[]).with(plan_of("crop, b", &["true", "test -e b"]));
    lie(script, &[two], "plan 01-01, task 2: its check `test -e b` failed");
}

#[test]
fn a_commit_on_the_target() {
    let script = format!("cd ../..; {HONEST}; git add crop; git commit -q -m Sow -- crop");
    let field = field_of(&script, &[rye(NOTHING)]);
    refused(&field, 1, "on main, which is not its branch; look at that");
}

#[test]
fn the_target_was_moved() {
    let script = format!(
        "{HONEST}; git add crop; git commit -q -m Sow; unset GIT_REFLOG_ACTION\n\
         git update-ref refs/heads/main HEAD"
    );
    let field = field_of(&script, &[rye(GROWN)]);
    refused(&field, 1, "on main, which is not its branch; look at that");
}

#[test]
fn half_of_the_plans() {
    let script = format!("test $MOW_PLAN = 01-02 || {HONEST}");
    let both = rye(GROWN).with(plan_of("oats", &[NOTHING]));
    let words = "plan 01-02: it changed no code, although files_modified names oats";
    lie(&script, &[both], words);
}

#[test]
fn half_of_the_tasks() {
    let script = format!("test $MOW_TASK = 2 || {HONEST}");
    let two = phase("1", &[]).with(plan_of("crop, oats", &[GROWN, "test -e oats"]));
    lie(&script, &[two], "plan 01-01, task 2: its check `test -e oats` failed, exit 1");
}

#[test]
fn work_that_is_in_no_commit() {
    let script = "git init -q barn; echo rye > barn/crop; echo >> README.md";
    let words = "in a fresh checkout of";
    lie(script, &[rye("grep -q rye barn/crop")], words);
}

#[test]
fn work_that_git_ignores() {
    let script = format!("echo crop > .gitignore; {HONEST}");
    let words = "what is ignored was changed and is not in files_modified";
    let field = lie(&script, &[rye(GROWN)], words);
    assert!(!field.root().join(".worktrees/01-fresh").exists());
}

#[test]
fn work_that_is_kept_from_git() {
    let script = format!("echo crop >> $(git rev-parse --git-common-dir)/info/exclude; {HONEST}");
    lie(&script, &[rye(GROWN)], "git's own settings were changed meanwhile: info/exclude");
}

#[test]
fn work_that_is_hidden_from_git() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let script = format!("echo rye > README.md; git update-index {flag} README.md");
        let check = "grep -q rye README.md";
        let field = lie(&script, &[rye(check)], "it hid changes from git: README.md");
        let kept = field.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
        let name = kept.lines().next().expect("what it did is kept");
        assert_eq!(field.git(&["show", &format!("{name}:README.md")]), "rye\n");
    }
}

#[test]
fn history_was_rewritten() {
    for second in
        ["echo weeds > crop; git commit -q -a --amend --no-edit", "git reset -q --hard @~1"]
    {
        let script = format!("if [ $MOW_TASK = 1 ]; then {HONEST}; else {second}; fi");
        let two = phase("1", &[]).with(plan_of("crop", &[GROWN, NOTHING]));
        let field = lie(&script, &[two], "it rewrote history: ");
        assert_eq!(field.git(&["show", "phase-01:crop"]), "rye\n", "the branch is what it was");
    }
}

/// The roadmap in the main root is the user's: what it says there of a phase that nobody has begun is
/// asked about, and not built on.
#[test]
fn another_phase_ticked_in_the_main_root() {
    let tick = "sed -i 's/^- \\[ \\] \\*\\*Phase 2/- [x] **Phase 2/' ../../.planning/ROADMAP.md\n";
    let phases = [sown("1", &[], tick), sown("2", &["1"], ""), sown("3", &["2"], "")];
    let field = field_with("", &phases);
    let said = field.ends(&ALL, 5);
    assert!(said.contains("Phase 2 was marked as done during this run, and not by it"), "{said}");
    assert!(!field.code().contains_key("crop-3"), "something was built on it");
    let said = field.ends(&["answer", "1", "not done"], 0);
    assert!(said.contains("not done"), "{said}");
    field.run_all();
    for n in 1..=3 {
        assert_eq!(field.text(&format!("crop-{n}")), format!("{n}\n"));
    }
    field.inspect();
}

/// No commit can have it.
#[test]
fn an_empty_directory() {
    let script = format!("{HONEST}; mkdir -p barn/loft");
    let reason = "(without `barn`: no commit has an empty directory)";
    let field = lie(&script, &[rye("test -d barn")], reason);
    assert!(
        field.root().join(".worktrees/p01/barn/loft").is_dir(),
        "it is there for the next task"
    );
}

#[test]
fn ticks_in_the_planning_files() {
    let script = "sed -i 's/- \\[ \\]/- [x]/' .planning/ROADMAP.md\n\
                  sed -i 's/Ready/Complete/' .planning/STATE.md\n\
                  git commit -q -a -m 'docs: all phases are complete'";
    let field = lie(script, &[rye(GROWN)], "its check `sh tests/grow.sh` failed");
    assert!(!field.text(".planning/ROADMAP.md").contains("[x]"));
    let honest = field_of(
        &format!("test $MOW_PHASE = 1; {HONEST}\n{script}"),
        &[rye(GROWN), sown("2", &["1"], "exit 1")],
    );
    let said = honest.ends(&ALL, 1);
    assert!(said.contains("is left out of the merge"), "{said}");
    assert!(said.contains("phase 1 is merged"), "{said}");
    let roadmap = honest.git(&["show", "main:.planning/ROADMAP.md"]);
    assert!(roadmap.contains("- [ ] **Phase 2"), "{roadmap}");
}

#[test]
fn messages_that_all_is_done() {
    let mow = super::MOW;
    let script = format!(
        "{mow} status init 1 > /dev/null\n{mow} status write 1 --plan 01-01 --status complete > /dev/null\n\
         {mow} worktree update-plan 1 complete > /dev/null\n\
         {mow} worktree release 1 > /dev/null"
    );
    lie(&script, &[rye(GROWN)], "its check `sh tests/grow.sh` failed");
}

#[test]
fn a_forged_report_in_the_journal() {
    let script = "echo weeds > crop; git add crop; git commit -q -m Sow\n\
                  : > ../../lied; while [ ! -e ../../heard ]; do sleep 0.01; done; sleep 60";
    let field = field_of(script, &[rye(GROWN)]);
    let lead = field.start(&ALL);
    field.until("the lie", || field.root().join("lied").exists().then_some(()));
    let commit = field.git(&["rev-parse", "phase-01"]).trim().to_owned();
    let path = field.run_dir().unwrap().join("01-1.ndjson");
    let header = Header::worker(&field.run_id(), "01", 1);
    let (mut journal, _) = Journal::open(&path, &header).unwrap();
    journal.append(0, &[Event::Reported(Report::Complete { commit })]).unwrap();
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("its worker has not closed the phase there"), "{said}");
    assert!(!field.code().contains_key("crop"));
    field.inspect();
}

#[test]
fn a_verification_by_the_wrong_hand() {
    let script = "echo $MOW_PLAN > $MOW_PLAN\n\
                  printf -- '---\\nstatus: passed\\n---\\n' > $MOW_PHASE_DIR/01-VERIFICATION.md";
    let plans = || {
        phase("1", &[])
            .with(plan_of("01-01 (new)", &["test ! -e 01-02"]))
            .with(plan_of("01-02 (new)", &[NOTHING]))
    };
    let field = field_of(script, &[plans()]);
    refused(&field, 5, "1 of 4 checks do not hold, first: test ! -e 01-02");
    let field = field_of(script, &[plans()]);
    let config = field.text(".planning/config.json");
    let lazy =
        config.replace("\"executor\"", "\"verifier\": {\"command\": \"true\"}, \"executor\"");
    field.write(".planning/config.json", lazy);
    refused(&field, 1, "it left no VERIFICATION.md");
}

#[test]
fn code_that_came_after_all_checks() {
    let field = field_of(HONEST, &[rye(GROWN)]);
    let config = field.text(".planning/config.json");
    let late = "\"verifier\": {\"command\": \"echo weeds > crop; git commit -qam Late\"}, ";
    let late = config.replace("\"executor\"", &format!("{late}\"executor\""));
    field.write(".planning/config.json", late);
    refused(&field, 1, "the verifier changed code, and nobody has checked that");
}

/// Waits in a script, for half a minute at most.
fn until(test: &str) -> String {
    format!("i=0; until {test} || test $i = 600; do i=$((i + 1)); sleep 0.05; done")
}

#[test]
fn plans_side_by_side_are_watched_too() {
    let sow = |id: &str| plan_of(id, &["test -e $MOW_PLAN"]);
    let both = || [phase("1", &[]).with(sow("01-01")).with(sow("01-02"))];
    let told = "$(git rev-parse --git-dir)/told";
    let wait = until(&format!("test -e {told}"));
    for (lie, reason) in [
        ("echo true > tests/grow.sh; git commit -q tests -m Tests", "evidence altered: tests/grow"),
        ("echo > wild; git add wild; git commit -q wild -m Wild", "wild changed while plans"),
        ("sed -i 's/test -e/true/' $MOW_PLAN_FILE", "01-02-PLAN.md: the check of task 1"),
        (
            "git config core.hooksPath /dev/null",
            "git's own settings were changed meanwhile: core.hookspath",
        ),
        ("git commit -q --amend -m Mine", "it rewrote history"),
    ] {
        // The other plan is at work all the time, but does nothing that the lie could run into.
        let script = format!(
            "echo > $MOW_PLAN\n\
             if test $MOW_PLAN = 01-01; then {wait}; else {lie}; touch {told}; fi"
        );
        let field = field_of(&script, &both());
        refused(&field, 1, reason);
        assert!(!field.code().contains_key("01-02"), "{lie}");
    }
}

#[test]
fn the_commit_of_the_plan_beside_it_was_rewritten() {
    let sow = |id: &str| plan_of(id, &["test -e $MOW_PLAN"]);
    let wait = until("git log -1 --format=%B | grep -q '^Mow-Task: 01-01/1'");
    let amend = until("git commit -q --amend -m Mine");
    let script = format!(
        "echo > $MOW_PLAN; test $MOW_PLAN = 01-01 && exit\n\
         {wait}; {amend}"
    );
    let field = field_of(&script, &[phase("1", &[]).with(sow("01-01")).with(sow("01-02"))]);
    refused(&field, 1, "it rewrote history");
    assert!(field.ends(&["rescue", "list"], 0).contains("unmade"));
}

#[test]
fn the_folder_of_another_phase() {
    let script = format!(
        "{HONEST}; echo Easy > .planning/phases/02-field-2/02-CONTEXT.md; git add --all\n\
         git commit -q -m Sow"
    );
    let phases = [rye(GROWN), sown("2", &["1"], "")];
    lie(&script, &phases, "02-CONTEXT.md, which belongs to another phase");
}

#[test]
fn the_files_of_another_plan() {
    let script = "echo rye > crop; echo oats > oats";
    // One after the other, since they do not say clearly what they change.
    let both = rye(GROWN).with(plan_of("oats (new)", &[NOTHING]));
    lie(script, &[both], "it changed oats, which belongs to plan 01-02");
}

#[test]
fn hooks_that_are_switched_off() {
    let script = format!("git config core.hooksPath /dev/null; {HONEST}");
    lie(&script, &[rye(GROWN)], "git's own settings were changed meanwhile: core.hookspath");
}
