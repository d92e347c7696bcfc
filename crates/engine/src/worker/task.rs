//! Carries out a task: the commands of its action, then its commit, then its checks on that commit.
//!
//! A commit that carries the task's mark means that it was carried out, and evidence that it is done;
//! a commit whose checks do not pass is taken back. What is not committed when a task begins is the
//! rest of an attempt that was cut off: it is kept under a rescue ref, and the task begins from the
//! last commit.

use std::sync::PoisonError;

use mow_core::worker::{Outcome, Role};
use mow_host::commit::{self, Paths};
use mow_host::shell::End;
use mow_host::{in_progress, rescue};
use mow_store::plan::Task;

use super::desk::{Desk, Script, complaint};
use super::evidence::Checks;
use super::player;
use crate::EngineError;
use crate::marks::{
    ATTEMPT_KEY, BESIDE_KEY, CLOSED_KEY, Mark, PLAN_KEY, RUN_KEY, SEAL_KEY, SINCE_KEY, TASK_KEY,
};

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
        let (env, label) = (self.about_task(plan, number), format!("{plan}-t{number}"));
        let job = Job { task, label: &label, env: &env, files: &[] };
        let (marks, key) = (self.marks()?, (plan.to_owned(), number));
        if let Some(commit) = marks.tasks.get(&key) {
            let commit = Some(commit.clone());
            if marks.unproven == Some(key) {
                return self.check_or_undo(&job, commit, None);
            }
            return Ok(Outcome::Committed { commit });
        }
        if let Some(reason) = self.moved()? {
            return Ok(Outcome::Failed { reason });
        }
        // The work of an agent that waits for an answer is where it left it.
        if !self.is_parked(&player::session_of(plan), &number.to_string())? {
            self.set_aside(&format!("{plan}-{number}"), &[])?;
        }
        failpoint::reach("task.cleared");
        let (before, guarded) = (self.before()?, self.guard_papers(Role::Executor)?);
        let acted = self.act(&job, (plan, number))?;
        self.restore_papers(&guarded)?;
        if let Some(reason) = self.trespass(&before)? {
            let kept = self.bring_back(&before)?;
            return Ok(self.unless_stopped(Outcome::Failed { reason: format!("{reason}{kept}") }));
        }
        if let Some(outcome) = acted {
            return Ok(outcome);
        }
        failpoint::reach("task.acted");
        let subject = format!("{}({plan}): {}", kind(frozen.kind.as_deref()), one_line(&task.name));
        let part = if self.head()? == before.head { Part::Code } else { Part::CodeOrMark };
        let mark = Mark::Task(plan.to_owned(), number);
        let commit = self.commit(&subject, Some((&mark, effect)), part)?;
        failpoint::reach("task.committed");
        let files = self.differing(&before.head)?;
        if let Some(reason) = self.judge(plan, &files)? {
            let kept = self.bring_back(&before)?;
            return Ok(Outcome::Failed { reason: format!("{reason}{kept}") });
        }
        let fresh = self.hides_files(plan, &files)?;
        let fresh = fresh.then_some("what is ignored was changed and is not in files_modified");
        self.check_or_undo(&job, commit, fresh)
    }

    /// Checks the commit of a task; takes it back when that fails, so that its work is uncommitted.
    fn check_or_undo(
        &self,
        job: &Job<'_>,
        commit: Option<String>,
        fresh: Option<&str>,
    ) -> Result<Outcome, EngineError> {
        let gap = self.check(job, fresh)?;
        failpoint::reach("task.checked");
        let Some(reason) = gap else { return Ok(Outcome::Committed { commit }) };
        // What people have committed behind it stays.
        if let Some(commit) = commit.filter(|commit| self.head().is_ok_and(|head| head == *commit))
        {
            self.git().plumbing().run(&["reset", "--quiet", "--soft", &format!("{commit}^")])?;
            self.trust().head = None;
        }
        Ok(self.unless_stopped(Outcome::Failed { reason }))
    }

    /// Runs the checks of a task on the last commit; returns why they do not pass.
    pub(super) fn check(
        &self,
        job: &Job<'_>,
        fresh: Option<&str>,
    ) -> Result<Option<String>, EngineError> {
        let (commands, label) = (checks(job.task), format!("{}-check", job.label));
        self.prove(&Checks { commands: &commands, label: &label, env: job.env, fresh })
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
        let name = self.rescue_name(what);
        if in_progress::is_anything(&git)? {
            // Otherwise the task's commit would end that merge, and undo what it merged.
            rescue::rescue(&git, &name).map_err(|error| EngineError::Host(error.into()))?;
            in_progress::quit(&git)?;
        }
        let planning = self.planning_below_top();
        if paths.is_empty()
            && commit::is_clean(&git, &Paths::AllBut(planning.clone())) == Some(true)
        {
            return Ok(None);
        }
        let rest = format!(":(exclude,top){planning}");
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
            commit::restore(&git, "HEAD", &tracked.join(&0))?;
            failpoint::reach("task.restored");
        }
        git.plumbing().run(&with_paths(&["clean", "--quiet", "-d", "--force", "--"]))?;
        failpoint::reach("task.cleaned");
        Ok(kept.map(|kept| kept.name))
    }

    /// Runs the action of a task; returns an outcome when that is the end of it.
    pub(super) fn act(
        &self,
        job: &Job<'_>,
        which: (&str, usize),
    ) -> Result<Option<Outcome>, EngineError> {
        if let Some(cast) = self.cast(Role::Executor)? {
            return self.act_by_agent(&cast, job, which);
        }
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
            let (text, program) = (text.as_str(), block.program);
            let script = Script { text, program, label: &label, top: None, env, files };
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

    /// Returns the trailers of a commit, sealed where it marks something.
    pub(super) fn trailers(
        &self,
        mark: Option<(&Mark, u64)>,
    ) -> Result<Vec<(&'static str, String)>, EngineError> {
        let mut trailers = vec![
            ("Mow-Phase", self.brief.phase.to_string()),
            (ATTEMPT_KEY, self.brief.attempt.to_string()),
        ];
        let Some((mark, effect)) = mark else { return Ok(trailers) };
        trailers.push((RUN_KEY, self.site.run.run().to_owned()));
        trailers.push((SEAL_KEY, self.trust().seal(effect)?));
        trailers.extend(match mark {
            Mark::Task(plan, task) => Some((TASK_KEY, format!("{plan}/{task}"))),
            Mark::Plan(plan) => Some((PLAN_KEY, plan.clone())),
            Mark::Closed => Some((CLOSED_KEY, self.brief.phase.to_string())),
            Mark::Undone(_) => None,
        });
        Ok(trailers)
    }

    /// Makes a commit of this phase, sealed where it marks something; `None` when there is nothing
    /// to commit and nothing to mark.
    pub(super) fn commit(
        &self,
        subject: &str,
        mark: Option<(&Mark, u64)>,
        part: Part<'_>,
    ) -> Result<Option<String>, EngineError> {
        let mut trailers = self.trailers(mark)?;
        if let (Part::Declared(_, since), Some((Mark::Task(plan, task), _))) = (part, mark) {
            trailers.push((BESIDE_KEY, format!("{plan}/{task}")));
            trailers.push((SINCE_KEY, since.to_owned()));
        }
        let trailers: Vec<_> = trailers.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let planning = self.planning_below_top();
        let paths = match part {
            Part::Code | Part::CodeOrMark => Paths::AllBut(planning),
            Part::Papers if self.commits_docs => {
                Paths::Folder(format!("{planning}/phases/{}", self.dir_name))
            }
            Part::Papers | Part::Declared(..) => Paths::Only(Vec::new()),
        };
        let git = self.git();
        let _guard = self.committing.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match part {
            Part::Declared(files, _) => commit::commit_beside(&git, files, subject, &trailers),
            _ => commit::commit_paths(&git, &paths, subject, &trailers),
        };
        let failed = |error: commit::CommitError| EngineError::Host(error.into());
        let mut made = made.map_err(failed)?;
        let marks = match part {
            Part::Papers | Part::CodeOrMark => mark.is_some(),
            Part::Declared(files, since) if made.is_none() => self.have_commits(files, since)?,
            Part::Code | Part::Declared(..) => false,
        };
        if made.is_none() && marks {
            made = Some(commit::commit_mark(&git, subject, &trailers).map_err(failed)?);
        }
        if let Some(commit) = &made {
            self.trust().note(mark, commit);
        }
        Ok(made)
    }

    pub(super) fn planning_below_top(&self) -> String {
        self.site.project.planning_below_top()
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
    /// The same, or nothing at all: a mark on what agents committed themselves.
    CodeOrMark,
    /// The planning files of the phase.
    Papers,
    /// Only these files and directories, while other plans are at work in the others; or a mark, where
    /// an agent has committed some of them itself since a commit.
    Declared(&'a [String], &'a str),
}

/// Returns the word that commits of a plan begin with.
pub(super) fn kind(plan: Option<&str>) -> &'static str {
    if plan == Some("tdd") { "test" } else { "feat" }
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the checks of a task: its `<automated>` commands.
pub(crate) fn checks(task: &Task) -> Vec<String> {
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
