//! Carries out a task: the commands of its action, then its checks, then its commit.
//!
//! A commit that carries the task's mark means that it is done. What is not committed when a task
//! begins is the rest of an attempt that was cut off: it is kept under a rescue ref, and the task
//! begins from the last commit.

use std::sync::PoisonError;

use mow_core::worker::{Outcome, Role};
use mow_host::commit::{self, Paths};
use mow_host::shell::End;
use mow_host::{phase_worktree, rescue};
use mow_store::plan::Task;

use super::desk::{Desk, Script, complaint};
use super::look::TASK_KEY;
use crate::EngineError;

/// What a script ends with when it cannot decide something by itself.
const EXIT_BLOCKED: i32 = 75;

/// A block of shell in a plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) program: &'static str,
    pub(super) text: String,
}

impl Desk {
    pub(super) fn run_task(&self, plan: &str, number: usize) -> Result<Outcome, EngineError> {
        let mark = (plan.to_owned(), number);
        if let Some(commit) = self.committed()?.tasks.get(&mark) {
            return Ok(Outcome::Committed { commit: Some(commit.clone()) });
        }
        self.set_aside(&format!("{plan}-{number}"), &[])?;
        failpoint::reach("task.cleared");
        let parsed = self.plan(plan)?;
        let Some(task) = parsed.tasks.get(number - 1) else {
            return Ok(Outcome::Failed { reason: format!("plan {plan} has no task {number}") });
        };
        let env = self.about_task(plan, number);
        let job = Job { task, label: &format!("{plan}-t{number}"), env: &env, files: &[] };
        if let Some(outcome) = self.act(&job)? {
            return Ok(outcome);
        }
        failpoint::reach("task.acted");
        if let Some(reason) = self.check(&job)? {
            return Ok(self.unless_stopped(Outcome::Failed { reason }));
        }
        failpoint::reach("task.checked");
        let subject = format!("{}({plan}): {}", kind(parsed.kind.as_deref()), one_line(&task.name));
        let commit =
            self.commit(&subject, &[(TASK_KEY, format!("{plan}/{number}"))], Part::Code)?;
        failpoint::reach("task.committed");
        let code = self.code()?;
        for check in checks(task) {
            self.note_passed(&code, &check);
        }
        Ok(Outcome::Committed { commit })
    }

    /// Returns what scripts of a task find in their environment.
    pub(super) fn about_task(&self, plan: &str, number: usize) -> [(&'static str, String); 3] {
        let file = self.phase_dir().join(super::look::plan_file(plan));
        [
            ("MOW_PLAN", plan.to_owned()),
            ("MOW_PLAN_FILE", file.display().to_string()),
            ("MOW_TASK", number.to_string()),
        ]
    }

    /// Returns an outcome, or that it was cut off: what was, has not failed.
    pub(super) fn unless_stopped(&self, outcome: Outcome) -> Outcome {
        if self.stop.is_stopped() { Outcome::Interrupted } else { outcome }
    }

    /// Keeps what was left uncommitted, in some paths or in all, and goes back to the last commit.
    ///
    /// The planning files are the worker's own and not the task's: they stay. Returns the name under
    /// which it is kept, if there was any.
    pub(super) fn set_aside(
        &self,
        what: &str,
        paths: &[String],
    ) -> Result<Option<String>, EngineError> {
        let git = self.git();
        let name = format!("{}/{}-{what}", self.site.run.run(), self.padded());
        if phase_worktree::is_merging(&self.worktree) {
            // Otherwise the task's commit would end that merge, and undo what it merged.
            rescue::rescue(&git, &name).map_err(|error| EngineError::Host(error.into()))?;
            git.plumbing().run(&["merge", "--quit"])?;
        }
        let rest = format!(":(exclude,top){}", self.planning_below_top());
        let mut paths: Vec<_> = paths.iter().map(|path| format!(":(top,literal){path}")).collect();
        if paths.is_empty() {
            paths.push(":(top)".to_owned());
        }
        paths.push(rest);
        let with_paths = |words: &[&'static str]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).chain(paths.iter().cloned()).collect()
        };
        let answer =
            git.run(&with_paths(&["status", "--porcelain", "-z", "--no-renames", "--"]))?;
        if answer.stdout.is_empty() {
            return Ok(None);
        }
        let kept = rescue::rescue(&git, &name).map_err(|error| EngineError::Host(error.into()))?;
        failpoint::reach("task.rescued");
        let is_tracked = |entry: &&[u8]| entry.len() > 3 && !entry.starts_with(b"??");
        let tracked: Vec<_> =
            answer.stdout.split(|byte| *byte == 0).filter(is_tracked).map(|e| &e[3..]).collect();
        if !tracked.is_empty() {
            let restore = ["--literal-pathspecs", "restore", "--source=HEAD", "--staged"];
            let from = ["--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"];
            git.plumbing().run_with(&[&restore[..], &from].concat(), &tracked.join(&0))?;
            failpoint::reach("task.restored");
        }
        git.plumbing().run(&with_paths(&["clean", "--quiet", "-d", "--force", "--"]))?;
        failpoint::reach("task.cleaned");
        Ok(kept.map(|kept| kept.name))
    }

    /// Runs the action of a task; returns an outcome when that is the end of it.
    pub(super) fn act(&self, job: &Job<'_>) -> Result<Option<Outcome>, EngineError> {
        let Job { task, label, env, files } = job;
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
            let script = Script { text: &text, program: block.program, label: &label, env, files };
            let end = self.shell(&script)?;
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

    /// Runs the checks of a task; returns why they do not pass.
    pub(super) fn check(&self, job: &Job<'_>) -> Result<Option<String>, EngineError> {
        let Job { task, label, env, .. } = job;
        for (n, check) in checks(task).iter().enumerate() {
            if let Some(reason) = self.run_check(check, &format!("{label}-check-{}", n + 1), env)? {
                return Ok(Some(format!("its check `{}` failed, {reason}", one_line(check))));
            }
        }
        Ok(None)
    }

    /// Runs one check; returns why it does not pass.
    pub(super) fn run_check(
        &self,
        check: &str,
        label: &str,
        env: &[(&str, String)],
    ) -> Result<Option<String>, EngineError> {
        let end = self.shell(&Script { text: check, program: "sh", label, env, files: &[] })?;
        Ok(complaint(&end))
    }

    /// Makes a commit of this phase; `None` when there is nothing to commit.
    pub(super) fn commit(
        &self,
        subject: &str,
        marks: &[(&str, String)],
        part: Part<'_>,
    ) -> Result<Option<String>, EngineError> {
        let (phase, attempt) = (self.brief.phase.to_string(), self.brief.attempt.to_string());
        let mut trailers = vec![("Mow-Phase", phase.as_str()), ("Mow-Attempt", attempt.as_str())];
        trailers.extend(marks.iter().map(|(key, value)| (*key, value.as_str())));
        let planning = self.planning_below_top();
        let paths = match part {
            Part::Code => Paths::AllBut(planning),
            Part::Papers if self.commits_docs => {
                Paths::Only(vec![format!("{planning}/phases/{}", self.dir_name)])
            }
            Part::Papers | Part::Declared(_) => Paths::Only(Vec::new()),
        };
        let git = self.git();
        let _guard = self.committing.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match part {
            Part::Declared(files) => commit::commit_beside(&git, files, subject, &trailers),
            _ => commit::commit_paths(&git, &paths, subject, &trailers),
        };
        let made = made.map_err(|error| EngineError::Host(error.into()))?;
        if made.is_none() && part == Part::Papers && !marks.is_empty() {
            let mark = commit::commit_mark(&git, subject, &trailers);
            return mark.map(Some).map_err(|error| EngineError::Host(error.into()));
        }
        Ok(made)
    }

    pub(super) fn planning_below_top(&self) -> String {
        self.site.below_top().join(".planning").display().to_string()
    }
}

/// A task to carry out.
pub(super) struct Job<'a> {
    pub(super) task: &'a Task,
    /// What its logs are called.
    pub(super) label: &'a str,
    pub(super) env: &'a [(&'a str, String)],
    /// What it says it changes, where that matters.
    pub(super) files: &'a [String],
}

/// What a commit is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Everything but planning files.
    Code,
    /// The planning files of the phase.
    Papers,
    /// Only these files and directories, while other plans are at work in the others.
    Declared(&'a [String]),
}

/// Returns the word that commits of a plan begin with.
pub(super) fn kind(plan: Option<&str>) -> &'static str {
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
