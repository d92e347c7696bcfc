//! Carries out a task: the commands of its action, then its commit, then its checks on that commit.
//!
//! A commit that carries the task's mark means that it was carried out, and evidence that it is done;
//! a commit whose checks do not pass is taken back. What is not committed when a task begins is the
//! rest of an attempt that was cut off: it is kept under a rescue ref, and the task begins from the
//! last commit.

use mow_core::worker::{Outcome, Role};
use mow_host::commit::{self, Paths};
use mow_host::rescue;
use mow_host::shell::End;
use mow_store::plan::Task;

use super::desk::{Desk, Script, complaint};
use super::evidence::Checks;
use crate::EngineError;
use crate::marks::{ATTEMPT_KEY, CLOSED_KEY, Mark, PLAN_KEY, RUN_KEY, SEAL_KEY, TASK_KEY};

/// What a script ends with when it cannot decide something by itself.
const EXIT_BLOCKED: i32 = 75;

/// A block of shell in a plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) program: &'static str,
    pub(super) text: String,
}

impl Desk {
    pub(super) fn run_task(
        &self,
        plan: &str,
        number: usize,
        effect: u64,
    ) -> Result<Outcome, EngineError> {
        let frozen = self.frozen(plan)?;
        let Some(task) = frozen.tasks.get(number - 1) else {
            return Ok(Outcome::Failed { reason: format!("plan {plan} has no task {number}") });
        };
        let (mark, label) = (Mark::Task(plan.to_owned(), number), format!("{plan}-t{number}"));
        let file = self.phase_dir().join(super::look::plan_file(plan)).display().to_string();
        let env = [
            ("MOW_PLAN", plan.to_owned()),
            ("MOW_PLAN_FILE", file),
            ("MOW_TASK", number.to_string()),
        ];
        let (commands, label) = (checks(task), (label.as_str(), &env[..]));
        if let Some(commit) = self.marks()?.commit(&mark) {
            // Committed by somebody who perhaps could not check it any more.
            let is_last = *commit == self.head()?;
            let commands = if is_last { commands } else { Vec::new() };
            return self.check_or_undo(Some(commit.clone()), &commands, label, None);
        }
        if let Some(reason) = self.moved()? {
            return Ok(Outcome::Failed { reason });
        }
        self.set_aside(&format!("{plan}-{number}"))?;
        let before = self.before()?;
        let acted = self.act(task, label.0, &env)?;
        if let Some(reason) = self.trespass(&before)? {
            let kept = self.bring_back(&before)?;
            let is_cut_off = acted == Some(Outcome::Interrupted);
            let failed = Outcome::Failed { reason: format!("{reason}{kept}") };
            return Ok(if is_cut_off { Outcome::Interrupted } else { failed });
        }
        if let Some(outcome) = acted {
            return Ok(outcome);
        }
        let subject = format!("{}({plan}): {}", kind(frozen.kind.as_deref()), one_line(&task.name));
        let part = if self.head()? == before.head { Part::Code } else { Part::CodeOrMark };
        let commit = self.commit(&subject, Some((&mark, effect)), part)?;
        let files = self.differing(&before.head, "HEAD")?;
        if let Some(reason) = self.judge(plan, &files)? {
            let kept = self.bring_back(&before)?;
            return Ok(Outcome::Failed { reason: format!("{reason}{kept}") });
        }
        let fresh = self.hides_files(plan, &files)?;
        let fresh = fresh.then_some("what is ignored was changed and is not in files_modified");
        self.check_or_undo(commit, &commands, label, fresh)
    }

    /// Checks the commit of a task; takes it back when that fails, so that its work is uncommitted.
    fn check_or_undo(
        &self,
        commit: Option<String>,
        commands: &[String],
        (label, env): (&str, &[(&str, String)]),
        fresh: Option<&str>,
    ) -> Result<Outcome, EngineError> {
        let label = format!("{label}-check");
        let gap = self.prove(&Checks { commands, label: &label, env, fresh })?;
        let Some(reason) = gap else { return Ok(Outcome::Committed { commit }) };
        if let Some(commit) = commit {
            self.git().plumbing().run(&["reset", "--quiet", "--soft", &format!("{commit}^")])?;
            self.trust().head = None;
        }
        let is_cut_off = self.stop.is_stopped();
        Ok(if is_cut_off { Outcome::Interrupted } else { Outcome::Failed { reason } })
    }

    /// Keeps what an earlier attempt left uncommitted, and goes back to the last commit.
    ///
    /// The planning files are the worker's own and not the task's: they stay.
    pub(super) fn set_aside(&self, what: &str) -> Result<(), EngineError> {
        let git = self.git();
        let rest = format!(":(exclude,top){}", self.planning_below_top());
        let answer = git.run(&["status", "--porcelain", "-z", "--", ":(top)", &rest])?;
        if answer.stdout.is_empty() {
            return Ok(());
        }
        rescue::rescue(&git, &self.rescue_name(what))
            .map_err(|error| EngineError::Host(error.into()))?;
        let is_tracked = |entry: &[u8]| !entry.is_empty() && !entry.starts_with(b"??");
        if answer.stdout.split(|byte| *byte == 0).any(is_tracked) {
            let restore = ["restore", "--source=HEAD", "--staged", "--worktree", "--", ":(top)"];
            git.plumbing().run(&[&restore[..], &[&rest]].concat())?;
        }
        git.plumbing().run(&["clean", "--quiet", "-d", "--force", "--", ":(top)", &rest])?;
        Ok(())
    }

    /// Runs the action of a task; returns an outcome when that is the end of it.
    fn act(
        &self,
        task: &Task,
        label: &str,
        env: &[(&str, String)],
    ) -> Result<Option<Outcome>, EngineError> {
        let mut blocks = task.element("action").map(blocks).unwrap_or_default();
        if let Some(command) = self.role_command(Role::Executor) {
            blocks = vec![Block { program: "sh", text: command }];
        }
        if blocks.is_empty() {
            let text = "the task has no shell block, and no executor is set";
            return Ok(Some(Outcome::Blocked { text: text.to_owned() }));
        }
        for (n, block) in blocks.iter().enumerate() {
            let label = format!("{label}-{}", n + 1);
            let text = format!("set -eu\n{}", block.text);
            let (text, program) = (text.as_str(), block.program);
            let end = self.shell(&Script { text, program, label: &label, top: None, env })?;
            match (&end.end, complaint(&end)) {
                (_, None) => {}
                (End::Stopped, _) => return Ok(Some(Outcome::Interrupted)),
                (End::Exited(EXIT_BLOCKED), _) => {
                    let last = end.tail.trim().lines().last().unwrap_or("no reason given");
                    return Ok(Some(Outcome::Blocked { text: last.to_owned() }));
                }
                (_, Some(reason)) => return Ok(Some(Outcome::Failed { reason })),
            }
        }
        Ok(None)
    }

    /// Makes a commit of this phase, sealed where it marks something; `None` when there is nothing
    /// to commit and nothing to mark.
    pub(super) fn commit(
        &self,
        subject: &str,
        mark: Option<(&Mark, u64)>,
        part: Part,
    ) -> Result<Option<String>, EngineError> {
        let mut trailers = vec![
            ("Mow-Phase", self.brief.phase.to_string()),
            (ATTEMPT_KEY, self.brief.attempt.to_string()),
        ];
        if let Some((mark, effect)) = mark {
            trailers.push((RUN_KEY, self.site.run.run().to_owned()));
            trailers.push(match mark {
                Mark::Task(plan, task) => (TASK_KEY, format!("{plan}/{task}")),
                Mark::Plan(plan) => (PLAN_KEY, plan.clone()),
                Mark::Closed => (CLOSED_KEY, self.brief.phase.to_string()),
            });
            trailers.push((SEAL_KEY, self.trust().seal(effect)?));
        }
        let trailers: Vec<_> = trailers.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let planning = self.planning_below_top();
        let paths = match part {
            Part::Code | Part::CodeOrMark => Paths::AllBut(planning),
            Part::Papers if self.commits_docs => {
                Paths::Only(vec![format!("{planning}/phases/{}", self.dir_name)])
            }
            Part::Papers => Paths::Only(Vec::new()),
        };
        let git = self.git();
        let failed = |error: commit::CommitError| EngineError::Host(error.into());
        let mut made = commit::commit_paths(&git, &paths, subject, &trailers).map_err(failed)?;
        if made.is_none() && part != Part::Code && mark.is_some() {
            made = Some(commit::commit_mark(&git, subject, &trailers).map_err(failed)?);
        }
        let mut trust = self.trust();
        match (mark, &made) {
            (Some((mark, _)), Some(commit)) => trust.note(mark.clone(), commit),
            (None, Some(commit)) if trust.head.is_some() => trust.head = Some(commit.clone()),
            _ => {}
        }
        Ok(made)
    }

    pub(super) fn planning_below_top(&self) -> String {
        self.site.below_top().join(".planning").display().to_string()
    }
}

/// What a commit is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Everything but planning files.
    Code,
    /// The same, or nothing at all: a mark on what agents committed themselves.
    CodeOrMark,
    /// The planning files of the phase.
    Papers,
}

/// Returns the word that commits of a plan begin with.
fn kind(plan: Option<&str>) -> &'static str {
    if plan == Some("tdd") { "test" } else { "feat" }
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the checks of a task: its `<automated>` commands.
pub(super) fn checks(task: &Task) -> Vec<String> {
    let automated = task.elements.iter().filter(|element| element.tag == "automated");
    let texts = automated.map(|element| unfenced(&element.text));
    texts.filter(|text| !text.is_empty() && !text.starts_with("MISSING")).collect()
}

/// Takes a fence off, where the whole text is one.
fn unfenced(text: &str) -> String {
    let inner = blocks(text);
    match inner.as_slice() {
        [] => text.trim().trim_matches('`').trim().to_owned(),
        some => some.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n"),
    }
}

/// Finds the fenced blocks of a text that a shell can run.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        let ticks = start.bytes().take_while(|byte| *byte == b'`').count();
        let program = match start[ticks..].trim() {
            "sh" | "shell" => "sh",
            "bash" => "bash",
            _ => {
                if ticks >= 3 {
                    skip(&mut lines, ticks);
                }
                continue;
            }
        };
        if ticks < 3 {
            continue;
        }
        let indent = line.len() - start.len();
        let body = skip(&mut lines, ticks);
        let body = body.iter().map(|line| {
            let blanks = line.len() - line.trim_start().len();
            &line[blanks.min(indent)..]
        });
        found.push(Block { program, text: body.collect::<Vec<_>>().join("\n") });
    }
    found
}

/// Returns the lines up to the end of a fence.
fn skip<'a>(lines: &mut std::str::Lines<'a>, ticks: usize) -> Vec<&'a str> {
    let is_end = |line: &str| {
        let line = line.trim();
        line.len() >= ticks && line.bytes().all(|byte| byte == b'`')
    };
    lines.take_while(|line| !is_end(line)).collect()
}

#[cfg(test)]
mod tests;
