//! Lies behind git's back: what git is told not to see, to take for something else, or to forget.
#![expect(clippy::disallowed_methods, reason = "the tests play the user and who meddles")]

use super::*;

/// Commits what a test has put into a field.
fn commit(field: &Field) {
    field.git(&["add", "--all"]);
    field.git(&["commit", "-q", "-m", "More"]);
}

#[test]
fn a_test_that_was_hidden_and_removed() {
    let script =
        "echo weeds > crop; git update-index --skip-worktree tests/grow.sh; rm tests/grow.sh";
    let check = "for t in tests/*.sh; do test ! -e $t || sh $t; done";
    let field = lie(script, &[rye(check)], "it hid changes from git: tests/grow.sh");
    assert_eq!(field.text(".worktrees/p01/tests/grow.sh"), "grep -q rye crop\n");
}

#[test]
fn a_mode_that_is_hidden_from_git() {
    let script = format!(
        "{HONEST}; git update-index --assume-unchanged tests/grow.sh; chmod +x tests/grow.sh"
    );
    lie(&script, &[rye("./tests/grow.sh")], "it hid changes from git: tests/grow.sh");
}

#[test]
fn a_link_that_is_hidden_from_git() {
    let script = "echo weeds > crop; mkdir fake; echo true > fake/grow.sh\n\
                  git update-index --assume-unchanged checks; ln -sfn fake checks";
    let field = field_of(script, &[rye("sh checks/grow.sh")]);
    std::os::unix::fs::symlink("tests", field.root().join("checks")).unwrap();
    commit(&field);
    refused(&field, 1, "it hid changes from git: checks");
}

#[test]
fn work_that_the_user_s_own_rules_ignore() {
    let script = format!(
        "mkdir -p ~/.config/git; echo crop >> ~/.config/git/ignore; echo >> README.md; {HONEST}"
    );
    lie(&script, &[rye(GROWN)], "git's own settings were changed meanwhile: ~/.config/git/ignore");
}

#[test]
fn hooks_that_are_switched_off_where_the_user_s_settings_look() {
    let script = format!("printf '[Core]\n\thooksPath = /dev/null\n' > ~/more; {HONEST}");
    let field = field_of(&script, &[rye(GROWN)]);
    field.git(&["config", "--global", "include.path", "more"]);
    refused(&field, 1, "git's own settings were changed meanwhile: core.hookspath");
}

#[test]
fn git_s_own_settings_changed_by_another_role() {
    let config = r#""roles": {"researcher": {"command":
        "git config core.hooksPath /dev/null/$$; echo found > $MOW_RESEARCH_FILE"}},
        "workflow": {"research": true}"#;
    let field = field_with(config, &[sown("1", &[], "")]);
    refused(&field, 1, "git's own settings were changed meanwhile: core.hookspath");
}

#[test]
fn hooks_that_are_switched_off_by_what_a_check_runs() {
    let script = "test $MOW_TASK = 2 || echo 'git config core.hooksPath /dev/null' > build.sh\n\
                  echo rye >> crop";
    let two = phase("1", &[]).with(plan_of("crop, build.sh", &["sh build.sh", NOTHING]));
    let words =
        "its check `sh build.sh` failed, git's own settings were changed meanwhile: core.hookspath";
    lie(script, &[two], words);
}

#[test]
fn a_test_that_git_takes_for_another() {
    let script = "echo weeds > crop; echo '# nothing' > .gitignore\n\
                  git replace $(git rev-parse HEAD:tests/grow.sh) \
                  $(echo true | git hash-object -w --stdin)";
    lie(script, &[rye(GROWN)], "objects of git were replaced meanwhile: ");
}

#[test]
fn history_that_git_takes_for_another() {
    let script = format!(
        "if [ $MOW_TASK = 1 ]; then echo precious > x; exit; fi\n\
         old=$(git rev-parse HEAD); git reset -q --hard HEAD~1\n\
         {HONEST}; git add --all; git commit -q -m All; git replace --graft HEAD $old"
    );
    let two = phase("1", &[]).with(plan_of("crop, x", &[NOTHING, GROWN]));
    let field = lie(&script, &[two], "it rewrote history: ");
    assert_eq!(field.git(&["show", "phase-01:x"]), "precious\n", "the branch is what it was");
}

#[test]
fn the_script_that_is_the_check_was_edited() {
    let field = field_of("echo weeds > crop; echo true > check.sh", &[rye("sh ./check.sh")]);
    field.write("check.sh", "grep -q rye crop\n");
    commit(&field);
    refused(&field, 1, "evidence altered: check.sh decides a check and is outside files_modified");
}

#[test]
fn the_file_of_the_program_that_checks_was_edited() {
    let script = "echo weeds > crop; printf 'test:\\n\\ttrue\\n' > Makefile";
    let field = field_of(script, &[rye("make test")]);
    field.write("Makefile", "test:\n\tgrep -q rye crop\n");
    commit(&field);
    refused(&field, 1, "evidence altered: Makefile decides a check and is outside files_modified");
}

/// A package.json says what runs and what packages it needs: only the one decides.
#[test]
fn the_script_of_the_package_was_edited() {
    let script = |runs: &str| {
        format!("echo weeds > crop; echo '{}' > package.json", package(runs, "left-pad"))
    };
    for (runs, is_lie) in [("true", true), ("grep -q weeds crop", false)] {
        let field = field_of(&script(runs), &[rye("npm test")]);
        field.write("package.json", package("grep -q weeds crop", "right-pad"));
        commit(&field);
        match is_lie {
            true => refused(&field, 1, "evidence altered: package.json decides a check"),
            false => drop(field.run_all()),
        }
    }
}

fn package(runs: &str, needs: &str) -> String {
    let package =
        serde_json::json!({ "scripts": { "test": runs }, "dependencies": { needs: "1" } });
    package.to_string()
}

#[test]
fn a_script_behind_the_script_of_the_package_was_edited() {
    let field = field_of("echo weeds > crop; echo true > check.sh", &[rye("npm test")]);
    field.write("check.sh", "grep -q rye crop\n");
    field.write(
        "package.json",
        package("npm run -s grown", "left-pad")
            .replace("\"test\"", "\"grown\":\"sh check.sh\",\"test\""),
    );
    commit(&field);
    refused(&field, 1, "evidence altered: check.sh decides a check");
}

/// One plan may not decide what the checks of another one say.
#[test]
fn the_file_that_decides_the_check_of_a_later_plan_was_edited() {
    let script = "echo rye > crop; printf 'test:\\n\\ttrue\\n' > Makefile";
    // One after the other, since they do not say clearly what they change.
    let later = plan_of("other (new)", &["make test"]);
    let field = field_of(script, &[phase("1", &[]).with(plan_of("crop", &[NOTHING])).with(later)]);
    field.write("Makefile", "test:\n\tgrep -q weeds crop\n");
    commit(&field);
    refused(&field, 1, "evidence altered: Makefile decides a check");
    assert!(!field.git(&["log", "--format=%s", "phase-01"]).contains("Task 1"), "at once");
}

/// What a plan makes itself, and what it says it changes, are its own to change.
#[test]
fn a_check_of_the_plan_s_own_is_no_lie() {
    let script = "echo rye >> crop; echo 'grep -q rye crop' >> own.sh; echo true >> said.sh";
    let checks = ["sh own.sh && sh said.sh", "sh own.sh && sh said.sh "];
    let two = phase("1", &[]).with(plan_of("crop, said.sh", &checks));
    let field = field_of(script, &[two]);
    field.write("said.sh", "false\n");
    field.edit("said.sh", "false", "true");
    commit(&field);
    field.run_all();
    field.inspect();
}

/// A commit on the branch in the root, in a repository that does not note who moves branches.
fn on_main(prepare: impl Fn(&Field)) {
    let script = format!(
        "{HONEST}; cd ../..; echo weed > weed; git add weed; git commit -q -m Weed -- weed"
    );
    let field = field_of(&script, &[rye(GROWN)]);
    prepare(&field);
    let said = field.ends(&ALL, 1);
    assert!(said.contains("on main, which is not its branch; look at that"), "{said}");
    assert!(!field.git(&["log", "--format=%s", "main"]).contains("Merge phase 1"));
}

#[test]
fn a_commit_on_the_target_that_no_reflog_tells_of() {
    on_main(|field| {
        field.git(&["config", "core.logAllRefUpdates", "false"]);
        std::fs::remove_dir_all(field.root().join(".git/logs")).unwrap();
    });
}

#[test]
fn a_commit_on_the_target_where_reflogs_are_no_files() {
    on_main(|field| {
        std::fs::remove_dir_all(field.root().join(".git/logs")).unwrap();
        field.git(&["refs", "migrate", "--ref-format=reftable"]);
    });
}

#[test]
fn merges_without_reflogs_are_no_lie() {
    let field = field_with("", &[sown("1", &[], ""), sown("2", &["1"], "")]);
    field.git(&["config", "core.logAllRefUpdates", "false"]);
    std::fs::remove_dir_all(field.root().join(".git/logs")).unwrap();
    field.run_all();
    field.inspect();
}

#[test]
fn what_an_agent_deletes_is_kept() {
    let script = format!("git branch -qD side; git tag -d v1; git stash clear; {HONEST}");
    let field = field_of(&script, &[rye(GROWN)]);
    for (name, make) in [("side", ["branch", "side"]), ("v1", ["tag", "v1"])] {
        field.write(name, name);
        commit(&field);
        field.git(&make);
        field.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
    for text in ["one", "two"] {
        field.write("README.md", text);
        field.git(&["stash", "-q"]);
    }
    let said = field.run_all();
    let words =
        "deleted while an agent worked, and kept: the branch side, a stash, a stash, the tag v1";
    assert!(said.contains(words), "{said}");
    let kept = field.git(&["log", "--format=%s", "-p", "-m", "--glob=refs/mow/rescue/*"]);
    for text in ["+side", "+v1", "+one", "+two"] {
        assert!(kept.contains(text), "{text}: {kept}");
    }
    field.inspect();
}

#[test]
fn a_rescue_that_the_next_agent_deletes_is_kept() {
    let script = format!(
        "if test ! -e ../../lied; then : > ../../lied; echo precious > half; exit 1; fi\n\
         git for-each-ref --format='delete %(refname)' refs/mow/rescue | git update-ref --stdin\n\
         {HONEST}"
    );
    let field = field_of(&script, &[rye(GROWN)]);
    field.ends(&ALL, 1);
    let said = field.run_all();
    assert!(said.contains("deleted while an agent worked, and kept: the rescue "), "{said}");
    let kept = field.git(&["log", "--format=%s", "-p", "-m", "--glob=refs/mow/rescue/*"]);
    assert!(kept.contains("+precious"), "{kept}");
}

#[test]
fn work_that_was_ignored_before_is_named() {
    let field = field_of(
        &format!("{HONEST}; echo done > notes"),
        &[phase("1", &[]).with(plan_of("crop, notes", &[GROWN]))],
    );
    field.write(".gitignore", "crop\n");
    commit(&field);
    let said = field.run_all();
    assert!(said.contains("`crop` is among files_modified, but in none of its commits"), "{said}");
}

#[test]
fn a_repository_of_its_own_whose_commits_would_stay_behind() {
    let script = format!(
        "{HONEST}; git init -q sub; cd sub; echo 1 > real; git add real; git -c user.name=a -c user.email=a commit -q -m Sub; cd ..\n\
         git add --all; git commit -q -m All"
    );
    lie(&script, &[rye("test -e sub/real")], "it committed sub as a repository of its own");
}

#[test]
fn objects_that_lie_elsewhere() {
    let script = format!(
        "git init -q --bare ~/store; echo ~/store/objects >> $(git rev-parse --git-common-dir)/\
         objects/info/alternates; {HONEST}"
    );
    let words = "git's own settings were changed meanwhile: objects/info/alternates";
    lie(&script, &[rye(GROWN)], words);
}
