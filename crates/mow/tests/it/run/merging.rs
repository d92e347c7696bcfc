//! What can stand in the way of a merge, and what a person is told then. Every command that is named
//! is tried.
#![expect(clippy::disallowed_methods, reason = "the tests play the user who changes files")]

use std::fs;
use std::process::Command;

use mow_testkit::field::{ALL, Field, Soil, phase, plan, task};

use super::{MOW, answer_all, field, field_with, sown};

/// Runs a command that was named, as a person would paste it.
#[track_caller]
fn paste(field: &Field, command: &str) {
    let alias = format!("alias.pasted=!{command}");
    field.git(&["-c", &alias, "pasted"]);
}

/// Returns what stands between two texts.
#[track_caller]
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = text.split_once(start).unwrap_or_else(|| panic!("no {start:?} in {text}")).1;
    rest.split_once(end).unwrap_or_else(|| panic!("no {end:?} in {text}")).0
}

/// A phase that somebody carried out by hand: worktree, work, summary, commit.
fn by_hand(field: &Field, number: u32, script: &str) {
    field.ends(&["worktree", "create", &number.to_string()], 0);
    let worktree = format!(".worktrees/p0{number}");
    let dir = format!("{worktree}/.planning/phases/0{number}-field-{number}");
    field.write(&format!("{dir}/0{number}-01-SUMMARY.md"), "# Done\n");
    let alias = format!("alias.do=!{script}");
    field.git(&["-C", &worktree, "-c", &alias, "do"]);
    field.git(&["-C", &worktree, "add", "--all"]);
    field.git(&["-C", &worktree, "commit", "-q", "-m", "By hand"]);
}

fn main_of(field: &Field) -> String {
    field.git(&["rev-parse", "main"])
}

#[test]
fn a_conflict_is_settled_in_the_worktree_and_merged_when_the_phase_is_resumed() {
    let phases =
        [sown("1", &[], "echo rye > both"), sown("2", &[], "echo oats > both\nrm README.md")];
    let field = field(&phases);
    let said = field.ends(&ALL, 5);
    assert!(said.contains("Phase 2 cannot be merged: conflicts in both (both added); "), "{said}");
    assert!(said.contains("edit FILE, then git add FILE"), "{said}");
    field.ends(&["resume", "2"], 0);
    let again = field.ends(&ALL, 5);
    assert!(again.contains("conflicts in both (both added)"), "nobody settled anything: {again}");
    let merge = between(&said, "to settle them: ", ", then for each").to_owned();
    // Git ends with 1 because of the conflict.
    paste(&field, &format!("{merge} || true"));
    field.ends(&["resume", "2"], 0);
    let half = field.ends(&ALL, 5);
    assert!(half.contains("finish the merge that is in progress there"), "{half}");
    field.write(".worktrees/p02/both", "rye and oats\n");
    field.git(&["-C", ".worktrees/p02", "add", "both"]);
    let commit = between(&said, "; then git", ", and mow resume 2").to_owned();
    paste(&field, &format!("git{commit} --no-edit -q"));
    field.ends(&["resume", "2"], 0);
    field.run_all();
    field.inspect();
    assert_eq!(field.git(&["show", "main:both"]), "rye and oats\n");
    assert_eq!(field.trailers("Mow-Task").len(), 2);
    assert_eq!(field.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_conflict_may_be_answered_too() {
    let field = field(&[sown("1", &[], "echo rye > both"), sown("2", &[], "echo oats > both")]);
    let said = field.ends(&ALL, 5);
    let merge = between(&said, "to settle them: ", ", then for each").to_owned();
    paste(&field, &format!("{merge} -X ours --quiet"));
    answer_all(&field, "retry");
    field.run_all();
    field.inspect();
    assert_eq!(field.git(&["show", "main:both"]), "oats\n");
}

#[test]
fn a_phase_that_is_tried_again_does_not_end_a_merge_that_somebody_began_in_it() {
    let tasks = vec![task("echo oats > both"), task("test -e ../../seed\necho 2 > second")];
    let field = field(&[phase("1", &[]).with(plan(tasks))]);
    field.ends(&ALL, 1);
    field.write("both", "rye\n");
    field.git(&["add", "both"]);
    field.git(&["commit", "-q", "-m", "Mine", "--", "both"]);
    paste(&field, "git -C .worktrees/p01 merge --quiet main || true");
    field.write(".worktrees/p01/both", "half settled\n");
    field.git(&["-C", ".worktrees/p01", "add", "both"]);
    field.write("seed", "");
    let said = field.ends(&ALL, 0);
    assert!(said.contains("To finish: "), "the branch has what the run does not know: {said}");
    assert_eq!(field.git(&["show", "main:both"]), "rye\n");
    let heads = field.git(&["-C", ".worktrees/p01", "log", "--format=%p", "main..HEAD"]);
    assert!(heads.lines().all(|parents| !parents.contains(' ')), "no merge was made: {heads}");
    let kept = field.ends(&["rescue", "list", "--json"], 0);
    assert!(kept.contains("\"both\""), "the half that was settled is kept: {kept}");
}

#[test]
fn a_role_settles_conflicts_and_the_engine_makes_the_merge() {
    let command = "sort -u both | grep -v '[<=>]' > ../sorted; cat ../sorted > both; rm ../sorted; \
                   test $(cat $MOW_CONFLICTS_FILE) = both; echo helped > helper";
    let config = format!("\"roles\": {{\"conflict-resolver\": {{\"command\": \"{command}\"}}}}");
    let phases = [sown("1", &[], "echo rye > both"), sown("2", &[], "echo oats > both")];
    let field = field_with(&config, &phases);
    field.run_all();
    field.inspect();
    assert_eq!(field.git(&["show", "main:both"]), "oats\nrye\n");
    assert_eq!(field.git(&["show", "main:helper"]), "helped\n");
    let parents = field.git(&["log", "-1", "--format=%P", "--grep=Merge phase 2", "main"]);
    assert_eq!(parents.split_whitespace().count(), 2, "a merge: {parents}");
    assert!(!field.root().join(".worktrees/merge").exists(), "the scratch checkout is gone");
    assert_eq!(field.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_role_that_settles_nothing_leaves_the_conflict_to_a_person_and_its_work_is_kept() {
    let command = "echo tried > trace";
    let config = format!("\"roles\": {{\"conflict-resolver\": {{\"command\": \"{command}\"}}}}");
    let phases = [sown("1", &[], "echo rye > both"), sown("2", &[], "echo oats > both")];
    let field = field_with(&config, &phases);
    let said = field.ends(&ALL, 5);
    assert!(said.contains("both still has the marks of the conflict"), "{said}");
    let name = between(&said, "mow rescue restore ", ";").to_owned();
    assert_eq!(field.git(&["show", &format!("refs/mow/rescue/{name}:trace")]), "tried\n");
    let merge = between(&said, "to settle them: ", ", then for each").to_owned();
    paste(&field, &format!("{merge} -X theirs --quiet"));
    field.ends(&["resume", "2"], 0);
    field.run_all();
    field.inspect();
    assert_eq!(field.git(&["show", "main:both"]), "rye\n");
}

#[test]
fn a_merged_tree_that_does_not_pass_is_not_merged() {
    let config = "\"multi_phase\": {\"verify\": \"if test -e crop-1 && test -e crop-2; \
                  then echo too many crops; exit 3; fi\"}";
    let field = field_with(config, &[sown("1", &[], ""), sown("2", &[], "")]);
    let said = field.ends(&ALL, 5);
    let words = "fails on the merged tree, exit 3: too many crops";
    assert!(said.contains(words), "{said}");
    assert_eq!(field.code().keys().filter(|name| name.starts_with("crop")).count(), 1);
    let config = field.text(".planning/config.json").replace("exit 3", "exit 0");
    field.write(".planning/config.json", config);
    field.ends(&["resume", "2"], 0);
    field.run_all();
    field.inspect();
    assert_eq!(field.code().keys().filter(|name| name.starts_with("crop")).count(), 2);
}

/// No commit has it.
#[test]
fn an_empty_directory_does_not_let_a_merged_tree_pass() {
    let config = "\"multi_phase\": {\"verify\": \"test -d out\"}";
    let field = field_with(config, &[sown("1", &[], "mkdir out")]);
    let said = field.ends(&ALL, 5);
    assert!(said.contains("(`test -d out`) fails on the merged tree, exit 1"), "{said}");
}

#[test]
fn a_check_of_a_merged_tree_that_was_killed_is_run_once_more() {
    let config = "\"multi_phase\": {\"verify\": \"! mkdir $MOW_PLANNING/../../../../hit 2>&- || \
                  kill -9 $$\"}";
    let field = field_with(config, &[sown("1", &[], "")]);
    field.run_all();
    field.inspect();
    assert!(field.sandbox.outside().join("hit").is_dir(), "it was killed");
}

#[test]
fn a_tree_that_the_worktree_holds_already_is_checked_there() {
    let config = "\"multi_phase\": {\"verify\": \"pwd >> $MOW_PLANNING/../../../../verified\"}";
    let field = field_with(config, &[sown("1", &[], ""), sown("2", &["1"], "")]);
    field.run_all();
    field.inspect();
    let verified = field.sandbox.text("../verified");
    let places: Vec<_> = verified.lines().map(|line| line.rsplit('/').next().unwrap()).collect();
    assert_eq!(places, ["p01", "p02"], "no other checkout was made");
}

#[test]
fn planning_files_that_are_not_the_phases_own_are_left_out_and_kept() {
    let script = "echo mine >> .planning/PROJECT-NOTES.md\ngit add -f .planning\n\
                  git commit -q -m notes -- .planning";
    let field = field(&[sown("1", &[], script)]);
    let said = field.run_all();
    assert!(said.contains("left out of the merge: .planning/PROJECT-NOTES.md"), "{said}");
    assert!(!field.git(&["ls-tree", "-r", "--name-only", "main"]).contains("PROJECT-NOTES"));
    let restore = between(&said, "PROJECT-NOTES.md (mow ", ")").to_owned();
    field.ends(&restore.split(' ').collect::<Vec<_>>(), 0);
    assert_eq!(field.text(".planning/PROJECT-NOTES.md"), "mine\n");
    field.inspect();
}

#[test]
fn a_target_that_is_checked_out_elsewhere_follows_there() {
    let field = field(&[sown("1", &[], "")]);
    field.git(&["checkout", "-q", "--detach"]);
    field.git(&["worktree", "add", "-q", "../elsewhere", "main"]);
    field.ends(&["run", "--all", "--yes", "--plain", "--into", "main"], 0);
    assert_eq!(field.sandbox.text("../elsewhere/crop-1"), "1\n");
    assert_eq!(field.git(&["-C", "../elsewhere", "status", "--porcelain"]), "");
    assert!(!field.root().join("crop-1").exists());
    assert_eq!(field.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_target_that_conflicts_meanwhile_waits_for_one_command() {
    let field = field(&[sown("1", &[], "meet 1\necho rye > both")]);
    let lead = field.start(&ALL);
    field.reached("1");
    field.write("both", "oats\n");
    field.git(&["add", "both"]);
    field.git(&["commit", "-q", "-m", "Mine", "--", "both"]);
    field.git(&["stash", "--quiet"]);
    field.git(&["checkout", "-q", "-b", "aside"]);
    let (aside, mine) = (field.git(&["rev-parse", "aside"]), main_of(&field));
    field.open("1");
    let (_, said) = lead.end();
    assert!(said.contains("main has commits that conflict in both (both added)"), "{said}");
    assert!(said.contains("1 of 1 phases merged into the run's target"), "{said}");
    assert_eq!(main_of(&field), mine, "nothing moved");
    let command = between(&said, "To finish: ", "\n").to_owned();
    // The lead may have written planning files between the stash and the checkout above.
    field.git(&["checkout", "-q", "--force", "HEAD"]);
    paste(&field, &format!("{command} || true"));
    assert_eq!(field.git(&["rev-parse", "aside"]), aside, "the other branch is not touched");
    field.write("both", "rye and oats\n");
    field.git(&["commit", "-q", "-a", "--no-edit"]);
    assert_eq!(field.git(&["branch", "--show-current"]), "main\n");
    assert_eq!(field.text("crop-1"), "1\n");
    field.inspect();
}

#[test]
fn planning_files_that_people_changed_meanwhile_are_joined() {
    let field = field(&[sown("1", &[], "meet 1"), sown("2", &["1"], "").undiscussed()]);
    let lead = field.start(&["run", "1", "--yes", "--plain"]);
    field.reached("1");
    // Somebody works on main in another place, on the line beside the one that the run will tick.
    field.git(&["worktree", "add", "-q", "-b", "mine", "../mine", "main"]);
    let roadmap = field.git(&["show", "main:.planning/ROADMAP.md"]);
    let changed =
        roadmap.replace("- [ ] **Phase 2: Field 2** - sown", "- [x] **Phase 2: Field 2** - sown");
    assert_ne!(changed, roadmap);
    field.sandbox.write("../mine/.planning/ROADMAP.md", changed);
    field.git(&["-C", "../mine", "commit", "-q", "-a", "-m", "Ticked by hand"]);
    field.git(&["stash", "--quiet"]);
    field.git(&["checkout", "-q", "--detach"]);
    field.git(&["branch", "-f", "main", "mine"]);
    field.open("1");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    let roadmap = field.git(&["show", "main:.planning/ROADMAP.md"]);
    assert!(
        roadmap.contains("- [x] **Phase 1") && roadmap.contains("- [x] **Phase 2"),
        "{roadmap}"
    );
    field.inspect();
}

#[test]
fn the_branch_of_the_milestone_is_the_target_where_a_project_has_one() {
    let config =
        "\"branching_strategy\": \"milestone\", \"git\": {\"milestone_branch_template\": \"m\"}";
    let field = field_with(config, &[sown("1", &[], "")]);
    let refused = field.ends(&ALL, 1);
    assert!(refused.contains("there is no branch `m` to merge into"), "{refused}");
    field.git(&["branch", "m"]);
    field.run_all();
    assert_eq!(field.git(&["show", "m:crop-1"]), "1\n");
    assert!(!field.root().join("crop-1").exists());
}

#[test]
fn conflicts_are_known_before_the_wave_closes() {
    let phases = [
        sown("1", &[], "echo rye > both"),
        sown("2", &[], "echo oats > both"),
        sown("3", &[], "meet 3"),
    ];
    let field = field(&phases);
    let lead = field.start(&ALL);
    field.until_event("a note", |event| {
        let text = event["text"].as_str().unwrap_or_default();
        event["event"] == "noted" && text.contains("both (both added)")
    });
    field.open("3");
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(5), "{said}");
    assert!(said.contains("will conflict with phase"), "{said}");
}

#[test]
fn finished_phases_are_merged_by_hand() {
    let field = field(&[sown("1", &[], ""), sown("2", &[], ""), sown("3", &[], "")]);
    by_hand(&field, 1, "echo 1 > crop-1");
    by_hand(&field, 2, "echo 2 > crop-2; echo x >> .planning/STATE.md");
    field.ends(&["worktree", "create", "3"], 0);
    field.write("README.md", "My own words.\n");
    let before = main_of(&field);
    let dry = field.ends(&["merge", "--dry-run"], 0);
    assert!(dry.contains("Phase 1 (phase-01) would be merged into main"), "{dry}");
    assert!(dry.contains("Phase 3 is left: 0 of 1 plans have a summary"), "{dry}");
    assert_eq!(main_of(&field), before);
    let said = field.ends(&["merge"], 0);
    assert!(said.contains("Phase 1 (phase-01) is merged into main."), "{said}");
    assert!(said.contains("left out of the merge: .planning/STATE.md"), "{said}");
    assert_eq!((field.text("crop-1"), field.text("crop-2")), ("1\n".into(), "2\n".into()));
    assert_eq!(field.text("README.md"), "My own words.\n");
    assert_eq!(field.git(&["for-each-ref", "refs/mow/run"]), "", "its ref is gone");
    let again = field.ends(&["merge", "1"], 0);
    assert!(again.contains("Phase 1 (phase-01) is in main already"), "{again}");
    let refused = field.ends(&["merge", "3"], 1);
    assert!(refused.contains("mow worktree merge 3 merges its branch as it is"), "{refused}");
}

#[test]
fn an_empty_phase_is_nothing_to_merge() {
    let field = field(&[sown("1", &[], "")]);
    field.write(".planning/phases/01-field-1/01-01-SUMMARY.md", "# Done\n");
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "Done"]);
    field.ends(&["worktree", "create", "1"], 0);
    let before = main_of(&field);
    let said = field.ends(&["merge", "1"], 0);
    assert!(said.contains("Phase 1 (phase-01) is in main already"), "{said}");
    assert_eq!(main_of(&field), before);
}

#[test]
fn a_merge_by_hand_reports_conflicts_file_by_file_and_goes_on_with_the_rest() {
    let field = field(&[sown("1", &[], ""), sown("2", &[], "")]);
    by_hand(&field, 1, "echo oats > both; printf 'a\\000b' > pic; rm README.md");
    by_hand(&field, 2, "echo 2 > crop-2");
    field.write("both", "rye\n");
    field.write("pic", "\0c");
    field.write("README.md", "Changed.\n");
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "Mine"]);
    let dry = field.ends(&["merge", "--dry-run"], 1);
    assert!(dry.contains("  both (both added)\n"), "{dry}");
    let ran = field.run(&["merge", "--json"]);
    assert_eq!(ran.status.code(), Some(1));
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let kinds = told["phases"][0]["conflicts"].to_string();
    assert_eq!(
        kinds,
        "[{\"path\":\"README.md\",\"kind\":\"changed in the target, deleted in the branch\"},\
         {\"path\":\"both\",\"kind\":\"both added\"},\
         {\"path\":\"pic\",\"kind\":\"binary, both changed\"}]"
    );
    assert_eq!(
        (&told["phases"][1]["outcome"], &told["followed"]),
        (&"merged".into(), &true.into())
    );
    assert_eq!(field.text("crop-2"), "2\n");
    let settle = told["phases"][0]["reason"].as_str().unwrap();
    assert!(settle.contains("git add FILE keeps it, git rm FILE removes it"), "{settle}");
    assert!(settle.contains("git checkout --ours FILE"), "{settle}");
}

#[test]
fn a_merge_by_hand_waits_for_a_live_run() {
    let field = field(&[sown("1", &[], "meet 1")]);
    let lead = field.start(&ALL);
    field.reached("1");
    let refused = field.ends(&["merge", "1"], 1);
    assert!(
        refused.contains("a run is live, and its lead does the merging: process "),
        "{refused}"
    );
    field.open("1");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
}

#[test]
fn a_branch_that_cannot_follow_a_merge_by_hand_waits_for_one_command() {
    let field = field(&[sown("1", &[], "")]);
    by_hand(&field, 1, "echo 1 > crop-1");
    field.write("crop-1", "in the way\n");
    let said = field.ends(&["merge", "1"], 1);
    assert!(said.contains("main did not follow: "), "{said}");
    assert!(said.contains("is merged, but main does not have it yet"), "{said}");
    assert_eq!(field.text("crop-1"), "in the way\n");
    fs::remove_file(field.root().join("crop-1")).unwrap();
    paste(&field, between(&said, "To finish: ", "\n"));
    assert_eq!(field.text("crop-1"), "1\n");
    let again = field.ends(&["merge", "1"], 0);
    assert!(again.contains("is in main already"), "{again}");
}

#[test]
fn a_merge_that_finds_no_room_changes_nothing_and_says_so() {
    let field = field(&[sown("1", &[], "")]);
    // Text that cannot be packed, so that the merged file is larger than the limit.
    let script = "head -c 90000 /dev/urandom | base64 > noise";
    let alias = format!("alias.do=!{script}");
    field.git(&["-c", &alias, "do"]);
    field.git(&["add", "noise"]);
    field.git(&["commit", "-q", "-m", "Noise"]);
    by_hand(&field, 1, "echo below >> noise");
    field.git(&["-c", "alias.do=!sed -i '1s/^/above /' noise", "do"]);
    field.git(&["commit", "-q", "-a", "-m", "Above"]);
    let before = main_of(&field);
    let limited = "trap '' XFSZ; ulimit -f 64; exec \"$0\" merge 1";
    let ran =
        Command::new("sh").args(["-c", limited, MOW]).current_dir(field.root()).output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(!ran.status.success(), "{said}");
    assert!(said.contains("File too large"), "{said}");
    assert_eq!(main_of(&field), before);
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    field.ends(&["merge", "1"], 0);
    let noise = field.text("noise");
    assert!(noise.starts_with("above ") && noise.ends_with("below\n"));
    assert_eq!(field.git(&["fsck", "--no-dangling", "--no-progress"]), "");
}

#[test]
fn signed_commits_are_signed_everywhere_or_it_is_said_why_not() {
    let field = field(&[sown("1", &[], "")]);
    let sign = field.sandbox.outside().join("sign");
    fs::write(&sign, "#!/bin/sh\necho 'the key is at home' >&2\nexit 2\n").unwrap();
    mow_testkit::sandbox::make_executable(&sign);
    field.git(&["config", "commit.gpgSign", "true"]);
    field.git(&["config", "gpg.program", sign.to_str().unwrap()]);
    let said = field.ends(&ALL, 1);
    assert!(said.contains("the key is at home"), "{said}");
    let script = "#!/bin/sh\ncat > /dev/null\nprintf '[GNUPG:] SIG_CREATED ' >&2\necho signed\n";
    fs::write(&sign, script).unwrap();
    mow_testkit::sandbox::make_executable(&sign);
    field.run_all();
    field.inspect();
    let all = field.git(&["log", "--format=%H", "main"]);
    // The first commit of the field is from before.
    let made: Vec<_> = all
        .lines()
        .filter(|c| !field.git(&["log", "-1", "--format=%s", c]).contains("Begin"))
        .collect();
    for commit in made {
        assert!(field.git(&["cat-file", "commit", commit]).contains("gpgsig signed"), "{commit}");
    }
}

#[test]
fn a_sparse_root_is_followed_and_not_filled() {
    let soil = Soil::default();
    let field = Field::on(
        MOW,
        &soil,
        &[phase("1", &[])
            .with(plan(vec![task("mkdir -p out in\necho 1 > out/crop\necho 1 > in/crop")]))],
    );
    field.write("in/file", "i\n");
    field.write("out/file", "o\n");
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "Directories"]);
    field.git(&["sparse-checkout", "set", "in", ".planning"]);
    field.run_all();
    field.inspect();
    assert_eq!(field.git(&["show", "main:out/crop"]), "1\n");
    assert_eq!(field.text("in/crop"), "1\n");
    assert!(!field.root().join("out").exists());
    assert_eq!(field.git(&["status", "--porcelain"]), "");
}

#[test]
fn papers_that_git_does_not_carry_are_kept_before_they_make_room() {
    let soil = Soil { ignore: ".planning/\n", ..Soil::default() };
    let script =
        "mkdir -p .planning/todos\necho idea > .planning/todos/idea.md\ntest -e ../../seed";
    let field = Field::on(MOW, &soil, &[sown("1", &[], script)]);
    field.ends(&ALL, 1);
    assert_eq!(field.text(".worktrees/p01/.planning/todos/idea.md"), "idea\n");
    field.write("seed", "");
    field.run_all();
    let kept = field.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue/phase-01"]);
    let shown = |name: &str| field.git(&["show", &format!("{name}:.planning/todos/idea.md")]);
    assert_eq!(kept.lines().map(shown).collect::<Vec<_>>(), ["idea\n"]);
}
