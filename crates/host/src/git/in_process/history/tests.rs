//! Linear histories and trailers, each compared with what git lists.

use std::fs;

use super::super::test_history::{FileEdit, HistoryBuilder, TestRandom, assert_left_to_git, set};
use super::*;
use crate::commit;
use crate::git::Git;
use crate::history::History;
use crate::test_repository::Repository;

const NAMES: [&str; 14] = [
    "a",
    "a.b",
    "a/b",
    "a/b/c",
    "a/b.c",
    "a0",
    "ab",
    "d/x",
    "d/y",
    "d/e/f/g",
    "d.e",
    "\u{e4}/\u{f6}",
    ":odd",
    "with space",
];
const MESSAGES: [&str; 7] = [
    "only a subject",
    "a subject\nof two: lines",
    "subject\n\nA body without marks\nof two lines.\n",
    "subject\n\nMow-Plan: 01-01\n",
    "subject\n\nbody: text\n\nMow-Task: 01-01/1\nMow-Seal:  a: b \nX:\n\n\n",
    "subject\n\n\n\nKey:value\nKey:again",
    "",
];

fn line(git: &Git, base: &str, tip: &str) -> Option<Vec<HistoryCommit>> {
    git.in_process()?.linear_history(base, tip, true)
}

fn edits(random: &mut TestRandom) -> Vec<FileEdit> {
    let modes = ["100644", "100644", "100755", "120000"];
    let edit = |random: &mut TestRandom| {
        let path = random.pick(&NAMES).to_owned();
        match random.below(4) {
            0 => FileEdit::Delete(path),
            _ => FileEdit::Set(path, random.pick(&modes), random.below(3).to_string()),
        }
    };
    (0..random.below(5)).map(|_| edit(random)).collect()
}

#[test]
fn linear_history_matches_git_log() {
    let repository = Repository::empty();
    let (mut history, mut ranges) = (HistoryBuilder::new(), Vec::new());
    for seed in 1..=100 {
        let random = &mut TestRandom(seed * 7_919);
        let base = history.commit(&[], b"base", (0, &edits(random)));
        let mut tip = base;
        for _ in 0..random.below(8) {
            let (message, at) = (random.pick(&MESSAGES).as_bytes(), random.below(9));
            tip = history.commit(&[tip], message, (at, &edits(random)));
        }
        ranges.push((base, tip));
    }
    let names = history.make(&repository);
    let mut listed = 0;
    for (base, tip) in ranges {
        let (base, tip) = (&names[base], &names[tip]);
        let ours = line(&repository.git, base, tip).expect("the history is linear");
        if base == tip {
            assert_eq!(ours, []);
            continue;
        }
        let gits = History::load_with_git(&repository.git, base, tip).unwrap();
        assert!(gits.starts_at_base);
        assert_eq!(ours, gits.commits, "{base}..{tip}");
        assert_eq!(History::load(&repository.git, base, tip).unwrap(), gits);
        listed += ours.iter().map(|one| one.changes.len()).sum::<usize>();
    }
    assert!(listed > 300, "{listed}");
}

/// Generates messages from lines that mean something to git, or nearly do.
fn messages(random: &mut TestRandom) -> Vec<Vec<u8>> {
    let lines = [
        "",
        "",
        "",
        "word",
        "Key: value",
        "Key: other",
        "a-b: c",
        "Key : value",
        " folded",
        "\tfolded",
        "# note",
        "---",
        "--- a",
        "Conflicts:",
        "Conflicts: x",
        "\tfile",
        "Signed-off-by: A <a@b>",
        "(cherry picked from commit 1234)",
        "\u{e4}: b",
        "::",
        ": x",
        "Key:",
        "see https://x y: z",
        "K1: a: b",
        "two words: x",
        "  ",
        "Key=value",
        "Signed-off-by",
        "; x",
        "Fixes #12",
        "-: x",
    ];
    let mut all: Vec<Vec<u8>> = MESSAGES.iter().map(|text| text.as_bytes().to_vec()).collect();
    for _ in 0..3_000 {
        let mut text = vec!["subject", ""];
        if random.below(8) == 0 {
            text.pop();
        }
        text.extend((0..random.below(7)).map(|_| random.pick(&lines)));
        all.push(text.join("\n").into_bytes());
    }
    let odd: [&[u8]; 5] =
        [b"s\n\nKey: \xff", b"s\r\n\r\nKey: v\r\n", b"s\n\nK: v\r", b"\ns\n\nK: v", b"\n\nK: v"];
    all.extend(odd.map(<[u8]>::to_vec));
    all
}

#[test]
fn trailers_match_git() {
    let repository = Repository::empty();
    let messages = messages(&mut TestRandom(4_711));
    let mut history = HistoryBuilder::new();
    let base = history.commit(&[], b"base", (0, &[]));
    let mut tip = base;
    for message in &messages {
        tip = history.commit(&[tip], message, (0, &[]));
    }
    let names = history.make(&repository);
    let gits = History::load_with_git(&repository.git, &names[base], &names[tip]).unwrap();
    assert_eq!(gits.commits.len(), messages.len());
    let (mut answered, mut with_trailers) = (0, 0);
    for (one, message) in gits.commits.iter().rev().zip(&messages) {
        let Some(paragraph) = trailer_paragraph(message) else { continue };
        let text = String::from_utf8_lossy(message);
        let own = parse_trailers(paragraph).into_iter();
        let own: Vec<_> = own.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        assert_eq!(own, one.trailers, "{text:?}");
        answered += 1;
        with_trailers += usize::from(!own.is_empty());
    }
    assert!(answered > 500 && with_trailers > 100, "{answered} {with_trailers}");
}

#[test]
fn ambiguous_messages_are_left_to_git() {
    for message in MESSAGES {
        assert!(trailer_paragraph(message.as_bytes()).is_some(), "{message:?}");
    }
    let odd: [&[u8]; 15] = [
        b"s\n\nKey: v\n folded",
        b"s\n\nKey: v\nword",
        b"s\n\nSigned-off-by: A\nword",
        b"s\n\n(cherry picked from commit 1)",
        b"s\n\nKey : v",
        b"s\n\nKey: v\n# note",
        b"# note\ns\n\nKey: v",
        b"s\n\nKey: v\n---\ntext",
        b"s\n\nKey: v\n\nConflicts:\n\tfile",
        b"s\n \nKey: v",
        b"s\n\nKey: v\n  ",
        b"s\r\n\r\nKey: v",
        b"s\n\nKey: \xff",
        b"\ns\n\nKey: v",
        b"s\n\n: v",
    ];
    for message in odd {
        assert_eq!(trailer_paragraph(message), None, "{:?}", String::from_utf8_lossy(message));
    }
}

#[test]
fn nonlinear_history_is_left_to_git() {
    let repository = Repository::empty();
    let mut history = HistoryBuilder::new();
    let one_file = (0, &[set("a", "1")][..]);
    let base = history.commit(&[], b"base", one_file);
    let unrelated = history.commit(&[], b"beside", one_file);
    let one = history.commit(&[base], b"one", one_file);
    let two = history.commit(&[base], b"two", one_file);
    let both = history.commit(&[one, two], b"both", one_file);
    let module = FileEdit::Set("m".to_owned(), "160000", "1".repeat(40));
    let module = history.commit(&[one], b"module", (0, &[module]));
    let deep = set(&"d/".repeat(DEPTH_MAX), "1");
    let FileEdit::Set(path, ..) = &deep else { panic!() };
    let deep = history.commit(&[one], b"deep", (0, &[set(&format!("{path}f"), "1")]));
    let mut long = one;
    for _ in 0..COMMITS_MAX {
        long = history.commit(&[long], b"", (0, &[]));
    }
    let names = history.make(&repository);
    let git = &repository.git;
    let line = |base: usize, tip: usize| line(git, &names[base], &names[tip]);
    assert_eq!(line(base, one).map(|line| line.len()), Some(1));
    assert_eq!(line(one, long).map(|line| line.len()), Some(COMMITS_MAX));
    for (base, tip) in
        [(base, both), (unrelated, one), (one, base), (one, module), (one, deep), (base, long)]
    {
        assert_eq!(line(base, tip), None, "{base}..{tip}");
    }
    let by_name = git.in_process().unwrap().linear_history("refs/invented", &names[one], true);
    assert_eq!(by_name, None, "the base is compared with what git lists");
    let settings = LOG_SETTINGS.map(|key| (key, "x"));
    assert_left_to_git(git, &settings, || line(base, one).is_some());
    let shallow = repository.root().join(".git/shallow");
    fs::write(&shallow, format!("{}\n", names[one])).unwrap();
    assert_eq!(line(base, one), None);
    assert!(!History::load(git, &names[base], &names[one]).unwrap().starts_at_base);
    fs::remove_file(shallow).unwrap();
    repository.run_git(&["replace", &names[one], &names[two]]);
    assert_eq!(line(base, one), None);
}

#[test]
fn noncanonical_trees_are_left_to_git() {
    let repository = Repository::new();
    let base = repository.run_git(&["rev-parse", "HEAD"]);
    let blob = repository.run_git(&["rev-parse", "HEAD:file"]);
    let empty = repository.run_git(&["hash-object", "-w", "-t", "tree", "/dev/null"]);
    let entry = |mode: &str, name: &str, id: &str| {
        [format!("{mode} {name}\0").as_bytes(), InProcessRepo::id(id).unwrap().as_slice()].concat()
    };
    let file = |name: &str| entry("100644", name, &blob);
    let trees = [
        (file("a"), true),
        ([file("a"), file("b")].concat(), true),
        ([file("b"), file("a")].concat(), false),
        ([file("a"), file("a")].concat(), false),
        (entry("100664", "a", &blob), false),
        (entry("40000", "a", &empty), false),
        (file("a/b"), false),
    ];
    for (tree, is_usual) in trees {
        let args = ["hash-object", "-w", "-t", "tree", "--literally", "--stdin"];
        let tree = repository.git.run_with(&args, &tree).unwrap().text();
        let tip = repository.run_git(&["commit-tree", &tree, "-p", &base, "-m", "odd"]);
        let found = line(&repository.git, &base, &tip);
        assert_eq!(found.is_some(), is_usual, "{tree}");
    }
}

#[test]
fn other_encodings_are_left_to_git() {
    let repository = Repository::new();
    let base = repository.run_git(&["rev-parse", "HEAD"]);
    let latin = ["-c", "i18n.commitEncoding=latin1", "commit", "-q", "--allow-empty", "-m", "s"];
    repository.run_git(&latin);
    let tip = repository.run_git(&["rev-parse", "HEAD"]);
    assert_eq!(line(&repository.git, &base, &tip), None);
}

#[test]
fn a_trailer_is_found_up_to_the_head() {
    let repository = Repository::new();
    let base = repository.run_git(&["rev-parse", "HEAD"]);
    let find = |value: &str| {
        commit::find_commit_with_trailer(&repository.git, &base, "Key", value).unwrap()
    };
    assert_eq!(find("one"), None);
    let one = repository.commit("s\n\nKey: one");
    let two = repository.commit("s\n\nKey: two");
    let again = repository.commit("s\n\nKey: one");
    let head = repository.git.in_process().unwrap().linear_history(&base, "HEAD", false).unwrap();
    let names: Vec<_> = head.iter().map(|one| one.commit.as_str()).collect();
    assert_eq!(names, [&again, &two, &one]);
    assert!(head.iter().all(|one| one.changes.is_empty()));
    assert_eq!((find("one"), find("two"), find("three")), (Some(again), Some(two), None));
}
