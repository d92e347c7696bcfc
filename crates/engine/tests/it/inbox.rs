//! Tests the inbox: thousands of questions, several people, and a lead, all killed at any moment.
//!
//! No question or answer may be lost, and none may count twice. The lead is the real machine in the
//! real loop with real journals; `inbox/lead.rs` carries out its effects at once. People write as
//! `mow answer` does. `MOW_INBOX_ITEMS` sets how many questions there are, and `MOW_INBOX_KILLS`
//! how many processes are killed.

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

use mow_core::inbox::{QuestionKey, QuestionTopic};
use mow_core::lead::{Event, Lead, Status};
use mow_core::phase::PhaseNumber;
use mow_core::worker;
use mow_engine::lead as engine;
use mow_store::journal::JournalReader;
use mow_store::run_files::RunDir;
use mow_testkit::seeded_rng::SeededRng;

/// The number of questions of one phase.
const QUESTIONS_PER_PHASE: u32 = 100;
const ITEMS_DEFAULT: u32 = 10_000;
const KILLS_DEFAULT: u64 = 60;
/// How many people answer at the same time.
const PEOPLE: u64 = 3;
/// How often it is checked whether a process has lived long enough.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How long a process waits for others at most.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// The variables with the part of a process and the directory of the run.
const PART: &str = "MOW_INBOX_PART";
const RUN_DIR: &str = "MOW_INBOX_PLACE";
/// The beginning of lines that a person process prints for the test.
const WON: &str = "won ";
const LOST: &str = "lost ";

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

fn phases() -> u32 {
    number("MOW_INBOX_ITEMS").map_or(ITEMS_DEFAULT, |n| u32::try_from(n).unwrap())
        / QUESTIONS_PER_PHASE
}

fn run_in(dir: &Path) -> RunDir {
    RunDir::new(dir, "20260101-000000").expect("it is a name of a run")
}

/// Returns the text of a question of a phase.
fn question(phase: PhaseNumber, n: u32) -> QuestionKey {
    let (session, request) = ("executor".to_owned(), n.to_string());
    QuestionTopic::Permission { session, request }.of_phase(phase)
}

/// The entry point of the child processes; passes without a part in the environment.
#[test]
fn part() {
    let (Ok(part), Some(dir)) = (env::var(PART), env::var_os(RUN_DIR)) else { return };
    let run = run_in(Path::new(&dir));
    match part.strip_prefix("person-") {
        Some(seed) => person::answer_all(&run, seed),
        None => lead::lead(&run),
    }
}

/// Starts a child process for a part.
#[expect(clippy::disallowed_methods, reason = "a test plays with processes of its own")]
fn start(part: &str, dir: &Path) -> Child {
    let mut command = Command::new(env::current_exe().expect("a test has a program"));
    command.args(["--exact", "inbox::part", "--nocapture"]);
    command.env(PART, part).env(RUN_DIR, dir).stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().expect("it can be started")
}

/// The lines that a process printed, and whether it was killed.
type ProcessOutput = (Vec<String>, bool);

/// Runs a process until `has_lived` holds, then kills it, or until its successful end.
fn run_process(mut child: Child, mut has_lived: impl FnMut(usize) -> bool) -> ProcessOutput {
    let stdout = child.stdout.take().expect("it is piped");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let reader = thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let lines_printed = lines.filter(|line| line.starts_with(WON) || line.starts_with(LOST));
        lines_printed.inspect(|_| _ = counted.fetch_add(1, Ordering::Relaxed)).collect()
    });
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status;
        }
        if has_lived(count.load(Ordering::Relaxed)) {
            child.kill().expect("it is ours");
            break child.wait().expect("it is ours");
        }
        thread::sleep(POLL_INTERVAL);
    };
    let is_killed = status.signal().is_some();
    assert!(is_killed || status.success(), "a process failed: {status}");
    (reader.join().expect("it only reads"), is_killed)
}

/// Runs one lead after the other, each killed after some more records; the last one ends by itself.
fn run_leads(dir: &Path, kills: u64) -> usize {
    let (mut rng, run) = (SeededRng::new(99), run_in(dir));
    let written = || {
        let files = fs::read_dir(run.path()).into_iter().flatten().flatten();
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>()
    };
    // About the size of what all leads write together.
    let share = u64::from(phases() * QUESTIONS_PER_PHASE) * 700 / kills.max(1);
    let mut killed = 0;
    for _ in 0..kills {
        let enough = written() + rng.below(2 * share);
        killed += usize::from(run_process(start("lead", dir), |_| written() > enough).1);
    }
    run_process(start("lead", dir), |_| false);
    killed
}

/// Runs a person process, killed after some answers and restarted; the last one ends by itself.
fn run_person(dir: &Path, person: u64, kills: u64) -> (Vec<String>, usize) {
    let mut rng = SeededRng::new(person);
    let share = u64::from(phases() * QUESTIONS_PER_PHASE) / kills.max(1);
    let (mut lines_printed, mut killed) = (Vec::new(), 0);
    for n in 0..=kills {
        let enough = usize::try_from(rng.below(share)).unwrap();
        let child = start(&format!("person-{person}.{n}"), dir);
        let (lines, is_killed) = run_process(child, |count| n < kills && count > enough);
        lines_printed.extend(lines);
        killed += usize::from(is_killed);
    }
    (lines_printed, killed)
}

/// Parses `won ITEM TEXT` or `lost ITEM TEXT`.
fn parse(line: &str) -> (bool, u32, String) {
    let mut words = line.split(' ');
    let won = words.next() == WON.strip_suffix(' ');
    let item = words.next().and_then(|word| word.parse().ok()).expect("the number of a question");
    (won, item, words.next().expect("an answer").to_owned())
}

#[test]
fn ten_thousand_questions_survive_the_kill_of_every_process() {
    let place = tempfile::TempDir::with_prefix("mow-inbox").expect("a directory can be made");
    let (dir, began) = (place.path(), Instant::now());
    run_in(dir).create().unwrap();
    let kills = number("MOW_INBOX_KILLS").unwrap_or(KILLS_DEFAULT) / (PEOPLE + 1);
    let (lines_printed, killed) = thread::scope(|scope| {
        let lead = scope.spawn(move || run_leads(dir, kills));
        let people: Vec<_> =
            (0..PEOPLE).map(|person| scope.spawn(move || run_person(dir, person, kills))).collect();
        let (mut lines_printed, mut killed) = (Vec::new(), 0);
        for person in people {
            let (lines, deaths) = person.join().expect("it ends well");
            lines_printed.extend(lines);
            killed += deaths;
        }
        (lines_printed, killed + lead.join().expect("it ends well"))
    });
    let (lead, won, lost) = check(&run_in(dir), &lines_printed);
    let (items, took) = (lead.inbox.items.len(), began.elapsed().as_secs_f32());
    println!("{items} questions, {won} won, {lost} too late, {killed} killed, {took:.0} s");
    assert!(lost > 0, "nobody came too late, so nobody raced");
    let wanted = usize::try_from(kills * (PEOPLE + 1) / 3).unwrap();
    assert!(killed >= wanted, "only {killed} were killed before their end");
}

/// Checks that each question was asked once and answered once, with the text of the person who was
/// told so, and that its phase got exactly that answer.
fn check(run: &RunDir, lines_printed: &[String]) -> (Lead, usize, usize) {
    let (lead, records) = engine::load_run(run).unwrap();
    let mut answers: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for record in &records {
        for event in engine::parse_events(run, record).unwrap() {
            if let Event::Answered { item, text } = event {
                answers.entry(item).or_default().push(text);
            }
        }
    }
    assert_eq!(lead.inbox.items.len(), usize::try_from(phases() * QUESTIONS_PER_PHASE).unwrap());
    for item in lead.inbox.items.values() {
        let given = answers.get(&item.id).map_or(&[][..], Vec::as_slice);
        assert_eq!(given, [item.answer.clone().unwrap_or_default()], "question {}", item.id);
    }
    let (mut won, mut lost) = (BTreeMap::new(), 0);
    for (is_won, item, text) in lines_printed.iter().map(|line| parse(line)) {
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
        let first = JournalReader::new(&path).poll().unwrap().remove(0);
        let worker::Event::Briefed { brief } = first.parse().unwrap() else { panic!("no brief") };
        let by_key: BTreeMap<_, _> =
            brief.answers.iter().map(|answer| (&answer.key, &answer.text)).collect();
        assert_eq!((by_key.len(), brief.answers.len()), (100, 100), "phase {number}");
        for item in lead.inbox.items.values().filter(|item| item.phase == Some(number)) {
            assert_eq!(by_key[&item.ask.key], item.answer.as_ref().unwrap(), "phase {number}");
        }
    }
    (lead, won.len(), lost)
}
