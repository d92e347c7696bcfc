//! Merging branches: clean merges, conflicts, and branches merged earlier.

use super::*;
use crate::test_repository::Repository;

const RUN: &str = "refs/mow/run/r1/target";

/// Returns a repository with planning files and a phase branch. The branch changed code, its own
/// directory, and planning files that it may not change.
fn repository() -> Repository {
    let repository = Repository::new();
    repository.write(".planning/STATE.md", "state\n");
    repository.write(".planning/phases/03-x/03-PLAN.md", "plan\n");
    repository.write(".planning/phases/04-y/04-PLAN.md", "plan\n");
    repository.commit("plan");
    repository.run_git(&["update-ref", RUN, "main"]);
    repository.run_git(&["checkout", "-q", "-b", "phase-03"]);
    repository.write("code", "three\n");
    repository.write(".planning/STATE.md", "of the branch\n");
    repository.write(".planning/phases/03-x/03-SUMMARY.md", "done\n");
    repository.write(".planning/phases/04-y/stray.md", "stray\n");
    repository.commit("work");
    repository.run_git(&["checkout", "-q", "main"]);
    repository
}

fn job(repository: &Repository) -> MergeJob {
    MergeJob {
        run_ref: RUN.to_owned(),
        branch_commit: repository.run_git(&["rev-parse", "phase-03"]),
        message: "Merge phase 03\n\nMow-Phase: 03\nMow-Attempt: 1\n".to_owned(),
        keep_from_ours: vec![".planning/".to_owned()],
        own: Some(".planning/phases/03-x/".to_owned()),
        overlay: Vec::new(),
        join: None,
    }
}

/// Adds a commit to the run's target ref; returns the commit.
fn move_target(repository: &Repository, path: &str, content: &str) -> String {
    repository.run_git(&["checkout", "-q", "--detach", RUN]);
    repository.write(path, content);
    let commit = repository.commit("on the target");
    repository.run_git(&["update-ref", RUN, &commit]);
    repository.run_git(&["checkout", "-q", "main"]);
    commit
}

fn show(repository: &Repository, path: &str) -> Option<String> {
    let bytes = repository.git.file_in(RUN, path.as_ref()).unwrap();
    bytes.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn code_and_own_directory_are_merged_and_shared_files_keep_the_targets_version() {
    let repository = repository();
    let before = repository.run_git(&["rev-parse", RUN]);
    let merge_job = job(&repository);
    let outcome = merge(&repository.git, &merge_job).unwrap();
    let MergeOutcome::Merged { commit, left_out } = outcome else { panic!("{outcome:?}") };
    assert_eq!(left_out, [".planning/STATE.md", ".planning/phases/04-y/stray.md"]);
    assert_eq!(repository.run_git(&["rev-parse", RUN]), commit);
    let parents = repository.run_git(&["show", "-s", "--format=%P", RUN]);
    assert_eq!(parents, format!("{before} {}", merge_job.branch_commit));
    assert_eq!(show(&repository, "code").as_deref(), Some("three\n"));
    assert_eq!(show(&repository, ".planning/STATE.md").as_deref(), Some("state\n"));
    assert_eq!(show(&repository, ".planning/phases/03-x/03-SUMMARY.md").as_deref(), Some("done\n"));
    assert_eq!(show(&repository, ".planning/phases/04-y/stray.md"), None);
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "", "the checkout is not touched");
    let again = merge(&repository.git, &merge_job).unwrap();
    assert_eq!(again, MergeOutcome::AlreadyMerged { commit, is_complete: true });
}

#[test]
fn an_earlier_merge_is_recognised_by_its_trailers_after_target_and_branch_moved_on() {
    let repository = repository();
    let MergeOutcome::Merged { commit, .. } = merge(&repository.git, &job(&repository)).unwrap()
    else {
        panic!()
    };
    move_target(&repository, "other", "o\n");
    let found = merge(&repository.git, &job(&repository)).unwrap();
    assert_eq!(found, MergeOutcome::AlreadyMerged { commit: commit.clone(), is_complete: true });
    repository.run_git(&["checkout", "-q", "phase-03"]);
    repository.write("late", "l\n");
    repository.commit("late");
    repository.run_git(&["checkout", "-q", "main"]);
    let found = merge(&repository.git, &job(&repository)).unwrap();
    assert_eq!(found, MergeOutcome::AlreadyMerged { commit, is_complete: false });
    let next = MergeJob {
        message: "Merge\n\nMow-Phase: 03\nMow-Attempt: 2".to_owned(),
        ..job(&repository)
    };
    assert!(matches!(merge(&repository.git, &next).unwrap(), MergeOutcome::Merged { .. }));
    assert_eq!(show(&repository, "late").as_deref(), Some("l\n"));
}

#[test]
fn trailers_in_commits_of_the_branch_do_not_count_as_a_merge() {
    let repository = repository();
    repository.run_git(&["checkout", "-q", "phase-03"]);
    repository.write("more", "m\n");
    repository.commit("work\n\nMow-Phase: 03\nMow-Attempt: 1");
    repository.run_git(&["checkout", "-q", "main"]);
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
    let wanted = Conflict { path: "code".to_owned(), kind: ConflictKind::BothAdded };
    assert_eq!(files, [wanted], "the shared file is no conflict");
    assert_eq!(repository.run_git(&["rev-parse", RUN]), before);
}

#[test]
fn a_file_deleted_in_the_target_is_a_conflict_of_its_own_kind() {
    let repository = repository();
    repository.run_git(&["checkout", "-q", "phase-03"]);
    repository.write("file", "changed\n");
    repository.commit("change");
    repository.run_git(&["checkout", "-q", "--detach", RUN]);
    repository.run_git(&["rm", "-q", "file"]);
    let commit = repository.commit("remove");
    repository.run_git(&["update-ref", RUN, &commit]);
    repository.run_git(&["checkout", "-q", "main"]);
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    let MergeOutcome::Conflict { files } = outcome else { panic!("{outcome:?}") };
    assert_eq!(files, [Conflict { path: "file".to_owned(), kind: ConflictKind::DeletedInTarget }]);
}

#[test]
fn conflicts_in_planning_files_are_resolved_for_their_owners() {
    let repository = repository();
    move_target(&repository, ".planning/STATE.md", "of the target\n");
    move_target(&repository, ".planning/phases/03-x/03-SUMMARY.md", "older\n");
    move_target(&repository, ".planning/phases/03-x/03-RESEARCH.md", "research\n");
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    assert_eq!(show(&repository, ".planning/STATE.md").as_deref(), Some("of the target\n"));
    assert_eq!(show(&repository, ".planning/phases/03-x/03-SUMMARY.md").as_deref(), Some("done\n"));
    let research = show(&repository, ".planning/phases/03-x/03-RESEARCH.md");
    assert_eq!(research.as_deref(), Some("research\n"), "files that only the target has stay");
}

#[test]
fn a_file_against_a_directory_in_the_own_directory_leaves_no_invented_names() {
    let repository = repository();
    move_target(&repository, ".planning/phases/03-x/03-SUMMARY.md/deep", "d\n");
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    let names = repository.run_git(&["ls-tree", "-r", "--name-only", RUN]);
    assert!(!names.contains('~'), "{names}");
}

#[test]
fn overlay_files_replace_the_merged_versions() {
    let repository = repository();
    let overlay = vec![
        (".planning/STATE.md".to_owned(), b"live\n".to_vec()),
        (".planning/new.md".to_owned(), b"new\n".to_vec()),
    ];
    merge(&repository.git, &MergeJob { overlay, ..job(&repository) }).unwrap();
    assert_eq!(show(&repository, ".planning/STATE.md").as_deref(), Some("live\n"));
    assert_eq!(show(&repository, ".planning/new.md").as_deref(), Some("new\n"));
    assert_eq!(repository.text(".planning/STATE.md"), "state\n");
}

#[test]
fn a_crash_before_the_swap_leaves_only_objects_behind() {
    let repository = repository();
    let merge_job = job(&repository);
    let ours = repository.run_git(&["rev-parse", RUN]);
    let merged = merge_tree(&repository.git, &ours, &merge_job.branch_commit).unwrap();
    commit_tree(&repository.git, &merged.tree, &[&ours, &merge_job.branch_commit], "half").unwrap();
    assert_eq!(repository.run_git(&["rev-parse", RUN]), ours);
    let outcome = merge(&repository.git, &merge_job).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
}

#[test]
fn a_target_that_moves_during_the_merge_is_detected() {
    let repository = repository();
    let other = move_target(&repository, "other", "o\n");
    repository.run_git(&["update-ref", RUN, "main"]);
    // Git runs the signing program before the swap, so that program moves the target here.
    repository.run_git(&["config", "commit.gpgSign", "true"]);
    repository.write(
        ".git/sign",
        &format!(
            "#!/bin/sh\ngit update-ref {RUN} {other}\nprintf '[GNUPG:] SIG_CREATED ' >&2\necho s\n"
        ),
    );
    let program = repository.root().join(".git/sign");
    crate::test_repository::make_executable(&program);
    repository.run_git(&["config", "gpg.program", &program.to_string_lossy()]);
    assert_eq!(merge(&repository.git, &job(&repository)).unwrap(), MergeOutcome::Moved);
    assert_eq!(repository.run_git(&["rev-parse", RUN]), other);
    repository.run_git(&["config", "commit.gpgSign", "false"]);
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    assert_eq!(show(&repository, "other").as_deref(), Some("o\n"));
}

#[test]
fn a_stale_lock_of_a_killed_process_does_not_block_a_merge() {
    let repository = repository();
    repository.write(&format!(".git/{RUN}.lock"), "half");
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    assert!(!repository.root().join(format!(".git/{RUN}.lock")).exists());
}

#[test]
fn the_in_process_swap_moves_only_mow_refs_that_are_at_the_expected_commit() {
    let repository = repository();
    let (main, other) =
        (repository.run_git(&["rev-parse", "main"]), move_target(&repository, "o", "o"));
    repository.run_git(&["update-ref", RUN, "main"]);
    let repo = repository.git.in_process().unwrap();
    assert_eq!(repo.move_own_ref(RUN, &other, &main), Some(false));
    assert_eq!(repo.move_own_ref(RUN, &main, &other), Some(true));
    assert_eq!(repository.run_git(&["rev-parse", RUN]), other);
    assert_eq!(repo.move_own_ref("refs/heads/main", &main, &other), None);
    repository.run_git(&["pack-refs", "--all"]);
    assert_eq!(repo.move_own_ref(RUN, &other, &main), None, "the ref is packed, not a file");
}

/// Commits files on top of the target ref; `None` when the ref was moved by somebody else.
fn commit_on_target(repository: &Repository, files: &[(String, Vec<u8>)]) -> Option<String> {
    let OverlayCommit { ours, commit } =
        commit_overlay(&repository.git, RUN, files, "docs").unwrap();
    move_target_to_overlay(&repository.git, RUN, (&ours, &commit)).unwrap().then_some(commit)
}

#[test]
fn an_overlay_commit_does_not_replace_a_target_that_moved() {
    let repository = repository();
    let other = move_target(&repository, "other", "o\n");
    repository.run_git(&["update-ref", RUN, "main"]);
    // Git runs the clean filter before the swap, so the filter moves the target here.
    repository.write(".git/info/attributes", "STATE.md filter=late\n");
    let late = format!("git update-ref {RUN} {other}; cat");
    repository.run_git(&["config", "filter.late.clean", &late]);
    let files = [("STATE.md".to_owned(), b"new\n".to_vec())];
    assert_eq!(commit_on_target(&repository, &files), None);
    assert_eq!(
        repository.run_git(&["rev-parse", RUN]),
        other,
        "the ref stays where the filter moved it"
    );
    repository.run_git(&["config", "filter.late.clean", "cat"]);
    let commit = commit_on_target(&repository, &files).unwrap();
    assert_eq!(repository.run_git(&["rev-parse", &format!("{commit}^")]), other);
    assert_eq!(show(&repository, "STATE.md").as_deref(), Some("new\n"));
}

#[test]
fn a_missing_target_and_a_missing_identity_are_errors() {
    let repository = repository();
    let nowhere = MergeJob { run_ref: "refs/mow/run/none/target".to_owned(), ..job(&repository) };
    let error = merge(&repository.git, &nowhere).unwrap_err();
    assert!(matches!(error, MergeError::NoCommit { .. }), "{error}");
    repository.run_git(&["config", "user.name", ""]);
    let error = merge(&repository.git, &job(&repository)).unwrap_err();
    assert!(matches!(error, MergeError::Identity(_)), "{error}");
}

#[test]
fn left_out_files_are_kept_once_on_top_of_the_merge() {
    let repository = repository();
    let merge_job = job(&repository);
    let outcome = merge(&repository.git, &merge_job).unwrap();
    let MergeOutcome::Merged { commit, left_out } = outcome else { panic!("{outcome:?}") };
    let keep =
        || keep_left_out(&repository.git, ("phase-03", "phase-03"), &commit, &left_out).unwrap();
    let kept = keep().unwrap();
    assert_eq!(kept.name, "refs/mow/rescue/phase-03/1");
    assert_eq!(keep(), Some(kept.clone()), "the second call finds it");
    let changed = repository.run_git(&["diff", "--name-status", &commit, &kept.commit]);
    assert_eq!(changed, "M\t.planning/STATE.md\nA\t.planning/phases/04-y/stray.md");
    let none = keep_left_out(&repository.git, ("phase-03", "phase-03"), &commit, &[]).unwrap();
    assert_eq!(none, None);
}

#[test]
fn conflicting_files_are_joined_by_the_join_function() {
    let repository = repository();
    move_target(&repository, "code", "four\n");
    fn join(path: &str, [base, ours, theirs]: [&[u8]; 3]) -> Option<Vec<u8>> {
        assert_eq!((path, base), ("code", &b""[..]));
        Some([ours, theirs].concat())
    }
    let joined = MergeJob { join: Some(join), ..job(&repository) };
    let outcome = merge(&repository.git, &joined).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    assert_eq!(show(&repository, "code").as_deref(), Some("four\nthree\n"));
}

#[test]
fn a_merge_is_signed_if_commits_are_and_reports_a_signing_failure() {
    let repository = repository();
    repository.run_git(&["config", "commit.gpgSign", "true"]);
    let program = repository.root().join(".git/sign");
    let sign = "#!/bin/sh\ncat >/dev/null\nprintf '[GNUPG:] SIG_CREATED ' >&2\necho signature\n";
    crate::test_repository::write(&program, "#!/bin/sh\necho 'no key is here' >&2\nexit 2\n");
    crate::test_repository::make_executable(&program);
    repository.run_git(&["config", "gpg.program", &program.to_string_lossy()]);
    let before = repository.run_git(&["rev-parse", RUN]);
    let error = merge(&repository.git, &job(&repository)).unwrap_err();
    assert!(error.to_string().contains("commit.gpgSign requires"), "{error}");
    assert!(error.to_string().contains("no key is here"), "{error}");
    assert_eq!(repository.run_git(&["rev-parse", RUN]), before);
    crate::test_repository::write(&program, sign);
    crate::test_repository::make_executable(&program);
    merge(&repository.git, &job(&repository)).unwrap();
    assert!(repository.run_git(&["cat-file", "commit", RUN]).contains("gpgsig signature"));
    let overlay_file = [(".planning/STATE.md".to_owned(), b"live\n".to_vec())];
    commit_on_target(&repository, &overlay_file).unwrap();
    assert!(repository.run_git(&["cat-file", "commit", RUN]).contains("gpgsig signature"));
}

#[test]
fn line_endings_of_the_target_are_preserved() {
    let repository = repository();
    repository.write(".gitattributes", "*.bat text eol=crlf\n");
    repository.write("a.bat", "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n");
    repository.write("raw", "one\r\ntwo\nthree\r\n");
    let base = repository.commit("with endings");
    repository.run_git(&["update-ref", RUN, &base]);
    repository.run_git(&["checkout", "-q", "-B", "phase-03", &base]);
    repository.write("a.bat", "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n");
    repository.commit("more");
    repository.run_git(&["checkout", "-q", "main"]);
    move_target(&repository, "a.bat", "zero\r\none\r\ntwo\r\nthree\r\nfour\r\nfive\r\n");
    let outcome = merge(&repository.git, &job(&repository)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    let stored = show(&repository, "a.bat").unwrap();
    assert_eq!(stored, "zero\none\ntwo\nthree\nfour\nfive\nsix\n", "as the attributes say");
    assert_eq!(show(&repository, "raw").as_deref(), Some("one\r\ntwo\nthree\r\n"));
}

#[test]
fn known_changes_replace_asking_git_and_apply_to_one_target_only() {
    let repository = repository();
    let (git, job) = (&repository.git, job(&repository));
    let target = repository.run_git(&["rev-parse", RUN]);
    let touched = repository.run_git(&["diff", "--name-only", "main", "phase-03"]);
    let touched = touched.lines().map(str::to_owned).collect();
    let known = KnownChanges { target, touched };
    let asked = compute(git, &job).unwrap();
    assert_eq!(
        compute_with_known_changes(git, &job, Some(&known)).unwrap(),
        asked,
        "files that are kept"
    );
    let MergeComputation::Ready(ready) = &asked else { panic!("{asked:?}") };
    assert_eq!(ready.left_out.len(), 2);
    let code_only = KnownChanges { touched: vec!["code".to_owned()], ..known.clone() };
    let MergeComputation::Ready(bare) =
        compute_with_known_changes(git, &job, Some(&code_only)).unwrap()
    else {
        panic!()
    };
    assert_ne!(bare.tree, ready.tree, "git was not asked what the branch changed");
    merge(git, &job).unwrap();
    let again = compute_with_known_changes(git, &job, Some(&known)).unwrap();
    let is_known = matches!(
        again,
        MergeComputation::Final(MergeOutcome::AlreadyMerged { is_complete: true, .. })
    );
    assert!(is_known, "the target stands elsewhere: {again:?}");
}
