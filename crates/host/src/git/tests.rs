//! Calls of real git in a temporary directory.

use super::{Git, GitError, GitOutput};
use crate::test_repository::Repository;

#[test]
fn git_works_in_the_directory_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let git = Git::new(dir.path());
    git.run(&["init", "-q", "-b", "main"]).unwrap();
    let top = git.run(&["rev-parse", "--show-toplevel"]).unwrap().text();
    assert_eq!(top, dir.path().canonicalize().unwrap().to_string_lossy());
}

#[test]
fn a_failure_carries_git_s_error_message() {
    let dir = tempfile::tempdir().unwrap();
    let git = Git::new(dir.path());
    git.run(&["init", "-q"]).unwrap();
    let error = git.run(&["rev-parse", "--verify", "nowhere"]).unwrap_err();
    let GitError::Failed { code, message, .. } = error else { panic!("git ran") };
    assert_eq!(code, Some(128));
    assert!(message.contains("single revision"), "{message}");
}

#[test]
fn error_line_is_one_line_without_hints() {
    let stderr = b"error: would be overwritten:\n\tcode.txt\nhint: try this\nAborting\n".to_vec();
    let answer = GitOutput { success: false, code: Some(1), stdout: b"x\n".to_vec(), stderr };
    assert_eq!(answer.error_line(), "error: would be overwritten: code.txt Aborting");
    let quiet = GitOutput { stderr: Vec::new(), ..answer };
    assert_eq!(quiet.error_line(), "x");
}

#[test]
fn replaced_objects_are_ignored() {
    let repository = Repository::new();
    let object = repository.run_git(&["rev-parse", "HEAD:file"]);
    let other = repository.git.run_with(&["hash-object", "-w", "--stdin"], b"other\n").unwrap();
    repository.run_git(&["replace", &object, &other.text()]);
    let file = repository.git.file_in("HEAD", std::path::Path::new("file")).unwrap();
    assert_eq!(file.as_deref(), Some(&b"one\n"[..]));
}
