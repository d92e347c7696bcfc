//! A lead in the real loop with real journals. What it wants done is done at once: a worker asks what
//! is not answered and parks, or it is complete. It looks before it acts, as everybody does.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use mow_core::item::{Ask, ItemKind};
use mow_core::lead::{
    Command, Effect, Event, Input, Lead, Outcome, PhaseSpec, Scope, Settings, Status,
};
use mow_core::phase::PhaseNumber;
use mow_core::report::{Brief, Report};
use mow_core::worker;
use mow_engine::clock::Clock;
use mow_engine::drive::{World, drive};
use mow_engine::lead as engine;
use mow_store::journal::{Journal, Tail};
use mow_store::run_files::RunDir;

use super::{OF_A_PHASE, PATIENCE, phases, question};

/// How long it waits for more people before it looks again.
const LOOK_EVERY: Duration = Duration::from_millis(2);

type Key = (PhaseNumber, u32);

struct Hall<'a> {
    run: &'a RunDir,
    journal: Journal,
    commands: Tail,
    /// The journals of workers that are listened to.
    voices: BTreeMap<Key, Tail>,
    inputs: Vec<Input>,
    clock: Clock,
    ends: Instant,
}

pub(super) fn lead(run: &RunDir) {
    let (mut lead, _) = engine::load(run).unwrap_or_default();
    let (journal, records) = Journal::open(&run.journal(), &run.header()).unwrap();
    let clock = Clock::from(records.last().map_or(0, |record| record.at));
    let mut hall = Hall {
        run,
        journal,
        commands: Tail::new(&run.commands()),
        voices: BTreeMap::new(),
        inputs: Vec::new(),
        clock,
        ends: Instant::now() + PATIENCE,
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
    hall.inputs.push(Input::TakeUp { settings });
    hall.inputs
        .push(Input::Roadmap { scope: Scope::All, phases: (1..=phases()).map(spec).collect() });
    for track in lead.live().filter(|t| matches!(t.status, Status::Running | Status::Ending)) {
        hall.listen((track.spec.number, track.attempt));
    }
    for (id, effect) in lead.open.clone() {
        hall.act(id, &effect);
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
    }
}

impl Hall<'_> {
    fn listen(&mut self, (phase, attempt): Key) {
        let path = self.run.worker_journal(&phase, attempt);
        self.voices.entry((phase, attempt)).or_insert_with(|| Tail::new(&path));
    }

    fn act(&mut self, id: u64, effect: &Effect) {
        let outcome = match effect {
            Effect::Prepare { base, .. } => Outcome::Prepared { base: base.clone() },
            Effect::Start { brief } => {
                self.work(brief);
                self.listen((brief.phase, brief.attempt));
                Outcome::Done
            }
            Effect::Merge { commit, .. } | Effect::Close { commit, .. } => {
                Outcome::Merged { commit: commit.clone(), note: String::new() }
            }
            _ => Outcome::Done,
        };
        self.inputs.push(Input::Finished { id, outcome });
    }

    /// Is a worker: it asks what nobody has answered, or is complete. What died stays as it is.
    fn work(&self, brief: &Brief) {
        let (phase, attempt) = (brief.phase, brief.attempt);
        let header = self.run.worker_header(&phase, attempt);
        let path = self.run.worker_journal(&phase, attempt);
        let (mut journal, records) = Journal::open(&path, &header).unwrap();
        if !records.is_empty() {
            return;
        }
        let ask = |key: String| Ask {
            question: format!("{key}?"),
            key,
            kind: ItemKind::Question,
            choices: Vec::new(),
        };
        let keys = (1..=OF_A_PHASE).map(|n| question(phase, n));
        let is_open = |key: &String| brief.answers.iter().all(|answer| answer.key != *key);
        let open: Vec<_> = keys.filter(is_open).collect();
        let last = match open.as_slice() {
            [] => Report::Complete { commit: format!("c{phase}") },
            _ => Report::Parked,
        };
        let asks = open.into_iter().map(|key| Report::Asked { ask: ask(key) });
        let reports = asks.chain([last]).map(worker::Event::Reported);
        let events: Vec<_> =
            [worker::Event::Briefed { brief: brief.clone() }].into_iter().chain(reports).collect();
        // In several writes, so that it can die in the middle.
        for part in events.chunks(40) {
            journal.append(self.clock.now(), part).unwrap();
        }
    }

    fn look(&mut self) {
        for record in self.commands.poll().unwrap() {
            let command: Command = record.parse().unwrap();
            self.inputs.push(Input::Command { seq: record.seq, command });
        }
        for ((phase, attempt), mut tail) in std::mem::take(&mut self.voices) {
            for record in tail.poll().unwrap() {
                if let Ok(worker::Event::Reported(report)) = record.parse() {
                    let seq = record.seq;
                    self.inputs.push(Input::Report { phase, attempt, seq, report });
                }
            }
            // Its worker did all it will do, or died with the lead before.
            self.inputs.push(Input::Gone { phase, attempt });
        }
    }
}

impl World<Lead> for Hall<'_> {
    type Error = String;

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn wait(&mut self, lead: &Lead, _: Option<u64>) -> Result<Vec<Input>, String> {
        while self.inputs.is_empty() {
            // A worker is heard once the lead knows that it was started.
            let is_heard = |key: &Key| lead.phases[&key.0].status != Status::Starting;
            if self.voices.keys().all(is_heard) {
                self.look();
            }
            if self.inputs.is_empty() {
                if Instant::now() > self.ends {
                    return Err(format!("it waits in vain: {:?}", lead.standing()));
                }
                thread::sleep(LOOK_EVERY);
            }
        }
        Ok(std::mem::take(&mut self.inputs))
    }

    fn record(&mut self, events: &[Event], now: u64) -> Result<(), String> {
        let written = self.journal.append(now, &[events]);
        written.map(|_| ()).map_err(|error| error.to_string())
    }

    fn release(&mut self, _: &Lead, (id, effect): (u64, Effect)) -> Result<(), String> {
        self.act(id, &effect);
        Ok(())
    }

    fn settle(&mut self, lead: &Lead, _: &[Event]) -> Result<bool, String> {
        Ok(!(lead.is_over() && lead.closed && lead.open.is_empty()))
    }
}
