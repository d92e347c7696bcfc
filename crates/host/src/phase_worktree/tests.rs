//! Worktrees in every state that a crash can leave behind.

mod removing;

use std::fs;

use super::*;
use crate::test_repository::{Repository, commit, write};

/// A repository and the place of a phase's worktree in it.
struct Place {
    repository: Repository,
    job: Prepare,
}

impl Place {
    fn new() -> Self {
        let repository = Repository::new();
        repository.write("deep/code", "code\n");
        let base = repository.commit("second");
        let path = repository.root().join(".worktrees/p03");
        Self { job: Prepare { path, branch: "phase-03".to_owned(), base }, repository }
    }

    fn prepare(&self) -> Prepared {
        let prepared = prepare(&self.repository.root(), &self.job).unwrap();
        // Whatever was found: now it is a clean worktree on its branch, and again changes nothing.
        assert_eq!(self.worktree().current_branch().unwrap().as_deref(), Some("phase-03"));
        assert!(!self.admin().join("locked").exists());
        let again = prepare(&self.repository.root(), &self.job).unwrap();
        let wanted = Prepared {
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

    /// The directory that git keeps for the worktree.
    fn admin(&self) -> PathBuf {
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
        self.repository.say(&["show", &format!("{commit}:{path}")])
    }
}

#[test]
fn branch_and_worktree_are_made_and_found_again() {
    let place = Place::new();
    place.repository.hook("post-checkout", "echo ran >hook-ran");
    let prepared = place.prepare();
    assert!(!prepared.reused && prepared.created_branch && !prepared.behind);
    assert_eq!(prepared.head, place.job.base);
    assert_eq!(place.text("deep/code"), "code\n");
    assert!(!place.job.path.join("hook-ran").exists());
    let exclude = place.repository.text(".git/info/exclude");
    assert_eq!(exclude.matches("/.worktrees/\n").count(), 1, "{exclude}");
    assert!(!place.repository.git.is_dirty(true).unwrap());
}

#[test]
fn a_line_of_the_user_that_ignores_the_home_is_enough() {
    let place = Place::new();
    place.repository.write(".git/info/exclude", "# mine\n.worktrees/");
    place.prepare();
    assert_eq!(place.repository.text(".git/info/exclude"), "# mine\n.worktrees/");
    place.repository.write(".git/info/exclude", "/.work");
    place.prepare();
    assert_eq!(place.repository.text(".git/info/exclude"), "/.work\n/.worktrees/\n");
}

#[test]
fn a_branch_without_a_worktree_is_used() {
    let place = Place::new();
    place.repository.say(&["branch", "phase-03"]);
    let prepared = place.prepare();
    assert!(!prepared.reused && !prepared.created_branch);
}

#[test]
fn work_that_goes_on_is_left_alone() {
    let place = Place::new();
    place.prepare();
    place.write("done", "d\n");
    let head = commit(&place.worktree(), "done");
    place.write("doing", "d\n");
    let prepared = place.prepare();
    assert_eq!((prepared.head, prepared.behind), (head, false));
    assert_eq!(place.text("doing"), "d\n");
}

#[test]
fn a_worktree_without_commits_follows_the_base() {
    let mut place = Place::new();
    place.prepare();
    place.write("doing", "d\n");
    place.repository.write("file", "newer\n");
    place.job.base = place.repository.commit("newer");
    let prepared = place.prepare();
    assert_eq!((prepared.head, prepared.behind), (place.job.base.clone(), false));
    assert_eq!(place.text("file"), "newer\n");
    assert!(place.is_clean());
    assert_eq!(prepared.rescued.len(), 1);
    assert_eq!(place.show(&prepared.rescued[0].commit, "doing"), "d");
}

#[test]
fn one_with_commits_of_its_own_is_behind_and_stays() {
    let mut place = Place::new();
    place.prepare();
    place.write("done", "d\n");
    let head = commit(&place.worktree(), "done");
    place.write("doing", "d\n");
    place.repository.write("file", "newer\n");
    place.job.base = place.repository.commit("newer");
    let prepared = place.prepare();
    assert_eq!((prepared.head, prepared.behind), (head, true));
    assert_eq!(place.text("doing"), "d\n");
    assert_eq!(prepared.rescued, []);
}

#[test]
fn a_directory_that_is_gone_is_made_again() {
    let place = Place::new();
    place.prepare();
    let other = place.repository.root().join(".worktrees/other");
    place.repository.say(&["worktree", "add", "-q", "--detach", &other.to_string_lossy()]);
    for reason in [None, Some(UNFINISHED)] {
        if let Some(reason) = reason {
            fs::write(place.admin().join("locked"), reason).unwrap();
        }
        fs::remove_dir_all(&place.job.path).unwrap();
        fs::remove_dir_all(&other).ok();
        assert!(!place.prepare().reused);
        assert_eq!(place.text("file"), "one\n");
    }
    let listed = place.repository.say(&["worktree", "list"]);
    assert!(listed.contains("other"), "entries of others are none of our business: {listed}");
}

#[test]
fn a_worktree_whose_making_was_cut_short_is_finished() {
    let place = Place::new();
    place.prepare();
    // Before the index was written: some files are there, one of them not whole.
    fs::write(place.admin().join("locked"), format!("{UNFINISHED}\n")).unwrap();
    fs::remove_file(place.admin().join("index")).unwrap();
    fs::write(place.admin().join("index.lock"), "").unwrap();
    fs::remove_dir_all(place.job.path.join("deep")).unwrap();
    let prepared = place.prepare();
    assert!(prepared.reused);
    assert_eq!(prepared.rescued, [], "there was nothing but files of the commit");
    assert!(place.is_clean());
    // After it, before it was unlocked.
    fs::write(place.admin().join("locked"), UNFINISHED).unwrap();
    assert!(place.prepare().reused);
    // With something that git did not put there.
    fs::remove_file(place.admin().join("index")).unwrap();
    place.write("file", "of a person\n");
    let prepared = place.prepare();
    assert_eq!(place.show(&prepared.rescued[0].commit, "file"), "of a person");
    assert!(place.is_clean());
}

#[test]
fn one_that_was_hardly_begun_is_made_anew() {
    let place = Place::new();
    fs::create_dir_all(&place.job.path).unwrap();
    assert!(!place.prepare().reused, "an empty directory is no hindrance");
    for step in ["no head", "no commit", "no entry", "empty parts"] {
        let admin = place.admin();
        for entry in ["file", "deep/code"] {
            fs::remove_file(place.job.path.join(entry)).unwrap();
        }
        fs::remove_dir(place.job.path.join("deep")).unwrap();
        fs::write(admin.join("locked"), UNFINISHED).unwrap();
        match step {
            "no head" => fs::remove_file(admin.join("HEAD")).unwrap(),
            // With this, git itself cannot list any worktree.
            "empty parts" => fs::write(admin.join("commondir"), "").unwrap(),
            "no commit" => fs::write(admin.join("HEAD"), format!("{:040}\n", 0)).unwrap(),
            _ => fs::remove_dir_all(&admin).unwrap(),
        }
        assert!(!place.prepare().reused, "{step}");
        assert_eq!(place.text("deep/code"), "code\n");
    }
    let entries = fs::read_dir(place.repository.root().join(".git/worktrees")).unwrap();
    assert_eq!(entries.count(), 1, "no entry is left behind");
}

#[test]
fn one_whose_branch_was_not_made_is_made_anew() {
    let place = Place::new();
    place.prepare();
    // We were killed when all was there but the branch.
    for name in ["file", "deep/code"] {
        fs::remove_file(place.job.path.join(name)).unwrap();
    }
    fs::remove_dir(place.job.path.join("deep")).unwrap();
    for name in ["index", "ORIG_HEAD"] {
        fs::remove_file(place.admin().join(name)).unwrap();
    }
    let heads = place.repository.root().join(".git/refs/heads");
    let branch = heads.join(&place.job.branch);
    fs::rename(&branch, heads.join(format!("{}.lock", place.job.branch))).unwrap();
    let prepared = place.prepare();
    assert!(!prepared.reused && prepared.created_branch);
    assert!(branch.exists() && place.is_clean());
    assert_eq!(place.text("deep/code"), "code\n");
}

#[test]
fn unfinished_entries_of_other_phases_are_no_hindrance() {
    let place = Place::new();
    let entries = place.repository.root().join(".git/worktrees");
    for (name, files) in
        [("empty", vec![]), ("p04", vec!["locked"]), ("p05", vec!["locked", "gitdir"])]
    {
        fs::create_dir_all(entries.join(name)).unwrap();
        for file in files {
            let gitdir = place.repository.root().join(".worktrees/p05/.git");
            let text = if file == "locked" { UNFINISHED.into() } else { gitdir.to_string_lossy() };
            fs::write(entries.join(name).join(file), format!("{text}\n")).unwrap();
        }
    }
    write(&place.repository.root().join(".worktrees/p05/.git"), "");
    place.prepare();
    assert_eq!(fs::read_dir(&entries).unwrap().count(), 1);
    assert!(!place.repository.root().join(".worktrees/p05").exists());
    fs::write(place.admin().join("locked"), "on a drive\n").unwrap();
    fs::write(place.admin().join("HEAD"), "").unwrap();
    clear_unfinished(&place.repository.root()).unwrap();
    assert!(entries.join("p03").exists(), "git did not say that it is unfinished");
}

/// What a power failure leaves of an entry that had its place, but whose files were not on the disk.
#[test]
fn an_entry_whose_files_are_empty_is_made_anew() {
    for name in ["commondir", "gitdir", "HEAD"] {
        let place = Place::new();
        begin(&place.repository.root(), &place.job).unwrap();
        let entry = place.admin();
        assert!(!entry.join("index").exists());
        fs::write(entry.join(name), "").unwrap();
        place.prepare();
        assert_eq!(place.text("deep/code"), "code\n", "{name}");
    }
}

#[test]
fn a_lost_link_is_mended_and_never_leads_to_the_main_worktree() {
    let place = Place::new();
    place.prepare();
    place.write("doing", "d\n");
    place.repository.write("file", "of the user\n");
    fs::remove_file(place.job.path.join(".git")).unwrap();
    assert!(place.prepare().reused);
    assert_eq!(place.text("doing"), "d\n");
    assert_eq!(place.repository.text("file"), "of the user\n");
}

#[test]
fn files_of_others_are_not_touched() {
    let place = Place::new();
    place.write("theirs", "t\n");
    let error = place.error();
    assert!(matches!(error, WorktreeError::InTheWay { .. }), "{error}");
    assert_eq!(place.text("theirs"), "t\n");
    let another = Git::new(&place.job.path);
    another.run(&["init", "-q"]).unwrap();
    another.run(&["config", "user.name", "Tester"]).unwrap();
    another.run(&["config", "user.email", "tester@example.com"]).unwrap();
    commit(&another, "another repository");
    assert!(matches!(place.error(), WorktreeError::InTheWay { .. }));
    assert!(!place.repository.git.branch_exists("phase-03").unwrap());
}

#[test]
fn what_an_agent_left_on_another_branch_is_kept() {
    let place = Place::new();
    place.prepare();
    place.worktree().run(&["checkout", "-q", "--detach"]).unwrap();
    place.write("lost", "l\n");
    let lost = commit(&place.worktree(), "lost");
    place.write("doing", "d\n");
    let prepared = place.prepare();
    assert_eq!(prepared.head, place.job.base);
    assert!(place.is_clean());
    let kept = &prepared.rescued;
    assert_eq!(place.show(&kept[0].commit, "doing"), "d");
    assert_eq!((kept.len(), &kept[1].commit), (2, &lost));
}

#[test]
fn a_rebase_in_the_middle_is_given_up() {
    let place = Place::new();
    place.prepare();
    place.write("a", "a\n");
    let tip = commit(&place.worktree(), "a");
    let stopped = place.worktree().with_env("GIT_SEQUENCE_EDITOR", "sed -i 1s/pick/edit/");
    stopped.run(&["rebase", "-q", "-i", "HEAD~1"]).unwrap();
    let prepared = place.prepare();
    assert_eq!(prepared.head, tip);
    assert!(!place.admin().join("rebase-merge").exists());
}

#[test]
fn a_branch_in_use_elsewhere_is_refused() {
    let place = Place::new();
    place.repository.say(&["worktree", "add", "-q", "elsewhere", "-b", "phase-03"]);
    let error = place.error();
    assert!(matches!(error, WorktreeError::Elsewhere { .. }), "{error}");
    fs::remove_dir_all(place.repository.root().join("elsewhere")).unwrap();
    assert!(!place.prepare().reused);
}

#[test]
fn bad_names_and_bases_are_refused_before_anything_happens() {
    let mut place = Place::new();
    for branch in ["-b", "a..b", "", "a b"] {
        place.job.branch = branch.to_owned();
        assert!(matches!(place.error(), WorktreeError::BadBranch { .. }), "{branch}");
    }
    place.job = Prepare { base: "nowhere".to_owned(), ..place.job };
    assert!(matches!(place.error(), WorktreeError::NoBase { .. }));
    assert!(!place.repository.root().join(".worktrees").exists());
    place.job = Prepare { base: "1".repeat(40), branch: "phase-03".to_owned(), ..place.job };
    assert!(matches!(place.error(), WorktreeError::NoBase { .. }));
    assert!(!place.repository.root().join(".worktrees/p03").exists());
    assert_eq!(place.repository.git.commit_of("refs/heads/phase-03").unwrap(), None);
}

#[test]
fn a_locked_index_of_a_killed_git_is_no_hindrance() {
    let mut place = Place::new();
    place.prepare();
    fs::write(place.admin().join("index.lock"), "").unwrap();
    place.repository.write("file", "newer\n");
    place.job.base = place.repository.commit("newer");
    assert_eq!(place.prepare().head, place.job.base);
}

#[test]
fn pointers_of_large_files_need_no_program_to_be_checked_out_and_committed_beside() {
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
        repository.say(&["config", key, value]);
    }
    let path = repository.root().join(".worktrees/p03");
    let job = Prepare { path: path.clone(), branch: "phase-03".into(), base: "main".into() };
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
    repository.say(&["sparse-checkout", "set", "in"]);
    let path = repository.root().join(".worktrees/p03");
    let job = Prepare { path: path.clone(), branch: "phase-03".into(), base: "main".into() };
    prepare(&repository.root(), &job).unwrap();
    assert!(path.join("in/file").exists() && !path.join("out").exists());
}
