//! Preparing worktrees in every state that a crash can leave.

mod removing;

use std::fs;

use super::*;
use crate::test_repository::{Repository, commit, write};

/// A repository and the spec of a phase's worktree in it.
struct Fixture {
    repository: Repository,
    job: WorktreeSpec,
}

impl Fixture {
    fn new() -> Self {
        let repository = Repository::new();
        repository.write("deep/code", "code\n");
        let base = repository.commit("second");
        let path = repository.root().join(".worktrees/p03");
        Self {
            job: WorktreeSpec { path, branch: "phase-03".to_owned(), base, live_file: None },
            repository,
        }
    }

    fn prepare(&self) -> PreparedWorktree {
        let prepared = prepare(&self.repository.root(), &self.job).unwrap();
        // Whatever state was found: the worktree is on its branch now, and a second call changes
        // nothing.
        assert_eq!(self.worktree().current_branch().unwrap().as_deref(), Some("phase-03"));
        assert!(!self.entry().join("locked").exists());
        let again = prepare(&self.repository.root(), &self.job).unwrap();
        let wanted = PreparedWorktree {
            reused: true,
            created_branch: false,
            rescued: Vec::new(),
            ..prepared.clone()
        };
        assert_eq!(again, wanted);
        prepared
    }

    fn error(&self) -> WorktreeError {
        prepare(&self.repository.root(), &self.job).unwrap_err()
    }

    fn worktree(&self) -> Git {
        Git::at_top(&self.job.path)
    }

    /// Returns git's entry directory for the worktree.
    fn entry(&self) -> PathBuf {
        self.worktree().git_dir().unwrap()
    }

    fn write(&self, path: &str, content: &str) {
        write(&self.job.path.join(path), content);
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.job.path.join(path)).unwrap()
    }

    fn is_clean(&self) -> bool {
        !self.worktree().is_dirty(true).unwrap()
    }

    fn show(&self, commit: &str, path: &str) -> String {
        self.repository.run_git(&["show", &format!("{commit}:{path}")])
    }
}

#[test]
fn branch_and_worktree_are_created_and_reused() {
    let fixture = Fixture::new();
    fixture.repository.hook("post-checkout", "echo ran >hook-ran");
    let prepared = fixture.prepare();
    assert!(!prepared.reused && prepared.created_branch && !prepared.is_behind_base);
    assert_eq!(prepared.head, fixture.job.base);
    assert_eq!(fixture.text("deep/code"), "code\n");
    assert!(!fixture.job.path.join("hook-ran").exists());
    let exclude = fixture.repository.text(".git/info/exclude");
    assert_eq!(exclude.matches("/.worktrees/\n").count(), 1, "{exclude}");
    assert!(!fixture.repository.git.is_dirty(true).unwrap());
}

#[test]
fn an_exclude_line_of_the_user_for_the_worktrees_is_enough() {
    let fixture = Fixture::new();
    fixture.repository.write(".git/info/exclude", "# mine\n.worktrees/");
    fixture.prepare();
    assert_eq!(fixture.repository.text(".git/info/exclude"), "# mine\n.worktrees/");
    fixture.repository.write(".git/info/exclude", "/.work");
    fixture.prepare();
    assert_eq!(fixture.repository.text(".git/info/exclude"), "/.work\n/.worktrees/\n");
}

#[test]
fn a_branch_without_a_worktree_is_used() {
    let fixture = Fixture::new();
    fixture.repository.run_git(&["branch", "phase-03"]);
    let prepared = fixture.prepare();
    assert!(!prepared.reused && !prepared.created_branch);
}

#[test]
fn work_in_progress_is_left_alone() {
    let fixture = Fixture::new();
    fixture.prepare();
    fixture.write("done", "d\n");
    let head = commit(&fixture.worktree(), "done");
    fixture.write("doing", "d\n");
    let prepared = fixture.prepare();
    assert_eq!((prepared.head, prepared.is_behind_base), (head, false));
    assert_eq!(fixture.text("doing"), "d\n");
}

#[test]
fn a_worktree_without_commits_is_reset_to_the_new_base() {
    let mut fixture = Fixture::new();
    fixture.prepare();
    fixture.write("doing", "d\n");
    fixture.repository.write("file", "newer\n");
    fixture.job.base = fixture.repository.commit("newer");
    let prepared = fixture.prepare();
    assert_eq!((prepared.head, prepared.is_behind_base), (fixture.job.base.clone(), false));
    assert_eq!(fixture.text("file"), "newer\n");
    assert!(fixture.is_clean());
    assert_eq!(prepared.rescued.len(), 1);
    assert_eq!(fixture.show(&prepared.rescued[0].commit, "doing"), "d");
}

#[test]
fn a_worktree_with_commits_of_its_own_is_behind_and_stays() {
    let mut fixture = Fixture::new();
    fixture.prepare();
    fixture.write("done", "d\n");
    let head = commit(&fixture.worktree(), "done");
    fixture.write("doing", "d\n");
    fixture.repository.write("file", "newer\n");
    fixture.job.base = fixture.repository.commit("newer");
    let prepared = fixture.prepare();
    assert_eq!((prepared.head, prepared.is_behind_base), (head, true));
    assert_eq!(fixture.text("doing"), "d\n");
    assert_eq!(prepared.rescued, []);
}

#[test]
fn a_deleted_worktree_directory_is_created_again() {
    let fixture = Fixture::new();
    fixture.prepare();
    let other = fixture.repository.root().join(".worktrees/other");
    fixture.repository.run_git(&["worktree", "add", "-q", "--detach", &other.to_string_lossy()]);
    for reason in [None, Some(UNFINISHED)] {
        if let Some(reason) = reason {
            fs::write(fixture.entry().join("locked"), reason).unwrap();
        }
        fs::remove_dir_all(&fixture.job.path).unwrap();
        fs::remove_dir_all(&other).ok();
        assert!(!fixture.prepare().reused);
        assert_eq!(fixture.text("file"), "one\n");
    }
    let listed = fixture.repository.run_git(&["worktree", "list"]);
    assert!(listed.contains("other"), "entries of other worktrees stay: {listed}");
}

#[test]
fn a_worktree_whose_creation_was_interrupted_is_completed() {
    let fixture = Fixture::new();
    fixture.prepare();
    // Before the index was written: some files are there, one of them not whole.
    fs::write(fixture.entry().join("locked"), format!("{UNFINISHED}\n")).unwrap();
    fs::remove_file(fixture.entry().join("index")).unwrap();
    fs::write(fixture.entry().join("index.lock"), "").unwrap();
    fs::remove_dir_all(fixture.job.path.join("deep")).unwrap();
    let prepared = fixture.prepare();
    assert!(prepared.reused);
    assert_eq!(prepared.rescued, [], "there was nothing but files of the commit");
    assert!(fixture.is_clean());
    // After it, before it was unlocked.
    fs::write(fixture.entry().join("locked"), UNFINISHED).unwrap();
    assert!(fixture.prepare().reused);
    // With something that git did not put there.
    fs::remove_file(fixture.entry().join("index")).unwrap();
    fixture.write("file", "of a person\n");
    let prepared = fixture.prepare();
    assert_eq!(fixture.show(&prepared.rescued[0].commit, "file"), "of a person");
    assert!(fixture.is_clean());
}

#[test]
fn a_worktree_whose_creation_had_just_started_is_created_again() {
    let fixture = Fixture::new();
    fs::create_dir_all(&fixture.job.path).unwrap();
    assert!(!fixture.prepare().reused, "an empty directory does not block");
    for step in ["no head", "no commit", "no entry", "empty parts"] {
        let entry = fixture.entry();
        for name in ["file", "deep/code"] {
            fs::remove_file(fixture.job.path.join(name)).unwrap();
        }
        fs::remove_dir(fixture.job.path.join("deep")).unwrap();
        fs::write(entry.join("locked"), UNFINISHED).unwrap();
        match step {
            "no head" => fs::remove_file(entry.join("HEAD")).unwrap(),
            // With this, git itself cannot list any worktree.
            "empty parts" => fs::write(entry.join("commondir"), "").unwrap(),
            "no commit" => fs::write(entry.join("HEAD"), format!("{:040}\n", 0)).unwrap(),
            _ => fs::remove_dir_all(&entry).unwrap(),
        }
        assert!(!fixture.prepare().reused, "{step}");
        assert_eq!(fixture.text("deep/code"), "code\n");
    }
    let entries = fs::read_dir(fixture.repository.root().join(".git/worktrees")).unwrap();
    assert_eq!(entries.count(), 1, "no entry is left behind");
}

#[test]
fn a_worktree_whose_branch_was_not_created_is_created_again() {
    let fixture = Fixture::new();
    fixture.prepare();
    // The state after a kill when everything existed except the branch.
    for name in ["file", "deep/code"] {
        fs::remove_file(fixture.job.path.join(name)).unwrap();
    }
    fs::remove_dir(fixture.job.path.join("deep")).unwrap();
    for name in ["index", "ORIG_HEAD"] {
        fs::remove_file(fixture.entry().join(name)).unwrap();
    }
    let heads = fixture.repository.root().join(".git/refs/heads");
    let branch = heads.join(&fixture.job.branch);
    fs::rename(&branch, heads.join(format!("{}.lock", fixture.job.branch))).unwrap();
    let prepared = fixture.prepare();
    assert!(!prepared.reused && prepared.created_branch);
    assert!(branch.exists() && fixture.is_clean());
    assert_eq!(fixture.text("deep/code"), "code\n");
}

#[test]
fn unfinished_entries_of_other_phases_do_not_block() {
    let fixture = Fixture::new();
    let entries = fixture.repository.root().join(".git/worktrees");
    for (name, files) in
        [("empty", vec![]), ("p04", vec!["locked"]), ("p05", vec!["locked", "gitdir"])]
    {
        fs::create_dir_all(entries.join(name)).unwrap();
        for file in files {
            let gitdir = fixture.repository.root().join(".worktrees/p05/.git");
            let text = if file == "locked" { UNFINISHED.into() } else { gitdir.to_string_lossy() };
            fs::write(entries.join(name).join(file), format!("{text}\n")).unwrap();
        }
    }
    write(&fixture.repository.root().join(".worktrees/p05/.git"), "");
    fixture.prepare();
    assert_eq!(fs::read_dir(&entries).unwrap().count(), 1);
    assert!(!fixture.repository.root().join(".worktrees/p05").exists());
    fs::write(fixture.entry().join("locked"), "on a drive\n").unwrap();
    fs::write(fixture.entry().join("HEAD"), "").unwrap();
    clear_unfinished(&fixture.repository.root()).unwrap();
    assert!(entries.join("p03").exists(), "git did not say that it is unfinished");
}

/// A power failure can leave an entry whose files were created but not yet written to disk.
#[test]
fn an_entry_with_empty_files_is_created_again() {
    for name in ["commondir", "gitdir", "HEAD"] {
        let fixture = Fixture::new();
        create_without_files(&fixture.repository.root(), &fixture.job).unwrap();
        let entry = fixture.entry();
        assert!(!entry.join("index").exists());
        fs::write(entry.join(name), "").unwrap();
        fixture.prepare();
        assert_eq!(fixture.text("deep/code"), "code\n", "{name}");
    }
}

#[test]
fn a_missing_git_link_is_repaired_and_the_main_worktree_is_untouched() {
    let fixture = Fixture::new();
    fixture.prepare();
    fixture.write("doing", "d\n");
    fixture.repository.write("file", "of the user\n");
    fs::remove_file(fixture.job.path.join(".git")).unwrap();
    assert!(fixture.prepare().reused);
    assert_eq!(fixture.text("doing"), "d\n");
    assert_eq!(fixture.repository.text("file"), "of the user\n");
}

#[test]
fn files_of_others_are_not_touched() {
    let fixture = Fixture::new();
    fixture.write("theirs", "t\n");
    let error = fixture.error();
    assert!(matches!(error, WorktreeError::PathOccupied { .. }), "{error}");
    assert_eq!(fixture.text("theirs"), "t\n");
    let another = Git::new(&fixture.job.path);
    another.run(&["init", "-q"]).unwrap();
    another.run(&["config", "user.name", "Tester"]).unwrap();
    another.run(&["config", "user.email", "tester@example.com"]).unwrap();
    commit(&another, "another repository");
    assert!(matches!(fixture.error(), WorktreeError::PathOccupied { .. }));
    assert!(!fixture.repository.git.branch_exists("phase-03").unwrap());
}

#[test]
fn work_that_an_agent_left_on_a_detached_head_is_kept() {
    let fixture = Fixture::new();
    fixture.prepare();
    fixture.worktree().run(&["checkout", "-q", "--detach"]).unwrap();
    fixture.write("lost", "l\n");
    let lost = commit(&fixture.worktree(), "lost");
    fixture.write("doing", "d\n");
    let prepared = fixture.prepare();
    assert_eq!(prepared.head, fixture.job.base);
    assert!(fixture.is_clean());
    let kept = &prepared.rescued;
    assert_eq!(fixture.show(&kept[0].commit, "doing"), "d");
    assert_eq!((kept.len(), &kept[1].commit), (2, &lost));
}

#[test]
fn a_rebase_in_progress_is_abandoned() {
    let fixture = Fixture::new();
    fixture.prepare();
    fixture.write("a", "a\n");
    let tip = commit(&fixture.worktree(), "a");
    let stopped = fixture.worktree().with_env("GIT_SEQUENCE_EDITOR", "sed -i 1s/pick/edit/");
    stopped.run(&["rebase", "-q", "-i", "HEAD~1"]).unwrap();
    let prepared = fixture.prepare();
    assert_eq!(prepared.head, tip);
    assert!(!fixture.entry().join("rebase-merge").exists());
}

#[test]
fn a_branch_in_use_elsewhere_is_refused() {
    let fixture = Fixture::new();
    fixture.repository.run_git(&["worktree", "add", "-q", "elsewhere", "-b", "phase-03"]);
    let error = fixture.error();
    assert!(matches!(error, WorktreeError::BranchInUse { .. }), "{error}");
    fs::remove_dir_all(fixture.repository.root().join("elsewhere")).unwrap();
    assert!(!fixture.prepare().reused);
}

#[test]
fn bad_names_and_bases_are_refused_before_anything_happens() {
    let mut fixture = Fixture::new();
    for branch in ["-b", "a..b", "", "a b"] {
        fixture.job.branch = branch.to_owned();
        assert!(matches!(fixture.error(), WorktreeError::BadBranch { .. }), "{branch}");
    }
    fixture.job = WorktreeSpec { base: "nowhere".to_owned(), ..fixture.job };
    assert!(matches!(fixture.error(), WorktreeError::NoBase { .. }));
    assert!(!fixture.repository.root().join(".worktrees").exists());
    fixture.job =
        WorktreeSpec { base: "1".repeat(40), branch: "phase-03".to_owned(), ..fixture.job };
    assert!(matches!(fixture.error(), WorktreeError::NoBase { .. }));
    assert!(!fixture.repository.root().join(".worktrees/p03").exists());
    assert_eq!(fixture.repository.git.commit_of("refs/heads/phase-03").unwrap(), None);
}

#[test]
fn a_stale_index_lock_of_a_killed_git_does_not_block() {
    let mut fixture = Fixture::new();
    fixture.prepare();
    fs::write(fixture.entry().join("index.lock"), "").unwrap();
    fixture.repository.write("file", "newer\n");
    fixture.job.base = fixture.repository.commit("newer");
    assert_eq!(fixture.prepare().head, fixture.job.base);
}

#[test]
fn lfs_pointers_are_checked_out_and_kept_without_the_lfs_program() {
    let repository = Repository::new();
    repository.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 1\n";
    repository.write("x.bin", pointer);
    repository.commit("a pointer");
    for (key, value) in [
        ("filter.lfs.process", "git-lfs filter-process"),
        ("filter.lfs.smudge", "git-lfs smudge -- %f"),
        ("filter.lfs.clean", "git-lfs clean -- %f"),
        ("filter.lfs.required", "true"),
    ] {
        repository.run_git(&["config", key, value]);
    }
    let path = repository.root().join(".worktrees/p03");
    let job = WorktreeSpec {
        path: path.clone(),
        branch: "phase-03".into(),
        base: "main".into(),
        live_file: None,
    };
    prepare(&repository.root(), &job).unwrap();
    assert_eq!(fs::read_to_string(path.join("x.bin")).unwrap(), pointer);
    write(&path.join("code"), "c\n");
    let worktree = Git::at_top(&path);
    crate::commit::commit_paths(&worktree, &crate::commit::Paths::All, "code", &[]).unwrap();
    assert_eq!(worktree.run(&["show", "--format=", "--name-only"]).unwrap().text(), "code");
}

#[test]
fn a_worktree_is_as_sparse_as_the_main_one() {
    let repository = Repository::new();
    repository.write("in/file", "i\n");
    repository.write("out/file", "o\n");
    repository.commit("directories");
    repository.run_git(&["sparse-checkout", "set", "in"]);
    let path = repository.root().join(".worktrees/p03");
    let job = WorktreeSpec {
        path: path.clone(),
        branch: "phase-03".into(),
        base: "main".into(),
        live_file: None,
    };
    prepare(&repository.root(), &job).unwrap();
    assert!(path.join("in/file").exists() && !path.join("out").exists());
}
