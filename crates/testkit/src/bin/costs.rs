//! What a run costs while it waits, and how soon a lead confirms what it is told.
//!
//! `costs MOW [SECONDS]` runs small projects with the program `MOW` and prints a line for each
//! measurement, with the limit that it should keep. A part of `cargo xtask bench`.

use std::env;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mow_core::phase::PhaseNumber;
use mow_store::journal::{Journal, Tail};
use mow_store::run_files::RunDir;
use mow_testkit::field::{ALL, Field, Soil, cpu, forks, kill, memory_kb, phase, plan, task};
use serde_json::json;

/// How many messages are sent.
const MESSAGES: usize = 300;

fn main() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let mow = words.first().context("usage: costs MOW [SECONDS]")?;
    let seconds = words.get(1).map_or(Ok(60), |text| text.parse())?;
    let mut out = io::stdout().lock();
    for (name, value, limit) in waiting(mow, Duration::from_secs(seconds))? {
        writeln!(out, "{name:38} {value:>10} {limit:>20}")?;
    }
    for (name, value, limit) in talking(mow)?.into_iter().chain(looking_ahead(mow)) {
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
                let before = [(n - 1).to_string()];
                let before: Vec<_> =
                    before.iter().map(String::as_str).filter(|n| *n != "0").collect();
                phase(&n.to_string(), &before)
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
    let latency = confirmations(&field)?;
    field.open("1");
    lead.end();
    let floor = ping_pong(field.sandbox.outside())?;
    let ratio = latency.1.as_secs_f64() / floor.1.as_secs_f64();
    let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    Ok(vec![
        ("busy lead, memory", format!("{lead_memory} kB"), "30000 kB".to_owned()),
        ("worker, memory", format!("{memory} kB"), "30000 kB".to_owned()),
        ("confirmation, median", ms(latency.0), format!("floor {}", ms(floor.0))),
        ("confirmation, 99 of 100", ms(latency.1), format!("floor {}", ms(floor.1))),
        ("confirmation, 99 of 100, ratio", format!("{ratio:.2}"), "3.0".to_owned()),
    ])
}

/// Says something in the worker's name and waits for the lead to confirm it, again and again.
fn confirmations(field: &Field) -> Result<(Duration, Duration)> {
    let number = PhaseNumber::parse("1").context("it is a number")?;
    let run = RunDir::new(&field.top().join(".git/mow"), &field.run_id())?;
    let (mut journal, _) =
        Journal::open(&run.worker_journal(&number, 1), &run.worker_header(&number, 1))?;
    let mut inbox = Tail::new(&run.worker_inbox(&number, 1)).without_sync();
    let body = json!({ "event": "reported", "report": "note", "text": "so far so good" });
    let mut times = Vec::new();
    for _ in 0..MESSAGES {
        let start = Instant::now();
        let seq = journal.append(0, std::slice::from_ref(&body))?;
        loop {
            let notes = inbox.poll()?;
            let through = |body: &str| {
                let note: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
                note["seq"].as_u64().is_some_and(|through| through >= seq)
            };
            if notes.iter().any(|record| through(&record.body)) {
                break;
            }
            thread::yield_now();
        }
        times.push(start.elapsed());
    }
    Ok(spread(times))
}

/// Two threads that answer each other with a durable line: the least a confirmation can cost.
fn ping_pong(dir: &Path) -> Result<(Duration, Duration)> {
    let (to_other, from_one) = mpsc::channel::<()>();
    let (to_one, from_other) = mpsc::channel::<io::Result<()>>();
    let path: PathBuf = dir.join("pong");
    let other = thread::spawn(move || {
        let Ok(mut file) = File::create(path) else { return };
        while from_one.recv().is_ok() {
            if to_one.send(write_durably(&mut file)).is_err() {
                return;
            }
        }
    });
    let mut file = File::create(dir.join("ping"))?;
    let mut times = Vec::new();
    for _ in 0..MESSAGES {
        let start = Instant::now();
        write_durably(&mut file)?;
        to_other.send(())?;
        from_other.recv()??;
        times.push(start.elapsed());
    }
    drop(to_other);
    other.join().ok();
    Ok(spread(times))
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
