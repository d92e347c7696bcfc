//! What references held that are gone, where nothing else holds it.
//!
//! Whoever deletes a reference leaves no trace of who it was: agents, people and mow itself may.
//! So nothing here says whose fault it is; it only finds what would be lost.

use std::collections::BTreeSet;
use std::fs;

use super::parse_moved_to;
use crate::git::{Git, GitError, Refs};

/// The references that hold work of people, and work that was rescued.
const WATCHED: [&str; 4] = ["refs/heads", "refs/tags", STASH, "refs/mow/rescue"];
/// The newest stash; its reflog holds the others.
const STASH: &str = "refs/stash";

/// Something that would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// What held it, in words.
    pub holder: String,
    /// The commit.
    pub commit: String,
}

/// Lists what is held by references, the stashes one by one.
pub fn holdings(git: &Git) -> Result<Refs, GitError> {
    let mut all = git.refs(&WATCHED)?;
    if let Some(newest) = all.remove(STASH) {
        let mut stashes = vec![newest];
        if git.has_plain_refs() {
            let log = fs::read(git.common_dir()?.join("logs").join(STASH)).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            stashes.extend(log.lines().filter_map(parse_moved_to));
        } else {
            let list = git.ask(&["stash", "list", "--format=%H"])?.text();
            stashes.extend(list.lines().map(str::to_owned));
        }
        all.extend(stashes.into_iter().map(|commit| (format!("{STASH}/{commit}"), commit)));
    }
    Ok(all)
}

/// Returns what was held before and no reference leads to any more.
pub fn lost(git: &Git, before: &Refs) -> Result<Vec<Lost>, GitError> {
    let now = holdings(git)?;
    let is_gone = |(name, object): &(&String, &String)| match now.get(*name) {
        // Branches move, and their reflogs tell from where; others have none.
        Some(at) => at != *object && !name.starts_with("refs/heads/"),
        None => true,
    };
    let mut lost = Vec::new();
    for (name, object) in before.iter().filter(is_gone) {
        if now.values().any(|held| held == object) {
            continue;
        }
        // Only commits are work; what is gone altogether cannot be kept.
        if let Some(commit) = git.commit_of(object)? {
            lost.push(Lost { holder: holder(name), commit });
        }
    }
    if !lost.is_empty() {
        let commits = lost.iter().map(|one| one.commit.as_str());
        let args = ["rev-list", "--no-walk=unsorted"].into_iter().chain(commits);
        let list = git.run(&args.chain(["--not", "--all"]).collect::<Vec<_>>())?.text();
        let unheld: BTreeSet<_> = list.lines().collect();
        lost.retain(|one| unheld.contains(one.commit.as_str()));
    }
    Ok(lost)
}

/// Says in words what a reference is.
fn holder(name: &str) -> String {
    for (prefix, words) in [
        ("refs/heads/", "the branch "),
        ("refs/tags/", "the tag "),
        ("refs/mow/rescue/", "the rescue "),
    ] {
        if let Some(rest) = name.strip_prefix(prefix) {
            return format!("{words}{rest}");
        }
    }
    "a stash".to_owned()
}
