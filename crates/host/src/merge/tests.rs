//! Branches that merge, do not merge, and have been merged before.

use super::*;
use crate::test_repository::Repository;

const RUN: &str = "refs/mow/run/r1/target";

/// A repository with planning files, and a phase's branch that changed code, its own folder and
/// what it should not have changed.
fn repository() -> Repository {
    let repository = Repository::new();
    repository.write(".planning/STATE.md", "state\n");
    repository.write(".planning/phases/03-x/03-PLAN.md", "plan\n");
    repository.write(".planning/phases/04-y/04-PLAN.md", "plan\n");
    repository.commit("plan");
    repository.say(&["update-ref", RUN, "main"]);
    repository.say(&["checkout", "-q", "-b", "phase-03"]);
    repository.write("code", "three\n");
    repository.write(".planning/STATE.md", "of the branch\n");
    repository.write(".planning/phases/03-x/03-SUMMARY.md", "done\n");
    repository.write(".planning/phases/04-y/stray.md", "stray\n");
    repository.commit("work");
    repository.say(&["checkout", "-q", "main"]);
    repository
}

fn job(repository: &Repository) -> Merge {
    Merge {
        run_ref: RUN.to_owned(),
        branch_commit: repository.say(&["rev-parse", "phase-03"]),
        message: "Merge phase 03\n\nMow-Phase: 03\nMow-Attempt: 1\n".to_owned(),
        keep_from_ours: vec![".planning/".to_owned()],
        own: Some(".planning/phases/03-x/".to_owned()),
        overlay: Vec::new(),
        join: None,
    }
}

/// Moves the run's reference on with one more commit; returns it.
fn move_target(repository: &Repository, path: &str, content: &str) -> String {
    repository.say(&["checkout", "-q", "--detach", RUN]);
    repository.write(path, content);
    let commit = repository.commit("on the target");
    repository.say(&["update-ref", RUN, &commit]);
    repository.say(&["checkout", "-q", "main"]);
    commit
}

fn show(repository: &Repository, path: &str) -> Option<String> {
    let bytes = repository.git.file_in(RUN, path.as_ref()).unwrap();
    bytes.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn code_and_the_own_folder_go_in_and_shared_files_stay() {
    let repository = repository();
    let before = repository.say(&["rev-parse", RUN]);
    let merge_job = job(&repository);
    let outcome = merge(&repository.git, &merge_job).unwrap();
    let MergeOutcome::Merged { commit, left_out } = outcome else { panic!("{outcome:?}") };
    assert_eq!(left_out, [".planning/STATE.md", ".planning/phases/04-y/stray.md"]);
    assert_eq!(repository.say(&["rev-parse", RUN]), commit);
    let parents = repository.say(&["show", "-s", "--format=%P", RUN]);
    assert_eq!(parents, format!("{before} {}", merge_job.branch_commit));
    assert_eq!(show(&repository, "code").as_deref(), Some("three\n"));
    assert_eq!(show(&repository, ".planning/STATE.md").as_deref(), Some("state\n"));
    assert_eq!(show(&repository, ".planning/phases/03-x/03-SUMMARY.md").as_deref(), Some("done\n"));
    assert_eq!(show(&repository, ".planning/phases/04-y/stray.md"), None);
    assert_eq!(repository.say(&["status", "--porcelain"]), "", "the checkout is not touched");
    let again = merge(&repository.git, &merge_job).unwrap();
    assert_eq!(again, MergeOutcome::AlreadyMerged { commit, whole: true });
}

#[test]
fn a_merge_is_known_by_its_trailers_when_others_followed_and_the_branch_grew() {
    let repository = repository();
    let MergeOutcome::Merged { commit, .. } = merge(&repository.git, &job(&repository)).unwrap()
    else {
        panic!()
    };
    move_target(&repository, "other", "o\n");
    let found = merge(&repository.git, &job(&repository)).unwrap();
    assert_eq!(found, MergeOutcome::AlreadyMerged { commit: commit.clone(), whole: true });
    repository.say(&["checkout", "-q", "phase-03"]);
    repository.write("late", "l\n");
    repository.commit("late");
    repository.say(&["checkout", "-q", "main"]);
    let found = merge(&repository.git, &job(&repository)).unwrap();
    assert_eq!(found, MergeOutcome::AlreadyMerged { commit, whole: false });
    let next =
        Merge { message: "Merge\n\nMow-Phase: 03\nMow-Attempt: 2".to_owned(), ..job(&repository) };
    assert!(matches!(merge(&repository.git, &next).unwrap(), MergeOutcome::Merged { .. }));
    assert_eq!(show(&repository, "late").as_deref(), Some("l\n"));
}

#[test]
fn trailers_of_the_branch_itself_are_no_merge() {
    let repository = repository();
    repository.say(&["checkout", "-q", "phase-03"]);
    repository.write("more", "m\n");
    repository.commit("work\n\nMow-Phase: 03\nMow-Attempt: 1");
    repository.say(&["checkout", "-q", "main"]);
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
}

#[test]
fn conflicts_in_code_are_listed_and_nothing_changes() {
    let repository = repository();
    move_target(&repository, "code", "four\n");
    let before = move_target(&repository, ".planning/STATE.md", "of the target\n");
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    let MergeOutcome::Conflict { files } = outcome else { panic!("{outcome:?}") };
    let wanted = Conflict { path: "code".to_owned(), kind: Kind::BothAdded };
    assert_eq!(files, [wanted], "the shared file is no conflict");
    assert_eq!(repository.say(&["rev-parse", RUN]), before);
}

#[test]
fn kinds_of_conflicts_are_told_apart() {
    let repository = repository();
    repository.say(&["checkout", "-q", "phase-03"]);
    repository.write("file", "changed\n");
    repository.commit("change");
    repository.say(&["checkout", "-q", "--detach", RUN]);
    repository.say(&["rm", "-q", "file"]);
    let commit = repository.commit("remove");
    repository.say(&["update-ref", RUN, &commit]);
    repository.say(&["checkout", "-q", "main"]);
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    let MergeOutcome::Conflict { files } = outcome else { panic!("{outcome:?}") };
    assert_eq!(files, [Conflict { path: "file".to_owned(), kind: Kind::DeletedInTarget }]);
}

#[test]
fn conflicts_in_planning_files_go_to_their_owners() {
    let repository = repository();
    move_target(&repository, ".planning/STATE.md", "of the target\n");
    move_target(&repository, ".planning/phases/03-x/03-SUMMARY.md", "older\n");
    move_target(&repository, ".planning/phases/03-x/03-RESEARCH.md", "research\n");
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    assert_eq!(show(&repository, ".planning/STATE.md").as_deref(), Some("of the target\n"));
    assert_eq!(show(&repository, ".planning/phases/03-x/03-SUMMARY.md").as_deref(), Some("done\n"));
    let research = show(&repository, ".planning/phases/03-x/03-RESEARCH.md");
    assert_eq!(research.as_deref(), Some("research\n"), "what only the target has stays");
}

#[test]
fn a_file_against_a_directory_in_the_own_folder_leaves_no_odd_names() {
    let repository = repository();
    move_target(&repository, ".planning/phases/03-x/03-SUMMARY.md/deep", "d\n");
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    let names = repository.say(&["ls-tree", "-r", "--name-only", RUN]);
    assert!(!names.contains('~'), "{names}");
}

#[test]
fn live_files_are_laid_on_top() {
    let repository = repository();
    let overlay = vec![
        (".planning/STATE.md".to_owned(), b"live\n".to_vec()),
        (".planning/new.md".to_owned(), b"new\n".to_vec()),
    ];
    merge(&repository.git, &Merge { overlay, ..job(&repository) }).unwrap();
    assert_eq!(show(&repository, ".planning/STATE.md").as_deref(), Some("live\n"));
    assert_eq!(show(&repository, ".planning/new.md").as_deref(), Some("new\n"));
    assert_eq!(repository.text(".planning/STATE.md"), "state\n");
}

#[test]
fn a_crash_before_the_swap_leaves_only_objects_behind() {
    let repository = repository();
    let merge_job = job(&repository);
    let ours = repository.say(&["rev-parse", RUN]);
    let merged = merge_tree(&repository.git, &ours, &merge_job.branch_commit).unwrap();
    commit_tree(&repository.git, &merged.tree, &[&ours, &merge_job.branch_commit], "half").unwrap();
    assert_eq!(repository.say(&["rev-parse", RUN]), ours);
    let outcome = merge(&repository.git, &merge_job).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
}

#[test]
fn a_target_that_moves_meanwhile_is_noticed() {
    let repository = repository();
    let other = move_target(&repository, "other", "o\n");
    repository.say(&["update-ref", RUN, "main"]);
    // Git asks for the message's signature before the swap: the moment for somebody else.
    repository.say(&["config", "commit.gpgSign", "true"]);
    repository.write(
        ".git/sign",
        &format!(
            "#!/bin/sh\ngit update-ref {RUN} {other}\nprintf '[GNUPG:] SIG_CREATED ' >&2\necho s\n"
        ),
    );
    let program = repository.root().join(".git/sign");
    crate::test_repository::make_executable(&program);
    repository.say(&["config", "gpg.program", &program.to_string_lossy()]);
    assert_eq!(merge(&repository.git, &job(&repository)).unwrap(), MergeOutcome::Moved);
    assert_eq!(repository.say(&["rev-parse", RUN]), other);
    repository.say(&["config", "commit.gpgSign", "false"]);
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    assert_eq!(show(&repository, "other").as_deref(), Some("o\n"));
}

#[test]
fn a_lock_that_a_killed_process_left_is_no_hindrance() {
    let repository = repository();
    repository.write(&format!(".git/{RUN}.lock"), "half");
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    assert!(!repository.root().join(format!(".git/{RUN}.lock")).exists());
}

#[test]
fn our_own_process_moves_a_reference_of_ours_from_where_it_stands_only() {
    let repository = repository();
    let (main, other) =
        (repository.say(&["rev-parse", "main"]), move_target(&repository, "o", "o"));
    repository.say(&["update-ref", RUN, "main"]);
    let plain = repository.git.plain().unwrap();
    assert_eq!(plain.swap(RUN, &other, &main), Some(false));
    assert_eq!(plain.swap(RUN, &main, &other), Some(true));
    assert_eq!(repository.say(&["rev-parse", RUN]), other);
    assert_eq!(plain.swap("refs/heads/main", &main, &other), None);
    repository.say(&["pack-refs", "--all"]);
    assert_eq!(plain.swap(RUN, &other, &main), None, "it is no file any more");
}

/// Commits files on top of the run's reference; `None` when somebody else moved it.
fn lay(repository: &Repository, files: &[(String, Vec<u8>)]) -> Option<String> {
    let Overlaid { ours, commit } = overlay(&repository.git, RUN, files, "docs").unwrap();
    advance(&repository.git, RUN, (&ours, &commit)).unwrap().then_some(commit)
}

#[test]
fn planning_files_are_not_committed_over_what_came_meanwhile() {
    let repository = repository();
    let other = move_target(&repository, "other", "o\n");
    repository.say(&["update-ref", RUN, "main"]);
    // Git asks for the file as it is to be kept before the swap: the moment for somebody else.
    repository.write(".git/info/attributes", "STATE.md filter=late\n");
    let late = format!("git update-ref {RUN} {other}; cat");
    repository.say(&["config", "filter.late.clean", &late]);
    let files = [("STATE.md".to_owned(), b"new\n".to_vec())];
    assert_eq!(lay(&repository, &files), None);
    assert_eq!(repository.say(&["rev-parse", RUN]), other, "it stays where somebody put it");
    repository.say(&["config", "filter.late.clean", "cat"]);
    let commit = lay(&repository, &files).unwrap();
    assert_eq!(repository.say(&["rev-parse", &format!("{commit}^")]), other);
    assert_eq!(show(&repository, "STATE.md").as_deref(), Some("new\n"));
}

#[test]
fn what_does_not_exist_is_said() {
    let repository = repository();
    let nowhere = Merge { run_ref: "refs/mow/run/none/target".to_owned(), ..job(&repository) };
    let error = merge(&repository.git, &nowhere).unwrap_err();
    assert!(matches!(error, MergeError::NoCommit { .. }), "{error}");
    repository.say(&["config", "user.name", ""]);
    let error = merge(&repository.git, &job(&repository)).unwrap_err();
    assert!(matches!(error, MergeError::Identity(_)), "{error}");
}

#[test]
fn what_was_left_out_is_kept_on_top_of_the_merge_once() {
    let repository = repository();
    let merge_job = job(&repository);
    let outcome = merge(&repository.git, &merge_job).unwrap();
    let MergeOutcome::Merged { commit, left_out } = outcome else { panic!("{outcome:?}") };
    let keep =
        || keep_left_out(&repository.git, ("phase-03", "phase-03"), &commit, &left_out).unwrap();
    let kept = keep().unwrap();
    assert_eq!(kept.name, "refs/mow/rescue/phase-03/1");
    assert_eq!(keep(), Some(kept.clone()), "a second look finds it");
    let changed = repository.say(&["diff", "--name-status", &commit, &kept.commit]);
    assert_eq!(changed, "M\t.planning/STATE.md\nA\t.planning/phases/04-y/stray.md");
    let none = keep_left_out(&repository.git, ("phase-03", "phase-03"), &commit, &[]).unwrap();
    assert_eq!(none, None);
}

#[test]
fn files_in_conflict_are_joined_where_somebody_knows_how() {
    let repository = repository();
    move_target(&repository, "code", "four\n");
    fn join(path: &str, [base, ours, theirs]: [&[u8]; 3]) -> Option<Vec<u8>> {
        assert_eq!((path, base), ("code", &b""[..]));
        Some([ours, theirs].concat())
    }
    let joined = Merge { join: Some(join), ..job(&repository) };
    let outcome = merge(&repository.git, &joined).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    assert_eq!(show(&repository, "code").as_deref(), Some("four\nthree\n"));
}

#[test]
fn a_merge_is_signed_where_commits_are_and_fails_clearly_where_that_fails() {
    let repository = repository();
    repository.say(&["config", "commit.gpgSign", "true"]);
    let program = repository.root().join(".git/sign");
    let sign = "#!/bin/sh\ncat >/dev/null\nprintf '[GNUPG:] SIG_CREATED ' >&2\necho signature\n";
    crate::test_repository::write(&program, "#!/bin/sh\necho 'no key is here' >&2\nexit 2\n");
    crate::test_repository::make_executable(&program);
    repository.say(&["config", "gpg.program", &program.to_string_lossy()]);
    let before = repository.say(&["rev-parse", RUN]);
    let error = merge(&repository.git, &job(&repository)).unwrap_err();
    assert!(error.to_string().contains("commit.gpgSign wants"), "{error}");
    assert!(error.to_string().contains("no key is here"), "{error}");
    assert_eq!(repository.say(&["rev-parse", RUN]), before);
    crate::test_repository::write(&program, sign);
    crate::test_repository::make_executable(&program);
    merge(&repository.git, &job(&repository)).unwrap();
    assert!(repository.say(&["cat-file", "commit", RUN]).contains("gpgsig signature"));
    let overlay_file = [(".planning/STATE.md".to_owned(), b"live\n".to_vec())];
    lay(&repository, &overlay_file).unwrap();
    assert!(repository.say(&["cat-file", "commit", RUN]).contains("gpgsig signature"));
}

#[test]
fn line_endings_of_the_target_stay() {
    let repository = repository();
    repository.write(".gitattributes", "*.bat text eol=crlf\n");
    repository.write("a.bat", "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n");
    repository.write("raw", "one\r\ntwo\nthree\r\n");
    let base = repository.commit("with endings");
    repository.say(&["update-ref", RUN, &base]);
    repository.say(&["checkout", "-q", "-B", "phase-03", &base]);
    repository.write("a.bat", "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n");
    repository.commit("more");
    repository.say(&["checkout", "-q", "main"]);
    move_target(&repository, "a.bat", "zero\r\none\r\ntwo\r\nthree\r\nfour\r\nfive\r\n");
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    let stored = show(&repository, "a.bat").unwrap();
    assert_eq!(stored, "zero\none\ntwo\nthree\nfour\nfive\nsix\n", "as the attributes say");
    assert_eq!(show(&repository, "raw").as_deref(), Some("one\r\ntwo\nthree\r\n"));
}

#[test]
fn what_is_known_of_a_branch_is_not_asked_and_counts_for_one_target_only() {
    let repository = repository();
    let (git, job) = (&repository.git, job(&repository));
    let target = repository.say(&["rev-parse", RUN]);
    let touched = repository.say(&["diff", "--name-only", "main", "phase-03"]);
    let touched = touched.lines().map(str::to_owned).collect();
    let known = Known { target, touched };
    let asked = plan(git, &job).unwrap();
    assert_eq!(plan_knowing(git, &job, Some(&known)).unwrap(), asked, "files that are kept");
    let Planned::Ready(ready) = &asked else { panic!("{asked:?}") };
    assert_eq!(ready.left_out.len(), 2);
    let code_only = Known { touched: vec!["code".to_owned()], ..known.clone() };
    let Planned::Ready(bare) = plan_knowing(git, &job, Some(&code_only)).unwrap() else { panic!() };
    assert_ne!(bare.tree, ready.tree, "git was not asked what the branch changed");
    merge(git, &job).unwrap();
    let again = plan_knowing(git, &job, Some(&known)).unwrap();
    let is_known = matches!(again, Planned::Not(MergeOutcome::AlreadyMerged { whole: true, .. }));
    assert!(is_known, "the target stands elsewhere: {again:?}");
}
