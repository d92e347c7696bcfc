//! The possible outcomes of one write to a file that was not synced before a crash.

/// The number of bytes that a disk writes at once.
const SECTOR: usize = 512;
/// Up to this number of sectors in a write, every subset of them is tried.
const SECTORS_MAX: usize = 4;

/// A change of a file's content.
#[derive(Clone, Debug)]
pub(crate) enum FileChange {
    Write { at: usize, bytes: Vec<u8> },
    Cut { length: usize },
}

/// How much of a change is on the disk after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangeOutcome {
    /// No byte was written.
    Lost,
    /// The whole change was made.
    Whole,
    /// Only this number of bytes was written, and the file ends there.
    Torn(usize),
    /// Only these sectors were written; the file has its new length.
    Sectors(Vec<bool>),
}

impl ChangeOutcome {
    /// Returns whether a sector was written and an earlier one was not.
    pub(crate) fn has_inner_hole(&self) -> bool {
        matches!(self, Self::Sectors(arrived) if !arrived.is_sorted_by(|one, next| one >= next))
    }
}

impl FileChange {
    /// Returns all possible outcomes; a write may be torn after every byte.
    pub(crate) fn outcomes(&self) -> Vec<ChangeOutcome> {
        let mut outcomes = vec![ChangeOutcome::Lost, ChangeOutcome::Whole];
        if let Self::Write { bytes, .. } = self {
            outcomes.extend((1..bytes.len()).map(ChangeOutcome::Torn));
            let count = self.sector_ranges().len();
            if (1..=SECTORS_MAX).contains(&count) {
                // The set of all sectors would be the whole write.
                let picks = 0..(1_usize << count) - 1;
                let picked = |pick: usize| (0..count).map(|bit| pick >> bit & 1 == 1).collect();
                outcomes.extend(picks.map(|pick| ChangeOutcome::Sectors(picked(pick))));
            } else if count > SECTORS_MAX {
                let all_but = |missing| (0..count).map(|at| at != missing).collect();
                outcomes.extend((0..count).map(|missing| ChangeOutcome::Sectors(all_but(missing))));
            }
        }
        outcomes
    }

    /// Splits a write at the ends of sectors, into ranges of its bytes.
    fn sector_ranges(&self) -> Vec<(usize, usize)> {
        let Self::Write { at, bytes } = self else { return Vec::new() };
        let mut sector_ranges = Vec::new();
        let mut from = 0;
        while from < bytes.len() {
            let to = (((at + from) / SECTOR + 1) * SECTOR - at).min(bytes.len());
            sector_ranges.push((from, to));
            from = to;
        }
        sector_ranges
    }

    /// Applies the change to a file's content, as far as the outcome says.
    pub(crate) fn apply(&self, content: &mut Vec<u8>, outcome: &ChangeOutcome) {
        match (self, outcome) {
            (_, ChangeOutcome::Lost) => {}
            (Self::Cut { length }, _) => content.resize(*length, 0),
            (Self::Write { at, bytes }, ChangeOutcome::Whole) => write_at(content, *at, bytes),
            (Self::Write { at, bytes }, ChangeOutcome::Torn(count)) => {
                write_at(content, *at, &bytes[..*count]);
            }
            (Self::Write { at, bytes }, ChangeOutcome::Sectors(arrived)) => {
                let end = at + bytes.len();
                content.resize(content.len().max(end), 0);
                for ((from, to), _) in
                    self.sector_ranges().into_iter().zip(arrived).filter(|(_, arrived)| **arrived)
                {
                    write_at(content, at + from, &bytes[from..to]);
                }
            }
        }
    }
}

/// Writes bytes into a file; a gap between its end and the bytes reads as NUL.
fn write_at(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(bytes);
}
