//! What a run costs while it waits, and how soon a lead has written down what it is told.
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
use mow_store::journal::{Journal, Tail};
use mow_store::run_files::RunDir;
use mow_testkit::field::{ALL, Field, Soil, cpu, forks, kill, memory_kb, phase, plan, task};
use rustix::fs::inotify;
use serde_json::{Value, json};

/// How many messages are sent.
const MESSAGES: usize = 1_000;

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let mow = words.first().context("usage: costs MOW [SECONDS]")?;
    let seconds = words.get(1).map_or(Ok(60), |text| text.parse())?;
    let mut out = io::stdout().lock();
    for (name, value, limit) in waiting(mow, Duration::from_secs(seconds))? {
        writeln!(out, "{name:38} {value:>10} {limit:>20}")?;
    }
    let rest = talking(mow)?.into_iter().chain(agents::agent_runs(mow)?).chain(looking_ahead(mow));
    for (name, value, limit) in rest {
        writeln!(out, "{name:38} {value:>10} {limit:>20}")?;
    }
    Ok(())
}

type Line = (&'static str, String, String);

fn on_disk(mow: &str, phases: &[mow_testkit::field::Phase]) -> Field {
    Field::on(mow, &Soil { on_disk: true, ..Soil::default() }, phases)
}

/// A run that stays on its terminal until a question is answered.
fn waiting(mow: &str, time: Duration) -> Result<Vec<Line>> {
    let field = on_disk(mow, &[phase("1", &[]).undiscussed()]);
    let lead = field.call(&["run", "--all", "--yes"]).on_terminal();
    field.until_moved("1", "parked");
    let pid = lead.pid();
    // What follows from parking is over when the lead has been idle for a moment.
    thread::sleep(Duration::from_secs(2));
    let before = (cpu(pid), forks(pid));
    thread::sleep(time);
    let used = (cpu(pid) - before.0, forks(pid) - before.1);
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
fn looking_ahead(mow: &str) -> Vec<Line> {
    let chain = |lookahead: &str| {
        let phases: Vec<_> = (1..=6_u32)
            .map(|n| {
                let before = (n - 1).to_string();
                let before = [before.as_str()];
                phase(&n.to_string(), if n > 1 { &before } else { &[] })
            })
            .collect();
        let field = Field::new(mow, &phases);
        let plan = phase("1", &[]).with(plan(vec![task("sleep 1.95")]));
        let files = plan.files(Path::new("/"));
        field.write("plan", &files[1].1);
        let config = format!(
            r#"{{"multi_phase": {{"lookahead": "{lookahead}"}}, "roles": {{
            "researcher": {{"command": "sleep 0.6; echo found > $MOW_RESEARCH_FILE"}},
            "planner": {{"command": "sleep 0.45; cp ../../plan $MOW_PHASE_DIR/0$MOW_PHASE-01-PLAN.md"}}
            }}}}"#
        );
        field.write(".planning/config.json", config);
        let start = Instant::now();
        field.run_all();
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

/// A run whose worker is at work and says a lot.
fn talking(mow: &str) -> Result<Vec<Line>> {
    let field = on_disk(mow, &[phase("1", &[]).with(plan(vec![task("meet 1")]))]);
    let lead = field.start(&ALL);
    field.reached("1");
    let worker = field.worker("01", 1);
    let memory = memory_kb(worker).context("the worker is gone")?;
    let lead_memory = memory_kb(lead.pid()).context("the lead is gone")?;
    let [acts, confirmations, floor] = messages(&field)?;
    field.open("1");
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

/// Says something in the worker's name, again and again.
///
/// Returns how long it takes until the lead has it in its journal, durably, and until the lead's
/// confirmation is there. Both are counted from before the worker's own write. The third is the
/// least that this could take: two who answer each other with a durable line, in between.
fn messages(field: &Field) -> Result<[(Duration, Duration); 3]> {
    let number = PhaseNumber::parse("1").context("it is a number")?;
    let run = RunDir::new(&field.top().join(".git/mow"), &field.run_id())?;
    let (mut journal, _) =
        Journal::open(&run.worker_journal(&number, 1), &run.worker_header(&number, 1))?;
    let body = json!({ "event": "reported", "report": "note", "text": "so far so good" });
    // Whoever reads with a sync has it only when it is durable.
    let mut leads = Follower::new(&run.journal(), Tail::new(&run.journal()))?;
    let inbox = run.worker_inbox(&number, 1);
    let mut told = Follower::new(&inbox, Tail::new(&inbox).without_sync())?;
    let mut other = Other::new(field.sandbox.outside())?;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..MESSAGES {
        let start = Instant::now();
        let seq = journal.append(0, std::slice::from_ref(&body))?;
        let is_through = |value: &Value| value["seq"].as_u64() >= Some(seq);
        leads.until(|record| {
            let is_it = |event: &Value| event["event"] == "reported" && is_through(event);
            record.as_array().is_some_and(|events| events.iter().any(is_it))
        })?;
        times[0].push(start.elapsed());
        told.until(is_through)?;
        times[1].push(start.elapsed());
        times[2].push(other.exchange()?);
    }
    Ok(times.map(spread))
}

/// Waits for what others write into a journal, without taking time from them.
struct Follower {
    tail: Tail,
    notes: OwnedFd,
}

impl Follower {
    fn new(path: &Path, mut tail: Tail) -> Result<Self> {
        let notes = inotify::init(inotify::CreateFlags::CLOEXEC)?;
        inotify::add_watch(&notes, path, inotify::WatchFlags::MODIFY)?;
        tail.poll()?;
        Ok(Self { tail, notes })
    }

    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Result<()> {
        let mut buffer = [const { MaybeUninit::uninit() }; 4096];
        let mut notes = inotify::Reader::new(&self.notes, &mut buffer);
        loop {
            for record in self.tail.poll()? {
                if is_it(&record.parse()?) {
                    return Ok(());
                }
            }
            notes.next()?;
        }
    }
}

/// One who answers with a durable line.
struct Other {
    own: File,
    ask: Sender<()>,
    answers: Receiver<io::Result<()>>,
}

impl Other {
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

/// The median, and what 99 of 100 stay below.
fn spread(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}
