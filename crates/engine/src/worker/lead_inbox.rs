//! Reads the inbox file of a worker: the brief, confirmations, and numbered notes of the lead.

use std::path::Path;

use mow_core::report::{Brief, LeadMessage, NoteNumbers, NumberedMessage};
use mow_store::journal::{JournalReader, Record};

use crate::EngineError;

/// The inbox file, as far as it was read.
#[derive(Debug)]
pub(super) struct LeadInbox {
    reader: JournalReader,
    /// The notes that were taken.
    notes: NoteNumbers,
    /// The newest journal record that the lead has acknowledged.
    acknowledged_seq: u64,
}

impl LeadInbox {
    /// Opens the file; returns the brief if it is the first record.
    pub(super) fn open(path: &Path) -> Result<(Self, Option<Brief>), EngineError> {
        // The lead can rebuild its messages from its own journal, so they need no sync here.
        let reader = JournalReader::new(path).without_sync();
        // Notes may follow the brief already, so they are read again from the beginning.
        let brief = match reader.clone().poll()?.first().map(Record::parse) {
            Some(Ok(LeadMessage::Brief(brief))) => Some(brief),
            _ => None,
        };
        Ok((Self { reader, notes: NoteNumbers::default(), acknowledged_seq: 0 }, brief))
    }

    /// Returns the new notes, each number once.
    pub(super) fn read_notes(&mut self) -> Result<Vec<LeadMessage>, EngineError> {
        let mut notes = Vec::new();
        for record in self.reader.poll()? {
            let message = record.parse::<NumberedMessage>()?;
            if !self.notes.add(&message) {
                continue;
            }
            match message.message {
                LeadMessage::Brief(_) => {}
                LeadMessage::Through { seq } => {
                    self.acknowledged_seq = self.acknowledged_seq.max(seq);
                }
                note => notes.push(note),
            }
        }
        Ok(notes)
    }

    /// Returns the number of the newest journal record that the lead has acknowledged.
    pub(super) fn acknowledged_seq(&self) -> u64 {
        self.acknowledged_seq
    }
}

#[cfg(test)]
mod tests;
