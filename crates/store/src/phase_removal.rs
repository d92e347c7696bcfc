//! Takes a phase out of a project: its directory, the numbers behind it, ROADMAP.md and STATE.md.
//!
//! Many files change, so the intention is written down first. Whoever finds it later finishes the
//! work: every step sees for itself whether it was done. The directory is moved aside before
//! anything is renamed and deleted last, and nothing is ever renamed onto something else.
//!
//! | step | a crash after it leaves |
//! |---|---|
//! | 1 write the intention | everything as it was; the next call finishes the work |
//! | 2 edit ROADMAP.md, then STATE.md | the same |
//! | 3 move the directory aside | the same |
//! | 4 rename directories and the files in them, lowest number first | the same |
//! | 5 erase the intention | a hidden directory that the next removal deletes |
//! | 6 delete what was moved aside | nothing |

use std::path::Path;

use mow_core::phase::PhaseNumber;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::disk::{self, DiskError, Writer};
use crate::phase_dirs::{self, Artifact, PhaseDir, PhaseDirs};
use crate::project::fnv1a;
use crate::roadmap::edit::{self, Ambiguous};
use crate::state::transition;

/// The intention's file, in the planning directory.
const INTENTION: &str = ".phase-removal.json";
/// What the name of a directory that was moved aside begins with.
const ASIDE: &str = ".removed-";

/// Why a phase was not removed; nothing was changed then, unless the disk failed on the way.
#[derive(Debug, Error)]
pub enum RemovalError {
    /// The disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The roadmap has two such phases.
    #[error(transparent)]
    Ambiguous(#[from] Ambiguous),
    /// Two directories carry the number.
    #[error("more than one directory for phase {0}: {1}")]
    Twins(PhaseNumber, String),
    /// Something already has a name that would be given.
    #[error("{0} is in the way of {1}")]
    InTheWay(String, String),
}

/// A name that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rename {
    /// The old name.
    pub from: String,
    /// The new name.
    pub to: String,
}

/// What a removal will do to the directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// The phase's own directory, which goes.
    pub own: Option<String>,
    /// The directories of phases that hang on it, which go too.
    pub hanging: Vec<String>,
    /// Whether a directory that goes holds summaries.
    pub executed: bool,
    /// The directories that get another name, lowest number first.
    pub directories: Vec<Rename>,
    /// The files in them that do.
    pub files: Vec<Rename>,
    /// The same by path below `phases/`, in the order they are done.
    steps: Vec<Rename>,
}

impl Removal {
    /// Looks at the directories and works out what has to be done.
    pub fn plan(planning: &Path, removed: &PhaseNumber) -> Result<Self, RemovalError> {
        let dirs = PhaseDirs::load(planning);
        let mut plan = Self::default();
        let own: Vec<_> = dirs.iter().filter(|dir| dir.number.as_ref() == Some(removed)).collect();
        if own.len() > 1 {
            let names: Vec<_> = own.iter().map(|dir| dir.name.as_str()).collect();
            return Err(RemovalError::Twins(*removed, names.join(", ")));
        }
        let hanging: Vec<_> =
            dirs.iter().filter(|dir| dir.number.is_some_and(|n| n.hangs_on(removed))).collect();
        let mut doomed = own.iter().chain(&hanging);
        plan.executed = doomed.any(|dir| dir.count(Artifact::Summary) > 0);
        plan.own = own.first().map(|dir| dir.name.clone());
        plan.hanging = hanging.iter().map(|dir| dir.name.clone()).collect();
        for dir in dirs.iter() {
            let Some(number) = dir.number else { continue };
            let moved = number.after_removal(removed);
            if moved != number {
                plan.rename(dir, &number, &moved)?;
            }
        }
        for rename in &plan.directories {
            let stays = dirs.iter().any(|dir| dir.name == rename.to)
                && !plan.doomed().any(|name| *name == rename.to)
                && !plan.directories.iter().any(|other| other.from == rename.to);
            if stays {
                return Err(RemovalError::InTheWay(rename.to.clone(), rename.from.clone()));
            }
        }
        Ok(plan)
    }

    fn doomed(&self) -> impl Iterator<Item = &String> {
        self.own.iter().chain(&self.hanging)
    }

    fn rename(
        &mut self,
        dir: &PhaseDir,
        number: &PhaseNumber,
        moved: &PhaseNumber,
    ) -> Result<(), RemovalError> {
        let written = dir.written().unwrap_or_default();
        let to = renumbered(&dir.name, written, number, moved);
        self.steps.push(Rename { from: dir.name.clone(), to: to.clone() });
        let inner = phase_dirs::subdirectories(&dir.path);
        let names: Vec<_> = dir.files().chain(inner.iter().map(String::as_str)).collect();
        let files: Vec<_> =
            names.iter().filter_map(|file| file_rename(file, number, moved)).collect();
        for file in &files {
            let taken = names.contains(&file.to.as_str())
                && !files.iter().any(|other| other.from == file.to);
            if taken {
                let place = |name: &str| format!("{}/{name}", dir.name);
                return Err(RemovalError::InTheWay(place(&file.to), place(&file.from)));
            }
            let place = |name: &str| format!("{to}/{name}");
            self.steps.push(Rename { from: place(&file.from), to: place(&file.to) });
        }
        self.directories.push(Rename { from: dir.name.clone(), to });
        self.files.extend(files);
        Ok(())
    }

    /// Removes the phase.
    pub fn carry_out(
        &self,
        writer: &Writer,
        planning: &Path,
        removed: &PhaseNumber,
    ) -> Result<(), RemovalError> {
        let roadmap = disk::read(&planning.join("ROADMAP.md"))?;
        // The one thing that may be refused is tried before anything is written.
        roadmap.as_ref().map(|bytes| edit::remove(bytes, removed)).transpose()?;
        let state = disk::read(&planning.join("STATE.md"))?;
        let aside = self
            .doomed()
            .map(|name| Rename { from: format!("phases/{name}"), to: format!("{ASIDE}{name}") });
        let steps = self.steps.iter().map(|step| Rename {
            from: format!("phases/{}", step.from),
            to: format!("phases/{}", step.to),
        });
        let intention = Intention {
            removed: removed.to_string(),
            roadmap: roadmap.as_deref().map(fnv1a),
            state: state.as_deref().map(fnv1a),
            renames: aside.chain(steps).collect(),
        };
        sweep(writer, planning)?;
        let text = serde_json::to_vec(&intention).expect("an intention is plain text and numbers");
        writer.replace(&planning.join(INTENTION), &text)?;
        intention.finish(writer, planning, usize::MAX)
    }
}

/// Gives a directory the name with its new number, padded unless the old one could have been and
/// was not.
fn renumbered(name: &str, written: &str, number: &PhaseNumber, moved: &PhaseNumber) -> String {
    let is_padded = written.starts_with('0') || number.major() > 9;
    let new = if is_padded { moved.padded() } else { moved.to_string() };
    name.replacen(written, &new, 1)
}

/// What the files of a refined phase begin with; the number stands behind it.
const CHAIN: &str = "VERIFICATION-CHAIN-P";

/// Returns the new name of a file or directory that carries the number of its phase.
fn file_rename(file: &str, number: &PhaseNumber, moved: &PhaseNumber) -> Option<Rename> {
    let of_chain = file.strip_prefix(CHAIN);
    let (found, rest) = PhaseNumber::parse_prefix(of_chain.unwrap_or(file))?;
    let is_whole = match of_chain {
        Some(_) => rest.is_empty() || rest.starts_with(['.', '-']),
        None => rest.starts_with('-'),
    };
    if found != *number || !is_whole {
        return None;
    }
    let written = of_chain.unwrap_or(file).strip_suffix(rest)?;
    Some(Rename { from: file.to_owned(), to: renumbered(file, written, number, moved) })
}

/// What was begun, as it is written down.
#[derive(Debug, Serialize, Deserialize)]
struct Intention {
    removed: String,
    /// The hash of ROADMAP.md before: another one means that it was edited already.
    roadmap: Option<u64>,
    state: Option<u64>,
    /// In the order they are done; paths below the planning directory.
    renames: Vec<Rename>,
}

impl Intention {
    /// Does what is left to do, but no more than some steps, so that tests can stop anywhere.
    fn finish(&self, writer: &Writer, planning: &Path, steps: usize) -> Result<(), RemovalError> {
        let removed = PhaseNumber::parse(&self.removed);
        let edit = |file: &str, hash: Option<u64>, change: &dyn Fn(&[u8]) -> Option<Vec<u8>>| {
            writer.update(&planning.join(file), |old| {
                let fresh = old.filter(|old| hash == Some(fnv1a(old)));
                Ok::<_, DiskError>(fresh.and_then(change))
            })
        };
        let mut left = steps;
        let mut may_go_on = || {
            left = left.saturating_sub(1);
            left > 0
        };
        if let Some(removed) = removed.filter(|_| may_go_on()) {
            edit("ROADMAP.md", self.roadmap, &|old| edit::remove(old, &removed).ok())?;
        }
        if may_go_on() {
            edit("STATE.md", self.state, &|old| Some(transition::remove_one_phase(old)))?;
        }
        for rename in &self.renames {
            let (from, to) = (planning.join(&rename.from), planning.join(&rename.to));
            if !may_go_on() {
                return Ok(());
            }
            if from.symlink_metadata().is_ok() && to.symlink_metadata().is_err() {
                writer.rename(&from, &to)?;
            }
        }
        if may_go_on() {
            writer.remove_file(&planning.join(INTENTION))?;
        }
        if may_go_on() {
            sweep(writer, planning)?;
        }
        Ok(())
    }
}

/// Finishes a removal that was cut off; returns the number of the phase it was about.
pub fn finish_interrupted(
    writer: &Writer,
    planning: &Path,
) -> Result<Option<String>, RemovalError> {
    let path = planning.join(INTENTION);
    let Some(bytes) = disk::read(&path)? else { return Ok(None) };
    let Ok(intention) = serde_json::from_slice::<Intention>(&bytes) else {
        // It is written whole or not at all: this is none of ours.
        return Ok(None);
    };
    intention.finish(writer, planning, usize::MAX)?;
    Ok(Some(intention.removed))
}

/// Deletes what was moved aside.
fn sweep(writer: &Writer, planning: &Path) -> Result<(), DiskError> {
    for name in phase_dirs::subdirectories(planning) {
        if name.starts_with(ASIDE) {
            writer.remove_dir_all(&planning.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
