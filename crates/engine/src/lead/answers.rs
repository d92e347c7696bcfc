//! What people answer, left for the lead in the file of commands. Of several who answer the same
//! question the first in the file has answered it, and the others are told so: nobody is made to
//! believe that words count which the lead will pass over.

use std::collections::BTreeMap;

use mow_core::lead::{Command, Lead};
use mow_store::journal::{Journal, Record};
use mow_store::run_files::RunDir;

use crate::EngineError;
use crate::clock::Clock;

/// The answers that were left for a lead, open for more.
#[derive(Debug)]
pub struct Answers {
    journal: Journal,
    /// The first answer to each question that the lead has not taken up.
    given: BTreeMap<u32, String>,
}

impl Answers {
    /// Opens what was left for a run; what its lead has read is passed over.
    pub fn open(dir: &RunDir, lead: &Lead) -> Result<Self, EngineError> {
        let (journal, records) = Journal::open(&dir.commands(), &dir.commands_header())?;
        failpoint::reach("answer.opened");
        let mut answers = Self { journal, given: BTreeMap::new() };
        let new = records.iter().filter(|record| Some(record.seq) > lead.commands_through);
        answers.take_in(new);
        Ok(answers)
    }

    /// Answers a question; durable when this returns. Returns the number of the command, or what
    /// somebody else answered before.
    pub fn give(&mut self, item: u32, text: &str) -> Result<Result<u64, String>, EngineError> {
        let others = self.journal.catch_up()?;
        self.take_in(&others);
        if let Some(given) = self.given.get(&item) {
            return Ok(Err(given.clone()));
        }
        let command = Command::Answer { item, text: text.to_owned() };
        let seq = self.journal.append(Clock::default().now(), std::slice::from_ref(&command))?;
        failpoint::reach("answer.left");
        // Somebody may have come between the look and the write; the order in the file decides.
        let others = self.journal.catch_up()?;
        let (before, after): (Vec<_>, Vec<_>) = others.iter().partition(|other| other.seq < seq);
        self.take_in(before);
        let outcome = match self.given.get(&item) {
            Some(given) => Err(given.clone()),
            None => Ok(seq),
        };
        self.given.entry(item).or_insert_with(|| text.to_owned());
        self.take_in(after);
        Ok(outcome)
    }

    fn take_in<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) {
        for record in records {
            // What cannot be read is passed over by the lead, too.
            if let Ok(Command::Answer { item, text }) = record.parse() {
                self.given.entry(item).or_insert(text);
            }
        }
    }
}
