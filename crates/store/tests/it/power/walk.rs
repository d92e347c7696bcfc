//! Long histories at random: a project that is written, killed and cut off from power, again and
//! again, each time going on from what is left.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use mow_store::disk::tape::{self, Call, Faults};
use mow_store::disk::{DiskError, Writer};
use mow_store::journal::{Journal, JournalError, Tail};
use mow_store::project::Project;
use mow_store::run_files::RunDir;
use mow_testkit::dice::Dice;
use serde_json::{Value, json};

use super::disk::Disk;
use super::{Stage, files, shown};

/// How many walks a usual test takes.
const WALKS: u64 = 60;
/// How often the power fails or somebody is killed on one walk.
const ROUNDS: u64 = 12;

/// What is said while the calls are taken down; `true` once it is acknowledged.
#[derive(Clone, Debug)]
enum Said {
    /// The journal is there.
    Opened,
    /// A journal is to hold these records.
    Records(Vec<u64>, bool),
    /// A file is to hold this number.
    File(usize, u64, bool),
    /// A phase is claimed, or has a worktree.
    Claim(u64, bool),
    Worktree(u64, bool),
}

/// What must be there after the next failure.
#[derive(Default)]
struct Known {
    is_open: bool,
    /// The records of the journal, and how many are there for good.
    records: (Vec<u64>, usize),
    /// What each file may hold; after a kill that is not sure.
    files: [Vec<u64>; 3],
    claims: List,
    worktrees: List,
}

/// The phases that are in a list for good, and those that may be.
#[derive(Debug, Default)]
struct List {
    sure: Vec<u64>,
    open: Vec<u64>,
}

struct Walk {
    stage: Stage,
    project: Project,
    run: RunDir,
    dice: Dice,
    next: u64,
    known: Known,
    /// What is on disk and on its way there.
    disk: Disk,
    said: Vec<(usize, Said)>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let (stage, project) = files::fixture();
        let run = RunDir::new(&project.engine_dir, "r1").unwrap();
        let disk = Disk::read(&stage.root);
        let (known, said) = (Known::default(), Vec::new());
        Self { stage, project, run, dice: Dice::new(seed), next: 0, known, disk, said }
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.dice.below(limit as u64)).unwrap()
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn say(&mut self, what: Said) {
        self.said.push((tape::length(), what));
    }

    fn file(&self, at: usize) -> PathBuf {
        self.project.planning.join(["A.md", "B.md", "C.md"][at])
    }

    /// Goes on for a while, is cut off somewhere, and looks at what is left.
    fn go(&mut self, orderly: bool) -> Result<bool, String> {
        self.said.clear();
        let faults = match self.below(6) {
            0 => Faults { room: Some(self.below(4_000)), ..Faults::default() },
            _ => Faults::default(),
        };
        tape::start(faults);
        let outcome = self.work();
        let calls = tape::stop();
        outcome.map_err(|error| format!("{error}\nafter{}", said_of(&calls)))?;
        // The end is as likely as any place before it.
        let cut = self.below(calls.len() + 1).max(self.below(calls.len() + 1));
        calls[..cut].iter().for_each(|call| self.disk.take(call));
        let is_kill = self.below(3) == 0;
        let image = match is_kill {
            true => self.disk.seen(),
            false => self.disk.outcome_at_random(&mut self.dice, orderly),
        };
        image.build(&self.stage.root);
        let is_mixed = image.is_mixed(&self.run.journal());
        if !is_kill {
            self.disk = Disk::read(&self.stage.root);
        }
        self.look(cut, is_kill, is_mixed).map_err(|problem| {
            let how = if is_kill { "killed".to_owned() } else { image.shown() };
            format!("{problem}\nafter{}\nwith {how}", said_of(&calls[..cut]))
        })
    }

    /// Does one thing after the other; a full disk may end it.
    fn work(&mut self) -> Result<(), String> {
        match self.try_work() {
            Err(error) if is_full(&error) => Ok(()),
            other => other.map_err(|error| format!("it does not work: {error}")),
        }
    }

    fn try_work(&mut self) -> Result<(), JournalError> {
        self.run.create()?;
        let (path, header) = (self.run.journal(), self.run.header());
        let (mut own, _) = Journal::open(&path, &header)?;
        self.say(Said::Opened);
        let (mut other, _) = Journal::open(&path, &header)?;
        let mut tail = Tail::new(&path);
        for _ in 0..1 + self.below(8) {
            match self.below(8) {
                0..=2 => {
                    let writer = if self.below(2) == 0 { &mut own } else { &mut other };
                    let mut kept = Vec::new();
                    for _ in 0..1 + self.below(3) {
                        kept.push(self.number());
                    }
                    let length = self.below(500);
                    let body = |n: &u64| json!({ "n": n, "text": "x".repeat(length) });
                    let bodies: Vec<Value> = kept.iter().map(body).collect();
                    self.say(Said::Records(kept.clone(), false));
                    if self.below(4) == 0 {
                        writer.append_unsynced(7, &bodies)?;
                    } else {
                        writer.append(7, &bodies)?;
                        self.say(Said::Records(kept, true));
                    }
                }
                3 => {
                    let read = match self.below(2) {
                        0 => tail.poll()?,
                        _ => other.catch_up()?,
                    };
                    let read = read.iter().map(|r| r.parse::<Value>().unwrap()["n"].as_u64());
                    let read = read.map(Option::unwrap).collect();
                    self.say(Said::Records(read, true));
                }
                4 | 5 => self.write()?,
                6 => {
                    let phase = self.number();
                    self.say(Said::Claim(phase, false));
                    files::claim(&self.project, phase)?;
                    self.say(Said::Claim(phase, true));
                }
                _ => {
                    let phase = self.number();
                    self.say(Said::Worktree(phase, false));
                    files::enter(&self.project, phase)?;
                    self.say(Said::Worktree(phase, true));
                }
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), DiskError> {
        let (at, value) = (self.below(3), self.number());
        let text = format!("{value}\n{}", "a line\n".repeat(self.below(200)));
        self.say(Said::File(at, value, false));
        Writer::open(&self.project, Duration::ZERO)?.replace(&self.file(at), text.as_bytes())?;
        self.say(Said::File(at, value, true));
        Ok(())
    }

    /// Compares what is left with what was said; returns whether it can go on without a person.
    fn look(&mut self, cut: usize, is_kill: bool, is_mixed: bool) -> Result<bool, String> {
        let said = std::mem::take(&mut self.said);
        let said: Vec<Said> =
            said.into_iter().filter(|(at, _)| *at <= cut).map(|(_, said)| said).collect();
        self.look_at_files(&said, is_kill)?;
        let claims = files::claimed(&self.project)?;
        let worktrees = files::entered(&self.project)?;
        let of = |said: &Said| match said {
            Said::Claim(phase, acked) => Some((true, *phase, *acked)),
            Said::Worktree(phase, acked) => Some((false, *phase, *acked)),
            _ => None,
        };
        for (is_claim, found, known) in [
            (true, &claims, &mut self.known.claims),
            (false, &worktrees, &mut self.known.worktrees),
        ] {
            let listed = || said.iter().filter_map(of).filter(move |(of, ..)| *of == is_claim);
            known.sure.extend(listed().filter(|(_, _, acked)| *acked).map(|(_, phase, _)| phase));
            known.open.extend(listed().map(|(_, phase, _)| phase));
            if known.sure.iter().any(|phase| !found.contains(phase))
                || found
                    .iter()
                    .any(|phase| !known.sure.contains(phase) && !known.open.contains(phase))
            {
                return Err(format!("of {known:?} there are {found:?}"));
            }
            known.open.retain(|phase| found.contains(phase));
            if !is_kill {
                known.sure.clone_from(found);
            }
        }
        self.look_at_journal(&said, is_kill, is_mixed)
    }

    fn look_at_files(&mut self, said: &[Said], is_kill: bool) -> Result<(), String> {
        for at in 0..3 {
            let text = fs::read_to_string(self.file(at)).unwrap_or_default();
            let found = text.lines().next().map_or(0, |line| line.parse().unwrap_or(u64::MAX));
            let mut allowed = std::mem::take(&mut self.known.files[at]);
            if allowed.is_empty() {
                allowed.push(0);
            }
            for said in said {
                match said {
                    Said::File(of, value, false) if *of == at => allowed.push(*value),
                    Said::File(of, value, true) if *of == at => allowed = vec![*value],
                    _ => {}
                }
            }
            if !allowed.contains(&found) {
                return Err(format!("file {at} is {found}, not {allowed:?}"));
            }
            self.known.files[at] = if is_kill { allowed } else { vec![found] };
        }
        Ok(())
    }

    fn look_at_journal(
        &mut self,
        said: &[Said],
        is_kill: bool,
        is_mixed: bool,
    ) -> Result<bool, String> {
        self.known.is_open |= said.iter().any(|said| matches!(said, Said::Opened));
        let path = self.run.journal();
        if !path.exists() {
            return if self.known.is_open { Err("no journal".to_owned()) } else { Ok(true) };
        }
        let (mut tried, mut acked) = self.known.records.clone();
        for said in said {
            match said {
                Said::Records(records, false) => tried.extend(records),
                Said::Records(records, true) => {
                    let last = records.last().and_then(|last| tried.iter().position(|n| n == last));
                    acked = acked.max(last.map_or(0, |last| last + 1));
                }
                _ => {}
            }
        }
        // Without a tape: this look is not part of the history.
        let mut tail = Tail::new(&path);
        let records = match tail.poll() {
            Ok(records) => records,
            Err(JournalError::Corrupt { .. }) if is_mixed => return Ok(false),
            Err(error) => return Err(error.to_string()),
        };
        let found: Vec<u64> =
            records.iter().map(|r| r.parse::<Value>().unwrap()["n"].as_u64().unwrap()).collect();
        if found.len() < acked || !tried.starts_with(&found) {
            return Err(format!("of {tried:?}, {acked} acknowledged, there are {found:?}"));
        }
        let sure = if is_kill { acked } else { found.len() };
        self.known.records = (found, sure);
        Ok(true)
    }
}

fn said_of(calls: &[Call]) -> String {
    calls.iter().map(shown).collect()
}

fn is_full(error: &JournalError) -> bool {
    let JournalError::Disk(DiskError::Io { source, .. }) = error else { return false };
    source.kind() == std::io::ErrorKind::StorageFull
}

/// Takes one walk; returns whether a person had to help.
fn walk(seed: u64) -> Result<bool, String> {
    let mut walk = Walk::new(seed);
    // Most disks write the blocks of one file in order; then nobody needs a person.
    let orderly = !seed.is_multiple_of(4);
    for round in 0..ROUNDS {
        let goes_on =
            walk.go(orderly).map_err(|problem| format!("seed {seed}, round {round}: {problem}"))?;
        match goes_on {
            true => {}
            false if orderly => return Err(format!("seed {seed}: a person had to help")),
            false => return Ok(true),
        }
    }
    Ok(false)
}

#[test]
fn a_long_walk_loses_nothing() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let seeds = match number("MOW_DISK_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("MOW_DISK_WALKS").unwrap_or(WALKS),
    };
    let mut helped = 0;
    for seed in seeds.clone() {
        let outcome = walk(seed);
        tape::stop();
        match outcome {
            Ok(needed) => helped += u64::from(needed),
            Err(problem) => panic!(
                "{problem}\nrun it again with\n  \
                 MOW_DISK_SEED={seed} cargo test -p mow-store --test it power::walk"
            ),
        }
    }
    println!("{} walks, {helped} ended with a journal that needs a person", seeds.count());
}
