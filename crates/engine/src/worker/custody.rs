//! Watches over a task: what the repository was like before its agent ran, and whether the agent
//! kept to its own branch, its own files and the plan.
//!
//! What it did beyond that is kept under a rescue ref, and the worktree goes back to where it was.

use mow_core::worker::Input;
use mow_host::custody::{
    IndexStamp, Settings, holdings, index_stamp, lost, moved_by, moved_silently, moved_unlogged,
    reflog_length,
};
use mow_host::git::{Git, Refs};
use mow_host::rescue;

use super::desk::Desk;
use crate::EngineError;
use crate::custody;

/// How many things are named.
const NAMED_MAX: usize = 5;
/// What agents' moves of branches begin with in git's reflogs.
pub(super) const AGENT_WORD: &str = "mow ";

/// How a repository was before an agent ran.
#[derive(Clone, Debug)]
pub(super) struct Before {
    pub(super) head: String,
    settings: Settings,
    root: Option<Root>,
    /// What references held.
    holdings: Refs,
    index: IndexStamp,
}

/// The branch in the root.
#[derive(Clone, Debug)]
struct Root {
    branch: String,
    commit: Option<String>,
    /// How long its reflog was.
    length: u64,
}

impl Desk {
    /// Returns what git notes beside the branches that agents of this attempt move.
    pub(super) fn reflog_word(&self) -> String {
        format!("{AGENT_WORD}{}", self.site.token(&self.brief.phase, self.brief.attempt))
    }

    /// Returns the commit that the worktree stands at.
    pub(super) fn head(&self) -> Result<String, EngineError> {
        self.git().commit_of("HEAD")?.ok_or_else(|| {
            let message = format!("{} has no commit", self.worktree.display());
            EngineError::refused(message, "mow run makes it again")
        })
    }

    /// Looks at the repository before an agent runs.
    pub(super) fn before(&self) -> Result<Before, EngineError> {
        let git = self.git();
        let root = match Git::new(self.site.top()).current_branch()? {
            Some(branch) => Some(Root {
                commit: git.commit_of(&format!("refs/heads/{branch}"))?,
                length: reflog_length(&git, &branch)?,
                branch,
            }),
            None => None,
        };
        let (head, settings) = (self.head()?, custody::settings(&git)?);
        let (holdings, index) = (holdings(&git)?, index_stamp(&git)?);
        Ok(Before { head, settings, root, holdings, index })
    }

    /// Returns how the branch was moved since this worker left it, if it was.
    pub(super) fn moved(&self) -> Result<Option<String>, EngineError> {
        let left = self.trust().head.clone();
        let now = self.head()?;
        Ok(left.filter(|left| *left != now).map(|left| {
            let [left, now] = [&left, &now].map(|commit| short(commit));
            format!("somebody moved {} from {left} to {now} between two tasks", self.branch)
        }))
    }

    /// Returns what an agent did that is not its business.
    pub(super) fn trespass(&self, before: &Before) -> Result<Option<String>, EngineError> {
        if !self.worktree.join(".git").exists() {
            let message = format!("{} is gone, or no worktree any more", self.worktree.display());
            return Err(EngineError::refused(message, "mow run makes it again"));
        }
        let meddled = self.meddled(before)?;
        let (git, head) = (self.git(), self.head()?);
        let on = git.current_branch()?.unwrap_or_else(|| "no branch".to_owned());
        if on != self.branch {
            return Ok(Some(format!("it left the branch {} and is on {on}", self.branch)));
        }
        let has_committed = head != before.head;
        if has_committed && !git.is_ancestor(&before.head, &head)? {
            return Ok(Some(rewritten(&before.head, &self.branch)));
        }
        if let Some(text) = self.strayed(has_committed.then_some(head.as_str()), before)? {
            return Ok(Some(text));
        }
        match meddled {
            None => self.altered_plan(),
            some => Ok(some),
        }
    }

    /// Returns what somebody did to git itself, and keeps what is lost by that.
    pub(super) fn meddled(&self, before: &Before) -> Result<Option<String>, EngineError> {
        self.keep_lost(&before.holdings)?;
        self.doubt_index(before.index)?;
        custody::meddled(&self.git(), &before.settings)
    }

    /// No longer believes what the index says of files, if it is another one than it was.
    fn doubt_index(&self, before: IndexStamp) -> Result<(), EngineError> {
        if index_stamp(&self.git())? != before {
            self.trust().index_doubted = true;
        }
        Ok(())
    }

    /// Keeps what references held that are gone, and tells it: who deleted them cannot be known.
    fn keep_lost(&self, before: &Refs) -> Result<(), EngineError> {
        let lost = lost(&self.git(), before)?;
        let name = self.rescue_name("deleted");
        for one in &lost {
            let kept = rescue::keep(&self.git(), &name, &one.commit);
            kept.map_err(|error| EngineError::Host(error.into()))?;
        }
        if !lost.is_empty() {
            let what = named(lost.iter().map(|one| &*one.holder));
            let text = format!("deleted while an agent worked, and kept: {what}");
            self.tell(Input::Noted { text: format!("{text} (mow rescue list)") });
        }
        Ok(())
    }

    /// Returns where an agent put commits that do not belong there.
    fn strayed(&self, head: Option<&str>, before: &Before) -> Result<Option<String>, EngineError> {
        let protected = self.protected()?;
        let mut strayed = moved_by(&self.git(), &self.reflog_word(), &protected)?;
        if let Some(Root { branch, commit, length }) = &before.root {
            let from = (branch.as_str(), commit.as_deref());
            let moved = match moved_silently(&self.git(), branch, *length)? {
                None => moved_unlogged(&self.git(), &self.reflog_word(), from)?,
                some => some,
            };
            strayed.extend(moved.map(|commit| (branch.clone(), commit)));
        }
        if let Some(head) = head {
            let args = ["for-each-ref", "--format=%(refname)", "--contains", head];
            let names = self.git().run(&[&args[..], &["refs/heads", "refs/mow/run"]].concat())?;
            let text = names.text();
            let short = text.lines().map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
            let is_protected = |name: &&str| {
                name.starts_with("refs/mow/run/") || protected.iter().any(|own| own == name)
            };
            strayed.extend(short.filter(is_protected).map(|at| (at.to_owned(), head.to_owned())));
        }
        let Some((place, commit)) = strayed.first() else { return Ok(None) };
        let name = self.rescue_name("strayed");
        rescue::keep(&self.git(), &name, commit).map_err(|e| EngineError::Host(e.into()))?;
        let commit = short(commit);
        Ok(Some(format!("it put {commit} on {place}, which is not its branch; look at that")))
    }

    /// Returns the branches that only others may move: the one in the root, and other phases' ones.
    fn protected(&self) -> Result<Vec<String>, EngineError> {
        let mut all: Vec<_> = Git::new(self.site.top()).current_branch()?.into_iter().collect();
        if let Some(manifest) = self.site.manifest(&self.site.home()?)?.as_ref() {
            all.extend(manifest.worktrees.iter().filter_map(|(_, entry)| entry.text("branch")));
        }
        all.retain(|branch| *branch != self.branch);
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    pub(super) fn rescue_name(&self, what: &str) -> String {
        format!("{}/{}-{what}", self.site.run.run(), self.padded())
    }

    /// Puts the worktree back to where it was before an agent ran; says where the rest is kept.
    pub(super) fn bring_back(&self, before: &Before) -> Result<String, EngineError> {
        let name = self.rescue_name("set-back");
        let to = [self.branch.as_str(), &before.head];
        let kept = rescue::bring_back(&self.git(), &name, to, &self.planning_below_top())
            .map_err(|error| EngineError::Host(error.into()))?;
        self.restore_plans()?;
        self.trust().head = None;
        let is_kept = !kept.is_empty();
        Ok(if is_kept { "; what it did is kept: mow rescue list" } else { "" }.to_owned())
    }
}

/// Says that a commit is gone that was in a branch.
pub(super) fn rewritten(lost: &str, branch: &str) -> String {
    format!("it rewrote history: {} is no longer in {branch}", short(lost))
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

/// Names some things: the first ones, and how many more there are.
pub(super) fn named<'a>(things: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = things.len();
    let named: Vec<_> = things.take(NAMED_MAX).collect();
    let more = match count - named.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!("{}{more}", named.join(", "))
}
