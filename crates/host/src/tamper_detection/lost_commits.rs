//! Finds commits that no ref reaches any more because a ref was deleted or moved.
//!
//! Git does not record who deleted a ref: it may be an agent, a person or mow itself. So this
//! module blames nobody; it only finds the commits that would be lost.

use std::collections::BTreeSet;
use std::fs;

use super::parse_moved_to;
use crate::git::{Git, GitError, Refs};

/// Refs that hold people's work, and rescued work.
const WATCHED: [&str; 4] = ["refs/heads", "refs/tags", STASH, "refs/mow/rescue"];
/// The newest stash; its reflog holds the others.
const STASH: &str = "refs/stash";

/// A commit that no ref reaches any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostCommit {
    /// The ref that held the commit, for people: "the branch x".
    pub holder: String,
    /// The hash of the commit.
    pub commit: String,
}

/// Lists the commits that branches, tags, rescue refs and stashes hold, by ref; each stash
/// separately.
pub fn list_held_commits(git: &Git) -> Result<Refs, GitError> {
    let mut all = git.refs(&WATCHED)?;
    if let Some(newest) = all.remove(STASH) {
        let mut stashes = vec![newest];
        if git.has_file_refs() {
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

/// Returns the commits that were held `before` and that no ref reaches now.
pub fn find_lost_commits(git: &Git, before: &Refs) -> Result<Vec<LostCommit>, GitError> {
    let now = list_held_commits(git)?;
    let is_gone = |(name, object): &(&String, &String)| match now.get(*name) {
        // Branches may move, because their reflogs keep the old commits. Other refs have no reflog.
        Some(current) => current != *object && !name.starts_with("refs/heads/"),
        None => true,
    };
    let mut lost = Vec::new();
    for (name, object) in before.iter().filter(is_gone) {
        if now.values().any(|held| held == object) {
            continue;
        }
        // Only commits hold work. An object that is already deleted cannot be kept.
        if let Some(commit) = git.commit_of(object)? {
            lost.push(LostCommit { holder: describe_ref(name), commit });
        }
    }
    if !lost.is_empty() {
        let commits = lost.iter().map(|lost| lost.commit.as_str());
        let args = ["rev-list", "--no-walk=unsorted"].into_iter().chain(commits);
        let list = git.run(&args.chain(["--not", "--all"]).collect::<Vec<_>>())?.text();
        let unheld: BTreeSet<_> = list.lines().collect();
        lost.retain(|lost| unheld.contains(lost.commit.as_str()));
    }
    Ok(lost)
}

/// Names a ref for people.
fn describe_ref(name: &str) -> String {
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
