//! `mow milestone complete`: what a milestone leaves behind is put away.

use std::path::PathBuf;

use clap::Subcommand;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::milestones::{self, Shipped};
use mow_store::phase_dirs::{Artifact, PhaseDirs};
use mow_store::state::transition;
use mow_store::text::Text;
use mow_store::{frontmatter, text};
use serde_json::json;

use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;

/// Commands on milestones.
#[derive(Debug, Subcommand)]
pub(crate) enum Milestone {
    /// Archive roadmap and requirements, and record the milestone
    Complete(Complete),
}

/// The arguments of `milestone complete`.
#[derive(Debug, clap::Args)]
pub(crate) struct Complete {
    /// The version, such as v1.0
    #[arg(id = "shipped", value_name = "VERSION")]
    version: String,
    /// Its name; the version if not given
    #[arg(long, num_args = 1.., value_name = "WORDS")]
    name: Vec<String>,
    /// Move the phase directories to the archive too
    #[arg(long)]
    archive_phases: bool,
}

impl Milestone {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let Self::Complete(args) = self;
        complete(context, args)
    }
}

/// What the phases of the milestone come to.
struct Sum {
    phases: usize,
    plans: usize,
    tasks: usize,
    accomplishments: Vec<String>,
}

/// Where the milestone's files go.
struct Archive<'a> {
    context: &'a Context,
    writer: &'a Writer,
    version: &'a str,
    today: &'a str,
}

fn complete(context: &Context, args: &Complete) -> Result<Output, Failure> {
    let version = args.version.as_str();
    check_version(version)?;
    let name = args.name.join(" ").trim().to_owned();
    let name = if name.is_empty() { version.to_owned() } else { name };
    let today = today();
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    let dirs = PhaseDirs::load(&context.project.planning);
    let sum = sum(&dirs)?;
    let archive = Archive { context, writer: &writer, version, today: &today };
    let homes: Vec<_> = dirs.iter().map(|dir| dir.name.as_str()).collect();
    let homes = if args.archive_phases { homes } else { Vec::new() };
    archive.check(&homes, &name)?;
    writer.create_dir(&context.planning("milestones"))?;
    let roadmap = archive.put("ROADMAP.md", &|bytes| bytes.to_vec())?;
    let requirements = archive.put("REQUIREMENTS.md", &|bytes| archive.headed(&name, bytes))?;
    let audit = archive.move_audit()?;
    archive.record(&name, &sum)?;
    let state = context.load("STATE.md")?;
    if let Some(bytes) = &state {
        let edited = transition::complete_milestone(bytes, version, &today);
        writer.replace(&context.planning("STATE.md"), &edited)?;
    }
    archive.move_phases(&homes)?;
    Ok(Output::json(json!({
        "version": version,
        "name": name,
        "date": today,
        "phases": sum.phases,
        "plans": sum.plans,
        "tasks": sum.tasks,
        "accomplishments": sum.accomplishments,
        "archived": {
            "roadmap": roadmap,
            "requirements": requirements,
            "audit": audit,
            "phases": !homes.is_empty(),
        },
        "milestones_updated": true,
        "state_updated": state.is_some(),
    })))
}

/// A version becomes part of file names.
fn check_version(version: &str) -> Result<(), Failure> {
    let is_plain = version.starts_with(|c: char| c.is_ascii_alphanumeric())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c));
    if is_plain {
        return Ok(());
    }
    Err(Failure::refused(format!("`{version}` is not a version"))
        .hint("mow milestone complete v1.0"))
}

fn sum(dirs: &PhaseDirs) -> Result<Sum, Failure> {
    let mut sum = Sum { phases: 0, plans: 0, tasks: 0, accomplishments: Vec::new() };
    for dir in dirs.iter() {
        sum.phases += 1;
        sum.plans += dir.count(Artifact::Plan);
        for file in dir.of(Artifact::Summary) {
            let bytes = disk::read(&dir.path.join(file))?.unwrap_or_default();
            sum.tasks += task_headings(&bytes);
            let block = frontmatter::parse(&bytes);
            let line = block.as_ref().and_then(|block| {
                block.lookup("one-liner").or_else(|| block.lookup("one_liner"))?.as_str()
            });
            let line = line.map(str::trim).filter(|line| !line.is_empty());
            sum.accomplishments.extend(line.map(str::to_owned));
        }
    }
    Ok(sum)
}

/// Counts headings such as `## Task 3: name`.
fn task_headings(bytes: &[u8]) -> usize {
    let text = Text::new(bytes);
    let headings = text::heading::headings(&text);
    let is_task = |title: &str| {
        let rest =
            title.get(..4).filter(|word| word.eq_ignore_ascii_case("task")).map(|_| &title[4..]);
        rest.is_some_and(|rest| rest.trim_start().starts_with(|c: char| c.is_ascii_digit()))
    };
    let level_two = headings.iter().filter(|heading| heading.level >= 2);
    level_two.filter(|heading| is_task(text.slice(heading.text.clone()))).count()
}

impl Archive<'_> {
    fn path(&self, suffix: &str) -> PathBuf {
        self.context.planning("milestones").join(format!("{}-{suffix}", self.version))
    }

    /// Refuses to write over the archive of an earlier milestone.
    fn check(&self, homes: &[&str], name: &str) -> Result<(), Failure> {
        let taken = |path: &std::path::Path| {
            Failure::refused(format!("{} exists already", self.context.shown(path)))
                .hint("give the milestone another version, or move that away first")
        };
        let path = self.path("ROADMAP.md");
        let (old, new) = (disk::read(&path)?, self.context.load("ROADMAP.md")?);
        if old.is_some() && new.is_some() && old != new {
            return Err(taken(&path));
        }
        let path = self.path("REQUIREMENTS.md");
        let new = self.context.load("REQUIREMENTS.md")?;
        let new = new.map(|bytes| self.headed(name, &bytes));
        if let (Some(old), Some(new)) = (disk::read(&path)?, new)
            && old != new
        {
            return Err(taken(&path));
        }
        let audit = self.path("MILESTONE-AUDIT.md");
        if audit.exists() && self.audit().exists() {
            return Err(taken(&audit));
        }
        let home = self.path("phases");
        match homes.iter().map(|dir| home.join(dir)).find(|dir| dir.exists()) {
            Some(dir) => Err(taken(&dir)),
            None => Ok(()),
        }
    }

    /// Copies a document into the archive; returns whether there was one.
    fn put(&self, file: &str, change: &dyn Fn(&[u8]) -> Vec<u8>) -> Result<bool, Failure> {
        let Some(bytes) = self.context.load(file)? else { return Ok(false) };
        self.writer.replace(&self.path(file), &change(&bytes))?;
        Ok(true)
    }

    /// Puts the header of an archive before the requirements.
    fn headed(&self, name: &str, bytes: &[u8]) -> Vec<u8> {
        let Self { version, today, .. } = self;
        let ending = Text::new(bytes).line_ending();
        let header = format!(
            "# Requirements Archive: {version} {name}\n\n\
             **Archived:** {today}\n\
             **Status:** SHIPPED\n\n\
             The live requirements are in `.planning/REQUIREMENTS.md`.\n\n---\n\n"
        );
        [header.replace('\n', ending).as_bytes(), bytes].concat()
    }

    fn audit(&self) -> PathBuf {
        self.context.planning(&format!("{}-MILESTONE-AUDIT.md", self.version))
    }

    fn move_audit(&self) -> Result<bool, Failure> {
        if !self.audit().is_file() {
            return Ok(self.path("MILESTONE-AUDIT.md").is_file());
        }
        self.writer.rename(&self.audit(), &self.path("MILESTONE-AUDIT.md"))?;
        Ok(true)
    }

    /// Adds the entry to MILESTONES.md, once.
    fn record(&self, name: &str, sum: &Sum) -> Result<(), Failure> {
        let count = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let shipped = Shipped {
            version: self.version,
            name,
            date: self.today,
            counts: [count(sum.phases), count(sum.plans), count(sum.tasks)],
            accomplishments: &sum.accomplishments,
        };
        self.writer.update(&self.context.planning("MILESTONES.md"), |old| {
            let old = old.unwrap_or_default();
            let is_same = |entry: &milestones::Milestone| {
                entry.version == self.version && entry.shipped.as_deref() == Some(self.today)
            };
            // A call that was cut off and is made again finds its entry.
            let recorded = milestones::parse(old).iter().any(is_same);
            Ok::<_, Failure>((!recorded).then(|| milestones::append(old, &shipped)))
        })?;
        Ok(())
    }

    fn move_phases(&self, homes: &[&str]) -> Result<(), Failure> {
        if homes.is_empty() {
            return Ok(());
        }
        let home = self.path("phases");
        self.writer.create_dir(&home)?;
        for dir in homes {
            self.writer.rename(&self.context.planning("phases").join(dir), &home.join(dir))?;
        }
        Ok(())
    }
}
