//! `mow demo`: a small project whose plans any shell can carry out, to see mow at work.
//!
//! Only ever writes into a directory that is new or empty. Git's settings are touched in the new
//! repository alone, and only where the user has no identity to commit with.

mod files;

use std::path::{Path, PathBuf};

use mow_host::commit::has_identity;
use mow_host::git::Git;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use serde::Serialize;

use super::run;
use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::{Output, notice};
use crate::terminal::{BOLD, CYAN, DIM, painted, quoted};

/// How many demos may lie side by side before a name must be given.
const NUMBER_MAX: u32 = 99;

/// The arguments of `demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to, a directory that is new or empty; `mow-demo` if not given
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Make the project, but do not run it
    #[arg(long)]
    prepare: bool,
}

#[derive(Serialize)]
struct Prepared {
    dir: PathBuf,
    phases: usize,
    plans: usize,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let dir = match &args.dir {
        Some(dir) => context.named(dir),
        None => free_dir(&context.project.cwd)?,
    };
    let prepared = prepare(&dir)?;
    if !args.prepare {
        return run_demo(context, &prepared.dir);
    }
    Ok(if context.wants_json() { Output::json_lines(&prepared) } else { told(&prepared) })
}

/// Runs a prepared project to its end.
fn run_demo(context: &Context, dir: &Path) -> Result<Output, Failure> {
    notice(&format!("the demo is in {}", dir.display()));
    let context = Context::new(context.raw, context.json, Some(dir))?;
    run::run(&context, &run::Args::for_demo())
}

/// Returns the first of `mow-demo`, `mow-demo-2`, … that is not there.
fn free_dir(cwd: &Path) -> Result<PathBuf, Failure> {
    let numbered = (2..=NUMBER_MAX).map(|number| format!("mow-demo-{number}"));
    let mut names = std::iter::once("mow-demo".to_owned()).chain(numbered);
    let is_free = |dir: &PathBuf| dir.symlink_metadata().is_err();
    names.find_map(|name| Some(cwd.join(name)).filter(is_free)).ok_or_else(|| {
        Failure::refused(format!("mow-demo to mow-demo-{NUMBER_MAX} are there already"))
            .hint("remove some, or mow demo --dir DIR")
    })
}

/// Makes the project with everything in its first commit.
fn prepare(dir: &Path) -> Result<Prepared, Failure> {
    check_unused(dir)?;
    let parent = dir.ancestors().skip(1).find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
    // Without git nothing is to be left behind.
    Git::new(parent).run(&["--version"])?;
    let date = today();
    let writer = Writer::open_dir(dir, WAIT_DEFAULT)?;
    for (path, text) in files::FILES {
        let path = Path::new(path);
        writer.create_dir(path.parent().expect("the paths name files"))?;
        writer.replace(path, text.replace("{date}", &date).as_bytes())?;
    }
    drop(writer);
    commit(&Git::new(dir))?;
    let count = |end: &str| files::FILES.iter().filter(|(path, _)| path.ends_with(end)).count();
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    Ok(Prepared { dir, phases: count("-CONTEXT.md"), plans: count("-PLAN.md") })
}

/// Refuses a place where something is.
fn check_unused(dir: &Path) -> Result<(), Failure> {
    let refused = |what: &str| {
        let message = format!("{} {what}", dir.display());
        Err(Failure::refused(message).hint("name a directory that is new or empty"))
    };
    if dir.symlink_metadata().is_err() {
        return Ok(());
    }
    match dir.read_dir().map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => refused("is not empty"),
        Err(error) => refused(&format!("cannot be used: {error}")),
    }
}

fn commit(git: &Git) -> Result<(), Failure> {
    git.run(&["init", "--quiet", "-b", "main"])?;
    if !has_identity(git)? {
        git.run(&["config", "user.name", "mow demo"])?;
        git.run(&["config", "user.email", "demo@mow.invalid"])?;
    }
    git.run(&["add", "--all"])?;
    git.run(&["commit", "--quiet", "-m", "Plan the garden log"])?;
    Ok(())
}

fn told(prepared: &Prepared) -> Output {
    let Prepared { dir, phases, plans } = prepared;
    let shown = dir.display();
    let mut text = format!("Prepared {shown}: {phases} phases, {plans} plans.\n");
    text += &format!("\n{}\n", painted(BOLD, "Next"));
    for (command, why) in [
        (format!("cd {}", quoted(&shown.to_string())), "everything below happens there"),
        ("mow roadmap graph".to_owned(), "see which phases can run at the same time"),
        ("mow run --all --yes".to_owned(), "let the embedded shell agent carry out the plans"),
    ] {
        text += &format!("  {}\n      {}\n", painted(CYAN, &command), painted(DIM, why));
    }
    Output::Text(text)
}
