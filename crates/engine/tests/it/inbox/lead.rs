//! A lead process in the real loop with real journals, whose effects are carried out at once.
//!
//! A worker asks the questions without an answer and parks, or it is complete. Every effect checks
//! first whether it is done already.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use mow_core::inbox::{InboxQuestion, QuestionKey, QuestionKind};
use mow_core::lead::{
    Effect, Event, Input, Lead, Outcome, PhaseSpec, QueuedCommand, RunScope, Settings, Status,
};
use mow_core::phase::PhaseNumber;
use mow_core::report::{Brief, Report};
use mow_core::worker;
use mow_engine::clock::Clock;
use mow_engine::drive::{World, drive};
use mow_engine::lead as engine;
use mow_store::journal::{Journal, JournalReader};
use mow_store::run_files::RunDir;

use super::{QUESTIONS_PER_PHASE, WAIT_MAX, phases, question};

/// How often the lead polls for answers.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

type Key = (PhaseNumber, u32);

struct InstantLead<'a> {
    run: &'a RunDir,
    journal: Journal,
    commands: JournalReader,
    /// The journals of the workers that the lead reads.
    voices: BTreeMap<Key, JournalReader>,
    inputs: Vec<Input>,
    clock: Clock,
    ends: Instant,
}

pub(super) fn lead(run: &RunDir) {
    let (mut lead, _) = engine::load_run(run).unwrap_or_default();
    let (journal, records) = Journal::open(&run.journal(), &run.header()).unwrap();
    let clock = Clock::not_before(records.last().map_or(0, |record| record.at));
    let mut hall = InstantLead {
        run,
        journal,
        commands: JournalReader::new(&run.commands()),
        voices: BTreeMap::new(),
        inputs: Vec::new(),
        clock,
        ends: Instant::now() + WAIT_MAX,
    };
    if lead.run.is_empty() {
        let (target, tip) = ("main".to_owned(), "m0".to_owned());
        hall.inputs.push(Input::Begin { run: run.run().to_owned(), target, tip });
    }
    let many = usize::try_from(phases()).unwrap();
    let settings = Settings {
        max_workers: many,
        max_agents: many,
        restarts_max: u32::MAX,
        stagger_ms: 0,
        ..Settings::default()
    };
    hall.inputs.push(Input::LeadStarted { settings });
    hall.inputs
        .push(Input::Roadmap { scope: RunScope::All, phases: (1..=phases()).map(spec).collect() });
    for track in lead.live().filter(|t| matches!(t.status, Status::Running | Status::Ending)) {
        hall.open_journal((track.spec.number, track.attempt));
    }
    for (id, effect) in lead.effects.open.clone() {
        hall.run_effect(id, &effect);
    }
    drive(&mut lead, &mut hall).unwrap();
}

fn spec(n: u32) -> PhaseSpec {
    PhaseSpec {
        number: PhaseNumber::whole(n),
        name: format!("Phase {n}"),
        depends_on: Vec::new(),
        done: false,
        touches: Some(Vec::new()),
        ahead: Vec::new(),
        held: None,
    }
}

impl InstantLead<'_> {
    fn open_journal(&mut self, (phase, attempt): Key) {
        let path = self.run.worker_journal(&phase, attempt);
        self.voices.entry((phase, attempt)).or_insert_with(|| JournalReader::new(&path));
    }

    fn run_effect(&mut self, id: u64, effect: &Effect) {
        let outcome = match effect {
            Effect::Prepare { base, .. } => Outcome::Prepared { base: base.clone() },
            Effect::Start { brief } => {
                self.run_worker(brief);
                self.open_journal((brief.phase, brief.attempt));
                Outcome::Done
            }
            Effect::Merge { commit, .. } | Effect::CommitPlanningFiles { commit, .. } => {
                Outcome::Merged { commit: commit.clone(), note: String::new() }
            }
            _ => Outcome::Done,
        };
        self.inputs.push(Input::Finished { id, outcome });
    }

    /// Acts as a worker: asks the questions without an answer, or reports completion. Does not
    /// continue the journal of an attempt that died.
    fn run_worker(&self, brief: &Brief) {
        let (phase, attempt) = (brief.phase, brief.attempt);
        let header = self.run.worker_header(&phase, attempt);
        let path = self.run.worker_journal(&phase, attempt);
        let (mut journal, records) = Journal::open(&path, &header).unwrap();
        if !records.is_empty() {
            return;
        }
        let ask = |key: QuestionKey| {
            let question = format!("{key}?");
            InboxQuestion::new(key, QuestionKind::Question, question)
        };
        let keys = (1..=QUESTIONS_PER_PHASE).map(|n| question(phase, n));
        let is_open = |key: &QuestionKey| brief.answers.iter().all(|answer| answer.key != *key);
        let open: Vec<_> = keys.filter(is_open).collect();
        let last = match open.as_slice() {
            [] => Report::Complete { commit: format!("c{phase}") },
            _ => Report::Parked,
        };
        let asks = open.into_iter().map(|key| Report::Asked { ask: ask(key) });
        let reports = asks.chain([last]).map(worker::Event::Reported);
        let events: Vec<_> =
            [worker::Event::Briefed { brief: brief.clone() }].into_iter().chain(reports).collect();
        // Several writes, so that a kill can come in the middle.
        for part in events.chunks(40) {
            journal.append(self.clock.now(), part).unwrap();
        }
    }

    fn read_reports(&mut self) {
        for record in self.commands.poll().unwrap() {
            let QueuedCommand { command, origin } = record.parse().unwrap();
            self.inputs.push(Input::Command { seq: record.seq, command, origin });
        }
        for ((phase, attempt), mut tail) in std::mem::take(&mut self.voices) {
            for record in tail.poll().unwrap() {
                if let Ok(worker::Event::Reported(report)) = record.parse() {
                    let seq = record.seq;
                    self.inputs.push(Input::Report { phase, attempt, seq, report });
                }
            }
            // The worker has done its work, or died with the earlier lead.
            self.inputs.push(Input::WorkerExited { phase, attempt });
        }
    }
}

impl World<Lead> for InstantLead<'_> {
    type Error = String;

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn wait(&mut self, lead: &Lead, _: Option<u64>) -> Result<Vec<Input>, String> {
        while self.inputs.is_empty() {
            // Reports of a worker are read once the lead knows that it was started.
            let is_heard = |key: &Key| lead.phases[&key.0].status != Status::Starting;
            if self.voices.keys().all(is_heard) {
                self.read_reports();
            }
            if self.inputs.is_empty() {
                if Instant::now() > self.ends {
                    return Err(format!("it waits in vain: {:?}", lead.status()));
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
        Ok(std::mem::take(&mut self.inputs))
    }

    fn record(&mut self, events: &[Event], now: u64) -> Result<(), String> {
        let written = self.journal.append(now, &[events]);
        written.map(|_| ()).map_err(|error| error.to_string())
    }

    fn release(&mut self, _: &Lead, (id, effect): (u64, Effect)) -> Result<(), String> {
        self.run_effect(id, &effect);
        Ok(())
    }

    fn finish_batch(&mut self, lead: &Lead, _: &[Event]) -> Result<bool, String> {
        Ok(!(lead.is_over() && lead.target.is_closed && lead.effects.open.is_empty()))
    }
}
