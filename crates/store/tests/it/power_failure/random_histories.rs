//! Long random histories: a project is written, killed and struck by power failures, again and
//! again. Each round continues with the files that the last one left.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use mow_store::disk::call_recorder::{self, Faults, RecordedCall};
use mow_store::disk::{DiskError, Writer};
use mow_store::journal::{Journal, JournalError, JournalReader};
use mow_store::project::Project;
use mow_store::run_files::RunDir;
use mow_testkit::seeded_rng::SeededRng;
use serde_json::{Value, json};

use super::simulated_disk::SimulatedDisk;
use super::{TestDir, describe_call, files};

/// The number of histories without `MOW_DISK_WALKS`.
const HISTORIES: u64 = 60;
/// The number of power failures and kills in one history.
const ROUNDS: u64 = 12;

/// A statement during a history; the flag is true once it was acknowledged.
#[derive(Clone, Debug)]
enum HistoryStatement {
    /// The journal exists.
    Opened,
    /// The journal gets these records.
    Records(Vec<u64>, bool),
    /// A file gets this number as content.
    File(usize, u64, bool),
    /// A phase is claimed.
    Claim(u64, bool),
    /// A phase gets a worktree in the manifest.
    Worktree(u64, bool),
}

/// What must be on the disk after the next failure.
#[derive(Default)]
struct ExpectedState {
    is_open: bool,
    /// The records of the journal, and how many of them are durable.
    records: (Vec<u64>, usize),
    /// The possible contents of each file; several after a kill.
    files: [Vec<u64>; 3],
    claims: ExpectedList,
    worktrees: ExpectedList,
}

/// The phases that are in a list durably, and those that may be in it.
#[derive(Debug, Default)]
struct ExpectedList {
    durable: Vec<u64>,
    possible: Vec<u64>,
}

/// A project on a simulated disk, and what is known about its files.
struct History {
    test_dir: TestDir,
    project: Project,
    run: RunDir,
    rng: SeededRng,
    next: u64,
    expected: ExpectedState,
    /// The simulated disk with its unsynced changes.
    disk: SimulatedDisk,
    statements: Vec<(usize, HistoryStatement)>,
}

impl History {
    fn new(seed: u64) -> Self {
        let (test_dir, project) = files::fixture();
        let run = RunDir::new(&project.engine_dir, "r1").unwrap();
        let disk = SimulatedDisk::read(&test_dir.root);
        let (expected, statements) = (ExpectedState::default(), Vec::new());
        Self {
            test_dir,
            project,
            run,
            rng: SeededRng::new(seed),
            next: 0,
            expected,
            disk,
            statements,
        }
    }

    fn random_below(&mut self, limit: usize) -> usize {
        usize::try_from(self.rng.below(limit as u64)).unwrap()
    }

    fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn add_statement(&mut self, statement: HistoryStatement) {
        self.statements.push((call_recorder::call_count(), statement));
    }

    fn file(&self, at: usize) -> PathBuf {
        self.project.planning.join(["A.md", "B.md", "C.md"][at])
    }

    /// Runs some operations, simulates a crash after a random call, and checks the disk.
    ///
    /// Returns whether the project can continue without help of a person.
    fn run_round(&mut self, is_ordered: bool) -> Result<bool, String> {
        self.statements.clear();
        let faults = match self.random_below(6) {
            0 => Faults { room: Some(self.random_below(4_000)), ..Faults::default() },
            _ => Faults::default(),
        };
        call_recorder::start(faults);
        let outcome = self.work();
        let calls = call_recorder::stop();
        outcome.map_err(|error| format!("{error}\nafter{}", describe_calls(&calls)))?;
        // The maximum of two draws makes late crashes more likely.
        let crash_after =
            self.random_below(calls.len() + 1).max(self.random_below(calls.len() + 1));
        calls[..crash_after].iter().for_each(|call| self.disk.apply_call(call));
        let is_kill = self.random_below(3) == 0;
        let image = match is_kill {
            true => self.disk.visible_image(),
            false => self.disk.random_image(&mut self.rng, is_ordered),
        };
        image.build(&self.test_dir.root);
        let is_mixed = image.is_mixed(&self.run.journal());
        if !is_kill {
            self.disk = SimulatedDisk::read(&self.test_dir.root);
        }
        self.check(crash_after, is_kill, is_mixed).map_err(|problem| {
            let crash = if is_kill { "killed".to_owned() } else { image.describe() };
            format!("{problem}\nafter{}\nwith {crash}", describe_calls(&calls[..crash_after]))
        })
    }

    /// Runs random operations; a full disk may stop them.
    fn work(&mut self) -> Result<(), String> {
        match self.try_work() {
            Err(error) if is_full(&error) => Ok(()),
            other => other.map_err(|error| format!("an operation failed: {error}")),
        }
    }

    fn try_work(&mut self) -> Result<(), JournalError> {
        self.run.create()?;
        let (path, header) = (self.run.journal(), self.run.header());
        let (mut own, _) = Journal::open(&path, &header)?;
        self.add_statement(HistoryStatement::Opened);
        let (mut other, _) = Journal::open(&path, &header)?;
        let mut reader = JournalReader::new(&path);
        for _ in 0..1 + self.random_below(8) {
            match self.random_below(8) {
                0..=2 => {
                    let writer = if self.random_below(2) == 0 { &mut own } else { &mut other };
                    let mut numbers = Vec::new();
                    for _ in 0..1 + self.random_below(3) {
                        numbers.push(self.next_number());
                    }
                    let length = self.random_below(500);
                    let body = |n: &u64| json!({ "n": n, "text": "x".repeat(length) });
                    let bodies: Vec<Value> = numbers.iter().map(body).collect();
                    self.add_statement(HistoryStatement::Records(numbers.clone(), false));
                    if self.random_below(4) == 0 {
                        writer.append_unsynced(7, &bodies)?;
                    } else {
                        writer.append(7, &bodies)?;
                        self.add_statement(HistoryStatement::Records(numbers, true));
                    }
                }
                3 => {
                    let read = match self.random_below(2) {
                        0 => reader.poll()?,
                        _ => other.catch_up()?,
                    };
                    let read = read.iter().map(|r| r.parse::<Value>().unwrap()["n"].as_u64());
                    let read = read.map(Option::unwrap).collect();
                    self.add_statement(HistoryStatement::Records(read, true));
                }
                4 | 5 => self.write()?,
                6 => {
                    let phase = self.next_number();
                    self.add_statement(HistoryStatement::Claim(phase, false));
                    files::claim(&self.project, phase)?;
                    self.add_statement(HistoryStatement::Claim(phase, true));
                }
                _ => {
                    let phase = self.next_number();
                    self.add_statement(HistoryStatement::Worktree(phase, false));
                    files::add_worktree(&self.project, phase)?;
                    self.add_statement(HistoryStatement::Worktree(phase, true));
                }
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), DiskError> {
        let (at, value) = (self.random_below(3), self.next_number());
        let text = format!("{value}\n{}", "a line\n".repeat(self.random_below(200)));
        self.add_statement(HistoryStatement::File(at, value, false));
        Writer::open(&self.project, Duration::ZERO)?.replace(&self.file(at), text.as_bytes())?;
        self.add_statement(HistoryStatement::File(at, value, true));
        Ok(())
    }

    /// Compares the disk with the statements; returns whether no person has to help.
    fn check(&mut self, crash_after: usize, is_kill: bool, is_mixed: bool) -> Result<bool, String> {
        let statements = std::mem::take(&mut self.statements);
        let statements: Vec<HistoryStatement> = statements
            .into_iter()
            .filter(|(at, _)| *at <= crash_after)
            .map(|(_, statement)| statement)
            .collect();
        self.check_files(&statements, is_kill)?;
        let claims = files::claimed_phases(&self.project)?;
        let worktrees = files::worktree_phases(&self.project)?;
        let of = |statement: &HistoryStatement| match statement {
            HistoryStatement::Claim(phase, acked) => Some((true, *phase, *acked)),
            HistoryStatement::Worktree(phase, acked) => Some((false, *phase, *acked)),
            _ => None,
        };
        for (is_claim, found, expected) in [
            (true, &claims, &mut self.expected.claims),
            (false, &worktrees, &mut self.expected.worktrees),
        ] {
            let listed =
                || statements.iter().filter_map(of).filter(move |(of, ..)| *of == is_claim);
            expected
                .durable
                .extend(listed().filter(|(_, _, acked)| *acked).map(|(_, phase, _)| phase));
            expected.possible.extend(listed().map(|(_, phase, _)| phase));
            if expected.durable.iter().any(|phase| !found.contains(phase))
                || found.iter().any(|phase| {
                    !expected.durable.contains(phase) && !expected.possible.contains(phase)
                })
            {
                return Err(format!("of {expected:?} there are {found:?}"));
            }
            expected.possible.retain(|phase| found.contains(phase));
            if !is_kill {
                expected.durable.clone_from(found);
            }
        }
        self.check_journal(&statements, is_kill, is_mixed)
    }

    fn check_files(
        &mut self,
        statements: &[HistoryStatement],
        is_kill: bool,
    ) -> Result<(), String> {
        for at in 0..3 {
            let text = fs::read_to_string(self.file(at)).unwrap_or_default();
            let found = text.lines().next().map_or(0, |line| line.parse().unwrap_or(u64::MAX));
            let mut allowed = std::mem::take(&mut self.expected.files[at]);
            if allowed.is_empty() {
                allowed.push(0);
            }
            for statement in statements {
                match statement {
                    HistoryStatement::File(of, value, false) if *of == at => allowed.push(*value),
                    HistoryStatement::File(of, value, true) if *of == at => allowed = vec![*value],
                    _ => {}
                }
            }
            if !allowed.contains(&found) {
                return Err(format!("file {at} is {found}, not {allowed:?}"));
            }
            self.expected.files[at] = if is_kill { allowed } else { vec![found] };
        }
        Ok(())
    }

    fn check_journal(
        &mut self,
        statements: &[HistoryStatement],
        is_kill: bool,
        is_mixed: bool,
    ) -> Result<bool, String> {
        self.expected.is_open |=
            statements.iter().any(|statement| matches!(statement, HistoryStatement::Opened));
        let path = self.run.journal();
        if !path.exists() {
            return if self.expected.is_open { Err("no journal".to_owned()) } else { Ok(true) };
        }
        let (mut tried, mut acked) = self.expected.records.clone();
        for statement in statements {
            match statement {
                HistoryStatement::Records(records, false) => tried.extend(records),
                HistoryStatement::Records(records, true) => {
                    let last = records.last().and_then(|last| tried.iter().position(|n| n == last));
                    acked = acked.max(last.map_or(0, |last| last + 1));
                }
                _ => {}
            }
        }
        // Without recording calls: this check is not part of the history.
        let mut reader = JournalReader::new(&path);
        let records = match reader.poll() {
            Ok(records) => records,
            Err(JournalError::Corrupt { .. }) if is_mixed => return Ok(false),
            Err(error) => return Err(error.to_string()),
        };
        let found: Vec<u64> =
            records.iter().map(|r| r.parse::<Value>().unwrap()["n"].as_u64().unwrap()).collect();
        if found.len() < acked || !tried.starts_with(&found) {
            return Err(format!("of {tried:?}, {acked} acknowledged, there are {found:?}"));
        }
        let durable = if is_kill { acked } else { found.len() };
        self.expected.records = (found, durable);
        Ok(true)
    }
}

fn describe_calls(calls: &[RecordedCall]) -> String {
    calls.iter().map(describe_call).collect()
}

fn is_full(error: &JournalError) -> bool {
    let JournalError::Disk(DiskError::Io { source, .. }) = error else { return false };
    source.kind() == std::io::ErrorKind::StorageFull
}

/// Runs one history; returns whether a person had to help.
fn run_history(seed: u64) -> Result<bool, String> {
    let mut history = History::new(seed);
    // Most disks write the blocks of one file in order; then no person has to help.
    let is_ordered = !seed.is_multiple_of(4);
    for round in 0..ROUNDS {
        let can_continue = history
            .run_round(is_ordered)
            .map_err(|problem| format!("seed {seed}, round {round}: {problem}"))?;
        match can_continue {
            true => {}
            false if is_ordered => return Err(format!("seed {seed}: a person had to help")),
            false => return Ok(true),
        }
    }
    Ok(false)
}

#[test]
fn random_histories_lose_nothing() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let seeds = match number("MOW_DISK_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("MOW_DISK_WALKS").unwrap_or(HISTORIES),
    };
    let mut helped = 0;
    for seed in seeds.clone() {
        let outcome = run_history(seed);
        call_recorder::stop();
        match outcome {
            Ok(needed) => helped += u64::from(needed),
            Err(problem) => panic!(
                "{problem}\nrun it again with\n  \
                 MOW_DISK_SEED={seed} cargo test -p mow-store --test it power_failure::random_histories"
            ),
        }
    }
    println!("{} histories, {helped} ended with a journal that needs a person", seeds.count());
}
