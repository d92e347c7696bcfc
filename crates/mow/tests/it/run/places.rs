//! Where a project lies, what its repository looks like, and what the user has in it.
#![expect(clippy::disallowed_methods, reason = "the tests play the user who changes files")]

use std::fs;
use std::os::unix::fs::MetadataExt;

use mow_testkit::field::{ALL, Field, Going, Soil};

use super::kills::waited_for;
use super::{MOW, field, sown};

const SUMMARY: &str = ".planning/phases/01-field-1/01-01-SUMMARY.md";

#[test]
fn planning_files_may_be_tracked_ignored_or_left_out_of_commits() {
    let phases = [sown("1", &[], ""), sown("2", &["1"], "test -e crop-1")];
    let tracked = field(&phases);
    tracked.run_all();
    tracked.inspect();
    assert!(tracked.git(&["ls-files"]).contains(SUMMARY));
    for (config, ignore) in [
        ("", ".planning/\n"),
        ("\"commit_docs\": false", ""),
        ("\"commit_docs\": false", ".planning/\n"),
    ] {
        let other = Field::on(MOW, &Soil { config, ignore, ..Soil::default() }, &phases);
        other.run_all();
        other.inspect();
        let code: Vec<_> =
            other.code().into_iter().filter(|(path, _)| path != ".gitignore").collect();
        assert_eq!(code, tracked.code().into_iter().collect::<Vec<_>>(), "{config} {ignore}");
        assert!(other.text(SUMMARY).contains("01"), "{config} {ignore}");
        assert!(!other.git(&["ls-files"]).contains(SUMMARY), "{config} {ignore}");
        let status = other.text(".planning/ROADMAP.md");
        assert!(status.contains("- [x] **Phase 2"), "{status}");
    }
}

#[test]
fn a_project_may_lie_below_the_top_in_a_path_with_blanks_and_umlauts() {
    let soil = Soil { top: "ein Feld/für Äpfel", below: "apps/site", ..Soil::default() };
    let phases =
        [sown("1", &[], ""), sown("2.1", &["1"], "test -e crop-1"), sown("10", &["2.1"], "")];
    let field = Field::on(MOW, &soil, &phases);
    field.run_all();
    field.inspect();
    let code: Vec<_> = field.code().into_keys().collect();
    let path = |name: &str| format!("apps/site/{name}");
    assert_eq!(code, [path("README.md"), path("crop-1"), path("crop-10"), path("crop-2.1")]);
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    assert!(field.text(".planning/phases/02.1-field-2-1/02.1-01-SUMMARY.md").contains("02.1"));
}

/// Starts a run, makes a mess in the root, and returns what the run says about it.
fn messed_up(field: &Field, mess: impl FnOnce()) -> String {
    let lead = field.start(&ALL);
    field.reached("1");
    mess();
    field.open("1");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    said
}

/// Carries out the command that a run says will finish the job.
fn finish(field: &Field, said: &str) {
    let line = said.lines().find_map(|line| line.strip_prefix("To finish: ")).expect(said);
    let alias = format!("alias.finish=!{line}");
    field.git(&["-c", &alias, "finish"]);
}

#[test]
fn an_unrelated_change_stays_and_the_branch_follows() {
    let field = field(&[sown("1", &[], "meet 1")]);
    let said = messed_up(&field, || field.write("README.md", "My own words.\n"));
    assert!(!said.contains("To finish"), "{said}");
    assert_eq!(field.text("README.md"), "My own words.\n");
    assert_eq!(field.git(&["status", "--porcelain"]), " M README.md\n");
    assert_eq!(field.text("crop-1"), "1\n");
    field.inspect();
}

#[test]
fn a_change_to_a_file_of_the_merge_stays_and_the_branch_waits() {
    let field = field(&[sown("1", &[], "meet 1\necho more >> README.md")]);
    let said = messed_up(&field, || field.write("README.md", "My own words.\n"));
    assert_eq!(field.text("README.md"), "My own words.\n");
    assert!(!field.root().join("crop-1").exists());
    field.write(".planning/ROADMAP.md", field.text(".planning/ROADMAP.md").replace("[x]", "[ ]"));
    let refused = field.ends(&["run", "--all", "--plain"], 1);
    assert!(refused.contains("main does not have what run"), "nothing is built on it: {refused}");
    field.write(".planning/ROADMAP.md", field.text(".planning/ROADMAP.md").replace("[ ]", "[x]"));
    field.git(&["checkout", "-q", "README.md"]);
    finish(&field, &said);
    assert_eq!(field.text("README.md"), "A field.\nmore\n");
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    field.inspect();
}

#[test]
fn an_untracked_file_in_the_way_stays_and_the_branch_waits() {
    let field = field(&[sown("1", &[], "meet 1")]);
    let said = messed_up(&field, || field.write("crop-1", "mine\n"));
    assert_eq!(field.text("crop-1"), "mine\n");
    fs::remove_file(field.root().join("crop-1")).unwrap();
    finish(&field, &said);
    assert_eq!(field.text("crop-1"), "1\n");
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    field.inspect();
}

#[test]
fn another_branch_that_is_checked_out_stays_as_it_is() {
    let field = field(&[sown("1", &[], "meet 1")]);
    let said = messed_up(&field, || {
        // What is drawn while somebody changes branches may end up on either.
        let row = "| executing | phase-01-worker | 0/1 |";
        field.until(row, || field.text(".planning/STATE.md").contains(row).then_some(()));
        field.git(&["stash", "--quiet"]);
        field.git(&["checkout", "-q", "-b", "mine"]);
        field.write("README.md", "My own words.\n");
    });
    assert!(!said.contains("To finish"), "{said}");
    assert_eq!(field.git(&["branch", "--show-current"]), "mine\n");
    assert_eq!(field.git(&["status", "--porcelain"]), " M README.md\n");
    assert_eq!(field.git(&["show", "main:crop-1"]), "1\n");
    let roadmap = field.git(&["show", "main:.planning/ROADMAP.md"]);
    assert!(roadmap.contains("- [x] **Phase 1"), "{roadmap}");
    field.inspect();
}

#[test]
fn planning_files_outside_of_git_belong_to_all_branches() {
    let soil = Soil { ignore: ".planning/\n", ..Soil::default() };
    let field = Field::on(MOW, &soil, &[sown("1", &[], "meet 1")]);
    let said = messed_up(&field, || drop(field.git(&["checkout", "-q", "-b", "mine"])));
    assert!(!said.contains("To finish"), "{said}");
    assert!(field.text(".planning/ROADMAP.md").contains("- [x] **Phase 1"));
    assert_eq!(field.git(&["show", "main:crop-1"]), "1\n");
    field.inspect();
}

#[test]
fn a_detached_checkout_needs_a_target() {
    let field = field(&[sown("1", &[], "")]);
    field.git(&["checkout", "-q", "--detach"]);
    let refused = field.ends(&ALL, 1);
    assert!(refused.contains("--into"), "{refused}");
    field.ends(&["run", "--all", "--yes", "--plain", "--into", "main"], 0); // it is named
    assert_eq!(field.git(&["show", "main:crop-1"]), "1\n");
    assert_eq!(field.git(&["branch", "--show-current"]), "");
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    field.inspect();
    let said = field.ends(&["run", "--all", "--yes", "--plain", "--into", "main"], 0);
    assert!(said.contains("Nothing to do"), "what is done there is done: {said}");
}

#[test]
fn commits_of_others_on_the_target_are_taken_in() {
    let field = field(&[sown("1", &[], "meet 1")]);
    let said = messed_up(&field, || {
        field.write("other", "other\n");
        field.git(&["add", "other"]);
        field.git(&["commit", "-q", "-m", "Other work", "--", "other"]);
    });
    assert!(!said.contains("To finish"), "{said}");
    assert_eq!((field.text("other"), field.text("crop-1")), ("other\n".into(), "1\n".into()));
    field.inspect();
}

#[test]
fn nothing_is_built_without_what_the_last_run_did() {
    let phases = [
        sown("1", &[], "echo more >> README.md"),
        sown("2", &["1"], ""),
        sown("3", &["2"], "test -e crop-2"),
    ];
    let field = field(&phases);
    field.write("README.md", "My own words.\n");
    let said = field.ends(&["run", "1", "2", "--yes", "--plain"], 0);
    assert!(said.contains("merged into the run's target"), "{said}");
    for call in [&["run", "3", "--yes", "--plain"][..], &ALL] {
        let refused = field.ends(call, 1);
        assert!(refused.contains("main does not have what run"), "{refused}");
        assert!(refused.contains("--force to run without it"), "{refused}");
    }
    let overview = field.ends(&[], 0);
    assert!(overview.contains("main does not have what run"), "{overview}");
    assert!(!overview.contains("milestone complete"), "{overview}");
    field.git(&["checkout", "-q", "README.md"]);
    let said = field.run_all();
    assert!(said.contains("main has what run"), "{said}");
    field.inspect();
    assert_eq!(field.text("crop-3"), "3\n");
    assert!(!field.ends(&[], 0).contains("does not have what"), "it is finished");
}

#[test]
fn a_run_from_a_worktree_of_another_branch_says_what_it_would_do() {
    let field = field(&[sown("1", &[], "")]);
    let other = field.sandbox.outside().join("other");
    let path = other.to_str().unwrap();
    field.git(&["worktree", "add", "-q", "-b", "feature", path]);
    let call = ["--cwd", path, "run", "--all", "--yes", "--plain"];
    let refused = field.ends(&call, 1);
    assert!(refused.contains("this worktree is on feature"), "{refused}");
    assert!(refused.contains("merges into main"), "{refused}");
    field.ends(&[&call[..], &["--into", "feature"]].concat(), 0);
    assert_eq!(field.git(&["show", "feature:crop-1"]), "1\n");
    assert!(!field.root().join("crop-1").exists(), "main is left alone");
}

#[test]
fn the_plans_of_the_target_count_where_another_branch_is_checked_out() {
    let plan = ".planning/phases/01-field-1/01-01-PLAN.md";
    let field = field(&[sown("1", &[], "")]);
    field.git(&["switch", "-q", "-c", "feature"]);
    field.edit(plan, "echo 1 > crop-1", "echo feature > crop-1");
    field.git(&["commit", "-q", "-a", "-m", "Another plan"]);
    field.git(&["switch", "-q", "main"]);
    field.ends(&[&ALL[..], &["--into", "feature"]].concat(), 0);
    assert_eq!(field.git(&["show", "feature:crop-1"]), "feature\n");
    assert!(field.git(&["show", &format!("feature:{plan}")]).contains("echo feature"));
}

#[test]
fn a_commit_that_was_taken_back_meanwhile_does_not_come_back() {
    let field = field(&[sown("1", &[], "meet 1"), sown("2", &["1"], "")]);
    field.write("secret", "1\n");
    field.git(&["add", "secret"]);
    field.git(&["commit", "-q", "-m", "Leak"]);
    let said = messed_up(&field, || {
        field.git(&["stash", "-q"]);
        field.git(&["reset", "-q", "--hard", "HEAD~1"]);
    });
    assert!(said.contains("somebody set main back from"), "{said}");
    assert!(!field.git(&["ls-tree", "--name-only", "main"]).contains("secret"));
    assert!(!field.root().join("secret").exists());
    finish(&field, &said);
    assert_eq!(field.text("crop-2"), "2\n");
}

#[test]
fn names_that_are_no_branch_are_refused() {
    let field = field(&[sown("1", &[], "")]);
    for name in ["main~0", "main^0", "main@{0}", "", "a..b"] {
        let refused = field.ends(&[&ALL[..], &["--into", name]].concat(), 1);
        assert!(refused.contains("is no name of a branch"), "{name}: {refused}");
    }
}

/// A branch that was cut off on its way to what a run did; returns where it was going.
fn cut_off(field: &Field) -> String {
    let lead = field.start(&ALL);
    field.reached("1");
    // Nothing can be written beside it.
    field.write(".git/index.lock", "");
    field.open("1");
    let (_, said) = lead.end();
    assert!(said.contains("main did not follow"), "{said}");
    let tip = field.git(&["for-each-ref", "--format=%(objectname)", "refs/mow/run"]);
    let head = field.git(&["rev-parse", "HEAD"]);
    field.write(".git/mow-follow", format!("{} {} main", head.trim(), tip.trim()));
    let changed = |name: &str| {
        let about = fs::metadata(field.root().join(name)).expect("it was written");
        (about.ctime(), about.ctime_nsec())
    };
    // The clock of files ticks slowly.
    field.until("it is written later", || {
        field.write("long", "1\n2\n3");
        (changed("long") > changed(".git/mow-follow")).then_some(())
    });
    let paper = field.git(&["show", &format!("{}:{SUMMARY}", tip.trim())]);
    field.write(SUMMARY, &paper[..paper.len() / 2]);
    tip
}

fn came_to_its_end(field: &Field, tip: &str) {
    assert_eq!(field.text("long").lines().count(), 100);
    assert_eq!(field.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    field.inspect();
}

/// Git writes files one by one and moves the branch last.
#[test]
fn a_branch_that_was_cut_off_on_its_way_comes_to_its_end() {
    let field = field(&[sown("1", &[], "seq 1 100 > long\nmeet 1")]);
    let tip = cut_off(&field);
    field.ends(&ALL, 0);
    came_to_its_end(&field, &tip);
}

/// What a dead lead was about to start has its lock for a moment, and looks like a lead; and the lead of
/// another project in the repository may be at the same branch.
#[test]
fn a_branch_that_was_cut_off_comes_to_its_end_first_when_a_lock_is_let_go() {
    for name in ["lead", "worktrees"] {
        let field = field(&[sown("1", &[], "seq 1 100 > long\nmeet 1")]);
        let tip = cut_off(&field);
        let lock = field.top().join(format!(".git/mow/locks/{name}.lock"));
        let lock = fs::File::open(lock).unwrap();
        lock.lock().unwrap();
        let lead = field.start(&ALL);
        waited_for(&field, &lock);
        assert_eq!(field.text("long"), "1\n2\n3");
        drop(lock);
        let (status, said) = lead.end();
        assert!(status.success(), "{said}");
        assert!(said.contains("main was on its way to what a run did"), "{said}");
        came_to_its_end(&field, &tip);
    }
}

#[test]
fn what_people_write_after_a_lead_died_over_the_record_of_a_run_goes_into_it() {
    let field = field(&[sown("1", &[], "")]);
    let call = field.call(&ALL).env("MOW_FAILPOINT", "overlay.ref.moved@lead");
    let call = call.env("MOW_FAILPOINT_MARK", field.sandbox.outside().join("mark"));
    assert!(!Going::of(call).end().0.success());
    field.edit(".planning/STATE.md", "A person wrote this.", "A person wrote this, and that.");
    let said = field.ends(&ALL, 0);
    assert!(!said.contains("did not follow"), "{said}");
    assert!(field.git(&["show", "main:.planning/STATE.md"]).contains("this, and that."));
    assert_eq!(field.git(&["status", "--porcelain"]), "");
}
