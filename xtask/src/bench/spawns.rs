//! Which commands of the contract start other programs, and how many: only what needs git should.
//!
//! Every command is called once under strace, in a small project of its own. A call that is refused
//! proves nothing, so those are listed too.

use super::project::BenchProject;
use crate::contract;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const PLAN: &str = ".planning/phases/0001-step/0001-01-PLAN.md";
const SUMMARY: &str = ".planning/phases/0001-step/0001-01-SUMMARY.md";
const PHASES: usize = 4;

/// What the commands are given that want more than their name; `PLAN` and `SUMMARY` are files.
const ARGUMENTS: &[(&str, &str)] = &[
    ("state get", "Status"),
    ("state update", "Status Busy"),
    ("state patch", "--Status Busy"),
    ("state record-metric", "--phase 1 --plan 1 --duration 5m"),
    ("state add-decision", "--summary less"),
    ("state add-blocker", "--text late"),
    ("state resolve-blocker", "--text late"),
    ("state record-session", "--stopped-at noon"),
    ("state update-phase-row", "1 --name Step --status executing"),
    ("status init", "1"),
    ("status read", "1"),
    ("status write", "1 --plan 0001-01 --status complete"),
    ("status aggregate", "1"),
    ("team-update --action start", "--team-name walkers"),
    ("team-update --action add-teammate", "--name w1"),
    ("team-update --action update-teammate", "--name w1"),
    ("worktree create", "1"),
    ("worktree create-native", "--name phase-01"),
    ("worktree merge", "1"),
    ("worktree claim", "1"),
    ("worktree release", "1"),
    ("worktree update-plan", "1 0001-01"),
    ("worktree verify-result", "1 --tier simple --result pass"),
    ("worktree remove-manifest", "1"),
    ("roadmap get-phase", "1"),
    ("roadmap update-plan-progress", "1"),
    ("phase next-decimal", "1"),
    ("phase add", "Rest"),
    ("phase insert", "1 Rest"),
    ("phase remove", "4 --force"),
    ("phase complete", "1"),
    ("find-phase", "1"),
    ("phase-plan-index", "1"),
    ("requirements mark-complete", "WALK-1"),
    ("milestone complete", "v1.0 --name Walk"),
    ("init execute-phase", "1"),
    ("init plan-phase", "1"),
    ("init quick", "rest"),
    ("init verify-work", "1"),
    ("init phase-op", "1"),
    ("message format", "phase_complete --phase 1"),
    ("message parse", "{}"),
    ("chat-log append", "--from 01 --to 02 --msg hello"),
    ("chat-log read", "--from 01 --to 02"),
    ("chat-log prune", "--from 01 --to 02"),
    ("dashboard event add", "--type error --phase 1"),
    ("format banner-phase", "--phase 1"),
    ("format banner-error", "--text late"),
    ("resolve-model", "planner"),
    ("commit", "walk --files .planning/STATE.md"),
    ("generate-slug", "rest"),
    ("verify-path-exists", "."),
    ("todo start", "rest.md"),
    ("todo complete", "rest.md"),
    ("config-set", "mode yolo"),
    ("config-get", "mode"),
    ("summary-extract", "SUMMARY"),
    ("verify-summary", "SUMMARY"),
    ("template select", "PLAN"),
    ("template fill", "summary --phase 1"),
    ("scaffold context", "--phase 1"),
    ("scaffold uat", "--phase 1"),
    ("scaffold verification", "--phase 1"),
    ("scaffold phase-dir", "--phase 9 --name rest"),
    ("frontmatter get", "PLAN"),
    ("frontmatter set", "PLAN --field wave --value 2"),
    ("frontmatter merge", "PLAN --data {\"wave\":2}"),
    ("frontmatter validate", "PLAN --schema plan"),
    ("verify plan-structure", "PLAN"),
    ("verify phase-completeness", "1"),
    ("verify references", ".planning/STATE.md"),
    ("verify commits", "HEAD"),
    ("verify artifacts", "PLAN"),
    ("verify key-links", "PLAN"),
    ("websearch", "walks"),
];

/// What one call did.
struct Call {
    spawned: usize,
    is_answered: bool,
}

/// Prints a table of the commands that start programs.
pub(super) fn print(mow: &Path, home: &Path) -> Result<()> {
    let strace = Command::new("strace").arg("--version").stdout(Stdio::null()).status();
    if !strace.is_ok_and(|status| status.success()) {
        println!("\nprograms started: not counted, strace is missing (apt-get install strace)");
        return Ok(());
    }
    let leaves = contract::leaves();
    println!("\n{:38} {:>10}", "programs started by", "count");
    let mut refused = Vec::new();
    for leaf in &leaves {
        let call = call(mow, home, leaf)?;
        if call.spawned > 0 {
            println!("{leaf:38} {:>10}", call.spawned);
        }
        if !call.is_answered {
            refused.push(leaf.as_str());
        }
    }
    println!(
        "\nof {} commands, the others start none; refused: {}",
        leaves.len(),
        refused.join(", ")
    );
    Ok(())
}

fn call(mow: &Path, home: &Path, leaf: &str) -> Result<Call> {
    let root = home.join("project");
    plan_project(&root)?;
    let trace = home.join("trace");
    let given = ARGUMENTS.iter().find(|(name, _)| *name == leaf).map_or("", |(_, given)| given);
    let given = given.replace("PLAN", PLAN).replace("SUMMARY", SUMMARY);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=execve,execveat", "-e", "status=successful", "-o"]);
    command.arg(&trace).arg(mow).args(leaf.split(' ')).args(given.split_whitespace());
    command.current_dir(&root).env("HOME", home).env_remove("XDG_CACHE_HOME");
    let output = command.stdin(Stdio::null()).output().context("cannot run strace")?;
    let started = fs::read_to_string(&trace)?.lines().filter(|line| line.contains("exec")).count();
    // The first one is mow itself.
    Ok(Call { spawned: started.saturating_sub(1), is_answered: output.status.success() })
}

/// Makes a project below git with what the commands ask for.
fn plan_project(root: &Path) -> Result<()> {
    BenchProject::generate(root, PHASES, PHASES)?;
    let planning = root.join(".planning");
    fs::create_dir_all(planning.join("todos/pending"))?;
    fs::write(planning.join("todos/pending/rest.md"), "# Rest\n")?;
    fs::write(planning.join("config.json"), "{\"mode\": \"yolo\"}\n")?;
    fs::write(planning.join("REQUIREMENTS.md"), "- [ ] **WALK-1**: Walk\n")?;
    for words in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "Plan"]] {
        let identity = ["-c", "user.name=mow", "-c", "user.email=mow@localhost"];
        let status = Command::new("git").args(identity).args(words).current_dir(root).status();
        if !status.context("cannot run git")?.success() {
            bail!("git {} failed in {}", words.join(" "), root.display());
        }
    }
    Ok(())
}
