//! Thousands of questions, several people who answer each, and a lead; all of them are processes that
//! are killed at any moment. None is lost, and none counts twice.
//!
//! The lead is the real machine in the real loop, with the journals that a run has; what it wants done
//! is done at once, by `inbox/lead.rs`. People write as `mow answer` does. `MOW_INBOX_ITEMS` sets how
//! many questions there are, and `MOW_INBOX_KILLS` how many processes are killed.

mod lead;
mod person;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mow_core::lead::{Event, Lead, Status};
use mow_core::phase::PhaseNumber;
use mow_core::worker;
use mow_engine::lead as engine;
use mow_store::journal::Tail;
use mow_store::run_files::RunDir;
use mow_testkit::dice::Dice;

/// Questions of one phase.
const OF_A_PHASE: u32 = 100;
const ITEMS_DEFAULT: u32 = 10_000;
const KILLS_DEFAULT: u64 = 60;
/// How many people answer at the same time.
const PEOPLE: u64 = 3;
/// How often it is looked whether a process has lived long enough.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How long a process waits for others at most.
const PATIENCE: Duration = Duration::from_secs(300);

/// Which part a process plays, the directory of the run, and whose words it uses.
const PART: &str = "MOW_INBOX_PART";
const PLACE: &str = "MOW_INBOX_PLACE";
/// What is said to the one who watches begins with this.
const WON: &str = "won ";
const LOST: &str = "lost ";

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

fn phases() -> u32 {
    number("MOW_INBOX_ITEMS").map_or(ITEMS_DEFAULT, |n| u32::try_from(n).unwrap()) / OF_A_PHASE
}

fn run_in(dir: &Path) -> RunDir {
    RunDir::new(dir, "20260101-000000").expect("it is a name of a run")
}

/// Names the question of a phase.
fn question(phase: PhaseNumber, n: u32) -> String {
    format!("{phase}/question/executor/{n}")
}

/// Plays a part, in a process of its own; nothing happens where there is none to play.
#[test]
fn part() {
    let (Ok(part), Some(dir)) = (env::var(PART), env::var_os(PLACE)) else { return };
    let run = run_in(Path::new(&dir));
    match part.strip_prefix("person-") {
        Some(seed) => person::answer_all(&run, seed),
        None => lead::lead(&run),
    }
}

/// Starts a process that plays a part.
#[expect(clippy::disallowed_methods, reason = "a test plays with processes of its own")]
fn start(part: &str, dir: &Path) -> Child {
    let mut command = Command::new(env::current_exe().expect("a test has a program"));
    command.args(["--exact", "inbox::part", "--nocapture"]);
    command.env(PART, part).env(PLACE, dir).stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().expect("it can be started")
}

/// What a process said, and whether it was killed.
type Life = (Vec<String>, bool);

/// Lets a process live until something is the case or to its end, which must be a good one.
fn live(mut child: Child, mut has_lived: impl FnMut(usize) -> bool) -> Life {
    let stdout = child.stdout.take().expect("it is piped");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let reader = thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let said = lines.filter(|line| line.starts_with(WON) || line.starts_with(LOST));
        said.inspect(|_| _ = counted.fetch_add(1, Ordering::Relaxed)).collect()
    });
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status;
        }
        if has_lived(count.load(Ordering::Relaxed)) {
            child.kill().expect("it is ours");
            break child.wait().expect("it is ours");
        }
        thread::sleep(LOOK_EVERY);
    };
    let is_killed = status.signal().is_some();
    assert!(is_killed || status.success(), "a process failed: {status}");
    (reader.join().expect("it only reads"), is_killed)
}

/// Lets leads live one after the other until each has written some more; the last one ends by itself.
fn lead_on(dir: &Path, kills: u64) -> usize {
    let (mut dice, run) = (Dice::new(99), run_in(dir));
    let written = || {
        let files = fs::read_dir(run.path()).into_iter().flatten().flatten();
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>()
    };
    // About what all of them write together.
    let share = u64::from(phases() * OF_A_PHASE) * 700 / kills.max(1);
    let mut killed = 0;
    for _ in 0..kills {
        let enough = written() + dice.below(2 * share);
        killed += usize::from(live(start("lead", dir), |_| written() > enough).1);
    }
    live(start("lead", dir), |_| false);
    killed
}

/// Lets a person answer, killed after some answers and come again; the last time to the end.
fn answer_on(dir: &Path, person: u64, kills: u64) -> (Vec<String>, usize) {
    let mut dice = Dice::new(person);
    let share = u64::from(phases() * OF_A_PHASE) / kills.max(1);
    let (mut said, mut killed) = (Vec::new(), 0);
    for n in 0..=kills {
        let enough = usize::try_from(dice.below(share)).unwrap();
        let child = start(&format!("person-{person}.{n}"), dir);
        let (lines, is_killed) = live(child, |count| n < kills && count > enough);
        said.extend(lines);
        killed += usize::from(is_killed);
    }
    (said, killed)
}

/// Reads `won ITEM TEXT`, or `lost ITEM TEXT`.
fn parse(line: &str) -> (bool, u32, String) {
    let mut words = line.split(' ');
    let won = words.next() == WON.strip_suffix(' ');
    let item = words.next().and_then(|word| word.parse().ok()).expect("the number of a question");
    (won, item, words.next().expect("an answer").to_owned())
}

#[test]
fn ten_thousand_questions_survive_the_death_of_everybody() {
    let place = tempfile::TempDir::with_prefix("mow-inbox").expect("a directory can be made");
    let (dir, began) = (place.path(), Instant::now());
    run_in(dir).create().unwrap();
    let kills = number("MOW_INBOX_KILLS").unwrap_or(KILLS_DEFAULT) / (PEOPLE + 1);
    let (said, killed) = thread::scope(|scope| {
        let lead = scope.spawn(move || lead_on(dir, kills));
        let people: Vec<_> =
            (0..PEOPLE).map(|person| scope.spawn(move || answer_on(dir, person, kills))).collect();
        let (mut said, mut killed) = (Vec::new(), 0);
        for person in people {
            let (lines, deaths) = person.join().expect("it ends well");
            said.extend(lines);
            killed += deaths;
        }
        (said, killed + lead.join().expect("it ends well"))
    });
    let (lead, won, lost) = check(&run_in(dir), &said);
    let (items, took) = (lead.items.len(), began.elapsed().as_secs_f32());
    println!("{items} questions, {won} won, {lost} too late, {killed} killed, {took:.0} s");
    assert!(lost > 0, "nobody came too late, so nobody raced");
    let wanted = usize::try_from(kills * (PEOPLE + 1) / 3).unwrap();
    assert!(killed >= wanted, "only {killed} were killed before their end");
}

/// Checks that each question was put once, answered once with the words of whoever was told to have
/// answered it, and that the phase that put it got just that answer.
fn check(run: &RunDir, said: &[String]) -> (Lead, usize, usize) {
    let (lead, records) = engine::load(run).unwrap();
    let mut answers: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for record in &records {
        for event in engine::parse_events(run, record).unwrap() {
            if let Event::Answered { item, text } = event {
                answers.entry(item).or_default().push(text);
            }
        }
    }
    assert_eq!(lead.items.len(), usize::try_from(phases() * OF_A_PHASE).unwrap());
    for item in lead.items.values() {
        let given = answers.get(&item.id).map_or(&[][..], Vec::as_slice);
        assert_eq!(given, [item.answer.clone().unwrap_or_default()], "question {}", item.id);
    }
    let (mut won, mut lost) = (BTreeMap::new(), 0);
    for (is_won, item, text) in said.iter().map(|line| parse(line)) {
        assert_eq!(
            answers[&item].as_slice(),
            std::slice::from_ref(&text),
            "question {item}, {is_won}"
        );
        if is_won {
            assert!(won.insert(item, text).is_none(), "question {item} was won twice");
        } else {
            lost += 1;
        }
    }
    for track in lead.phases.values() {
        assert_eq!(track.status, Status::Merged, "phase {}: {}", track.spec.number, track.why);
        let number = track.spec.number;
        let path = run.worker_journal(&number, track.attempt);
        let first = Tail::new(&path).poll().unwrap().remove(0);
        let worker::Event::Briefed { brief } = first.parse().unwrap() else { panic!("no brief") };
        let by_key: BTreeMap<_, _> =
            brief.answers.iter().map(|answer| (&answer.key, &answer.text)).collect();
        assert_eq!((by_key.len(), brief.answers.len()), (100, 100), "phase {number}");
        for item in lead.items.values().filter(|item| item.phase == Some(number)) {
            assert_eq!(by_key[&item.ask.key], item.answer.as_ref().unwrap(), "phase {number}");
        }
    }
    (lead, won.len(), lost)
}
