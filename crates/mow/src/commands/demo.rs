//! `mow demo`: creates a small project whose plans a shell can execute, and runs it.
//!
//! Writes only into a new or empty directory. Changes git's configuration only in the new
//! repository, and only if the user has no commit identity.

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
use crate::terminal::{BOLD, CYAN, DIM, shell_quote, styled};

/// The highest number of a demo directory; beyond it `--dir` is required.
const NUMBER_MAX: u32 = 99;

/// The arguments of `demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A new or empty directory for the project [default: mow-demo]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Create the project but do not run it
    #[arg(long)]
    prepare: bool,
}

#[derive(Serialize)]
struct DemoProject {
    dir: PathBuf,
    phases: usize,
    plans: usize,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let dir = match &args.dir {
        Some(dir) => context.path_from_cwd(dir),
        None => free_dir(&context.project.cwd)?,
    };
    let project = prepare(&dir)?;
    if !args.prepare {
        return run_demo(context, &project.dir);
    }
    Ok(if context.wants_json() { Output::pretty_json(&project) } else { next_steps(&project) })
}

/// Runs all phases of the demo project.
fn run_demo(context: &Context, dir: &Path) -> Result<Output, Failure> {
    notice(&format!("the demo project is in {}", dir.display()));
    let context = Context::new(context.raw, context.json, Some(dir))?;
    run::run(&context, &run::Args::for_demo())
}

/// Returns the first of `mow-demo`, `mow-demo-2`, … that does not exist.
fn free_dir(cwd: &Path) -> Result<PathBuf, Failure> {
    let numbered = (2..=NUMBER_MAX).map(|number| format!("mow-demo-{number}"));
    let mut names = std::iter::once("mow-demo".to_owned()).chain(numbered);
    let is_free = |dir: &PathBuf| dir.symlink_metadata().is_err();
    names.find_map(|name| Some(cwd.join(name)).filter(is_free)).ok_or_else(|| {
        Failure::refused(format!("`mow-demo` to `mow-demo-{NUMBER_MAX}` exist already"))
            .hint("remove some of them, or use `mow demo --dir DIR`")
    })
}

/// Creates the project and commits all its files.
fn prepare(dir: &Path) -> Result<DemoProject, Failure> {
    check_unused(dir)?;
    let parent = dir.ancestors().skip(1).find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
    // Checked before the first write, so that nothing is left behind if git is missing.
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
    Ok(DemoProject { dir, phases: count("-CONTEXT.md"), plans: count("-PLAN.md") })
}

/// Refuses a directory that is not new or empty.
fn check_unused(dir: &Path) -> Result<(), Failure> {
    let refused = |problem: &str| {
        let message = format!("{} {problem}", dir.display());
        Err(Failure::refused(message).hint("name a new or empty directory with `--dir DIR`"))
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

/// Creates the repository and its first commit.
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

/// Returns the output of `--prepare`.
fn next_steps(project: &DemoProject) -> Output {
    let DemoProject { dir, phases, plans } = project;
    let shown = dir.display();
    let mut text = format!("Created {shown}: {phases} phases, {plans} plans.\n");
    text += &format!("\n{}\n", styled(BOLD, "Next"));
    for (command, reason) in [
        (format!("cd {}", shell_quote(&shown.to_string())), "change to the project"),
        ("mow roadmap graph".to_owned(), "show which phases can run in parallel"),
        ("mow run --all --yes".to_owned(), "run all phases with the built-in shell agent"),
    ] {
        text += &format!("  {}\n      {}\n", styled(CYAN, &command), styled(DIM, reason));
    }
    Output::Text(text)
}
