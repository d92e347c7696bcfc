//! Brings back what was committed for plans side by side and is there no more, because of a commit that
//! an agent made itself.
//!
//! An agent need not mean it: git reads the index before it locks it, and one that has just become
//! old lacks what was committed for another plan meanwhile. Everything here is read from the branch, so
//! that a worker which goes on after another sees the same.

use std::collections::BTreeMap;
use std::slice;

use mow_core::touch;
use mow_core::worker::Input;
use mow_host::commit;
use mow_host::git::contents;
use mow_host::history::Trailed;

use super::custody::short;
use super::desk::Desk;
use crate::EngineError;
use crate::marks::Marks;

/// What a file is: git's words for its kind and its content.
type State<'a> = (&'a str, &'a str);

/// A plan beside others.
pub(super) struct Beside {
    pub(super) id: String,
    /// The files it declares.
    pub(super) files: Vec<String>,
    /// The commits of its tasks, if all of them are done.
    pub(super) done: Option<Vec<String>>,
}

/// A file that is not as it was committed for its plan.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Other<'a> {
    path: &'a str,
    plan: &'a str,
    /// The commit that has it as the plan wants it.
    right: &'a str,
    /// What it is there.
    content: &'a str,
    /// The commit that made it another.
    by: &'a str,
    /// Whether somebody else than the plan's agent brought it back to what it was before.
    is_undone: bool,
}

impl Desk {
    /// Brings back files of plans that another commit than theirs took back, by one more commit: those
    /// that the worktree still has as they were committed, and those that are again what they were before.
    pub(super) fn bring_again(&self, plans: &[String]) -> Result<(), EngineError> {
        let (marks, head) = (self.marks()?, self.head()?);
        let Some(line) = marks.history.line(&self.before_group(&marks), &head) else {
            return Ok(());
        };
        // The oldest first.
        let line: Vec<_> = line.into_iter().rev().collect();
        if line.iter().all(|one| marks.plan_of(one).is_some()) {
            return Ok(());
        }
        let beside = self.beside(plans, &marks)?;
        let others = others(&line, &marks, &beside);
        let here = contents(&self.git(), others.iter().map(|other| other.path.as_bytes()))?;
        let is_here = |other: &Other<'_>| match here.get(other.path.as_bytes()) {
            Some(here) => here == other.content,
            None => is_nothing(other.content),
        };
        let (kept, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(is_here);
        let undone: Vec<_> = rest.into_iter().filter(|other| other.is_undone).collect();
        self.restore(&kept)?;
        if !undone.is_empty() {
            let paths: Vec<_> = undone.iter().map(|other| other.path.to_owned()).collect();
            self.set_aside("taken-back", &paths)?;
        }
        self.restore(&undone)
    }

    fn beside(&self, plans: &[String], marks: &Marks) -> Result<Vec<Beside>, EngineError> {
        let one = |id: &String| -> Result<Beside, EngineError> {
            let tasks = 1..=self.frozen(id)?.tasks.len();
            let done = tasks.map(|task| marks.tasks.get(&(id.clone(), task)).cloned()).collect();
            Ok(Beside { id: id.clone(), files: self.declared(id)?, done })
        };
        plans.iter().map(one).collect()
    }

    fn restore(&self, others: &[Other<'_>]) -> Result<(), EngineError> {
        let mut by_commit: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for Other { path, plan, right, by, .. } in others {
            by_commit.entry((*right, *plan, *by)).or_default().push((*path).to_owned());
        }
        for ((right, plan, by), paths) in by_commit {
            let (by, named) = (short(by), paths.join(", "));
            let subject = format!("restore({plan}): what {by} took back");
            let trailers = self.trailers(None)?;
            let trailers: Vec<_> = trailers.iter().map(|(key, word)| (*key, &**word)).collect();
            let commit = commit::undo(&self.git(), &paths, right, &subject, &trailers)
                .map_err(|error| EngineError::Host(error.into()))?;
            self.trust().note(None, &commit);
            failpoint::reach("beside.restored");
            let text =
                format!("{by} took back {named}, committed for plan {plan}; it is there again");
            self.tell(Input::Noted { text });
        }
        Ok(())
    }
}

/// Returns the files of plans that are not as their last mark has them; the oldest commit comes first.
fn others<'a>(line: &[&'a Trailed], marks: &Marks, beside: &'a [Beside]) -> Vec<Other<'a>> {
    let mut states: BTreeMap<&str, Vec<(usize, State<'_>)>> = BTreeMap::new();
    // Where each file was right last, and how many states it had then.
    let mut right: BTreeMap<&str, (&Beside, usize, usize)> = BTreeMap::new();
    for (at, one) in line.iter().enumerate() {
        for change in &one.changes {
            let known = states.entry(&change.path).or_insert_with(|| vec![(0, change.before())]);
            known.push((at, change.after()));
        }
        let marked = marks.plan_of(one);
        let Some(plan) = beside.iter().find(|plan| Some(plan.id.as_str()) == marked) else {
            continue;
        };
        let own = states.iter().filter(|(path, _)| plan.has(path));
        right.extend(own.map(|(path, known)| (*path, (plan, at, known.len()))));
    }
    let other = |(path, (plan, at, count)): (&'a str, (&'a Beside, usize, usize))| {
        let known = &states[path];
        let (wanted, (by, now)) = (known[count - 1].1, known[known.len() - 1]);
        let by = (wanted != now).then_some(by)?;
        let was_so = known[..count].iter().any(|(_, state)| *state == now);
        let is_undone = was_so && !plan.may_have_made(line, by);
        let (right, by, content) = (&*line[at].commit, &*line[by].commit, wanted.1);
        Some(Other { path, plan: &plan.id, right, content, by, is_undone })
    };
    right.into_iter().filter_map(other).collect()
}

impl Beside {
    fn has(&self, path: &&str) -> bool {
        touch::covers(&self.files, slice::from_ref(&(*path).to_owned()))
    }

    /// Returns whether the plan's own agent may have made a commit: it was still at work, and the
    /// commit is about nothing else.
    fn may_have_made(&self, line: &[&Trailed], at: usize) -> bool {
        let is_before = |task: &String| line[..at].iter().any(|one| one.commit == *task);
        let was_done = self.done.as_ref().is_some_and(|tasks| tasks.iter().all(is_before));
        !was_done && line[at].changes.iter().all(|change| self.has(&change.path.as_str()))
    }
}

/// Git's word for the content of a file that is not there.
fn is_nothing(content: &str) -> bool {
    content.bytes().all(|byte| byte == b'0')
}
