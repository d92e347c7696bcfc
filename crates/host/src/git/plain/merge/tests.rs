//! Made-up merges, each compared with what git makes of it.

use super::super::invented::{Edit, Invented, Random, set};
use super::*;
use crate::git::Git;
use crate::test_repository::Repository;

fn merged(git: &Git, ours: &str, theirs: &str) -> Option<String> {
    git.plain().unwrap().merge(ours, theirs)
}

/// Returns git's tree; `None` when it finds conflicts.
fn merged_by_git(git: &Git, ours: &str, theirs: &str) -> Option<String> {
    let answer = git.ask(&["merge-tree", "--write-tree", "-z", ours, theirs]).unwrap();
    let text = answer.text();
    answer.success.then(|| text.trim_end_matches('\0').to_owned())
}

/// Makes up what one side does to files; tame sides only add and change.
fn edits(random: &mut Random, side: &str, is_tame: bool) -> Vec<Edit> {
    let shared = ["a", "a.b", "a/b", "a/c/d", "b/c", "b/d/e", "c", "d/.gitattributes"];
    let modes = ["100644", "100755", "120000"];
    let edit = |random: &mut Random| {
        let (dir, number) = (random.of(&["", "b/", "b/d/", "x/", "b/x/y/"]), random.below(3));
        let own = format!("{dir}{side}{number}");
        let text = format!("{}\n", random.below(3)).repeat(20);
        match random.below(8) {
            0..4 => Edit::Set(own, "100644", text),
            4 if !is_tame => Edit::Delete(random.of(&shared).to_owned()),
            5 if !is_tame => Edit::Set(random.of(&shared).to_owned(), random.of(&modes), text),
            6 if !is_tame => Edit::Delete(own),
            _ if side == "ours" => Edit::Set("b/c".to_owned(), "100755", text),
            _ => Edit::Set("b/d/e".to_owned(), "100644", text),
        }
    };
    (0..1 + random.below(4)).map(|_| edit(random)).collect()
}

fn begin(invented: &mut Invented) -> usize {
    let paths = ["a", "a.b", "b/c", "b/d/e", "c", "x/z", ".gitattributes"];
    let edits: Vec<_> = paths.iter().map(|path| set(path, &"# text\n".repeat(20))).collect();
    invented.commit(&[], b"begin", (0, &edits))
}

#[test]
fn trees_are_those_of_git() {
    let repository = Repository::empty();
    let (mut invented, mut pairs) = (Invented::new(), Vec::new());
    for seed in 1..=150 {
        let random = &mut Random(seed * 104_729);
        let is_tame = seed % 3 == 0;
        let base = begin(&mut invented);
        let mut tips = [base, base];
        for (tip, side) in tips.iter_mut().zip(["ours", "theirs"]) {
            for _ in 0..random.below(3) {
                *tip = invented.commit(&[*tip], b"", (0, &edits(random, side, is_tame)));
            }
        }
        pairs.push((tips, is_tame));
    }
    let names = invented.make(&repository);
    let mut taken = 0;
    for ([ours, theirs], is_tame) in pairs {
        let (ours, theirs) = (&names[ours], &names[theirs]);
        let own = merged(&repository.git, ours, theirs);
        assert!(own.is_some() || !is_tame, "{ours} {theirs}");
        if own.is_some() {
            assert_eq!(own, merged_by_git(&repository.git, ours, theirs), "{ours} {theirs}");
            taken += usize::from(!is_tame);
        }
    }
    assert!(taken > 10, "{taken}");
    repository.say(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn the_base_is_the_only_one() {
    let repository = Repository::empty();
    let (mut invented, mut pairs) = (Invented::new(), Vec::new());
    for seed in 1..=12 {
        let random = &mut Random(seed * 15_485_863);
        let mut commits = vec![begin(&mut invented)];
        for _ in 0..14 {
            let mut parents = vec![random.of(&commits)];
            let other = random.of(&commits);
            if random.below(3) == 0 && other != parents[0] {
                parents.push(other);
            }
            // The clock goes wrong, too.
            commits.push(invented.commit(&parents, b"", (random.below(20), &[])));
        }
        pairs.extend((0..20).map(|_| [random.of(&commits), random.of(&commits)]));
    }
    let names = invented.make(&repository);
    let plain = repository.git.plain().unwrap();
    let mut found = 0;
    for [ours, theirs] in pairs {
        let id = |nth: usize| Plain::id(&names[nth]).unwrap();
        let Some(base) = plain.only_base(id(ours), id(theirs)) else { continue };
        let gits = repository.say(&["merge-base", "--all", &names[ours], &names[theirs]]);
        assert_eq!(base.to_string(), gits, "{} {}", names[ours], names[theirs]);
        found += 1;
    }
    assert!(found > 100, "{found}");
}

/// A target that others were merged to, one of which had begun before the branch did.
#[test]
fn branches_of_a_run_are_merged_here() {
    let repository = Repository::empty();
    let mut invented = Invented::new();
    let mut target = begin(&mut invented);
    let mut old = Vec::new();
    for nth in 0..1_200 {
        target = invented.commit(&[target], b"", (nth, &[]));
        old.push(target);
    }
    let mut begun = |from: usize, name: &str| {
        let one = invented.commit(&[from], b"", (5_000, &[set(&format!("{name}/1"), "1")]));
        invented.commit(&[one], b"", (5_001, &[set(&format!("{name}/2"), "1")]))
    };
    let early = begun(old[1_100], "early");
    let (late, theirs) = (begun(target, "late"), begun(target, "theirs"));
    let forked = target;
    for (branch, name) in [(early, "early"), (late, "late")] {
        let files = [set(&format!("{name}/1"), "1"), set(&format!("{name}/2"), "1")];
        target = invented.commit(&[target, branch], b"", (6_000, &files));
    }
    let names = invented.make(&repository);
    repository.say(&["update-ref", "refs/mow/run/r1/target", &names[target]]);
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
    let from_long_ago = begun_long_ago(&repository, &names[old[100]]);
    assert_eq!(merged(git, &names[target], &from_long_ago), None, "that is too far away");
}

fn begun_long_ago(repository: &Repository, from: &str) -> String {
    let tree = format!("{from}^{{tree}}");
    repository.say(&["commit-tree", &tree, "-p", from, "-m", "late"])
}

/// Returns whether a merge of what two sides do is made here.
fn is_taken(ours: &[Edit], theirs: &[Edit]) -> bool {
    let repository = Repository::empty();
    let mut invented = Invented::new();
    let base = begin(&mut invented);
    let ours = invented.commit(&[base], b"", (0, ours));
    let theirs = invented.commit(&[base], b"", (0, theirs));
    let names = invented.make(&repository);
    let (ours, theirs) = (&names[ours], &names[theirs]);
    let own = merged(&repository.git, ours, theirs);
    assert!(own.is_none() || own == merged_by_git(&repository.git, ours, theirs));
    own.is_some()
}

#[test]
fn what_leaves_doubt_is_left_to_git() {
    let text = |path: &str| set(path, "other\n");
    let of_mode = |path: &str, mode| Edit::Set(path.to_owned(), mode, "1".repeat(40));
    let nothing = text("new");
    assert!(is_taken(&[text("a")], &[text("a.b"), of_mode("c", "100755")]));
    assert!(is_taken(&[text("b/c")], &[text("b/new/file"), text("b/d/e")]));
    assert!(is_taken(&[text("a")], &[text("a")]), "the same on both sides");
    let doubtful = [
        [Edit::Delete("c".to_owned()), nothing.clone()],
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
    for [one, other] in doubtful {
        let (one, other) = (&[one], &[other]);
        assert!(!is_taken(one, other), "{one:?} {other:?}");
        assert!(!is_taken(other, one), "{other:?} {one:?}");
    }
}

#[test]
fn histories_with_a_doubt_are_left_to_git() {
    let repository = Repository::empty();
    let mut invented = Invented::new();
    let base = begin(&mut invented);
    let alone = begin(&mut invented);
    let other = invented.commit(&[], b"other", (0, &[]));
    let mut next = |parents: &[usize], name: &str| {
        invented.commit(parents, name.as_bytes(), (0, &[set(name, "1")]))
    };
    let (left, right) = (next(&[base], "left"), next(&[base], "right"));
    let crossed = [next(&[left, right], "right"), next(&[right, left], "left")];
    let grown = next(&[right], "grown");
    let taken = next(&[left, right], "right");
    let names = invented.make(&repository);
    let merged = |ours: usize, theirs: usize| merged(&repository.git, &names[ours], &names[theirs]);
    assert!(merged(left, right).is_some());
    assert_eq!(merged(crossed[0], crossed[1]), None);
    assert_eq!(merged(taken, grown), None, "a part of it was merged before");
    assert!(merged(left, alone).is_some(), "it is the same commit");
    assert_eq!(merged(left, other), None, "nothing in common");
    repository.say(&["replace", &names[left], &names[grown]]);
    assert!(repository.git.plain().is_none());
}
