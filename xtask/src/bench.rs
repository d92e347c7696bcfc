//! `cargo xtask bench`: how many times longer mow takes than a bare program that does the same IO.
//!
//! Subject and floor run in turns (A B A B …), so that a busy machine slows both, and medians are
//! compared. Only ratios mean something; nothing here ever fails a build. A subject that fails or
//! says nothing is shown as `n/a`. At the end it counts the programs that commands start.

mod project;
mod spawns;
mod table;

use crate::repo;
use anyhow::{Context, Result, bail};
use project::BenchProject;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use table::{BenchSide, MEASUREMENTS, Measurement, Program, Size};

const RUNS_DEFAULT: usize = 30;

/// The programs and the generated projects that the measurements name.
struct Bench {
    mow: PathBuf,
    floor: PathBuf,
    /// On disk, because a durable write costs nothing on a file system in memory.
    on_disk: BenchProject,
    small: BenchProject,
    large: BenchProject,
    /// Where long answers go; kept empty, as it is for a person who asks now and then.
    cache: PathBuf,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments.first().is_some_and(|word| word == "trust") {
        return print_trust(&arguments[1..]);
    }
    let runs = parse_runs(arguments)?;
    let memory = Path::new("/dev/shm");
    let memory = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let memory = memory.join(format!("mow-bench-{}", std::process::id()));
    let disk = repo::target().join("bench");
    let outcome = prepare(&memory, &disk).and_then(|bench| {
        print_all(&bench, runs)?;
        spawns::print(&bench.mow, &memory.join("spawns"))?;
        print_engine()
    });
    for folder in [&memory, &disk].into_iter().filter(|folder| folder.exists()) {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    outcome
}

fn parse_runs(arguments: &[String]) -> Result<usize> {
    match arguments {
        [] => Ok(RUNS_DEFAULT),
        [flag, count] if flag == "--runs" => match count.parse() {
            Ok(runs) if runs > 0 => Ok(runs),
            _ => bail!("--runs needs a number above 0, not {count:?}"),
        },
        _ => bail!("usage: cargo xtask bench [--runs N] | cargo xtask bench trust [ROUNDS]"),
    }
}

fn prepare(memory: &Path, disk: &Path) -> Result<Bench> {
    println!("building the release programs and generating the projects");
    Ok(Bench {
        mow: repo::build("mow", "mow", "release")?,
        floor: repo::build("mow-testkit", "io_floor", "release")?,
        on_disk: BenchProject::generate(&disk.join("small"), Size::OnDisk.phases(), 0)?,
        small: BenchProject::generate(&memory.join("small"), Size::Small.phases(), 0)?,
        large: BenchProject::generate(
            &memory.join("large"),
            Size::Large.phases(),
            Size::Large.phases(),
        )?,
        cache: memory.join("cache"),
    })
}

fn print_all(bench: &Bench, runs: usize) -> Result<()> {
    println!("\n{:38} {:>10} {:>10} {:>7} {:>6}", "what", "mow", "floor", "ratio", "limit");
    for measurement in MEASUREMENTS {
        println!("{}", bench.line(measurement, runs)?);
    }
    println!("\nmedians of {runs} interleaved runs, in milliseconds");
    print_costs(&bench.mow)
}

/// Prints what a run costs while it waits: a minute of nothing, and some hundred messages.
fn print_costs(mow: &Path) -> Result<()> {
    println!("\n{:38} {:>10} {:>20}", "what a run costs", "mow", "limit");
    let costs = repo::build("mow-testkit", "costs", "release")?;
    let status = Command::new(costs).arg(mow).status().context("cannot run costs")?;
    if !status.success() {
        println!("n/a");
    }
    Ok(())
}

/// Prints what runs lose, how they recover, whether lies pass, and what a phase costs beside git.
fn print_trust(arguments: &[String]) -> Result<()> {
    println!("building the release programs");
    let mow = repo::build("mow", "mow", "release")?;
    let trust = repo::build("mow-testkit", "trust", "release")?;
    println!("\n{:44} {:>16} {:>24}", "trust", "mow", "limit");
    let status = Command::new(trust).arg(&mow).args(arguments).status();
    if !status.context("cannot run trust")?.success() {
        bail!("not all of it could be measured");
    }
    print_costs(&mow)
}

/// What the engine's decisions cost; that needs no program to compare with.
fn print_engine() -> Result<()> {
    let mut command = repo::cargo([
        "bench",
        "--quiet",
        "--locked",
        "--package",
        "mow-engine",
        "--bench",
        "costs",
    ]);
    if !command.status().context("cannot run cargo")?.success() {
        bail!("cannot measure the engine");
    }
    Ok(())
}

impl Bench {
    fn line(&self, measurement: &Measurement, runs: usize) -> Result<String> {
        let Measurement { name, subject, floor, scale, limit } = measurement;
        if !self.says_something(subject)? {
            return Ok(format!("{name:38} {:>10} {:>10} {:>7} {limit:>6.1}", "n/a", "", ""));
        }
        let (mut subject_times, mut floor_times) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            subject_times.push(self.time(subject)?);
            floor_times.push(self.time(floor)?);
        }
        let subject = median(subject_times).as_secs_f64() * 1000.0;
        let floor = median(floor_times).as_secs_f64() * 1000.0;
        let ratio = subject / floor / scale;
        let verdict = if ratio <= *limit { "ok" } else { "over" };
        Ok(format!("{name:38} {subject:>10.3} {floor:>10.3} {ratio:>7.2} {limit:>6.1} {verdict}"))
    }

    /// Runs a subject once: warms the caches and tells whether it does the work at all.
    fn says_something(&self, side: &BenchSide) -> Result<bool> {
        let output = self.command(side).output()?;
        self.restore(side)?;
        Ok(output.status.success() && !output.stdout.is_empty())
    }

    fn time(&self, side: &BenchSide) -> Result<Duration> {
        let mut command = self.command(side);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let status = command.status()?;
        let took = start.elapsed();
        if !status.success() {
            bail!("{} {} ended with {status}", side.program.name(), side.words.join(" "));
        }
        self.restore(side)?;
        Ok(took)
    }

    fn restore(&self, side: &BenchSide) -> Result<()> {
        if self.cache.exists() {
            fs::remove_dir_all(&self.cache).context("cannot empty the cache")?;
        }
        self.project(side.size).restore()
    }

    fn command(&self, side: &BenchSide) -> Command {
        let mut command = match side.program {
            Program::Mow => Command::new(&self.mow),
            Program::Floor => Command::new(&self.floor),
            Program::True => Command::new("true"),
        };
        command.args(side.words).current_dir(&self.project(side.size).root);
        command.env("XDG_CACHE_HOME", &self.cache);
        command
    }

    fn project(&self, size: Size) -> &BenchProject {
        match size {
            Size::OnDisk => &self.on_disk,
            Size::Small => &self.small,
            Size::Large => &self.large,
        }
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[cfg(test)]
mod tests;
