//! Queues people's answers to questions for the lead, in the file of commands.
//!
//! Several people may answer the same question. The first answer in the file counts; the others are
//! told the answer that counts, so that nobody believes an answer was used that the lead ignores.

use std::collections::BTreeMap;

use mow_core::lead::{Command, Lead};
use mow_store::journal::{Journal, Record};
use mow_store::run_files::RunDir;

use crate::EngineError;
use crate::clock::Clock;

/// The file of commands of a run, opened to add answers.
#[derive(Debug)]
pub struct AnswerQueue {
    journal: Journal,
    /// The first answer to each question, among the commands that the lead has not read.
    given: BTreeMap<u32, String>,
}

impl AnswerQueue {
    /// Opens the queue of a run, skipping the commands that its lead has read.
    pub fn open(dir: &RunDir, lead: &Lead) -> Result<Self, EngineError> {
        let (journal, records) = Journal::open(&dir.commands(), &dir.commands_header())?;
        failpoint::reach("answer.opened");
        let mut answers = Self { journal, given: BTreeMap::new() };
        let new = records.iter().filter(|record| Some(record.seq) > lead.commands_through);
        answers.add_records(new);
        Ok(answers)
    }

    /// Answers a question; durable when this returns.
    ///
    /// Returns the sequence number of the command, or the answer that somebody else gave before.
    pub fn submit(&mut self, item: u32, text: &str) -> Result<Result<u64, String>, EngineError> {
        let others = self.journal.catch_up()?;
        self.add_records(&others);
        if let Some(given) = self.given.get(&item) {
            return Ok(Err(given.clone()));
        }
        let command = Command::Answer { item, text: text.to_owned() };
        let seq = self.journal.append(Clock::default().now(), std::slice::from_ref(&command))?;
        failpoint::reach("answer.left");
        // Another process may have written between the check and the append; the order in the file
        // counts.
        let others = self.journal.catch_up()?;
        let (before, after): (Vec<_>, Vec<_>) = others.iter().partition(|other| other.seq < seq);
        self.add_records(before);
        let outcome = match self.given.get(&item) {
            Some(given) => Err(given.clone()),
            None => Ok(seq),
        };
        self.given.entry(item).or_insert_with(|| text.to_owned());
        self.add_records(after);
        Ok(outcome)
    }

    fn add_records<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) {
        for record in records {
            // The lead skips records that it cannot parse, too.
            if let Ok(Command::Answer { item, text }) = record.parse() {
                self.given.entry(item).or_insert(text);
            }
        }
    }
}
