//! Measures the cost of a waiting run, and how soon a lead has recorded a message.
//!
//! `costs MOW [SECONDS]` runs small projects with the program `MOW` and prints a line for each
//! measurement, with the limit that it should keep. A part of `cargo xtask bench`.

mod agents;

use std::env;
use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mow_core::phase::PhaseNumber;
use mow_store::journal::{Journal, JournalReader};
use mow_store::run_files::RunDir;
use mow_testkit::planned_project::{
    ALL, PlannedProject, ProjectOptions, child_page_faults, cpu_time, kill, memory_kb, phase, plan,
    task,
};
use rustix::fs::inotify;
use serde_json::{Value, json};

/// How many messages are sent.
const MESSAGES: usize = 1_000;

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let mow = words.first().context("usage: costs MOW [SECONDS]")?;
    let seconds = words.get(1).map_or(Ok(60), |text| text.parse())?;
    let mut out = io::stdout().lock();
    for (name, value, limit) in waiting_run(mow, Duration::from_secs(seconds))? {
        writeln!(out, "{name:38} {value:>10} {limit:>20}")?;
    }
    let rest = busy_run(mow)?.into_iter().chain(agents::agent_runs(mow)?).chain(looking_ahead(mow));
    for (name, value, limit) in rest {
        writeln!(out, "{name:38} {value:>10} {limit:>20}")?;
    }
    Ok(())
}

/// The name of a measurement, its result, and its limit.
type MeasurementLine = (&'static str, String, String);

fn on_disk(mow: &str, phases: &[mow_testkit::planned_project::PhaseFixture]) -> PlannedProject {
    PlannedProject::with_options(
        mow,
        &ProjectOptions { on_disk: true, ..ProjectOptions::default() },
        phases,
    )
}

/// Measures a run that waits on its terminal for an answer.
fn waiting_run(mow: &str, time: Duration) -> Result<Vec<MeasurementLine>> {
    let project = on_disk(mow, &[phase("1", &[]).without_context()]);
    let lead = project.call(&["run", "--all", "--yes"]).on_terminal();
    project.wait_for_status("1", "parked");
    let pid = lead.pid();
    // What follows from parking is over when the lead has been idle for a moment.
    thread::sleep(Duration::from_secs(2));
    let before = (cpu_time(pid), child_page_faults(pid));
    thread::sleep(time);
    let used = (cpu_time(pid) - before.0, child_page_faults(pid) - before.1);
    let memory = memory_kb(pid).context("the lead is gone")?;
    kill(pid);
    lead.end();
    let limit = format!("{:.0} ms", 10.0 * time.as_secs_f64() / 60.0);
    Ok(vec![
        ("waiting run, time computed", format!("{:.1} ms", used.0.as_secs_f64() * 1e3), limit),
        ("waiting run, pages of children", used.1.to_string(), "0".to_owned()),
        ("waiting lead, memory", format!("{memory} kB"), "30000 kB".to_owned()),
    ])
}

/// A chain of six phases that spend a fifth of three seconds on research and 15 % on planning.
fn looking_ahead(mow: &str) -> Vec<MeasurementLine> {
    let chain = |lookahead: &str| {
        let phases: Vec<_> = (1..=6_u32)
            .map(|n| {
                let before = (n - 1).to_string();
                let before = [before.as_str()];
                phase(&n.to_string(), if n > 1 { &before } else { &[] })
            })
            .collect();
        let project = PlannedProject::new(mow, &phases);
        let plan = phase("1", &[]).with(plan(vec![task("sleep 1.95")]));
        let files = plan.files(Path::new("/"));
        project.write("plan", &files[1].1);
        let config = format!(
            r#"{{"multi_phase": {{"lookahead": "{lookahead}"}}, "roles": {{
            "researcher": {{"command": "sleep 0.6; echo found > $MOW_RESEARCH_FILE"}},
            "planner": {{"command": "sleep 0.45; cp ../../plan $MOW_PHASE_DIR/0$MOW_PHASE-01-PLAN.md"}}
            }}}}"#
        );
        project.write(".planning/config.json", config);
        let start = Instant::now();
        project.run_all();
        start.elapsed().as_secs_f64()
    };
    let [off, research, plan] = ["off", "research", "plan"].map(chain);
    vec![
        (
            "chain of 6, research ahead, speedup",
            format!("{:.2}", off / research),
            "1.15".to_owned(),
        ),
        ("chain of 6, plans ahead, speedup", format!("{:.2}", off / plan), "1.30".to_owned()),
    ]
}

/// Measures a run whose worker sends many messages.
fn busy_run(mow: &str) -> Result<Vec<MeasurementLine>> {
    let project = on_disk(mow, &[phase("1", &[]).with(plan(vec![task("meet 1")]))]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let worker = project.worker_pid("01", 1);
    let memory = memory_kb(worker).context("the worker is gone")?;
    let lead_memory = memory_kb(lead.pid()).context("the lead is gone")?;
    let [acts, confirmations, floor] = messages(&project)?;
    project.release_point("1");
    lead.end();
    let ratio = acts.1.as_secs_f64() / floor.1.as_secs_f64();
    let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    Ok(vec![
        ("busy lead, memory", format!("{lead_memory} kB"), "30000 kB".to_owned()),
        ("worker, memory", format!("{memory} kB"), "30000 kB".to_owned()),
        ("message, median", ms(acts.0), format!("floor {}", ms(floor.0))),
        ("message, 99 of 100", ms(acts.1), format!("floor {}", ms(floor.1))),
        ("message, 99 of 100, ratio", format!("{ratio:.2}"), "3.0".to_owned()),
        ("its confirmation, median", ms(confirmations.0), String::new()),
        ("its confirmation, 99 of 100", ms(confirmations.1), String::new()),
    ])
}

/// Writes messages to the worker's journal and measures the lead's reaction.
///
/// Returns how long it takes until the lead has it in its journal, durably, and until the lead's
/// confirmation is there. Both are counted from before the worker's own write. The third is the
/// lower bound: two threads that answer each echo with a durable line.
fn messages(project: &PlannedProject) -> Result<[(Duration, Duration); 3]> {
    let number = PhaseNumber::parse("1").context("it is a number")?;
    let run = RunDir::new(&project.repository_root().join(".git/mow"), &project.run_id())?;
    let (mut journal, _) =
        Journal::open(&run.worker_journal(&number, 1), &run.worker_header(&number, 1))?;
    let body = json!({ "event": "reported", "report": "note", "text": "so far so good" });
    // A tail with sync returns a record only when it is durable.
    let mut leads = JournalFollower::new(&run.journal(), JournalReader::new(&run.journal()))?;
    let inbox = run.worker_inbox(&number, 1);
    let mut confirmations =
        JournalFollower::new(&inbox, JournalReader::new(&inbox).without_sync())?;
    let mut echo = EchoThread::new(project.sandbox.outer_dir())?;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..MESSAGES {
        let start = Instant::now();
        let seq = journal.append(0, std::slice::from_ref(&body))?;
        let has_seq = |value: &Value| value["seq"].as_u64() >= Some(seq);
        leads.until(|record| {
            let matches = |event: &Value| event["event"] == "reported" && has_seq(event);
            record.as_array().is_some_and(|events| events.iter().any(matches))
        })?;
        times[0].push(start.elapsed());
        confirmations.until(has_seq)?;
        times[1].push(start.elapsed());
        times[2].push(echo.exchange()?);
    }
    Ok(times.map(spread))
}

/// Waits for records in a journal by inotify, without using CPU time.
struct JournalFollower {
    tail: JournalReader,
    notes: OwnedFd,
}

impl JournalFollower {
    fn new(path: &Path, mut tail: JournalReader) -> Result<Self> {
        let notes = inotify::init(inotify::CreateFlags::CLOEXEC)?;
        inotify::add_watch(&notes, path, inotify::WatchFlags::MODIFY)?;
        tail.poll()?;
        Ok(Self { tail, notes })
    }

    fn until(&mut self, matches: impl Fn(&Value) -> bool) -> Result<()> {
        let mut buffer = [const { MaybeUninit::uninit() }; 4096];
        let mut notes = inotify::Reader::new(&self.notes, &mut buffer);
        loop {
            for record in self.tail.poll()? {
                if matches(&record.parse()?) {
                    return Ok(());
                }
            }
            notes.next()?;
        }
    }
}

/// A thread that answers each request with a durable line.
struct EchoThread {
    own: File,
    ask: Sender<()>,
    answers: Receiver<io::Result<()>>,
}

impl EchoThread {
    fn new(dir: &Path) -> Result<Self> {
        let (ask, asked) = mpsc::channel::<()>();
        let (answer, answers) = mpsc::channel();
        let path: PathBuf = dir.join("pong");
        let mut file = File::create(path)?;
        thread::spawn(move || {
            while asked.recv().is_ok() {
                if answer.send(write_durably(&mut file)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { own: File::create(dir.join("ping"))?, ask, answers })
    }

    fn exchange(&mut self) -> Result<Duration> {
        let start = Instant::now();
        write_durably(&mut self.own)?;
        self.ask.send(())?;
        self.answers.recv()??;
        Ok(start.elapsed())
    }
}

fn write_durably(file: &mut File) -> io::Result<()> {
    file.write_all(b"{\"seq\":1,\"crc\":\"00000000\",\"at\":0,\"body\":{\"text\":\"so far\"}}\n")?;
    file.sync_data()
}

/// Returns the median and the 99th percentile.
fn spread(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}
