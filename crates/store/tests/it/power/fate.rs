//! What may become of one write that nobody has made durable.

/// The piece of a disk that is written at once.
const SECTOR: usize = 512;
/// The most sectors of one write of which every selection is looked at.
const SECTORS_MAX: usize = 4;

/// A change of a file's content.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Cut { length: usize },
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing of it arrived.
    Lost,
    /// All of it arrived.
    Whole,
    /// So many bytes arrived, and the file ends there.
    Torn(usize),
    /// These sectors arrived, and the length that the file was to have.
    Sectors(Vec<bool>),
}

impl Fate {
    /// Returns whether a sector arrived and one before it did not.
    pub(crate) fn has_inner_hole(&self) -> bool {
        matches!(self, Self::Sectors(arrived) if !arrived.is_sorted_by(|one, next| one >= next))
    }
}

impl Change {
    /// Returns all that may become of it; a file is torn at every byte.
    pub(crate) fn fates(&self) -> Vec<Fate> {
        let mut fates = vec![Fate::Lost, Fate::Whole];
        if let Self::Write { bytes, .. } = self {
            fates.extend((1..bytes.len()).map(Fate::Torn));
            let count = self.pieces().len();
            if (1..=SECTORS_MAX).contains(&count) {
                // All of them would be the whole write.
                let picks = 0..(1_usize << count) - 1;
                let picked = |pick: usize| (0..count).map(|bit| pick >> bit & 1 == 1).collect();
                fates.extend(picks.map(|pick| Fate::Sectors(picked(pick))));
            } else if count > SECTORS_MAX {
                let all_but = |missing| (0..count).map(|at| at != missing).collect();
                fates.extend((0..count).map(|missing| Fate::Sectors(all_but(missing))));
            }
        }
        fates
    }

    /// Cuts a write where sectors end; each piece is a range of its bytes.
    fn pieces(&self) -> Vec<(usize, usize)> {
        let Self::Write { at, bytes } = self else { return Vec::new() };
        let mut pieces = Vec::new();
        let mut from = 0;
        while from < bytes.len() {
            let to = (((at + from) / SECTOR + 1) * SECTOR - at).min(bytes.len());
            pieces.push((from, to));
            from = to;
        }
        pieces
    }

    /// Does to a file what became of the change.
    pub(crate) fn apply(&self, content: &mut Vec<u8>, fate: &Fate) {
        match (self, fate) {
            (_, Fate::Lost) => {}
            (Self::Cut { length }, _) => content.resize(*length, 0),
            (Self::Write { at, bytes }, Fate::Whole) => put(content, *at, bytes),
            (Self::Write { at, bytes }, Fate::Torn(count)) => put(content, *at, &bytes[..*count]),
            (Self::Write { at, bytes }, Fate::Sectors(arrived)) => {
                let end = at + bytes.len();
                content.resize(content.len().max(end), 0);
                for ((from, to), _) in
                    self.pieces().into_iter().zip(arrived).filter(|(_, arrived)| **arrived)
                {
                    put(content, at + from, &bytes[from..to]);
                }
            }
        }
    }
}

/// Puts bytes into a file; what lies between its end and them reads as NUL.
fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(bytes);
}
