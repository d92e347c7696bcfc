//! Worktrees checked out in process must be identical to those that git checks out.

#![expect(clippy::disallowed_methods, reason = "tests set files up and break them")]

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::super::files::FILE_BYTES_MAX;
use crate::git::Git;
use crate::test_repository::Repository;

/// Adds a worktree without files, on a branch of its own.
fn bare_worktree(repository: &Repository, name: &str, commit: &str) -> Git {
    repository.write(".git/info/exclude", "/.w/\n");
    let path = repository.root().join(".w").join(name);
    let (branch, at) = (format!("b-{name}"), path.to_string_lossy());
    let words = ["worktree", "add", "-q", "--no-checkout", "--no-track", "-b", &branch];
    repository.run_git(&[&words[..], &[&*at, commit]].concat());
    Git::at_top(&path).plumbing()
}

fn checkout(git: &Git) -> Option<()> {
    git.in_process().unwrap().checkout(git)
}

/// Lists names, modes and contents below a directory, except the link to the repository.
fn listing(dir: &Path) -> Vec<(Vec<u8>, u32, Vec<u8>)> {
    let mut all = Vec::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(path) = left.pop() {
        for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(dir).unwrap().as_os_str().as_bytes().to_vec();
            if name == b".git" {
                continue;
            }
            let content = match kind {
                _ if kind.is_symlink() => {
                    fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
                }
                _ if kind.is_dir() => Vec::new(),
                _ => fs::read(&path).unwrap(),
            };
            all.push((name, entry.metadata().unwrap().permissions().mode(), content));
            if kind.is_dir() {
                left.push(path);
            }
        }
    }
    all.sort();
    all
}

/// Returns an index without stat fields and without its checksum.
fn masked_index(file: &Path) -> Vec<u8> {
    let mut bytes = fs::read(file).unwrap();
    bytes.truncate(bytes.len() - 20);
    let count = u32::from_be_bytes(bytes[8..12].try_into().unwrap());
    let mut at = 12;
    for _ in 0..count {
        bytes[at..at + 24].fill(0);
        bytes[at + 28..at + 36].fill(0);
        let name = bytes[at + 62..].iter().position(|byte| *byte == 0).unwrap();
        at += (62 + name) / 8 * 8 + 8;
    }
    bytes
}

/// Checks that an index holds each file's stat, and that all files are older than the index; mow
/// would read others again and again.
fn check_stats(file: &Path, dir: &Path) {
    let bytes = fs::read(file).unwrap();
    let written = file.metadata().unwrap();
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let low = |number: u64| u32::try_from(number & 0xffff_ffff).unwrap();
    let mut at = 12;
    for _ in 0..number(8) {
        let name = bytes[at + 62..].iter().position(|byte| *byte == 0).unwrap();
        let path = dir.join(OsStr::from_bytes(&bytes[at + 62..at + 62 + name]));
        let stat = path.symlink_metadata().unwrap();
        let times = [stat.ctime(), stat.ctime_nsec(), stat.mtime(), stat.mtime_nsec()];
        let mut wanted: Vec<_> = times.map(|time| low(time.cast_unsigned())).to_vec();
        let mode = number(at + 24);
        wanted.extend([low(stat.dev()), low(stat.ino()), mode, stat.uid(), stat.gid()]);
        wanted.push(low(stat.size()));
        let found: Vec<_> = (0..10).map(|field| number(at + 4 * field)).collect();
        assert_eq!(found, wanted, "{}", path.display());
        let is_older = (times[2], times[3]) < (written.mtime(), written.mtime_nsec());
        assert!(is_older, "{}", path.display());
        at += (62 + name) / 8 * 8 + 8;
    }
}

/// Returns a reflog without the times.
fn masked_log(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| {
        let (actor, message) = line.split_once('\t').unwrap_or((line, "-"));
        let words: Vec<_> = actor.split(' ').collect();
        format!("{} {}\t{message}\n", words[..words.len() - 2].join(" "), words[words.len() - 1])
    });
    lines.collect()
}

/// Checks out a commit in process and with git, and compares the results.
fn check_same(repository: &Repository, name: &str, commit: &str) {
    let ours = bare_worktree(repository, &format!("o{name}"), commit);
    let gits = bare_worktree(repository, &format!("g{name}"), commit);
    assert_eq!(checkout(&ours), Some(()), "{name} is an ordinary tree");
    gits.run(&["reset", "-q", "--hard", "--no-recurse-submodules"]).unwrap();

    assert_eq!(listing(ours.dir()), listing(gits.dir()), "{name}");
    let (own, other) = (ours.git_dir().unwrap(), gits.git_dir().unwrap());
    assert_eq!(masked_index(&own.join("index")), masked_index(&other.join("index")), "{name}");
    check_stats(&own.join("index"), ours.dir());
    let orig = |dir: &PathBuf| fs::read(dir.join("ORIG_HEAD")).unwrap();
    assert_eq!(orig(&own), orig(&other));
    let log = |dir: &PathBuf| masked_log(&dir.join("logs/HEAD"));
    assert_eq!(log(&own), log(&other));
    let names = |dir: &PathBuf| {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    assert_eq!(names(&own), names(&other));

    // If files looked changed, git would update the index.
    let before = fs::read(own.join("index")).unwrap();
    assert_eq!(ours.run(&["status", "--porcelain"]).unwrap().text(), "", "{name}");
    assert_eq!(fs::read(own.join("index")).unwrap(), before, "{name} was known to be unchanged");
    // The more worktrees there are, the longer git takes to add one.
    for dir in [own.as_path(), &other, ours.dir(), gits.dir()] {
        fs::remove_dir_all(dir).unwrap();
    }
}

/// A deterministic random number generator.
struct SeededRng(u64);

impl SeededRng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap() % bound
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn path(&mut self) -> Vec<u8> {
        let names: [&[u8]; 20] = [
            b"a",
            b"a.b",
            b"a-",
            b"a0",
            b"ab",
            b"b",
            b"with space",
            b"new\nline",
            b"\xff\xfe",
            "\u{e9}".as_bytes(),
            b"\"quoted\"",
            b".gitignore",
            b".github",
            b"git",
            b"-rf",
            b"c:d",
            b"tab\t",
            b"z",
            b"a longer name than most others are",
            b"*?[",
        ];
        let depth = self.pick(&[0, 0, 0, 1, 1, 2, 3, 12]);
        let parts: Vec<_> = (0..=depth).map(|_| self.pick(&names)).collect();
        parts.join(&b'/')
    }

    fn content(&mut self, is_link: bool) -> Vec<u8> {
        if is_link {
            return self.pick(&[&b"a"[..], b"../out", b"/nowhere", b"\xff"]).to_vec();
        }
        let line = self.pick(&[&b""[..], b"text\n", b"text\r\n", b"\0\xff", b"$Id$\n"]);
        line.repeat(self.pick(&[1, 3, 5000]))
    }
}

/// The cached tree of the last checkout is used where it is the same, and nowhere else.
#[test]
fn nearly_identical_worktrees_match_git() {
    let repository = Repository::new();
    for n in 0..6 {
        repository.write(&format!("dir/{n}/file"), "one\n");
        repository.write(&format!("dir/{n}.x"), "one\n");
    }
    let first = repository.commit("first");
    repository.write("dir/2/file", "two\n");
    let second = repository.commit("a file of one folder");
    repository.run_git(&["rm", "-rq", "dir/3", "dir/4.x"]);
    repository.write("dir/3", "a file\n");
    repository.write("dir/4.x/file", "in a folder\n");
    let third = repository.commit("a file for a folder, and the other way round");
    repository.run_git(&["mv", "dir/0", "dir/7"]);
    let fourth = repository.commit("the same folder elsewhere");
    for (name, commit) in [&first, &second, &third, &fourth, &first].into_iter().enumerate() {
        check_same(&repository, &name.to_string(), commit);
    }
}

#[test]
fn random_trees_become_the_files_and_the_index_that_git_makes() {
    const TREES: usize = 100;
    let repository = Repository::empty();
    let mut rng = SeededRng(0x9e37_79b9_7f4a_7c15);
    let mut input = Vec::new();
    for tree in 0..TREES {
        let head =
            format!("commit refs/heads/t{tree}\ncommitter T <t@e> 1 +0000\ndata 0\ndeleteall\n");
        input.extend_from_slice(head.as_bytes());
        for _ in 0..rng.below(20) {
            let mode = rng.pick(&["100644", "100644", "100755", "120000"]);
            let content = rng.content(mode == "120000");
            let path = rng.path().iter().fold(String::new(), |mut path, byte| {
                write!(path, "\\{byte:03o}").unwrap();
                path
            });
            let head = format!("M {mode} inline \"{path}\"\ndata {}\n", content.len());
            input.extend_from_slice(head.as_bytes());
            input.extend_from_slice(&content);
            input.push(b'\n');
        }
    }
    repository.git.run_with(&["fast-import", "--quiet"], &input).unwrap();
    for tree in 0..TREES {
        // Some objects are packed, some are loose.
        check_same(&repository, &tree.to_string(), &format!("t{tree}"));
    }
}

#[test]
fn ordinary_trees_are_checked_out_in_process() {
    let repository = Repository::empty();
    check_same(&repository, "empty", &repository.commit("nothing"));
    repository.write("src/main.rs", "fn main() {}\n");
    repository.write(".gitattributes", "*.png diff=pictures\n/docs linguist-generated\n");
    repository.write(".gitmodules", "");
    repository.run_git(&["config", "core.eol", "crlf"]);
    repository.run_git(&["config", "core.autocrlf", "false"]);
    check_same(&repository, "loose", &repository.commit("some"));
    let deep: PathBuf = (0..40).map(|_| "a folder in a folder in a folder").collect();
    let names = [format!("{}/file", deep.display()), format!("{}/file", "n".repeat(255))];
    for name in &names {
        repository.write(name, "deep\n");
    }
    repository.commit("deep");
    repository.run_git(&["repack", "-adq"]);
    check_same(&repository, "packed", "HEAD");
}

/// Checks that a checkout is left to git, and that nothing was written.
fn check_left_to_git(what: &str, prepare: impl FnOnce(&Repository)) {
    let repository = Repository::new();
    repository.write("dir/file", "two\n");
    repository.commit("second");
    prepare(&repository);
    let git = bare_worktree(&repository, "one", "HEAD");
    assert_eq!(git.in_process().and_then(|repo| repo.checkout(&git)), None, "{what}");
    assert!(!git.git_dir().unwrap().join("index.lock").exists());
    assert_eq!(listing(git.dir()), [], "{what}: nothing is begun that git is asked to do");
}

#[test]
fn settings_that_change_checkouts_are_left_to_git() {
    for (key, value) in [
        ("core.autocrlf", "true"),
        ("core.autocrlf", "input"),
        ("core.symlinks", "false"),
        ("core.fileMode", "0"),
        ("core.ignoreCase", "yes"),
        ("core.splitIndex", "true"),
        ("core.sparseCheckout", "true"),
        ("core.logAllRefUpdates", "false"),
        ("core.logAllRefUpdates", "always"),
        ("core.untrackedCache", "true"),
        ("core.checkStat", "minimal"),
        ("core.attributesFile", "relative"),
        ("index.version", "4"),
        ("index.skipHash", "true"),
        ("feature.manyFiles", "true"),
        ("attr.tree", "HEAD"),
    ] {
        check_left_to_git(key, |repository| drop(repository.run_git(&["config", key, value])));
    }
    check_left_to_git("a setting without a value", |repository| {
        let config = repository.root().join(".git/config");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, format!("{text}[core]\n\tautocrlf\n")).unwrap();
    });
}

#[test]
fn attributes_that_change_files_are_left_to_git() {
    let lines =
        ["* text=auto", "* eol=crlf", "*.bin filter=lfs", "x ident", "[attr]y -text", "z binary"];
    for line in lines {
        check_left_to_git(line, |repository| {
            repository.write(".gitattributes", line);
            repository.commit("attributes");
        });
    }
    check_left_to_git("in a folder", |repository| {
        repository.write("dir/.gitattributes", "* working-tree-encoding=UTF-8");
        repository.commit("attributes");
    });
    check_left_to_git("a link", |repository| {
        symlink("file", repository.root().join(".gitattributes")).unwrap();
        repository.commit("attributes");
    });
    check_left_to_git("of the repository", |repository| {
        repository.write(".git/info/attributes", "* text");
    });
    check_left_to_git("of the user", |repository| {
        repository.write("mine", "* text");
        let file = repository.root().join("mine");
        repository.run_git(&["config", "core.attributesFile", &file.to_string_lossy()]);
    });
}

#[test]
fn unusual_tree_entries_are_left_to_git() {
    check_left_to_git("another repository", |repository| {
        let head = repository.run_git(&["rev-parse", "HEAD"]);
        repository.run_git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{head},sub"),
        ]);
        repository.run_git(&["commit", "-qm", "sub"]);
    });
    check_left_to_git("a large file", |repository| {
        let file = fs::File::create(repository.root().join("large")).unwrap();
        file.set_len(FILE_BYTES_MAX + 1).unwrap();
        repository.commit("large");
    });
    for name in ["back\\slash", ".git", ".GIT", "git~1", ".git ", ".gi\u{200c}t", "..", "."] {
        check_tree(name, |blob| format!("100644 blob {blob}\t{name}\n"));
    }
    check_tree("a link for modules", |blob| format!("120000 blob {blob}\t.gitmodules\n"));
    check_tree("another mode", |blob| format!("100664 blob {blob}\tname\n"));
    let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    check_tree("a folder without files", |_| format!("040000 tree {empty}\tname\n"));
}

/// Checks a tree that git would not create from files.
fn check_tree(what: &str, line: impl FnOnce(&str) -> String) {
    check_left_to_git(what, |repository| {
        repository.git.run(&["hash-object", "-w", "-t", "tree", "/dev/null"]).unwrap();
        let blob = repository.run_git(&["rev-parse", "HEAD:file"]);
        let line = line(&blob);
        let (head, name) = line.trim_end_matches('\n').split_once('\t').unwrap();
        let [mode, _, id] = head.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let mut bytes = format!("{} {name}\0", mode.trim_start_matches('0')).into_bytes();
        bytes.extend_from_slice(gix::ObjectId::from_hex(id.as_bytes()).unwrap().as_bytes());
        let words = ["hash-object", "-w", "-t", "tree", "--literally", "--stdin"];
        let tree = repository.git.run_with(&words, &bytes).unwrap().text();
        let commit = repository.run_git(&["commit-tree", "-m", "odd", &tree]);
        repository.run_git(&["update-ref", "refs/heads/main", &commit]);
    });
}

#[test]
fn existing_files_links_and_locks_are_left_alone() {
    let repository = Repository::new();
    repository.write("dir/file", "two\n");
    let commit = repository.commit("second");
    let worktree = |name: &str| bare_worktree(&repository, name, &commit);

    let file = worktree("file");
    fs::write(file.dir().join("file"), "mine").unwrap();
    assert_eq!(checkout(&file), None);
    assert_eq!(fs::read_to_string(file.dir().join("file")).unwrap(), "mine");
    assert!(!file.git_dir().unwrap().join("index").exists());
    assert!(!file.git_dir().unwrap().join("index.lock").exists());

    let link = worktree("link");
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), link.dir().join("dir")).unwrap();
    assert_eq!(checkout(&link), None);
    assert_eq!(listing(outside.path()), []);

    let locked = worktree("locked");
    fs::write(locked.git_dir().unwrap().join("index.lock"), "").unwrap();
    assert_eq!(checkout(&locked), None);
    assert!(locked.git_dir().unwrap().join("index.lock").exists(), "another process holds it");

    let filled = worktree("filled");
    assert_eq!(checkout(&filled), Some(()));
    assert_eq!(checkout(&filled), None, "it is not empty any more");
}
