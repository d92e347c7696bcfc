//! Commits with and without hooks, private indexes and reverts, with real git.

use std::fs;

use super::*;
use crate::test_repository::Repository;

fn only(paths: &[&str]) -> Paths {
    Paths::Only(paths.iter().map(|&path| path.to_owned()).collect())
}

#[test]
fn only_the_named_paths_are_committed() {
    let repository = Repository::new();
    repository.write("gone", "g\n");
    repository.commit("second");
    repository.write("dir/new [1].txt", "n\n");
    repository.write("staged", "s\n");
    repository.run_git(&["add", "staged"]);
    repository.write("file", "two\n");
    fs::remove_file(repository.root().join("gone")).unwrap();
    let paths = only(&["dir", "gone", "not there"]);
    let commit = commit_paths(&repository.git, &paths, "work\n\nbody", &[("Mow-Plan", "03-01")]);
    let commit = commit.unwrap().unwrap();
    let names = repository.run_git(&["show", "--name-status", "--format=%B", &commit]);
    assert_eq!(names, "work\n\nbody\n\nMow-Plan: 03-01\n\n\nA\tdir/new [1].txt\nD\tgone");
    assert_eq!(repository.run_git(&["status", "--porcelain"]), " M file\nA  staged");
    assert_eq!(commit_paths(&repository.git, &paths, "again", &[]).unwrap(), None);
    assert_eq!(commit_paths(&repository.git, &only(&[]), "none", &[]).unwrap(), None);
}

#[test]
fn all_leaves_out_ignored_files_and_nested_repositories() {
    let repository = Repository::new();
    repository.write(".gitignore", "ignored\n");
    repository.write("ignored", "i\n");
    repository.write("file", "two\n");
    repository.write("inner/code", "c\n");
    Git::new(repository.root().join("inner")).run(&["init", "-q"]).unwrap();
    let commit = commit_paths(&repository.git, &Paths::All, "all", &[]).unwrap();
    assert_eq!(commit, repository.git.commit_of("HEAD").unwrap());
    assert_eq!(repository.run_git(&["show", "--name-only", "--format="]), ".gitignore\nfile");
    assert_eq!(commit_paths(&repository.git, &Paths::All, "all", &[]).unwrap(), None);
}

#[test]
fn hooks_run_and_their_refusal_is_reported() {
    let repository = Repository::new();
    repository.hook("pre-commit", "echo formatted; echo 'line 7 is wrong' >&2; exit 1");
    repository.write("file", "two\n");
    let error = commit_paths(&repository.git, &Paths::All, "work", &[]).unwrap_err();
    let CommitError::Refused { output } = error else { panic!("{error}") };
    assert!(output.contains("formatted") && output.contains("line 7 is wrong"), "{output}");
    assert_eq!(repository.run_git(&["log", "--format=%s"]), "first");
    repository.hook("pre-commit", "exit 0");
    let again = commit_paths(&repository.git, &Paths::All, "work", &[]).unwrap();
    assert!(again.is_some(), "what the first time staged is no hindrance");
}

/// A parallel agent may commit at the same moment, and so may a hook.
#[test]
fn our_commit_is_found_below_a_commit_on_top() {
    let repository = Repository::new();
    let theirs = "test -e .git/once || { touch .git/once; git commit -q --allow-empty -m Theirs; }";
    repository.hook("post-commit", theirs);
    repository.write("file", "two\n");
    let trailers = [("Mow-Phase", "1"), ("Mow-Task", "01-01/1")];
    let ours = commit_paths(&repository.git, &Paths::All, "Ours", &trailers).unwrap().unwrap();
    assert_eq!(repository.run_git(&["log", "--format=%s"]), "Theirs\nOurs\nfirst");
    assert_eq!(repository.run_git(&["rev-parse", "HEAD^"]), ours);
}

#[test]
fn a_hook_that_removes_trailers_is_an_error() {
    let repository = Repository::new();
    let hooks = ["printf '\\n[ticket 42]\\n' >> \"$1\"", "echo mine > \"$1\""];
    for (n, hook) in hooks.iter().enumerate() {
        repository.hook("commit-msg", hook);
        repository.write("file", &n.to_string());
        let trailers = [("Mow-Phase", "1"), ("Mow-Task", "01-01/1")];
        let error = commit_paths(&repository.git, &Paths::All, "work", &trailers).unwrap_err();
        assert!(matches!(error, CommitError::TrailersRemoved { .. }), "{error}");
        assert_eq!(repository.run_git(&["log", "--format=%s"]), "first", "it is taken back");
        let marked = commit_marker(&repository.git, "mark", &trailers).unwrap();
        assert!(repository.run_git(&["log", "-1", "--format=%B", &marked]).contains("Mow-Task"));
        repository.run_git(&["reset", "-q", "--soft", "HEAD~1"]);
    }
    let result = commit_with_private_index(
        &repository.git,
        &["file".to_owned()],
        "work",
        &[("Mow-Phase", "1")],
    );
    assert!(matches!(result, Err(CommitError::TrailersRemoved { .. })), "{result:?}");
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "M  file", "nothing else is staged");
    repository.hook("commit-msg", "sed -i '1s/^/[ticket 42] /' \"$1\"");
    repository.write("file", "three");
    let made = commit_paths(&repository.git, &Paths::All, "work", &[("Mow-Phase", "1")]).unwrap();
    assert!(made.is_some(), "a hook may change the subject");
}

#[test]
fn content_that_belongs_to_git_lfs_is_not_committed_without_it() {
    let repository = Repository::new();
    repository.write(".gitattributes", "*.bin filter=lfs -text\n");
    repository.commit("second");
    repository.write("pointer.bin", "version https://git-lfs.github.com/spec/v1\n");
    repository.run_git(&["config", "filter.lfs.required", "true"]);
    assert!(commit_paths(&repository.git, &Paths::All, "work", &[]).unwrap().is_some());
    repository.write("image.bin", "pixels\n");
    let error = commit_paths(&repository.git, &Paths::All, "work", &[]);
    match has_lfs() {
        true => assert!(error.is_ok(), "{error:?}"),
        false => assert!(matches!(error, Err(CommitError::LfsMissing { .. })), "{error:?}"),
    }
}

#[test]
fn a_file_that_became_a_directory_is_committed() {
    let repository = Repository::new();
    repository.write("swap", "s\n");
    repository.commit("second");
    fs::remove_file(repository.root().join("swap")).unwrap();
    repository.write("swap/x", "x\n");
    repository.write(".planning/paper", "p\n");
    let paths = Paths::AllExcept(".planning".to_owned());
    let commit = commit_paths(&repository.git, &paths, "work", &[]).unwrap();
    let names = repository.run_git(&["show", "--name-status", "--format=", &commit.unwrap()]);
    assert_eq!(names, "D\tswap\nA\tswap/x");
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "?? .planning/");
}

#[test]
fn a_directory_that_became_a_file_is_committed() {
    let repository = Repository::new();
    repository.write("swap/x", "x\n");
    repository.write("swap/y/z", "z\n");
    repository.commit("second");
    fs::remove_dir_all(repository.root().join("swap")).unwrap();
    repository.write("swap", "s\n");
    repository.hook("pre-commit", "true");
    let paths = Paths::AllExcept(".planning".to_owned());
    let commit = commit_paths(&repository.git, &paths, "work", &[]).unwrap();
    let names = repository.run_git(&["show", "--name-status", "--format=", &commit.unwrap()]);
    assert_eq!(names, "A\tswap\nD\tswap/x\nD\tswap/y/z");
}

#[test]
fn a_directory_is_committed_without_changes_elsewhere() {
    let repository = Repository::new();
    let directory = Paths::Directory("plans/03-x".to_owned());
    repository.write("plans/03-x/old", "1\n");
    repository.write("plans/03-x/gone", "1\n");
    repository.write("plans/.gitignore", "*.log\n");
    repository.commit("plan");
    let commit = || commit_paths(&repository.git, &directory, "papers", &[]).unwrap();
    assert_eq!(commit(), None, "there is nothing new");
    repository.write("plans/03-x/old", "2\n");
    repository.write("plans/03-x/deep/new", "1\n");
    repository.write("plans/03-x/a.log", "1\n");
    fs::remove_file(repository.root().join("plans/03-x/gone")).unwrap();
    repository.write("file", "two\n");
    repository.write("plans/03-xy", "1\n");
    repository.run_git(&["add", "file"]);
    assert_eq!(commit(), Some(head_commit(&repository.git).unwrap()));
    let names = repository.run_git(&["show", "--format=", "--no-renames", "--name-status", "HEAD"]);
    assert_eq!(names, "A\tplans/03-x/deep/new\nD\tplans/03-x/gone\nM\tplans/03-x/old");
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "M  file\n?? plans/03-xy");
    assert_eq!(commit(), None, "other staged files are not included");
}

#[test]
fn a_nested_repository_is_left_alone() {
    let repository = Repository::new();
    repository.write("plans/new", "1\n");
    repository.run_git(&["init", "-q", "plans/inner"]);
    let inner = repository.git.with_env("GIT_DIR", repository.root().join("plans/inner/.git"));
    inner.run(&["commit", "-q", "--allow-empty", "-m", "inner"]).unwrap();
    commit_paths(&repository.git, &Paths::Directory("plans".to_owned()), "papers", &[]).unwrap();
    assert_eq!(repository.run_git(&["show", "--format=", "--name-only", "HEAD"]), "plans/new");
}

#[test]
fn trailers_are_found_as_trailers_only() {
    let repository = Repository::new();
    let base = head_commit(&repository.git).unwrap();
    repository.write("file", "two\n");
    let trailers = [("Mow-Phase", "03"), ("Mow-Plan", "03-01"), ("Mow-Odd", "a\n b")];
    let message = "work\n\nCo-authored-by: A <a@example.com>";
    let commit = commit_paths(&repository.git, &Paths::All, message, &trailers).unwrap().unwrap();
    repository.write("file", "three\n");
    commit_paths(&repository.git, &Paths::All, "say\n\nMow-Plan: 03-02\n\nnot a trailer", &[])
        .unwrap();
    let find = |key, value| find_commit_with_trailer(&repository.git, &base, key, value).unwrap();
    assert_eq!(find("Mow-Plan", "03-01").as_ref(), Some(&commit));
    assert_eq!(find("Mow-Odd", "a b").as_ref(), Some(&commit));
    assert_eq!(find("Mow-Plan", "03-0"), None);
    assert_eq!(find("Mow-Plan", "03-02"), None);
    let after = find_commit_with_trailer(&repository.git, &commit, "Mow-Plan", "03-01").unwrap();
    assert_eq!(after, None, "only what came after the base counts");
}

#[test]
fn missing_commits_and_identity_are_errors() {
    let empty = Repository::empty();
    empty.write("file", "f\n");
    let error = commit_paths(&empty.git, &Paths::All, "work", &[]).unwrap_err();
    assert!(matches!(error, CommitError::NoCommits { .. }), "{error}");
    let repository = Repository::new();
    check_identity(&repository.git).unwrap();
    repository.run_git(&["config", "user.name", ""]);
    repository.write("file", "two\n");
    let error = commit_paths(&repository.git, &Paths::All, "work", &[]).unwrap_err();
    assert!(matches!(error, CommitError::NoIdentity { .. }), "{error}");
}

#[test]
fn a_message_keeps_lines_that_look_like_comments() {
    let repository = Repository::new();
    repository.run_git(&["config", "commit.cleanup", "strip"]);
    repository.write("file", "two\n");
    commit_paths(&repository.git, &Paths::All, "work\n\n# 3 things", &[]).unwrap();
    assert_eq!(repository.run_git(&["show", "-s", "--format=%B"]).trim(), "work\n\n# 3 things");
}

#[test]
fn a_merge_in_progress_is_finished() {
    let repository = Repository::new();
    repository.run_git(&["checkout", "-q", "-b", "side"]);
    repository.write("side", "s\n");
    repository.commit("side");
    repository.run_git(&["checkout", "-q", "main"]);
    repository.run_git(&["merge", "-q", "--no-ff", "--no-commit", "side"]);
    let commit = commit_paths(&repository.git, &Paths::All, "merge", &[]).unwrap().unwrap();
    assert!(repository.git.is_ancestor("side", &commit).unwrap());
}

#[test]
fn a_private_index_commit_takes_only_its_paths_and_hooks_see_nothing_else() {
    let repository = Repository::new();
    let seen = repository.root().join(".git/seen");
    let hook = format!("git diff --cached --name-only > '{}'", seen.display());
    repository.hook("pre-commit", &hook);
    repository.write("mine/new", "n\n");
    repository.write("file", "two\n");
    repository.write("theirs", "t\n");
    repository.run_git(&["add", "theirs"]);
    let paths = ["mine".to_owned(), "not there".to_owned()];
    let commit =
        commit_with_private_index(&repository.git, &paths, "work", &[("Mow-Task", "1/1")]).unwrap();
    assert_eq!(commit, repository.git.commit_of("HEAD").unwrap());
    assert_eq!(fs::read_to_string(&seen).unwrap(), "mine/new\n", "what the hook saw");
    assert_eq!(repository.run_git(&["show", "--name-only", "--format="]), "mine/new");
    assert_eq!(repository.run_git(&["status", "--porcelain"]), " M file\nA  theirs");
    assert_eq!(commit_with_private_index(&repository.git, &paths, "again", &[]).unwrap(), None);
    fs::remove_file(repository.root().join("mine/new")).unwrap();
    assert!(commit_with_private_index(&repository.git, &paths, "gone", &[]).unwrap().is_some());
    assert_eq!(repository.run_git(&["status", "--porcelain"]), " M file\nA  theirs");
}

#[test]
fn a_private_index_commit_waits_for_a_locked_index() {
    let repository = Repository::new();
    repository.write("mine", "m\n");
    let lock = repository.root().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let hook = format!("(sleep 0.3; rm '{}') >/dev/null 2>&1 &", lock.display());
    repository.hook("post-commit", &hook);
    let commit =
        commit_with_private_index(&repository.git, &["mine".to_owned()], "work", &[]).unwrap();
    assert!(commit.is_some());
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
}

#[test]
fn a_private_index_commit_is_retried_after_another_commit() {
    let repository = Repository::new();
    repository.write("mine", "m\n");
    let theirs = "test -e .git/theirs && exit 0; touch .git/theirs\n\
                  git update-ref HEAD $(git commit-tree -p HEAD -m theirs HEAD^{tree})";
    repository.hook("pre-commit", theirs);
    let commit =
        commit_with_private_index(&repository.git, &["mine".to_owned()], "mine", &[]).unwrap();
    assert_eq!(commit, repository.git.commit_of("HEAD").unwrap());
    assert_eq!(repository.run_git(&["log", "-2", "--format=%s"]), "mine\ntheirs");
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
    // A commit that a hook refused is not tried again.
    repository.hook("pre-commit", "echo asked >> .git/asked; exit 1");
    repository.write("mine", "n\n");
    commit_with_private_index(&repository.git, &["mine".to_owned()], "refused", &[]).unwrap_err();
    assert_eq!(fs::read_to_string(repository.root().join(".git/asked")).unwrap(), "asked\n");
}

#[test]
fn reverting_restores_only_the_given_paths() {
    let repository = Repository::new();
    repository.write("a/kept", "1\n");
    repository.commit("before");
    let before = repository.git.commit_of("HEAD").unwrap().unwrap();
    repository.hook("pre-commit", "exit 1");
    repository.write("a/kept", "2\n");
    repository.write("a/new", "n\n");
    repository.write("b", "b\n");
    repository.run_git(&["add", "--all"]);
    repository.run_git(&["commit", "--quiet", "--no-verify", "-m", "work"]);
    let paths = ["a".to_owned(), "never there".to_owned()];
    let marks = [("Mow-Undone", "03-01/2")];
    revert_paths(&repository.git, &paths, &before, "undo", &marks).unwrap();
    assert_eq!(repository.run_git(&["show", "--name-status", "--format="]), "M\ta/kept\nD\ta/new");
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
    assert_eq!(fs::read_to_string(repository.root().join("a/kept")).unwrap(), "1\n");
    revert_paths(&repository.git, &paths, &before, "undo again", &marks).unwrap();
    assert_eq!(repository.run_git(&["show", "--name-status", "--format=%s"]), "undo again");
}

#[test]
fn new_files_outside_of_a_sparse_checkout_are_committed() {
    let repository = Repository::new();
    repository.write("in/file", "i\n");
    repository.commit("directories");
    repository.run_git(&["sparse-checkout", "set", "in"]);
    repository.write("out/new", "new\n");
    commit_paths(&repository.git, &Paths::AllExcept("in".into()), "work", &[]).unwrap().unwrap();
    assert_eq!(repository.run_git(&["show", "HEAD:out/new"]), "new");
}

#[test]
fn a_file_that_was_staged_as_removed_is_committed_as_removed() {
    for paths in [Paths::All, only(&["file"])] {
        for has_hook in [false, true] {
            let repository = Repository::new();
            if has_hook {
                repository.hook("pre-commit", "true");
            }
            repository.write("other", "one\n");
            repository.commit("other");
            repository.run_git(&["rm", "-q", "file"]);
            commit_paths(&repository.git, &paths, "remove", &[]).unwrap().unwrap();
            assert_eq!(repository.run_git(&["ls-tree", "--name-only", "HEAD"]), "other");
        }
    }
}
