//! The queue of commands for the lead of a run: an append-only file, which works without a lead.
//!
//! Several people may answer the same question. The first answer in the file counts; the others are
//! told the answer that counts, so that nobody believes an answer was used that the lead ignores.

use std::collections::BTreeMap;

use mow_core::lead::{Caller, Command, CommandOrigin, Lead, QueuedCommand, drop_taken_back};
use mow_store::journal::{Journal, JournalReader, Record};
use mow_store::run_files::RunDir;

use crate::EngineError;
use crate::clock::Clock;

/// Returns the queued commands that the lead has not read yet, with their sequence numbers.
pub(super) fn pending_commands(
    dir: &RunDir,
    lead: &Lead,
) -> Result<Vec<(u64, Command)>, EngineError> {
    let records = JournalReader::new(&dir.commands()).without_sync().poll()?;
    let new = records.iter().filter(|record| Some(record.seq) > lead.commands_through);
    // The lead skips records that it cannot parse, too.
    let new = new.filter_map(|record| Some((record.seq, record.parse().ok()?))).collect();
    Ok(drop_taken_back(new).into_iter().map(|(seq, queued)| (seq, queued.command)).collect())
}

/// The file of commands of a run, opened to add commands.
#[derive(Debug)]
pub(super) struct CommandQueue {
    journal: Journal,
    /// The first answer to each question, among the commands that the lead has not read.
    given: BTreeMap<u32, String>,
}

impl CommandQueue {
    /// Opens the queue of a run, skipping the commands that its lead has read.
    pub(super) fn open(dir: &RunDir, lead: &Lead) -> Result<Self, EngineError> {
        let (journal, records) = Journal::open(&dir.commands(), &dir.commands_header())?;
        failpoint::reach("command.opened");
        let mut answers = Self { journal, given: BTreeMap::new() };
        let new = records.iter().filter(|record| Some(record.seq) > lead.commands_through);
        answers.add_records(new);
        Ok(answers)
    }

    /// Queues a command for the lead, running or not; durable when this returns. Returns its
    /// sequence number.
    pub(super) fn send(&mut self, command: &Command, by: &Caller) -> Result<u64, EngineError> {
        let origin = CommandOrigin { by: Some(by.clone()), seen: None };
        let queued = QueuedCommand { command: command.clone(), origin };
        let seq = self.journal.append(Clock::default().now(), &[queued])?;
        failpoint::reach("command.left");
        Ok(seq)
    }

    /// Answers a question; durable when this returns.
    ///
    /// Returns the sequence number of the command, or the answer that somebody else gave before.
    pub(super) fn answer(
        &mut self,
        (item, text): (u32, &str),
        origin: CommandOrigin,
    ) -> Result<Result<u64, String>, EngineError> {
        let others = self.journal.catch_up()?;
        self.add_records(&others);
        if let Some(given) = self.given.get(&item) {
            return Ok(Err(given.clone()));
        }
        let command = Command::Answer { item, text: text.to_owned() };
        let queued = QueuedCommand { command, origin };
        let seq = self.journal.append(Clock::default().now(), &[queued])?;
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
            match record.parse() {
                Ok(Command::Answer { item, text }) => {
                    self.given.entry(item).or_insert(text);
                }
                Ok(Command::TakeBack { item }) => {
                    self.given.remove(&item);
                }
                _ => {}
            }
        }
    }
}
