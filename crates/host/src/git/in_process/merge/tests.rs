//! Generated merges, each compared with git's result.

use super::super::test_history::{FileEdit, HistoryBuilder, TestRandom, set};
use super::*;
use crate::git::Git;
use crate::test_repository::Repository;

fn merged(git: &Git, ours: &str, theirs: &str) -> Option<String> {
    git.in_process().unwrap().merge(ours, theirs)
}

/// Returns git's tree; `None` when it finds conflicts.
fn merged_by_git(git: &Git, ours: &str, theirs: &str) -> Option<String> {
    let answer = git.ask(&["merge-tree", "--write-tree", "-z", ours, theirs]).unwrap();
    let text = answer.text();
    answer.success.then(|| text.trim_end_matches('\0').to_owned())
}

/// Generates the edits of one side; with `only_adds_and_edits` it only adds and edits files.
fn edits(random: &mut TestRandom, side: &str, only_adds_and_edits: bool) -> Vec<FileEdit> {
    let shared = ["a", "a.b", "a/b", "a/c/d", "b/c", "b/d/e", "c", "d/.gitattributes"];
    let modes = ["100644", "100755", "120000"];
    let edit = |random: &mut TestRandom| {
        let (dir, number) = (random.pick(&["", "b/", "b/d/", "x/", "b/x/y/"]), random.below(3));
        let own = format!("{dir}{side}{number}");
        let text = format!("{}\n", random.below(3)).repeat(20);
        match random.below(8) {
            0..4 => FileEdit::Set(own, "100644", text),
            4 if !only_adds_and_edits => FileEdit::Delete(random.pick(&shared).to_owned()),
            5 if !only_adds_and_edits => {
                FileEdit::Set(random.pick(&shared).to_owned(), random.pick(&modes), text)
            }
            6 if !only_adds_and_edits => FileEdit::Delete(own),
            _ if side == "ours" => FileEdit::Set("b/c".to_owned(), "100755", text),
            _ => FileEdit::Set("b/d/e".to_owned(), "100644", text),
        }
    };
    (0..1 + random.below(4)).map(|_| edit(random)).collect()
}

fn base_commit(history: &mut HistoryBuilder) -> usize {
    let paths = ["a", "a.b", "b/c", "b/d/e", "c", "x/z", ".gitattributes"];
    let edits: Vec<_> = paths.iter().map(|path| set(path, &"# text\n".repeat(20))).collect();
    history.commit(&[], b"begin", (0, &edits))
}

#[test]
fn merged_trees_match_git() {
    let repository = Repository::empty();
    let (mut history, mut pairs) = (HistoryBuilder::new(), Vec::new());
    for seed in 1..=150 {
        let random = &mut TestRandom(seed * 104_729);
        let only_adds_and_edits = seed % 3 == 0;
        let base = base_commit(&mut history);
        let mut tips = [base, base];
        for (tip, side) in tips.iter_mut().zip(["ours", "theirs"]) {
            for _ in 0..random.below(3) {
                *tip = history.commit(&[*tip], b"", (0, &edits(random, side, only_adds_and_edits)));
            }
        }
        pairs.push((tips, only_adds_and_edits));
    }
    let names = history.make(&repository);
    let mut taken = 0;
    for ([ours, theirs], only_adds_and_edits) in pairs {
        let (ours, theirs) = (&names[ours], &names[theirs]);
        let own = merged(&repository.git, ours, theirs);
        assert!(own.is_some() || !only_adds_and_edits, "{ours} {theirs}");
        if own.is_some() {
            assert_eq!(own, merged_by_git(&repository.git, ours, theirs), "{ours} {theirs}");
            taken += usize::from(!only_adds_and_edits);
        }
    }
    assert!(taken > 10, "{taken}");
    repository.run_git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn single_merge_base_matches_git() {
    let repository = Repository::empty();
    let (mut history, mut pairs) = (HistoryBuilder::new(), Vec::new());
    for seed in 1..=12 {
        let random = &mut TestRandom(seed * 15_485_863);
        let mut commits = vec![base_commit(&mut history)];
        for _ in 0..14 {
            let mut parents = vec![random.pick(&commits)];
            let other = random.pick(&commits);
            if random.below(3) == 0 && other != parents[0] {
                parents.push(other);
            }
            // Commit times need not follow the history.
            commits.push(history.commit(&parents, b"", (random.below(20), &[])));
        }
        pairs.extend((0..20).map(|_| [random.pick(&commits), random.pick(&commits)]));
    }
    let names = history.make(&repository);
    let repo = repository.git.in_process().unwrap();
    let mut found = 0;
    for [ours, theirs] in pairs {
        let id = |nth: usize| InProcessRepo::id(&names[nth]).unwrap();
        let Some(base) = repo.single_merge_base(id(ours), id(theirs)) else { continue };
        let gits = repository.run_git(&["merge-base", "--all", &names[ours], &names[theirs]]);
        assert_eq!(base.to_string(), gits, "{} {}", names[ours], names[theirs]);
        found += 1;
    }
    assert!(found > 100, "{found}");
}

/// The target has merged other branches, one of which forked before the branch under test.
#[test]
fn typical_run_branches_are_merged_in_process() {
    let repository = Repository::empty();
    let mut history = HistoryBuilder::new();
    let mut target = base_commit(&mut history);
    let mut old = Vec::new();
    for nth in 0..1_200 {
        target = history.commit(&[target], b"", (nth, &[]));
        old.push(target);
    }
    let mut two_commits = |from: usize, name: &str| {
        let one = history.commit(&[from], b"", (5_000, &[set(&format!("{name}/1"), "1")]));
        history.commit(&[one], b"", (5_001, &[set(&format!("{name}/2"), "1")]))
    };
    let early = two_commits(old[1_100], "early");
    let (late, theirs) = (two_commits(target, "late"), two_commits(target, "theirs"));
    let forked = target;
    for (branch, name) in [(early, "early"), (late, "late")] {
        let files = [set(&format!("{name}/1"), "1"), set(&format!("{name}/2"), "1")];
        target = history.commit(&[target, branch], b"", (6_000, &files));
    }
    let names = history.make(&repository);
    repository.run_git(&["update-ref", "refs/mow/run/r1/target", &names[target]]);
    let git = &repository.git;
    for ours in [&names[target], &names[forked]] {
        let own = merged(git, ours, &names[theirs]);
        assert_eq!(own, merged_by_git(git, ours, &names[theirs]));
        assert!(own.is_some());
    }
    let by_name = merged(git, "refs/mow/run/r1/target", &names[theirs]);
    assert_eq!(by_name, merged(git, &names[target], &names[theirs]));
    assert_eq!(merged(git, "HEAD~1", &names[theirs]), None);
    assert_eq!(merged(git, &names[target], "refs/heads/absent"), None);
    let from_long_ago = commit_on_old_base(&repository, &names[old[100]]);
    assert_eq!(merged(git, &names[target], &from_long_ago), None, "that is too far away");
}

fn commit_on_old_base(repository: &Repository, from: &str) -> String {
    let tree = format!("{from}^{{tree}}");
    repository.run_git(&["commit-tree", &tree, "-p", from, "-m", "late"])
}

/// Returns whether a merge of these edits is made in process.
fn merges_in_process(ours: &[FileEdit], theirs: &[FileEdit]) -> bool {
    let repository = Repository::empty();
    let mut history = HistoryBuilder::new();
    let base = base_commit(&mut history);
    let ours = history.commit(&[base], b"", (0, ours));
    let theirs = history.commit(&[base], b"", (0, theirs));
    let names = history.make(&repository);
    let (ours, theirs) = (&names[ours], &names[theirs]);
    let own = merged(&repository.git, ours, theirs);
    assert!(own.is_none() || own == merged_by_git(&repository.git, ours, theirs));
    own.is_some()
}

#[test]
fn uncertain_merges_are_left_to_git() {
    let text = |path: &str| set(path, "other\n");
    let of_mode = |path: &str, mode| FileEdit::Set(path.to_owned(), mode, "1".repeat(40));
    let nothing = text("new");
    assert!(merges_in_process(&[text("a")], &[text("a.b"), of_mode("c", "100755")]));
    assert!(merges_in_process(&[text("b/c")], &[text("b/new/file"), text("b/d/e")]));
    assert!(merges_in_process(&[text("a")], &[text("a")]), "the same on both sides");
    let uncertain = [
        [FileEdit::Delete("c".to_owned()), nothing.clone()],
        [of_mode("c", "120000"), nothing.clone()],
        [of_mode("c", "160000"), nothing.clone()],
        [of_mode("m", "160000"), nothing.clone()],
        [text("c/d"), nothing.clone()],
        [text("b"), nothing.clone()],
        [text(".gitattributes"), nothing.clone()],
        [text("deep/.gitattributes"), nothing.clone()],
        [text(".gitmodules"), nothing.clone()],
        [text("a"), set("a", "another\n")],
        [of_mode("a", "100755"), text("a")],
        [text("new/one"), text("new/two")],
        [text("new"), set("new", "another\n")],
        [text("new"), text("new/file")],
    ];
    for [one, other] in uncertain {
        let (one, other) = (&[one], &[other]);
        assert!(!merges_in_process(one, other), "{one:?} {other:?}");
        assert!(!merges_in_process(other, one), "{other:?} {one:?}");
    }
}

#[test]
fn ambiguous_histories_are_left_to_git() {
    let repository = Repository::empty();
    let mut history = HistoryBuilder::new();
    let base = base_commit(&mut history);
    let alone = base_commit(&mut history);
    let other = history.commit(&[], b"other", (0, &[]));
    let mut next = |parents: &[usize], name: &str| {
        history.commit(parents, name.as_bytes(), (0, &[set(name, "1")]))
    };
    let (left, right) = (next(&[base], "left"), next(&[base], "right"));
    let crossed = [next(&[left, right], "right"), next(&[right, left], "left")];
    let grown = next(&[right], "grown");
    let taken = next(&[left, right], "right");
    let names = history.make(&repository);
    let merged = |ours: usize, theirs: usize| merged(&repository.git, &names[ours], &names[theirs]);
    assert!(merged(left, right).is_some());
    assert_eq!(merged(crossed[0], crossed[1]), None);
    assert_eq!(merged(taken, grown), None, "a part of it was merged before");
    assert!(merged(left, alone).is_some(), "it is the same commit");
    assert_eq!(merged(left, other), None, "nothing in common");
    repository.run_git(&["replace", &names[left], &names[grown]]);
    assert!(repository.git.in_process().is_none());
}
