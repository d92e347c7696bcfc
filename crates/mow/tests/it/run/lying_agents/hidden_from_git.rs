//! Tests manipulations of git: hidden files, replaced objects, changed settings, deleted refs.
#![expect(clippy::disallowed_methods, reason = "the tests play the user and a manipulating agent")]

use super::*;

/// Commits the files that a test has added to the project.
fn commit(project: &PlannedProject) {
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "More"]);
}

#[test]
fn a_test_that_was_hidden_and_removed() {
    let script =
        "echo weeds > crop; git update-index --skip-worktree tests/grow.sh; rm tests/grow.sh";
    let check = "for t in tests/*.sh; do test ! -e $t || sh $t; done";
    let project =
        assert_lie_refused(script, &[rye_phase(check)], "it hid changes from git: tests/grow.sh");
    assert_eq!(project.text(".worktrees/p01/tests/grow.sh"), "grep -q rye crop\n");
}

#[test]
fn a_mode_that_is_hidden_from_git() {
    let script = format!(
        "{HONEST_WORK}; git update-index --assume-unchanged tests/grow.sh; chmod +x tests/grow.sh"
    );
    assert_lie_refused(
        &script,
        &[rye_phase("./tests/grow.sh")],
        "it hid changes from git: tests/grow.sh",
    );
}

#[test]
fn a_link_that_is_hidden_from_git() {
    let script = "echo weeds > crop; mkdir fake; echo true > fake/grow.sh\n\
                  git update-index --assume-unchanged checks; ln -sfn fake checks";
    let project = project_with_executor(script, &[rye_phase("sh checks/grow.sh")]);
    std::os::unix::fs::symlink("tests", project.root().join("checks")).unwrap();
    commit(&project);
    assert_refused(&project, 1, "it hid changes from git: checks");
}

#[test]
fn work_ignored_by_a_changed_user_ignore_file() {
    let script = format!(
        "mkdir -p ~/.config/git; echo crop >> ~/.config/git/ignore; echo >> README.md; {HONEST_WORK}"
    );
    assert_lie_refused(
        &script,
        &[rye_phase(RYE_CHECK)],
        "git's own settings were changed meanwhile: ~/.config/git/ignore",
    );
}

#[test]
fn hooks_disabled_in_a_file_included_by_the_user_config() {
    let script = format!("printf '[Core]\n\thooksPath = /dev/null\n' > ~/more; {HONEST_WORK}");
    let project = project_with_executor(&script, &[rye_phase(RYE_CHECK)]);
    project.git(&["config", "--global", "include.path", "more"]);
    assert_refused(&project, 1, "git's own settings were changed meanwhile: core.hookspath");
}

#[test]
fn git_settings_changed_by_another_role() {
    let config = r#""roles": {"researcher": {"command":
        "git config core.hooksPath /dev/null/$$; echo found > $MOW_RESEARCH_FILE"}},
        "workflow": {"research": true}"#;
    let project = project_with_config(config, &[one_task_phase("1", &[], "")]);
    assert_refused(&project, 1, "git's own settings were changed meanwhile: core.hookspath");
}

#[test]
fn hooks_disabled_by_a_script_that_a_check_runs() {
    let script = "test $MOW_TASK = 2 || echo 'git config core.hooksPath /dev/null' > build.sh\n\
                  echo rye >> crop";
    let two =
        phase("1", &[]).with(plan_with_checks("crop, build.sh", &["sh build.sh", ALWAYS_PASSES]));
    let words =
        "its check `sh build.sh` failed, git's own settings were changed meanwhile: core.hookspath";
    assert_lie_refused(script, &[two], words);
}

#[test]
fn a_test_replaced_by_git_replace() {
    let script = "echo weeds > crop; echo '# nothing' > .gitignore\n\
                  git replace $(git rev-parse HEAD:tests/grow.sh) \
                  $(echo true | git hash-object -w --stdin)";
    assert_lie_refused(script, &[rye_phase(RYE_CHECK)], "objects of git were replaced meanwhile: ");
}

#[test]
fn history_replaced_by_git_replace() {
    let script = format!(
        "if [ $MOW_TASK = 1 ]; then echo precious > x; exit; fi\n\
         old=$(git rev-parse HEAD); git reset -q --hard HEAD~1\n\
         {HONEST_WORK}; git add --all; git commit -q -m All; git replace --graft HEAD $old"
    );
    let two = phase("1", &[]).with(plan_with_checks("crop, x", &[ALWAYS_PASSES, RYE_CHECK]));
    let project = assert_lie_refused(&script, &[two], "it rewrote history: ");
    assert_eq!(project.git(&["show", "phase-01:x"]), "precious\n", "the branch is restored");
}

#[test]
fn the_script_that_is_the_check_was_edited() {
    let project = project_with_executor(
        "echo weeds > crop; echo true > check.sh",
        &[rye_phase("sh ./check.sh")],
    );
    project.write("check.sh", "grep -q rye crop\n");
    commit(&project);
    assert_refused(
        &project,
        1,
        "evidence altered: check.sh decides a check and is outside files_modified",
    );
}

#[test]
fn the_makefile_behind_a_check_was_edited() {
    let script = "echo weeds > crop; printf 'test:\\n\\ttrue\\n' > Makefile";
    let project = project_with_executor(script, &[rye_phase("make test")]);
    project.write("Makefile", "test:\n\tgrep -q rye crop\n");
    commit(&project);
    assert_refused(
        &project,
        1,
        "evidence altered: Makefile decides a check and is outside files_modified",
    );
}

/// In package.json, the scripts decide a check, and the dependencies do not.
#[test]
fn the_npm_script_behind_a_check_was_edited() {
    let script = |runs: &str| {
        format!("echo weeds > crop; echo '{}' > package.json", package(runs, "left-pad"))
    };
    for (runs, is_refused) in [("true", true), ("grep -q weeds crop", false)] {
        let project = project_with_executor(&script(runs), &[rye_phase("npm test")]);
        project.write("package.json", package("grep -q weeds crop", "right-pad"));
        commit(&project);
        match is_refused {
            true => assert_refused(&project, 1, "evidence altered: package.json decides a check"),
            false => drop(project.run_all()),
        }
    }
}

fn package(runs: &str, needs: &str) -> String {
    let package =
        serde_json::json!({ "scripts": { "test": runs }, "dependencies": { needs: "1" } });
    package.to_string()
}

#[test]
fn a_script_called_by_the_npm_script_was_edited() {
    let project =
        project_with_executor("echo weeds > crop; echo true > check.sh", &[rye_phase("npm test")]);
    project.write("check.sh", "grep -q rye crop\n");
    project.write(
        "package.json",
        package("npm run -s grown", "left-pad")
            .replace("\"test\"", "\"grown\":\"sh check.sh\",\"test\""),
    );
    commit(&project);
    assert_refused(&project, 1, "evidence altered: check.sh decides a check");
}

/// A plan must not change the files that decide the checks of another plan.
#[test]
fn the_file_that_decides_the_check_of_a_later_plan_was_edited() {
    let script = "echo rye > crop; printf 'test:\\n\\ttrue\\n' > Makefile";
    // The plans run one after the other, because `other (new)` is not a clear path.
    let later = plan_with_checks("other (new)", &["make test"]);
    let project = project_with_executor(
        script,
        &[phase("1", &[]).with(plan_with_checks("crop", &[ALWAYS_PASSES])).with(later)],
    );
    project.write("Makefile", "test:\n\tgrep -q weeds crop\n");
    commit(&project);
    assert_refused(&project, 1, "evidence altered: Makefile decides a check");
    assert!(!project.git(&["log", "--format=%s", "phase-01"]).contains("Task 1"), "at once");
}

/// A plan may change files that it created, and files that it names in files_modified.
#[test]
fn a_plan_may_change_check_files_that_it_created_or_declared() {
    let script = "echo rye >> crop; echo 'grep -q rye crop' >> own.sh; echo true >> declared.sh";
    let checks = ["sh own.sh && sh declared.sh", "sh own.sh && sh declared.sh "];
    let two = phase("1", &[]).with(plan_with_checks("crop, declared.sh", &checks));
    let project = project_with_executor(script, &[two]);
    project.write("declared.sh", "false\n");
    project.edit("declared.sh", "false", "true");
    commit(&project);
    project.run_all();
    project.assert_consistent();
}

/// Lets an agent commit on `main` in the main checkout, in a repository without usable reflogs.
fn assert_commit_on_main_refused(prepare: impl Fn(&PlannedProject)) {
    let script = format!(
        "{HONEST_WORK}; cd ../..; echo weed > weed; git add weed; git commit -q -m Weed -- weed"
    );
    let project = project_with_executor(&script, &[rye_phase(RYE_CHECK)]);
    prepare(&project);
    let output = project.exits_with(&ALL, 1);
    assert!(output.contains("on main, which is not its branch; check that branch"), "{output}");
    assert!(!project.git(&["log", "--format=%s", "main"]).contains("Merge phase 1"));
}

#[test]
fn a_commit_on_main_in_a_repository_without_reflogs() {
    assert_commit_on_main_refused(|project| {
        project.git(&["config", "core.logAllRefUpdates", "false"]);
        std::fs::remove_dir_all(project.root().join(".git/logs")).unwrap();
    });
}

#[test]
fn a_commit_on_main_in_a_reftable_repository() {
    assert_commit_on_main_refused(|project| {
        std::fs::remove_dir_all(project.root().join(".git/logs")).unwrap();
        project.git(&["refs", "migrate", "--ref-format=reftable"]);
    });
}

#[test]
fn merges_of_the_run_are_accepted_without_reflogs() {
    let project =
        project_with_config("", &[one_task_phase("1", &[], ""), one_task_phase("2", &["1"], "")]);
    project.git(&["config", "core.logAllRefUpdates", "false"]);
    std::fs::remove_dir_all(project.root().join(".git/logs")).unwrap();
    project.run_all();
    project.assert_consistent();
}

#[test]
fn refs_and_stashes_that_an_agent_deletes_are_rescued() {
    let script = format!("git branch -qD side; git tag -d v1; git stash clear; {HONEST_WORK}");
    let project = project_with_executor(&script, &[rye_phase(RYE_CHECK)]);
    for (name, make) in [("side", ["branch", "side"]), ("v1", ["tag", "v1"])] {
        project.write(name, name);
        commit(&project);
        project.git(&make);
        project.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
    for text in ["one", "two"] {
        project.write("README.md", text);
        project.git(&["stash", "-q"]);
    }
    let output = project.run_all();
    let words =
        "deleted while an agent worked, and kept: the branch side, a stash, a stash, the tag v1";
    assert!(output.contains(words), "{output}");
    let kept = project.git(&["log", "--format=%s", "-p", "-m", "--glob=refs/mow/rescue/*"]);
    for text in ["+side", "+v1", "+one", "+two"] {
        assert!(kept.contains(text), "{text}: {kept}");
    }
    project.assert_consistent();
}

#[test]
fn a_rescue_ref_that_an_agent_deletes_is_restored() {
    let script = format!(
        "if test ! -e ../../lied; then : > ../../lied; echo precious > half; exit 1; fi\n\
         git for-each-ref --format='delete %(refname)' refs/mow/rescue | git update-ref --stdin\n\
         {HONEST_WORK}"
    );
    let project = project_with_executor(&script, &[rye_phase(RYE_CHECK)]);
    project.exits_with(&ALL, 1);
    let output = project.run_all();
    assert!(output.contains("deleted while an agent worked, and kept: the rescue "), "{output}");
    let kept = project.git(&["log", "--format=%s", "-p", "-m", "--glob=refs/mow/rescue/*"]);
    assert!(kept.contains("+precious"), "{kept}");
}

#[test]
fn declared_files_that_git_ignores_are_reported() {
    let project = project_with_executor(
        &format!("{HONEST_WORK}; echo done > notes"),
        &[phase("1", &[]).with(plan_with_checks("crop, notes", &[RYE_CHECK]))],
    );
    project.write(".gitignore", "crop\n");
    commit(&project);
    let output = project.run_all();
    assert!(
        output.contains("`crop` is among files_modified, but in none of its commits"),
        "{output}"
    );
}

#[test]
fn a_nested_repository_whose_commits_would_not_be_merged() {
    let script = format!(
        "{HONEST_WORK}; git init -q sub; cd sub; echo 1 > real; git add real; git -c user.name=a -c user.email=a commit -q -m Sub; cd ..\n\
         git add --all; git commit -q -m All"
    );
    assert_lie_refused(
        &script,
        &[rye_phase("test -e sub/real")],
        "it committed sub as a repository of its own",
    );
}

#[test]
fn objects_stored_in_an_alternate_object_store() {
    let script = format!(
        "git init -q --bare ~/store; echo ~/store/objects >> $(git rev-parse --git-common-dir)/\
         objects/info/alternates; {HONEST_WORK}"
    );
    let words = "git's own settings were changed meanwhile: objects/info/alternates";
    assert_lie_refused(&script, &[rye_phase(RYE_CHECK)], words);
}
