//! Removes a phase from a project: its directory, ROADMAP.md, STATE.md, and later phase numbers.
//!
//! Many files change, so the removal is first recorded in an intent file. After a crash, the next
//! call finds the file and finishes the removal; every step checks whether it was done already. The
//! directory is moved aside before anything is renamed and is deleted last. Nothing is ever renamed
//! onto an existing name.
//!
//! | step | a crash after it leaves |
//! |---|---|
//! | 1 write the intent file | everything unchanged; the next call finishes the removal |
//! | 2 edit ROADMAP.md, then STATE.md | the same |
//! | 3 move the directory aside | the same |
//! | 4 rename directories and the files in them, lowest number first | the same |
//! | 5 delete the intent file | a hidden directory that the next removal deletes |
//! | 6 delete the directories that were moved aside | nothing |

use std::path::Path;

use mow_core::phase::PhaseNumber;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::compat::roadmap_edit::{self, AmbiguousPhase};
use crate::disk::{self, DiskError, Writer};
use crate::phase_dirs::{self, PhaseDir, PhaseDirs, PhaseFileKind};
use crate::project::fnv1a;
use crate::state::transition;

/// Name of the intent file in the planning directory.
const INTENT_FILE: &str = ".phase-removal.json";
/// Prefix of a directory that was moved aside.
const ASIDE_PREFIX: &str = ".removed-";

/// Why a phase was not removed. Nothing was changed, unless the disk failed during the removal.
#[derive(Debug, Error)]
pub enum RemovalError {
    /// A file could not be read or written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The roadmap has two phases with the number.
    #[error(transparent)]
    AmbiguousPhase(#[from] AmbiguousPhase),
    /// Two directories have the number: the number and their names.
    #[error("more than one directory for phase {0}: {1}")]
    DuplicateDirectories(PhaseNumber, String),
    /// The new name of a directory or file exists already: the new name and the old one.
    #[error("{0} is in the way of {1}")]
    NameTaken(String, String),
}

/// A rename; also stored in the intent file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rename {
    /// Old name.
    pub from: String,
    /// New name.
    pub to: String,
}

/// The changes of directories and files that a removal makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseRemoval {
    /// Directory of the phase, which is deleted.
    pub own: Option<String>,
    /// Directories of its sub-phases, which are deleted too.
    pub sub_phases: Vec<String>,
    /// Whether a directory that is deleted contains summaries, so that work would be lost.
    pub has_summaries: bool,
    /// Directories that are renamed, lowest number first.
    pub directories: Vec<Rename>,
    /// Files in those directories that are renamed.
    pub files: Vec<Rename>,
    /// All renames by path below `phases/`, in execution order.
    steps: Vec<Rename>,
}

impl PhaseRemoval {
    /// Computes the changes from the existing directories.
    pub fn plan(planning: &Path, removed: &PhaseNumber) -> Result<Self, RemovalError> {
        let dirs = PhaseDirs::load(planning);
        let mut plan = Self::default();
        let own: Vec<_> = dirs.iter().filter(|dir| dir.number.as_ref() == Some(removed)).collect();
        if own.len() > 1 {
            let names: Vec<_> = own.iter().map(|dir| dir.name.as_str()).collect();
            return Err(RemovalError::DuplicateDirectories(*removed, names.join(", ")));
        }
        let sub_phases: Vec<_> = dirs
            .iter()
            .filter(|dir| dir.number.is_some_and(|n| n.is_descendant_of(removed)))
            .collect();
        let mut removed_directories = own.iter().chain(&sub_phases);
        plan.has_summaries = removed_directories.any(|dir| dir.count(PhaseFileKind::Summary) > 0);
        plan.own = own.first().map(|dir| dir.name.clone());
        plan.sub_phases = sub_phases.iter().map(|dir| dir.name.clone()).collect();
        for dir in dirs.iter() {
            let Some(number) = dir.number else { continue };
            let moved = number.after_removal(removed);
            if moved != number {
                plan.rename(dir, &number, &moved)?;
            }
        }
        for rename in &plan.directories {
            let stays = dirs.iter().any(|dir| dir.name == rename.to)
                && !plan.removed_directories().any(|name| *name == rename.to)
                && !plan.directories.iter().any(|other| other.from == rename.to);
            if stays {
                return Err(RemovalError::NameTaken(rename.to.clone(), rename.from.clone()));
            }
        }
        Ok(plan)
    }

    fn removed_directories(&self) -> impl Iterator<Item = &String> {
        self.own.iter().chain(&self.sub_phases)
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
                let path = |name: &str| format!("{}/{name}", dir.name);
                return Err(RemovalError::NameTaken(path(&file.to), path(&file.from)));
            }
            let path = |name: &str| format!("{to}/{name}");
            self.steps.push(Rename { from: path(&file.from), to: path(&file.to) });
        }
        self.directories.push(Rename { from: dir.name.clone(), to });
        self.files.extend(files);
        Ok(())
    }

    /// Removes the phase: writes the intent file and executes all steps.
    pub fn apply(
        &self,
        writer: &Writer,
        planning: &Path,
        removed: &PhaseNumber,
    ) -> Result<(), RemovalError> {
        let roadmap = disk::read(&planning.join("ROADMAP.md"))?;
        // The roadmap edit is the only step that can be refused, so it is tried before anything is
        // written.
        roadmap.as_ref().map(|bytes| roadmap_edit::remove(bytes, removed)).transpose()?;
        let state = disk::read(&planning.join("STATE.md"))?;
        let aside = self.removed_directories().map(|name| Rename {
            from: format!("phases/{name}"),
            to: format!("{ASIDE_PREFIX}{name}"),
        });
        let steps = self.steps.iter().map(|step| Rename {
            from: format!("phases/{}", step.from),
            to: format!("phases/{}", step.to),
        });
        let intent = RemovalIntent {
            removed: removed.to_string(),
            roadmap: roadmap.as_deref().map(fnv1a),
            state: state.as_deref().map(fnv1a),
            renames: aside.chain(steps).collect(),
        };
        delete_moved_aside(writer, planning)?;
        let text = serde_json::to_vec(&intent).expect("an intent is plain text and numbers");
        writer.replace(&planning.join(INTENT_FILE), &text)?;
        intent.finish(writer, planning, usize::MAX)
    }
}

/// Returns a directory name with its new number. The number is padded, unless the old one could
/// have been padded and was not.
fn renumbered(name: &str, written: &str, number: &PhaseNumber, moved: &PhaseNumber) -> String {
    let is_padded = written.starts_with('0') || number.major() > 9;
    let new = if is_padded { moved.padded() } else { moved.to_string() };
    name.replacen(written, &new, 1)
}

/// Prefix of the files of a refined phase; the phase number follows it.
const CHAIN_PREFIX: &str = "VERIFICATION-CHAIN-P";

/// Returns the rename of a file or directory that carries the number of its phase.
fn file_rename(file: &str, number: &PhaseNumber, moved: &PhaseNumber) -> Option<Rename> {
    let of_chain = file.strip_prefix(CHAIN_PREFIX);
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

/// The contents of the intent file.
#[derive(Debug, Serialize, Deserialize)]
struct RemovalIntent {
    /// Number of the removed phase.
    removed: String,
    /// Hash of ROADMAP.md before the removal. Another hash means that the file was edited already.
    roadmap: Option<u64>,
    /// Hash of STATE.md before the removal, used in the same way.
    state: Option<u64>,
    /// Renames in execution order; paths are below the planning directory.
    renames: Vec<Rename>,
}

impl RemovalIntent {
    /// Executes the remaining steps, but at most `steps` of them, so that tests can stop anywhere.
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
            edit("ROADMAP.md", self.roadmap, &|old| roadmap_edit::remove(old, &removed).ok())?;
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
            writer.remove_file(&planning.join(INTENT_FILE))?;
        }
        if may_go_on() {
            delete_moved_aside(writer, planning)?;
        }
        Ok(())
    }
}

/// Finishes an interrupted removal and returns the number of the removed phase.
pub fn finish_interrupted(
    writer: &Writer,
    planning: &Path,
) -> Result<Option<String>, RemovalError> {
    let path = planning.join(INTENT_FILE);
    let Some(bytes) = disk::read(&path)? else { return Ok(None) };
    let Ok(intent) = serde_json::from_slice::<RemovalIntent>(&bytes) else {
        // The intent file is written atomically, so a file that does not parse was written by
        // another program.
        return Ok(None);
    };
    intent.finish(writer, planning, usize::MAX)?;
    Ok(Some(intent.removed))
}

/// Deletes the directories that were moved aside.
fn delete_moved_aside(writer: &Writer, planning: &Path) -> Result<(), DiskError> {
    for name in phase_dirs::subdirectories(planning) {
        if name.starts_with(ASIDE_PREFIX) {
            writer.remove_dir_all(&planning.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
