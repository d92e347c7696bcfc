//! Measures what the decisions of the engine cost. Only prints; `cargo xtask bench` calls it.
//!
//! The lead must cost the same for each event, however many phases a run has. A plan without work
//! must pass lead, worker and their journals in half a millisecond.
#![expect(clippy::print_stdout, reason = "a measurement reports on the terminal")]

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use mow_core::lead::{self, Lead, PhaseSpec, RunScope, RunStatus};
use mow_core::machine::Machine;
use mow_core::phase::PhaseNumber;
use mow_core::report::{Brief, Report};
use mow_core::stage::Stage;
use mow_core::worker::{self, PhaseSnapshot, PlanSnapshot, TaskSnapshot, Worker};
use mow_engine::drive::{World, drive};
use mow_store::journal::{Journal, JournalError};
use mow_store::run_files::RunDir;

/// The plans of a phase in the measurement with journals.
const PLANS: usize = 10;

fn main() {
    println!("\nlead, without a journal{:>22} {:>10} {:>12}", "events", "ms", "µs/event");
    for (phases, workers) in [(10, 3), (100, 3), (1_000, 3), (10_000, 3), (10_000, 1_000)] {
        let mut world = InstantLeadWorld::new(phases, workers, None);
        let took = world.run();
        let events = world.events;
        let each = took.as_secs_f64() * 1e6 / events as f64;
        let name = format!("{phases} phases, {workers} workers");
        println!("{name:32} {events:>13} {:>10.1} {each:>12.2}", took.as_secs_f64() * 1e3);
    }
    let memory = Path::new("/dev/shm");
    let home = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let home = tempfile::tempdir_in(home).expect("a directory in memory");
    let run = RunDir::new(home.path(), "bench").expect("a plain name");
    run.create().expect("a directory of a run");
    let mut world = InstantLeadWorld::new(1_000, 10, Some(run));
    let took = world.run();
    let each = took.as_secs_f64() * 1e3 / (1_000 * PLANS) as f64;
    println!("\n{} plans, journals in memory: {each:.3} ms each, limit 0.5", 1_000 * PLANS);
}

/// The world of a lead in which every effect ends at once.
struct InstantLeadWorld {
    now: u64,
    inputs: VecDeque<lead::Input>,
    events: usize,
    /// The directory of the run and the lead's journal; `None` if nothing is written.
    disk: Option<(RunDir, Journal)>,
    merges: u64,
}

impl InstantLeadWorld {
    fn new(phases: u32, max_workers: usize, run: Option<RunDir>) -> Self {
        let settings = lead::Settings { max_workers, stagger_ms: 0, ..lead::Settings::default() };
        let name = |text: &str| text.to_owned();
        let begin =
            lead::Input::Begin { run: name("bench"), target: name("main"), tip: name("m0") };
        let phases = (1..=phases).map(spec).collect();
        let roadmap = lead::Input::Roadmap { scope: RunScope::All, phases };
        let disk = run.map(|run| {
            let journal = Journal::open(&run.journal(), &run.header()).expect("a new journal");
            (run, journal.0)
        });
        let inputs = VecDeque::from([begin, lead::Input::LeadStarted { settings }, roadmap]);
        Self { now: 0, inputs, events: 0, disk, merges: 0 }
    }

    /// Runs to the end; returns the time without reading the roadmap.
    fn run(&mut self) -> Duration {
        let mut lead = Lead::default();
        let start = Instant::now();
        drive(&mut lead, self).expect("the journals can be written");
        let took = start.elapsed();
        assert_eq!(lead.status(), RunStatus::Done);
        took
    }

    fn report(&mut self, brief: &Brief, reports: Vec<Report>) {
        let (phase, attempt) = (brief.phase, brief.attempt);
        for (seq, report) in (1..).zip(reports) {
            self.inputs.push_back(lead::Input::Report { phase, attempt, seq, report });
        }
        self.inputs.push_back(lead::Input::WorkerExited { phase, attempt });
    }

    /// Runs the worker of a phase, or returns the reports that it would make.
    fn work(&mut self, brief: &Brief) -> Result<Vec<Report>, JournalError> {
        let Some((run, _)) = &self.disk else { return Ok(usual_reports()) };
        let path = run.worker_journal(&brief.phase, brief.attempt);
        let header = run.worker_header(&brief.phase, brief.attempt);
        let (journal, _) = Journal::open(&path, &header)?;
        let begin = worker::Input::Begin { brief: brief.clone(), pid: 1 };
        let mut world = InstantWorkerWorld { inputs: vec![begin], journal, reports: Vec::new() };
        drive(&mut Worker::default(), &mut world)?;
        Ok(world.reports)
    }
}

impl World<Lead> for InstantLeadWorld {
    type Error = JournalError;

    fn now(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn wait(&mut self, _: &Lead, _until: Option<u64>) -> Result<Vec<lead::Input>, JournalError> {
        // One input per batch is the most expensive way.
        Ok(self.inputs.pop_front().into_iter().collect())
    }

    fn record(&mut self, events: &[lead::Event], now: u64) -> Result<(), JournalError> {
        self.events += events.len();
        if let Some((_, journal)) = &mut self.disk {
            journal.append(now, &[events])?;
        }
        Ok(())
    }

    fn release(&mut self, _: &Lead, (id, effect): (u64, lead::Effect)) -> Result<(), JournalError> {
        let outcome = match &effect {
            lead::Effect::Prepare { base, .. } => lead::Outcome::Prepared { base: base.clone() },
            lead::Effect::Merge { .. } | lead::Effect::CommitPlanningFiles { .. } => {
                self.merges += 1;
                lead::Outcome::Merged { commit: format!("m{}", self.merges), note: String::new() }
            }
            _ => lead::Outcome::Done,
        };
        self.inputs.push_back(lead::Input::Finished { id, outcome });
        if let lead::Effect::Start { brief } = &effect {
            let reports = self.work(brief)?;
            self.report(brief, reports);
        }
        Ok(())
    }

    fn finish_batch(&mut self, lead: &Lead, _events: &[lead::Event]) -> Result<bool, JournalError> {
        Ok(!self.inputs.is_empty() || lead.deadline().is_some())
    }
}

/// The world of a worker in which every effect ends at once.
struct InstantWorkerWorld {
    inputs: Vec<worker::Input>,
    journal: Journal,
    reports: Vec<Report>,
}

impl World<Worker> for InstantWorkerWorld {
    type Error = JournalError;

    fn now(&mut self) -> u64 {
        1
    }

    fn wait(
        &mut self,
        _: &Worker,
        _until: Option<u64>,
    ) -> Result<Vec<worker::Input>, JournalError> {
        Ok(std::mem::take(&mut self.inputs))
    }

    fn record(&mut self, events: &[worker::Event], now: u64) -> Result<(), JournalError> {
        self.journal.append(now, events)?;
        let reports = events.iter().filter_map(|event| match event {
            worker::Event::Reported(report) => Some(report.clone()),
            _ => None,
        });
        self.reports.extend(reports);
        Ok(())
    }

    fn release(
        &mut self,
        _: &Worker,
        (id, effect): (u64, worker::Effect),
    ) -> Result<(), JournalError> {
        let outcome = match effect {
            worker::Effect::Inspect => worker::Outcome::Inspected { found: empty_phase() },
            worker::Effect::RunTask { .. } => worker::Outcome::Committed { commit: None },
            worker::Effect::ClosePlan { .. } | worker::Effect::ClosePhase => {
                worker::Outcome::Committed { commit: Some("c".to_owned()) }
            }
            _ => worker::Outcome::Done,
        };
        self.inputs.push(worker::Input::Finished { id, outcome });
        Ok(())
    }

    fn finish_batch(
        &mut self,
        worker: &Worker,
        _events: &[worker::Event],
    ) -> Result<bool, JournalError> {
        Ok(!worker.has_ended())
    }
}

/// Returns a phase that depends on two earlier ones.
fn spec(n: u32) -> PhaseSpec {
    let back = [n.checked_sub(7), n.checked_sub(12)];
    let depends_on = back.into_iter().flatten().filter(|n| *n > 0).map(PhaseNumber::whole);
    PhaseSpec {
        number: PhaseNumber::whole(n),
        name: format!("Phase {n}"),
        depends_on: depends_on.collect(),
        done: false,
        touches: None,
        ahead: Vec::new(),
        held: None,
    }
}

fn empty_phase() -> PhaseSnapshot {
    let plan = |n: usize| PlanSnapshot {
        id: format!("p{n:02}"),
        wave: 1,
        tasks: vec![TaskSnapshot::default()],
        ..PlanSnapshot::default()
    };
    let settings = worker::Settings { verifier: false, ..worker::Settings::default() };
    let plans = (1..=PLANS).map(plan).collect();
    PhaseSnapshot { settings, context: true, research: true, plans, ..PhaseSnapshot::default() }
}

fn usual_reports() -> Vec<Report> {
    let plan = || "p1".to_owned();
    let mut from = None;
    let mut reports = vec![Report::Started { pid: 1 }];
    for to in Stage::ALL {
        reports.push(Report::Stage { from, to, artifact: String::new() });
        from = Some(to);
    }
    reports.push(Report::PlanStarted { plan: plan(), tasks: 1 });
    reports.push(Report::TaskDone { plan: plan(), task: 1, commit: None });
    reports.push(Report::PlanDone {
        plan: plan(),
        commit: "c".to_owned(),
        minutes: 0,
        decisions: Vec::new(),
    });
    reports.push(Report::Complete { commit: "c".to_owned() });
    reports
}
