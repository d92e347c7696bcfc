//! Carries out plans that run side by side in one worktree.
//!
//! Each keeps to the files it declares: they are all that is committed for it. The checks of all are
//! run when nobody is at work any more, so that they are about what is committed. What a plan changed
//! without having said so is kept under a rescue ref and told, never committed for another plan.

use std::collections::BTreeSet;
use std::slice;

use mow_core::touch;
use mow_core::worker::{Outcome, Role};
use mow_host::{commit, rescue};

use super::custody::{Before, named, rewritten, short};
use super::desk::Desk;
use super::player;
use super::task::{Job, Part, kind, one_line};
use crate::EngineError;
use crate::marks::{Mark, Marks, SINCE_KEY, UNDONE_KEY};

impl Desk {
    /// Returns what a plan declares, relative to the top of the worktree.
    pub(super) fn declared(&self, plan: &str) -> Result<Vec<String>, EngineError> {
        let files = touch::plain(&self.frozen(plan)?.files_modified).ok_or_else(|| {
            EngineError::refused(
                format!("plan {plan} no longer says clearly which files it changes"),
                "name them under `files_modified:` in the plan",
            )
        })?;
        let below = self.site.below_top();
        Ok(files.iter().map(|file| below.join(file).display().to_string()).collect())
    }

    /// Puts aside what an earlier attempt left, before plans run side by side.
    pub(super) fn clear(&self, plans: &[String]) -> Result<Outcome, EngineError> {
        if let Some(reason) = self.moved()? {
            return Ok(Outcome::Failed { reason });
        }
        self.set_aside(&plans.join("+"), &[])?;
        failpoint::reach("beside.cleared");
        let group = (self.before()?, self.guard_papers(Role::Executor)?);
        let mut trust = self.trust();
        trust.group = Some(group);
        trust.made.clear();
        Ok(Outcome::Done)
    }

    /// Carries out a task and commits what its plan declares.
    pub(super) fn run_beside(
        &self,
        plan: &str,
        number: usize,
        effect: u64,
    ) -> Result<Outcome, EngineError> {
        if let Some(commit) = self.marks()?.tasks.get(&(plan.to_owned(), number)) {
            return Ok(Outcome::Committed { commit: Some(commit.clone()) });
        }
        let files = self.declared(plan)?;
        // What the same task left when it was cut off; nobody else is at work in these files.
        self.set_aside(&format!("{plan}-{number}"), &files)?;
        let parsed = self.frozen(plan)?;
        let Some(task) = parsed.tasks.get(number - 1) else {
            return Ok(Outcome::Failed { reason: format!("plan {plan} has no task {number}") });
        };
        let (env, label) = (self.about_task(plan, number), format!("{plan}-t{number}"));
        let watched = touch::plain(&parsed.files_modified).unwrap_or_default();
        let job = Job { task, label: &label, env: &env, files: &watched };
        let before = self.head()?;
        if let Some(outcome) = self.act(&job, (plan, number))? {
            if matches!(outcome, Outcome::Asked { .. }) {
                // What it did so far will be put aside, so it has to begin again.
                self.forget_session(&player::session_of(plan))?;
            }
            return Ok(outcome);
        }
        failpoint::reach("beside.acted");
        let subject = format!("{}({plan}): {}", kind(parsed.kind.as_deref()), one_line(&task.name));
        let mark = Mark::Task(plan.to_owned(), number);
        let part = Part::Declared(&files, &before);
        let commit = self.commit(&subject, Some((&mark, effect)), part)?;
        failpoint::reach("beside.committed");
        Ok(Outcome::Committed { commit })
    }

    /// Returns the commit that plans side by side began at: the last that closed a plan, or the base.
    fn before_group(&self, marks: &Marks) -> String {
        let mut commits = marks.history.commits.iter().map(|one| &one.commit);
        let closing = commits.find(|commit| marks.plans.values().any(|plan| plan == *commit));
        closing.unwrap_or(&self.brief.base).clone()
    }

    /// Returns whether an agent itself has committed some files since a commit: nobody else may.
    pub(super) fn have_commits(&self, files: &[String], since: &str) -> Result<bool, EngineError> {
        let range = format!("{since}..HEAD");
        let log = ["--literal-pathspecs", "log", "-1", "--format=%H", range.as_str(), "--"];
        let files = files.iter().map(String::as_str);
        let found = self.git().plumbing().run(&log.into_iter().chain(files).collect::<Vec<_>>())?;
        Ok(!found.stdout.is_empty())
    }

    /// Looks for changes that none of the plans declared; puts them aside and fails.
    ///
    /// What lies in the files of a plan is the rest of a task that did not come to its end.
    pub(super) fn gather(&self, plans: &[String]) -> Result<Outcome, EngineError> {
        let (before, guarded) = self.trust().group.take().unzip();
        if let Some(guarded) = &guarded {
            self.restore_papers(guarded)?;
        }
        if let Some(before) = &before
            && let Some(reason) = self
                .trespass(before)?
                .map_or_else(|| self.spoiled(before), |text| Ok(Some(text)))?
        {
            let kept = self.bring_back(before)?;
            return Ok(Outcome::Failed { reason: format!("{reason}{kept}") });
        }
        let mut declared = Vec::new();
        for plan in plans {
            declared.extend(self.declared(plan)?);
        }
        declared.push(self.planning_below_top());
        declared.sort_unstable();
        let args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
        let listing = self.git().run(&args)?.stdout;
        let changed = listing.split(|byte| *byte == 0).filter(|entry| entry.len() > 3);
        let changed = changed.map(|entry| String::from_utf8_lossy(&entry[3..]).into_owned());
        let is_stray = |path: &String| !touch::covers(&declared, slice::from_ref(path));
        let strays: BTreeSet<_> = changed.filter(is_stray).collect();
        let kept = self.set_aside(&plans.join("+"), &[])?;
        failpoint::reach("beside.gathered");
        if !strays.is_empty() {
            let kept = kept.map(|name| format!(", kept as {name}")).unwrap_or_default();
            return Ok(Outcome::Failed { reason: undeclared(&strays, plans, &kept) });
        }
        let Some(before) = before else { return Ok(Outcome::Done) };
        // What agents committed themselves did not go through the plan's own paths.
        let files = self.differing(&before.head)?;
        let strays = files.iter().map(|file| file.path.clone()).filter(is_stray).collect();
        let reason = self.judge_group(plans, &files, &before.head)?.or_else(|| {
            let strays: BTreeSet<String> = strays;
            (!strays.is_empty()).then(|| undeclared(&strays, plans, ""))
        });
        let Some(reason) = reason else { return Ok(Outcome::Done) };
        let kept = self.bring_back(&before)?;
        Ok(Outcome::Failed { reason: format!("{reason}{kept}") })
    }

    /// Returns why nobody can tell what plans side by side did: history was rewritten, or merged with
    /// something else.
    fn spoiled(&self, before: &Before) -> Result<Option<String>, EngineError> {
        let made = self.trust().made.clone();
        let (marks, head) = (self.marks()?, self.head()?);
        let Some(line) = marks.history.line(&before.head, &head) else {
            let what = "so that nobody can tell whose work is whose";
            return Ok(Some(format!("it merged something while plans ran side by side, {what}")));
        };
        let lost = made.iter().filter(|made| !line.iter().any(|one| one.commit == **made));
        let lost: Vec<_> = lost.collect();
        for commit in &lost {
            let name = self.rescue_name(&format!("unmade-{}", short(commit)));
            rescue::keep(&self.git(), &name, commit).map_err(|e| EngineError::Host(e.into()))?;
        }
        Ok(lost.first().map(|commit| rewritten(commit, &self.branch)))
    }

    /// Runs the checks of a plan that was committed without; undoes the task that does not pass.
    pub(super) fn check_plan(&self, plan: &str, effect: u64) -> Result<Outcome, EngineError> {
        self.set_aside(&format!("{plan}-check"), &[])?;
        self.bring_again(plan)?;
        let parsed = self.frozen(plan)?;
        for (task, number) in parsed.tasks.iter().zip(1..) {
            let (env, label) = (self.about_task(plan, number), format!("{plan}-t{number}"));
            let job = Job { task, label: &label, env: &env, files: &[] };
            if let Some(reason) = self.check(&job, None)? {
                if self.stop.is_stopped() {
                    return Ok(Outcome::Interrupted);
                }
                self.set_aside(&format!("{plan}-check"), &[])?;
                self.undo(plan, (number, parsed.tasks.len()), effect)?;
                return Ok(Outcome::Undone { task: number, reason });
            }
        }
        failpoint::reach("beside.checked");
        Ok(Outcome::Done)
    }

    /// Brings the files of a plan back to what they were before a task, by one more commit.
    fn undo(
        &self,
        plan: &str,
        (from, through): (usize, usize),
        effect: u64,
    ) -> Result<(), EngineError> {
        let marks = self.marks()?;
        let of = |task| marks.tasks.get(&(plan.to_owned(), task));
        let first = (from..=through).find_map(of);
        let mark = Mark::Undone(plan.to_owned());
        let mut trailers = self.trailers(Some((&mark, effect)))?;
        let done = (from..=through).filter(|task| of(*task).is_some());
        trailers.extend(done.map(|task| (UNDONE_KEY, format!("{plan}/{task}"))));
        let trailers: Vec<_> = trailers.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let subject = format!("revert({plan}): task {from} does not pass its check");
        let files = self.declared(plan)?;
        // What an agent committed itself lies before the mark, if there is one.
        let to = match first {
            Some(first) => match marks.value(first, SINCE_KEY) {
                Some(since) => since.to_owned(),
                None => format!("{first}^"),
            },
            None => self.before_group(&marks),
        };
        let commit = commit::undo(&self.git(), &files, &to, &subject, &trailers)
            .map_err(|error| EngineError::Host(error.into()))?;
        self.trust().note(Some((&mark, effect)), &commit);
        failpoint::reach("beside.undone");
        Ok(())
    }
}

/// Says which files changed that no plan declared.
fn undeclared(strays: &BTreeSet<String>, plans: &[String], kept: &str) -> String {
    format!(
        "{} changed while plans {} ran side by side, and none of them has it in files_modified{kept}",
        named(strays.iter().map(String::as_str)),
        plans.join(", ")
    )
}
