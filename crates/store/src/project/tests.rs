//! Tests of finding a project: with and without git, from worktrees, with broken `.git` files.

use std::ffi::OsStr;

use tempfile::TempDir;

use super::*;

/// Creates files and directories below a new directory: `dir/` or `file=content`.
fn tree(entries: &[&str]) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let top = fs::canonicalize(dir.path()).unwrap();
    for entry in entries {
        let entry = entry.replace("$TOP", top.to_str().unwrap());
        match entry.split_once('=') {
            Some((path, content)) => {
                fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
                fs::write(top.join(path), content).unwrap();
            }
            None => fs::create_dir_all(top.join(entry)).unwrap(),
        }
    }
    (dir, top)
}

/// Finds the project from `cwd` and compares root and engine directory, or `none`.
fn check(entries: &[&str], cwd: &str, expect: &str) {
    let (_dir, top) = tree(entries);
    let found = Project::find(&top.join(cwd)).map_or("none".to_owned(), |project| {
        let show = |path: &Path| path.strip_prefix(&top).unwrap().display().to_string();
        let main =
            project.main_root().map_or(String::new(), |main| format!(" main={}", show(main)));
        format!("{} {}{main}", show(&project.root), show(&project.engine_dir))
    });
    assert_eq!(found, expect);
}

/// A repository `r` and a linked worktree `w` of it.
const LINKED_WORKTREE: [&str; 4] = [
    "r/.git/HEAD=ref: refs/heads/main\n",
    "r/.git/worktrees/w/HEAD=ref: refs/heads/w\n",
    "r/.git/worktrees/w/commondir=../..\n",
    "w/.git=gitdir: $TOP/r/.git/worktrees/w\n",
];

fn linked(more: &[&'static str]) -> Vec<&'static str> {
    [&LINKED_WORKTREE, more].concat()
}

#[test]
fn outside_of_git_the_nearest_directory_with_planning_is_the_root() {
    check(&["p/.planning/", "p/a/b/"], "p/a/b", "p p/.planning/.mow");
    check(&["p/.planning/", "p/a/.planning/"], "p/a", "p/a p/a/.planning/.mow");
    check(&["p/.planning/phases/"], "p/.planning/phases", "p p/.planning/.mow");
    check(&["p/a/", "p/.planning=not a directory"], "p/a", "none");
}

#[test]
fn in_a_repository_the_engine_directory_is_in_the_git_directory() {
    check(&["r/.git/HEAD=x", "r/.planning/", "r/a/"], "r/a", "r r/.git/mow");
    check(&["r/.git/HEAD=x", "r/a/.planning/", "r/a/b/"], "r/a/b", "r/a r/.git/mow");
    check(&["r/.git/HEAD=x", "r/.planning/", "r/.git/hooks/"], "r/.git/hooks", "r r/.git/mow");
}

#[test]
fn the_search_ends_at_the_top_of_the_repository() {
    check(&[".planning/", "r/.git/HEAD=x", "r/a/"], "r/a", "none");
    check(&[".planning/", "b.git/HEAD=x", "b.git/objects/", "b.git/refs/"], "b.git", "none");
}

#[test]
fn a_linked_worktree_shares_the_engine_directory_of_the_repository() {
    check(&linked(&["w/.planning/", "r/.planning/"]), "w", "w r/.git/mow main=r");
    check(&linked(&["w/a/", "r/.planning/"]), "w/a", "r r/.git/mow main=r");
    check(&linked(&["w/a/", "r/a/.planning/"]), "w/a", "r/a r/.git/mow main=r");
    check(&linked(&["w/a/", ".planning/"]), "w/a", "none");
}

#[test]
fn a_worktree_inside_the_main_worktree_has_its_own_root() {
    let entries = [
        "r/.git/HEAD=x",
        "r/.git/worktrees/p01/HEAD=x",
        "r/.git/worktrees/p01/commondir=../..\n",
        "r/.worktrees/p01/.git=gitdir: ../../.git/worktrees/p01\r\n",
        "r/.worktrees/p01/.planning/",
        "r/.planning/",
    ];
    check(&entries, "r/.worktrees/p01", "r/.worktrees/p01 r/.git/mow main=r");
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
    let entries = [
        "r/.git/HEAD=x",
        "r/.planning/",
        "r/.git/modules/s/HEAD=x",
        "r/s/.git=gitdir: ../.git/modules/s",
        "r/s/.planning/",
        "r/s/a/",
    ];
    check(&entries, "r/s/a", "r/s r/.git/modules/s/mow");
    check(&[&entries[..4], &["r/s/a/"]].concat(), "r/s/a", "none");
}

#[test]
fn a_worktree_of_a_bare_repository_has_no_main_worktree() {
    let entries = [
        "b.git/HEAD=x",
        "b.git/objects/",
        "b.git/refs/",
        "b.git/worktrees/w/HEAD=x",
        "b.git/worktrees/w/commondir=$TOP/b.git",
        "w/.git=gitdir: ../b.git/worktrees/w\n",
        "w/.planning/",
    ];
    check(&entries, "w", "w b.git/mow");
}

#[test]
fn a_broken_git_entry_is_ignored() {
    let long = format!("p/a/.git=gitdir: {}", "x".repeat(9000));
    for broken in [
        "p/a/.git=",
        "p/a/.git=garbage",
        "p/a/.git=gitdir:",
        "p/a/.git=gitdir: \n\n",
        "p/a/.git=gitdir: ../nowhere\n",
        "p/a/.git=gitdir: \0\u{fffd}",
        "p/a/.git/",
        &long,
    ] {
        check(&["p/.planning/", broken], "p/a", "p p/.planning/.mow");
    }
}

#[test]
fn a_worktree_with_a_broken_commondir_uses_its_own_git_directory() {
    for broken in ["", "../../nowhere", "\n"] {
        let broken = format!("r/.git/worktrees/w/commondir={broken}");
        let entries = [&LINKED_WORKTREE[..], &[broken.as_str(), "w/.planning/"]].concat();
        check(&entries, "w", "w r/.git/worktrees/w/mow");
    }
}

#[test]
fn a_missing_directory_is_an_error() {
    let (_dir, top) = tree(&["p/file="]);
    for cwd in ["gone", "p/file", "p/file/x"] {
        let error = Project::find(&top.join(cwd)).unwrap_err();
        assert!(matches!(error, ProjectError::Enter { .. }), "{error}");
    }
}

#[test]
fn a_directory_without_planning_can_be_used_as_root() {
    let (_dir, top) = tree(&["a/", "r/.git/HEAD=x"]);
    let project = Project::find_or_cwd(&top.join("a")).unwrap();
    assert_eq!((project.planned, &project.root), (false, &top.join("a")));
    assert_eq!(project.lock_path(), top.join("a"));
    let project = Project::find_or_cwd(&top.join("r")).unwrap();
    assert!(project.lock_path().starts_with(top.join("r/.git/mow/locks")));
}

#[test]
fn names_that_are_not_utf8_are_kept() {
    let (_dir, top) = tree(&[]);
    let root = top.join(OsStr::from_bytes(b"p\xff"));
    fs::create_dir_all(root.join(".planning")).unwrap();
    fs::create_dir_all(root.join("a/real/worktrees/w")).unwrap();
    let real = root.join("a/real/worktrees/w");
    fs::write(real.join("HEAD"), "x").unwrap();
    let pointer = [b"gitdir: ", real.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(root.join(".git"), pointer).unwrap();
    let project = Project::find(&root.join("a")).unwrap();
    assert_eq!((project.root, project.engine_dir), (root, real.join("mow")));
}

#[test]
fn each_planning_directory_has_one_lock() {
    let entries = linked(&["w/.planning/", "r/.planning/", "r/a/"]);
    let (_dir, top) = tree(&entries);
    let lock = |cwd: &str| Project::find(&top.join(cwd)).unwrap().lock_path();
    assert_eq!(lock("r"), lock("r/a"));
    assert_ne!(lock("r"), lock("w"));
    assert_eq!(lock("r").parent(), lock("w").parent());
    fs::remove_dir(top.join("w/.planning")).unwrap();
    std::os::unix::fs::symlink("../r/.planning", top.join("w/.planning")).unwrap();
    assert_eq!(lock("r"), lock("w"));
}

#[test]
fn the_name_of_a_lock_never_changes() {
    assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn shared_files_are_in_the_main_worktree() {
    let check = |more: &[&'static str], cwd: &str, expect: &str| {
        let (_dir, top) = tree(&linked(more));
        let project = Project::find_or_cwd(&top.join(cwd)).unwrap();
        let shared = project.in_main_worktree().unwrap();
        assert_eq!(shared.root, top.join(expect), "{more:?} {cwd}");
    };
    check(&["r/.planning/", "w/.planning/"], "w", "r");
    check(&["r/.planning/"], "w", "r");
    check(&["r/.planning/", "w/.planning/"], "r", "r");
    check(&["r/a/.planning/", "w/a/.planning/"], "w/a", "r/a");
    check(&["r/.planning/", "w/a/.planning/"], "w/a", "r");
    check(&["w/.planning/"], "w", "r");
}

#[test]
fn each_project_of_a_repository_has_a_tag_of_its_own_that_all_worktrees_share() {
    let (_dir, top) = tree(&linked(&[
        "r/.planning/",
        "r/a/b/.planning/",
        "r/a-b/.planning/",
        "r/\u{fc}/.planning/",
        "w/a/b/.planning/",
        "r/plain/",
    ]));
    let tag = |cwd: &str| Project::find_or_cwd(&top.join(cwd)).unwrap().tag();
    assert_eq!((tag("r"), tag("r/plain"), tag("w")), (String::new(), String::new(), String::new()));
    // Existing runs and locks have these names, so they must never change.
    assert_eq!(tag("r/a/b"), "a-b-e620c319");
    assert_eq!(tag("w/a/b"), tag("r/a/b"));
    assert_ne!(tag("r/a-b"), tag("r/a/b"));
    assert_eq!(tag("r/\u{fc}").len(), 8, "digits alone where there are no letters");
}
