//! `cargo xtask contract`: how much of the contract the binary has, and how much is tested.
//!
//! A command counts as there when the binary lists it, and as tested when a test of the binary
//! calls it. A defect of the reference counts as tested when a test names it. Only `--strict` makes
//! what is missing a failure.

#[cfg(test)]
mod tests;

use crate::repo;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The commands of the contract, by their first word.
const LEAVES: &[(&str, &[&str])] = &[
    (
        "state",
        &[
            "load",
            "get",
            "update",
            "patch",
            "advance-plan",
            "record-metric",
            "update-progress",
            "add-decision",
            "add-blocker",
            "resolve-blocker",
            "record-session",
            "active-phases",
            "update-phase-row",
        ],
    ),
    ("state-snapshot", &[]),
    ("status", &["init", "read", "write", "aggregate"]),
    ("team-status", &[]),
    (
        "team-update",
        &["--action start", "--action add-teammate", "--action update-teammate", "--action stop"],
    ),
    (
        "worktree",
        &[
            "create",
            "create-native",
            "list-manifest",
            "merge",
            "claim",
            "release",
            "status",
            "update-plan",
            "clean",
            "verify-result",
            "remove-manifest",
            "migrate",
            "clean-backup",
        ],
    ),
    ("roadmap", &["get-phase", "analyze", "analyze-dag", "update-plan-progress"]),
    ("phase", &["next-decimal", "add", "insert", "remove", "complete"]),
    ("phases", &["list"]),
    ("find-phase", &[]),
    ("phase-plan-index", &[]),
    ("requirements", &["mark-complete"]),
    ("milestone", &["complete"]),
    ("validate", &["consistency", "health"]),
    ("progress", &[]),
    (
        "init",
        &[
            "execute-phase",
            "plan-phase",
            "new-project",
            "new-milestone",
            "quick",
            "resume",
            "verify-work",
            "phase-op",
            "todos",
            "milestone-op",
            "map-codebase",
            "progress",
            "auto",
        ],
    ),
    ("message", &["format", "parse"]),
    ("chat-log", &["append", "read", "prune"]),
    ("dashboard", &["render", "event add", "event prune", "state", "clear"]),
    ("format", &["banner", "banner-phase", "banner-error", "progress"]),
    ("resolve-model", &[]),
    ("commit", &[]),
    ("generate-slug", &[]),
    ("current-timestamp", &[]),
    ("verify-path-exists", &[]),
    ("list-todos", &[]),
    ("todo", &["start", "complete"]),
    ("config-ensure-section", &[]),
    ("config-set", &[]),
    ("config-get", &[]),
    ("config", &["nudge-dismiss"]),
    ("history-digest", &[]),
    ("summary-extract", &[]),
    ("verify-summary", &[]),
    ("template", &["select", "fill"]),
    ("scaffold", &["context", "uat", "verification", "phase-dir"]),
    ("frontmatter", &["get", "set", "merge", "validate"]),
    (
        "verify",
        &[
            "plan-structure",
            "phase-completeness",
            "references",
            "commits",
            "artifacts",
            "key-links",
        ],
    ),
    ("websearch", &[]),
];

/// Commands that take the last words of a leaf as arguments.
const WITH_ARGUMENTS: &[&str] = &["team-update", "scaffold"];

/// Defects of the reference are numbered from one to this.
const DEFECTS: usize = 59;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_strict = match arguments {
        [] => false,
        [flag] if flag == "--strict" => true,
        [other, ..] => bail!("unexpected argument {other:?}"),
    };
    let commands = load_commands()?;
    let calls = join_words(&load_tests(&repo::root(), "crates/mow/tests/it")?);
    let tests = load_tests(&repo::root(), "crates")?;
    let leaves = leaves();
    let defects: Vec<_> = (1..=DEFECTS).map(|number| format!("D{number}")).collect();
    let absent = lacking(&leaves, |leaf| is_there(&commands, leaf));
    let uncalled = lacking(&leaves, |leaf| is_called(&calls, leaf));
    let unnamed = lacking(&defects, |defect| names_defect(&tests, defect));
    report("commands in the binary", leaves.len(), &absent);
    report("commands called by a test", leaves.len(), &uncalled);
    report("defects named by a test", defects.len(), &unnamed);
    if is_strict && !(absent.is_empty() && uncalled.is_empty() && unnamed.is_empty()) {
        bail!("the contract is not covered");
    }
    Ok(())
}

/// Every command of the contract as one would type it.
pub(crate) fn leaves() -> Vec<String> {
    let leaves = LEAVES.iter().flat_map(|(word, rest)| match rest {
        [] => vec![(*word).to_owned()],
        rest => rest.iter().map(|rest| format!("{word} {rest}")).collect(),
    });
    leaves.collect()
}

fn lacking(items: &[String], is_covered: impl Fn(&str) -> bool) -> Vec<&str> {
    items.iter().map(String::as_str).filter(|item| !is_covered(item)).collect()
}

fn report(what: &str, total: usize, lacking: &[&str]) {
    println!("{:4}/{total} {what}", total - lacking.len());
    if !lacking.is_empty() {
        println!("         lacking: {}", lacking.join(", "));
    }
}

fn load_commands() -> Result<BTreeSet<String>> {
    let mow = repo::build("mow", "mow", "dev")?;
    let output = Command::new(&mow).arg("__commands").output().context("cannot run mow")?;
    let list: Vec<String> =
        serde_json::from_slice(&output.stdout).context("mow __commands printed no list")?;
    Ok(list.into_iter().collect())
}

/// Tells whether the binary has a command.
fn is_there(commands: &BTreeSet<String>, leaf: &str) -> bool {
    let first = leaf.split(' ').next().unwrap_or(leaf);
    commands.contains(leaf) || WITH_ARGUMENTS.contains(&first) && commands.contains(first)
}

/// Reads the tests below a directory as one text.
fn load_tests(root: &Path, below: &str) -> Result<String> {
    let mut text = String::new();
    let mut folders = vec![root.join(below)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let relative = path.strip_prefix(root).expect("found below the root").to_string_lossy();
            let is_test = relative.contains("/tests/") || relative.ends_with("/tests.rs");
            if path.is_dir() {
                folders.push(path);
            } else if is_test && path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(&path)?);
                text.push('\n');
            }
        }
    }
    Ok(text)
}

/// Joins neighbouring literals, so that `["state", "get"]` reads as `["state get"]`.
fn join_words(source: &str) -> String {
    let mut joined = String::with_capacity(source.len());
    let mut was_comma = false;
    for piece in source.split('"') {
        let is_comma = piece.trim() == ",";
        if is_comma {
            joined.push(' ');
        } else {
            joined.push_str(if was_comma { "" } else { "\"" });
            joined.push_str(piece);
        }
        was_comma = is_comma;
    }
    joined
}

/// Tells whether a literal begins with the words of a command.
fn is_called(calls: &str, leaf: &str) -> bool {
    let quoted = format!("\"{leaf}");
    calls.match_indices(&quoted).any(|(at, _)| {
        let rest = &calls[at + quoted.len()..];
        let is_key = rest.starts_with('"') && rest[1..].trim_start().starts_with(':');
        // Neither `git commit` nor the index in `answer["commit"]` is a call of ours.
        let before = calls[..at].trim_end_matches(['&', '[', '\n', ' ']);
        let is_git = before.rsplit('(').nth(1).is_some_and(|call| call.ends_with(".git"))
            && before.ends_with(',');
        let is_index = calls[..at].ends_with('[')
            && before.ends_with(|c: char| c.is_alphanumeric() || c == ']');
        (rest.starts_with(' ') || rest.starts_with('"')) && !is_key && !is_git && !is_index
    })
}

/// Tells whether a test is called `d12_…` or `d3_d12_…`, or says `D12`.
fn names_defect(tests: &str, defect: &str) -> bool {
    let name = defect.to_lowercase();
    let is_number = |part: &&str| part.strip_prefix('d').is_some_and(|n| n.parse::<u8>().is_ok());
    let is_named = tests.split("fn ").skip(1).any(|test| {
        let parts = test.split('_').take_while(is_number);
        parts.into_iter().any(|part| part == name)
    });
    let is_word = |at: usize| {
        let rest = &tests[at + defect.len()..];
        let before = tests[..at].chars().next_back();
        !rest.starts_with(|c: char| c.is_ascii_alphanumeric())
            && before.is_none_or(|c| !c.is_ascii_alphanumeric())
    };
    is_named || tests.match_indices(defect).any(|(at, _)| is_word(at))
}
