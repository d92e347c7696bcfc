//! `cargo xtask corpus`: how well `mow roadmap phases --json` reads the roadmaps in `MOW_CORPUS`.
//!
//! Each folder there is a project with `.planning/` and an `expected.json`. Ten of them are held
//! out: their mistakes are counted apart and shown only with `--held-out`, so that the reader is
//! not tuned to them. Too many mistakes in either set are a failure.

mod score;

use crate::repo;
use anyhow::{Context, Result, bail, ensure};
use score::{Score, ScoredPhase};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Positions of the held-out projects in sorted order.
const HELD_OUT: [usize; 10] = [3, 7, 11, 15, 19, 23, 27, 31, 35, 38];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [verbose, held_out] = parse_flags(arguments)?;
    let corpus = env::var_os("MOW_CORPUS").context("set MOW_CORPUS to the folder of projects")?;
    let mow = repo::build("mow", "mow", "dev")?;
    let (mut working, mut kept_back) = (Score::default(), Score::default());
    for (position, project) in load_projects(Path::new(&corpus))?.iter().enumerate() {
        let is_held_out = HELD_OUT.contains(&position);
        let score = score_project(&mow, project)?;
        if if is_held_out { held_out } else { verbose } {
            let name = project.file_name().unwrap_or_default().to_string_lossy();
            score.mistakes.iter().for_each(|mistake| println!("{name}: {mistake}"));
        }
        if is_held_out { &mut kept_back } else { &mut working }.add(&score);
    }
    println!("working set: {working}\nheld out:    {kept_back}");
    ensure!(
        working.is_good() && kept_back.is_good(),
        "less than {} % was right",
        score::PERCENT_MIN
    );
    Ok(())
}

fn parse_flags(arguments: &[String]) -> Result<[bool; 2]> {
    let flags = ["--verbose", "--held-out"];
    if let Some(unknown) = arguments.iter().find(|word| !flags.contains(&word.as_str())) {
        bail!(
            "unexpected argument {unknown:?}; usage: cargo xtask corpus [--verbose] [--held-out]"
        );
    }
    Ok(flags.map(|flag| arguments.iter().any(|word| word == flag)))
}

fn load_projects(corpus: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(corpus).with_context(|| format!("cannot read {}", corpus.display()))?;
    let mut projects = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.join("expected.json").is_file() {
            projects.push(path);
        }
    }
    projects.sort();
    ensure!(!projects.is_empty(), "{} holds no project with expected.json", corpus.display());
    Ok(projects)
}

fn score_project(mow: &Path, project: &Path) -> Result<Score> {
    let path = project.join("expected.json");
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let expected = ScoredPhase::parse_list(&text).with_context(|| path.display().to_string())?;
    let mut command = Command::new(mow);
    let output = command.args(["roadmap", "phases", "--json"]).current_dir(project).output()?;
    let answer = if output.status.success() {
        ScoredPhase::parse_list(&output.stdout)
    } else {
        let line = String::from_utf8_lossy(&output.stderr).lines().next().map(str::to_owned);
        Err(anyhow::anyhow!("{}: {}", output.status, line.unwrap_or_default()))
    };
    Ok(match answer {
        Ok(found) => Score::of(&expected, &found),
        Err(error) => Score::without_answer(&expected, &error.to_string()),
    })
}
