//! Merges complete phases onto the run's own ref, and lets the target branch follow.

use std::cell::Cell;

use mow_core::lead::{Clash, Outcome};
use mow_core::money::Money;
use mow_core::phase::PhaseNumber;
use mow_host::commit::with_trailers;
use mow_host::follow::{self, Followed, quoted};
use mow_host::git::Git;
use mow_host::in_progress::is_merging;
use mow_host::merge::{self, Conflict, Known, Merge, MergeOutcome, Overlaid, Planned, Ready};
use mow_host::{rescue, submodules};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::{phase_dirs, planning_copy, planning_join};
use serde_json::json;

use super::effects::Repository;
use super::prepare::{change_manifest, is_newer, release};
use super::proof::{self, Claim, Proven};
use super::run_ref::run_ref;
use super::trial::Trial;
use crate::EngineError;
use crate::clock::now_text;
use crate::site::{Place, Site};

/// How often a merge is made anew because somebody moved the run's ref.
const TRIES_MAX: usize = 5;
/// The planning files that only the lead writes.
const SHARED: [&str; 3] = ["STATE.md", "ROADMAP.md", "REQUIREMENTS.md"];

/// A phase to merge.
pub(super) struct Phase<'a> {
    site: &'a Site,
    number: &'a PhaseNumber,
    attempt: u32,
    pub(super) place: Place,
    /// What it has cost so far; each try of its merge may add to that.
    spent: Cell<Money>,
    /// Whether no agent may be started for it.
    alone: bool,
}

/// Merges a phase, unless that was done before, and notes that it is merged.
pub(super) fn merge(
    phase: &Phase<'_>,
    [commit, onto]: [&str; 2],
    repository: &Repository,
) -> Result<Outcome, EngineError> {
    let Phase { site, number, attempt, place, .. } = phase;
    let git = Git::new(site.top());
    failpoint::reach("merge.begun");
    let tip = git.commit_of(&format!("refs/heads/{}", place.branch))?;
    let claim = Claim { phase: number, attempt: *attempt, commit, onto, branch: &place.branch };
    let Proven { commit, touched } = match proof::check(site, &git, &claim, tip.as_deref())? {
        Ok(proven) => proven,
        Err(reason) => return Ok(Outcome::Refuted { reason }),
    };
    let target = repository.run_ref.place_without(**number, *attempt);
    let known = target.zip(touched).map(|(target, touched)| Known { target, touched });
    let outcome = phase.merge(&commit, (known, Some(onto)), repository)?;
    if let Outcome::Merged { commit, .. } = &outcome {
        phase.finish(commit)?;
    }
    Ok(outcome)
}

impl<'a> Phase<'a> {
    /// Takes the phase as an attempt has left it; 0 for none of this run.
    pub(super) fn new(
        site: &'a Site,
        number: &'a PhaseNumber,
        attempt: u32,
        spent: Money,
    ) -> Result<Self, EngineError> {
        let (place, spent) = (site.worktree(number)?, Cell::new(spent));
        Ok(Self { site, number, attempt, place, spent, alone: false })
    }

    /// Says whether no agent may be started for it.
    pub(super) fn alone(self, alone: bool) -> Self {
        Self { alone, ..self }
    }

    /// Merges the phase onto the run's ref, which has to stand where the lead left it; by hand it may
    /// stand anywhere.
    ///
    /// The repository is free for others while an agent settles conflicts or the result is checked.
    pub(super) fn merge(
        &self,
        commit: &str,
        (known, onto): (Option<Known>, Option<&str>),
        repository: &Repository,
    ) -> Result<Outcome, EngineError> {
        let git = Git::new(self.site.top());
        let mut job = self.job(&git, commit)?;
        let known = known.filter(|_| job.branch_commit == commit);
        for _ in 0..TRIES_MAX {
            let planned = repository.alone(|| {
                onto.map_or(Ok(()), |onto| repository.look_at_ref(self.site, &git, onto))?;
                merge::plan_knowing(&git, &job, known.as_ref()).map_err(host)
            })?;
            let ready = match planned {
                Planned::Ready(ready) => ready,
                Planned::Not(MergeOutcome::AlreadyMerged { commit, whole: true }) => {
                    return Ok(Outcome::Merged { commit, note: String::new() });
                }
                Planned::Not(MergeOutcome::AlreadyMerged { .. }) => {
                    // It grew since: its trailers are known, so the rest gets one of its own.
                    let rest = job.branch_commit.clone();
                    job.message = format!("{}Mow-Rest: {rest}\n", job.message);
                    continue;
                }
                Planned::Not(MergeOutcome::Conflict { files }) => {
                    match self.resolve(&job, &files, repository)? {
                        Ok(ready) => ready,
                        Err(conflict) => return Ok(conflict),
                    }
                }
                Planned::Not(_) => continue,
            };
            let sealed = merge::seal(&git, &job, &ready).map_err(host)?;
            if let Some(reason) = self.check(&sealed, &ready.tree)? {
                return Ok(Outcome::Failed { reason });
            }
            let swap = || {
                let note = self.keep(&git, &ready, &sealed)?;
                let is_landed = merge::land(&git, &job, &ready, &sealed).map_err(host)?;
                Ok(is_landed.then_some(note))
            };
            let moves = (&*ready.ours, &*sealed);
            let landed = repository.alone(|| repository.run_ref.advance(self.site, moves, swap))?;
            if let Some(note) = landed {
                return Ok(Outcome::Merged { commit: sealed, note });
            }
        }
        let reason = format!("{} was moved by somebody else, again and again", job.run_ref);
        Ok(Outcome::Failed { reason })
    }

    pub(super) fn job(&self, git: &Git, commit: &str) -> Result<Merge, EngineError> {
        // Whoever solves a conflict does so on the branch of the phase.
        let head = git.commit_of(&format!("refs/heads/{}", self.place.branch))?;
        let commit = match &head {
            Some(head) if git.is_ancestor(commit, head)? => head,
            _ => commit,
        };
        Ok(self.job_at(commit))
    }

    /// Returns the merge of a commit of the phase.
    pub(super) fn job_at(&self, commit: &str) -> Merge {
        let site = self.site;
        let planning = site.project.planning_below_top();
        let dir = phase_dirs::find(&site.planning_in(&self.place.path), &self.number.to_string());
        let own = dir.map(|dir| format!("{planning}/phases/{}", dir.name));
        let (number, attempt) = (self.number.to_string(), self.attempt.to_string());
        let trailers =
            [("Mow-Phase", &*number), ("Mow-Attempt", &*attempt), ("Mow-Run", site.run.run())];
        Merge {
            run_ref: run_ref(site),
            branch_commit: commit.to_owned(),
            message: with_trailers(&format!("Merge phase {number}"), &trailers),
            keep_from_ours: vec![planning],
            own,
            overlay: Vec::new(),
            join: None,
        }
    }

    fn trial(&self) -> Trial<'_> {
        let Self { site, number, attempt, place, spent, alone } = self;
        let (phase, worktree) = (Some(*number), Some(place.path.as_path()));
        Trial { site, phase, attempt: *attempt, worktree, spent, alone: *alone }
    }

    /// Lets the role for conflicts settle them, if there is one; otherwise says how a person can.
    fn resolve(
        &self,
        job: &Merge,
        files: &[Conflict],
        repository: &Repository,
    ) -> Result<Result<Ready, Outcome>, EngineError> {
        let trial = self.trial();
        let failed = match trial.resolver()? {
            Some(resolver) => match trial.resolve(&resolver, job, (files, repository))? {
                Ok(ready) => return Ok(Ok(ready)),
                Err(why) => format!("{why}; "),
            },
            None => String::new(),
        };
        let settle = format!("{failed}{}", self.how_to_settle(&job.run_ref, files));
        Ok(Err(Outcome::Conflict { files: clashes(files), settle }))
    }

    /// Says how a person settles conflicts with a target: in the worktree of the phase.
    pub(super) fn how_to_settle(&self, target: &str, files: &[Conflict]) -> String {
        let at = format!("git -C {}", quoted(&self.place.path.to_string_lossy()));
        let how = if is_merging(&self.place.path) {
            format!("to settle them, finish the merge that is in progress there: {at} commit")
        } else {
            format!("to settle them: {at} merge {}", quoted(target))
        };
        let mut remedies: Vec<_> = files.iter().map(|file| file.kind.remedy()).collect();
        remedies.sort_unstable();
        remedies.dedup();
        let remedies = remedies.join("; ").replace("{}", "FILE");
        let again = self.trial().again();
        format!("{how}, then for each file: {remedies}; then {at} commit, and {again}")
    }

    /// Checks the merged tree with the project's own command; returns why it does not pass.
    fn check(&self, commit: &str, tree: &str) -> Result<Option<String>, EngineError> {
        let trial = self.trial();
        match trial.verify_command()? {
            Some(command) => trial.verify(&command, commit, tree),
            None => Ok(None),
        }
    }

    /// Keeps what does not go into the merge, before it is made; returns what people should know.
    fn keep(&self, git: &Git, ready: &Ready, sealed: &str) -> Result<String, EngineError> {
        let branch = &self.place.branch;
        let left = &ready.left_out;
        let kept =
            merge::keep_left_out(git, (branch, &ready.theirs), sealed, left).map_err(host)?;
        let mut notes = Vec::new();
        if let Some(kept) = kept {
            let name = kept.short_name();
            let left = left.join(", ");
            notes.push(format!("left out of the merge: {left} (mow rescue restore {name})"));
        }
        let bare = submodules::keep(git, &self.place.path, branch)?;
        if !bare.is_empty() {
            let (bare, path) = (bare.join(", "), self.place.path.display());
            notes.push(format!("only {path} has the commits of the submodules {bare}"));
        }
        Ok(notes.join("; "))
    }

    /// Notes that the phase is merged: papers, manifest, claim.
    pub(super) fn finish(&self, commit: &str) -> Result<(), EngineError> {
        bring_papers(self.site, self.number, &self.place)?;
        failpoint::reach("merge.papers.brought");
        let fields = [
            ("merged", json!(true)),
            ("merged_at", json!(now_text())),
            ("last_commit", json!(commit)),
            ("status", json!("merged")),
        ];
        change_manifest(&self.place, &fields)?;
        failpoint::reach("merge.noted");
        release(self.site, self.number)?;
        failpoint::reach("merge.ended");
        Ok(())
    }
}

pub(super) fn host<E: std::error::Error + Send + Sync + 'static>(error: E) -> EngineError {
    EngineError::Host(error.into())
}

pub(super) fn clashes(files: &[Conflict]) -> Vec<Clash> {
    let clash =
        |file: &Conflict| Clash { path: file.path.clone(), kind: file.kind.words().to_owned() };
    files.iter().map(clash).collect()
}

/// Copies the phase's planning files to the main root, where git does not carry them.
///
/// What somebody wrote there after the phase did is kept under a rescue ref before it is replaced.
fn bring_papers(site: &Site, phase: &PhaseNumber, place: &Place) -> Result<(), EngineError> {
    if site.commits_docs()? {
        return Ok(());
    }
    let Some(dir) = phase_dirs::find(&site.planning_in(&place.path), &phase.to_string()) else {
        return Ok(());
    };
    let target = site.project.planning.join("phases").join(&dir.name);
    let below = site.below_top().join(".planning/phases").join(&dir.name);
    let writer = Writer::open(&site.project, WAIT_DEFAULT)?;
    writer.create_dir(&target)?;
    let files = planning_copy::missing_in(&dir.path, &target)?;
    let mut replaced = Vec::new();
    for file in files.iter().filter(|file| is_newer(&target.join(file), &dir.path.join(file))) {
        let bytes = disk::read(&target.join(file))?;
        replaced.extend(bytes.map(|bytes| (below.join(file).display().to_string(), bytes)));
    }
    rescue::keep_files(&Git::new(site.top()), &place.branch, &replaced).map_err(host)?;
    for file in files {
        if let Some(parent) = target.join(&file).parent() {
            writer.create_dir(parent)?;
        }
        writer.copy(&dir.path.join(&file), &target.join(&file))?;
        failpoint::reach("merge.paper.copied");
    }
    Ok(())
}

/// Lets the branch of the run follow to a commit, as far as git allows without harm.
///
/// Where people have committed to the branch meanwhile, their work is merged first. Where they have
/// set it back from where it was seen, what they took away does not come back with the run.
pub(super) fn follow(
    site: &Site,
    target: &str,
    [from, commit]: [&str; 2],
    repository: &Repository,
) -> Result<Outcome, EngineError> {
    let git = Git::new(site.top());
    let planning = site.project.planning_below_top();
    let theirs = git.commit_of(&format!("refs/heads/{target}"))?;
    if let Some(theirs) = theirs.as_deref().filter(|theirs| *theirs != from && !from.is_empty())
        && git.is_ancestor(theirs, from)?
    {
        let [had, has] = [from, theirs].map(|one| one.get(..8).unwrap_or(one));
        let reason = format!("somebody set {target} back from {had}; it is at {has} now");
        let command = follow::command_to_follow(site.top(), (target, commit), &[planning])?;
        return Ok(Outcome::Refused { reason, command });
    }
    let moved = match theirs {
        Some(theirs) if repository.run_ref.is_before(&theirs, commit) => None,
        Some(theirs) if !git.is_ancestor(&theirs, commit)? => Some(theirs),
        _ => None,
    };
    let merged = match moved {
        Some(theirs) if !git.is_ancestor(commit, &theirs)? => {
            repository.look_at_ref(site, &git, commit)?;
            match take_in(site, target, &theirs, repository)? {
                Ok(merged) => {
                    failpoint::reach("follow.taken_in");
                    Some(merged)
                }
                Err(refused) => return Ok(refused),
            }
        }
        _ => None,
    };
    failpoint::reach("follow.begun");
    let to = merged.as_deref().unwrap_or(commit);
    let followed = follow::follow(site.top(), target, to, &[planning])?;
    failpoint::reach("follow.ended");
    Ok(match (followed, merged) {
        (Followed::Refused { reason, command_to_finish }, _) => {
            Outcome::Refused { reason, command: command_to_finish }
        }
        (Followed::Updated | Followed::UpToDate, Some(commit)) => {
            Outcome::Merged { commit, note: String::new() }
        }
        (Followed::Updated | Followed::UpToDate, None) => Outcome::Done,
    })
}

/// Merges what people have committed to the branch onto the run's ref.
fn take_in(
    site: &Site,
    target: &str,
    theirs: &str,
    repository: &Repository,
) -> Result<Result<String, Outcome>, EngineError> {
    let git = &Git::new(site.top());
    let job = Merge {
        run_ref: run_ref(site),
        branch_commit: theirs.to_owned(),
        message: with_trailers(
            &format!("Merge what is new on {target}"),
            &[("Mow-Run", site.run.run()), ("Mow-Taken-In", theirs)],
        ),
        keep_from_ours: Vec::new(),
        own: None,
        overlay: Vec::new(),
        join: Some(join),
    };
    let refused = |reason: String| {
        let command = follow::command_to_merge(site.top(), target, &run_ref(site))?;
        Ok(Err(Outcome::Refused { reason, command }))
    };
    let ready = match merge::plan(git, &job).map_err(host)? {
        Planned::Ready(ready) => ready,
        Planned::Not(MergeOutcome::Conflict { files }) => {
            let files: Vec<_> = clashes(&files).iter().map(ToString::to_string).collect();
            return refused(format!("{target} has commits that conflict in {}", files.join(", ")));
        }
        Planned::Not(MergeOutcome::AlreadyMerged { commit, .. }) => return Ok(Ok(commit)),
        Planned::Not(_) => return refused(format!("{} was moved", run_ref(site))),
    };
    let sealed = merge::seal(git, &job, &ready).map_err(host)?;
    let spent = &Cell::default();
    let trial = Trial { site, phase: None, attempt: 0, worktree: None, spent, alone: true };
    if let Some(command) = trial.verify_command()?
        && let Some(why) = trial.verify(&command, &sealed, &ready.tree)?
    {
        return refused(format!("with what is new on {target}, {why}"));
    }
    repository.run_ref.take_in();
    let land = || Ok(merge::land(git, &job, &ready, &sealed).map_err(host)?.then_some(()));
    match repository.run_ref.advance(site, (&ready.ours, &sealed), land)? {
        Some(()) => Ok(Ok(sealed)),
        None => refused(format!("{} was moved by somebody else", run_ref(site))),
    }
}

/// Joins planning files that both the run and people changed.
fn join(path: &str, versions: [&[u8]; 3]) -> Option<Vec<u8>> {
    let (dir, file) = path.rsplit_once('/')?;
    let is_planning = dir == ".planning" || dir.ends_with("/.planning");
    planning_join::join(file, versions).filter(|_| is_planning)
}

/// Returns whether the planning files in the root are those of a branch: it is checked out there, or
/// they are not in git at all.
///
/// Asked often, so that it starts no process in the usual case.
pub(super) fn is_live(site: &Site, target: &str) -> Result<bool, EngineError> {
    Ok(is_checked_out(site, target)? || !site.commits_docs()?)
}

fn is_checked_out(site: &Site, target: &str) -> Result<bool, EngineError> {
    match disk::read(&site.top().join(".git/HEAD")) {
        Ok(Some(head)) => {
            let head = String::from_utf8_lossy(&head);
            Ok(head.trim().strip_prefix("ref: refs/heads/") == Some(target))
        }
        _ => Ok(Git::new(site.top()).current_branch()?.as_deref() == Some(target)),
    }
}

/// Commits the shared planning files, by their names below the planning directory.
pub(super) fn close(
    site: &Site,
    (target, tip): (&str, &str),
    picture: &[(String, Vec<u8>)],
    repository: &Repository,
) -> Result<Outcome, EngineError> {
    super::trial::clear(site)?;
    if !site.commits_docs()? {
        return Ok(Outcome::Done);
    }
    let git = Git::new(site.top());
    repository.look_at_ref(site, &git, tip)?;
    let message = format!("docs: record run {}", site.run.run());
    let name = run_ref(site);
    // In the root people may have changed them since, and git would not move the branch over that.
    if !is_live(site, target)?
        && let Some(commit) = recorded(&git, &name, (tip, &message))?
    {
        return Ok(Outcome::Merged { commit, note: String::new() });
    }
    let planning = site.below_top().join(".planning");
    let named = |(file, bytes): &(String, Vec<u8>)| {
        (planning.join(file).display().to_string(), bytes.clone())
    };
    let overlay: Vec<_> = picture.iter().map(named).collect();
    let Overlaid { ours, commit } =
        merge::overlay(&git, &name, &overlay, &message).map_err(host)?;
    if ours != commit {
        let moves = (&*ours, &*commit);
        let swap = || Ok(merge::advance(&git, &name, moves).map_err(host)?.then_some(()));
        repository.run_ref.advance(site, moves, swap)?.ok_or_else(|| {
            let again = format!("mow run closes {} once more", site.run.run());
            EngineError::refused(format!("{name} was moved by somebody else"), again)
        })?;
        failpoint::reach("overlay.ref.moved");
    }
    failpoint::reach("close.ended");
    Ok(Outcome::Merged { commit, note: String::new() })
}

/// Returns the commit that closes a run, where a lead made it that died before it wrote so down. One
/// that is made anew would be another: it tells the time.
fn recorded(
    git: &Git,
    name: &str,
    (tip, message): (&str, &str),
) -> Result<Option<String>, EngineError> {
    let Some(there) = git.commit_of(name)?.filter(|there| there != tip) else { return Ok(None) };
    let about = git.run(&["log", "-1", "--format=%P%n%s", &there])?.text();
    Ok((about == format!("{tip}\n{message}")).then_some(there))
}

/// Returns the shared planning files as they are in the root, or else in a commit.
pub(super) fn shared(
    site: &Site,
    from: Option<&str>,
) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
    let git = Git::new(site.top());
    let mut files = Vec::new();
    for file in SHARED {
        let bytes = match from {
            None => disk::read(&site.project.planning.join(file))?,
            Some(commit) => git.file_in(commit, &site.below_top().join(".planning").join(file))?,
        };
        files.extend(bytes.map(|bytes| (file.to_owned(), bytes)));
    }
    Ok(files)
}
