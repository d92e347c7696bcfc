//! `mow milestone complete` archives the documents of a milestone and records it in MILESTONES.md.
//!
//! The archive of an earlier milestone is never overwritten. A call that was interrupted can be
//! repeated.

use std::path::PathBuf;

use clap::Subcommand;
use mow_store::compat::milestones::{self, ShippedMilestone};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{PhaseDirs, PhaseFileKind};
use mow_store::state::transition;
use mow_store::text::Text;
use mow_store::{frontmatter, text};
use serde_json::json;

use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `mow milestone`.
#[derive(Debug, Subcommand)]
pub(crate) enum MilestoneCommand {
    /// Archive the roadmap and requirements, and record the milestone
    Complete(MilestoneCompleteArgs),
}

/// The arguments of `milestone complete`.
#[derive(Debug, clap::Args)]
pub(crate) struct MilestoneCompleteArgs {
    /// The version, such as v1.0
    #[arg(id = "shipped", value_name = "VERSION")]
    version: String,
    /// The name; by default the version
    #[arg(long, num_args = 1.., value_name = "WORDS")]
    name: Vec<String>,
    /// Move the phase directories to the archive as well
    #[arg(long)]
    archive_phases: bool,
}

impl MilestoneCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let Self::Complete(args) = self;
        complete(context, args)
    }
}

/// Counts over the phases of the milestone, and the one-liners of their summaries.
struct MilestoneTotals {
    phases: usize,
    plans: usize,
    tasks: usize,
    accomplishments: Vec<String>,
}

/// Writes the files of one milestone to `.planning/milestones/`.
struct MilestoneArchive<'a> {
    context: &'a Context,
    writer: &'a Writer,
    version: &'a str,
    today: &'a str,
}

fn complete(context: &Context, args: &MilestoneCompleteArgs) -> Result<Output, Failure> {
    let version = args.version.as_str();
    check_version(version)?;
    let name = args.name.join(" ").trim().to_owned();
    let name = if name.is_empty() { version.to_owned() } else { name };
    let today = today();
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    let dirs = PhaseDirs::load(&context.project.planning);
    let totals = count_phases(&dirs)?;
    let archive = MilestoneArchive { context, writer: &writer, version, today: &today };
    let phase_names: Vec<_> = dirs.iter().map(|dir| dir.name.as_str()).collect();
    let phase_names = if args.archive_phases { phase_names } else { Vec::new() };
    archive.check_is_free(&phase_names, &name)?;
    writer.create_dir(&context.planning("milestones"))?;
    let roadmap = archive.copy_document("ROADMAP.md", &|bytes| bytes.to_vec())?;
    let requirements = archive
        .copy_document("REQUIREMENTS.md", &|bytes| archive.with_archive_header(&name, bytes))?;
    let audit = archive.move_audit()?;
    archive.record(&name, &totals)?;
    let state = context.load("STATE.md")?;
    if let Some(bytes) = &state {
        let edited = transition::complete_milestone(bytes, version, &today);
        writer.replace(&context.planning("STATE.md"), &edited)?;
    }
    archive.move_phases(&phase_names)?;
    Ok(Output::json(json!({
        "version": version,
        "name": name,
        "date": today,
        "phases": totals.phases,
        "plans": totals.plans,
        "tasks": totals.tasks,
        "accomplishments": totals.accomplishments,
        "archived": {
            "roadmap": roadmap,
            "requirements": requirements,
            "audit": audit,
            "phases": !phase_names.is_empty(),
        },
        "milestones_updated": true,
        "state_updated": state.is_some(),
    })))
}

/// Refuses a version that cannot be part of a file name.
fn check_version(version: &str) -> Result<(), Failure> {
    let is_plain = version.starts_with(|c: char| c.is_ascii_alphanumeric())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c));
    if is_plain {
        return Ok(());
    }
    Err(Failure::refused(format!("`{version}` is not a version"))
        .hint("mow milestone complete v1.0"))
}

fn count_phases(dirs: &PhaseDirs) -> Result<MilestoneTotals, Failure> {
    let mut totals = MilestoneTotals { phases: 0, plans: 0, tasks: 0, accomplishments: Vec::new() };
    for dir in dirs.iter() {
        totals.phases += 1;
        totals.plans += dir.count(PhaseFileKind::Plan);
        for file in dir.files_of(PhaseFileKind::Summary) {
            let bytes = disk::read(&dir.path.join(file))?.unwrap_or_default();
            totals.tasks += task_headings(&bytes);
            let block = frontmatter::parse(&bytes);
            let line = block.as_ref().and_then(|block| {
                block.lookup("one-liner").or_else(|| block.lookup("one_liner"))?.as_str()
            });
            let line = line.map(str::trim).filter(|line| !line.is_empty());
            totals.accomplishments.extend(line.map(str::to_owned));
        }
    }
    Ok(totals)
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
    let below_title = headings.iter().filter(|heading| heading.level >= 2);
    below_title.filter(|heading| is_task(text.slice(heading.text.clone()))).count()
}

impl MilestoneArchive<'_> {
    fn path(&self, suffix: &str) -> PathBuf {
        self.context.planning("milestones").join(format!("{}-{suffix}", self.version))
    }

    /// Refuses to overwrite the archive of an earlier milestone.
    fn check_is_free(&self, phase_names: &[&str], name: &str) -> Result<(), Failure> {
        let taken = |path: &std::path::Path| {
            Failure::refused(format!("{} exists already", self.context.display_path(path)))
                .hint("give the milestone another version, or move that away first")
        };
        let path = self.path("ROADMAP.md");
        let (old, new) = (disk::read(&path)?, self.context.load("ROADMAP.md")?);
        if old.is_some() && new.is_some() && old != new {
            return Err(taken(&path));
        }
        let path = self.path("REQUIREMENTS.md");
        let new = self.context.load("REQUIREMENTS.md")?;
        let new = new.map(|bytes| self.with_archive_header(name, &bytes));
        if let (Some(old), Some(new)) = (disk::read(&path)?, new)
            && old != new
        {
            return Err(taken(&path));
        }
        let audit = self.path("MILESTONE-AUDIT.md");
        if audit.exists() && self.audit_path().exists() {
            return Err(taken(&audit));
        }
        let phases_dir = self.path("phases");
        match phase_names.iter().map(|dir| phases_dir.join(dir)).find(|dir| dir.exists()) {
            Some(dir) => Err(taken(&dir)),
            None => Ok(()),
        }
    }

    /// Copies a document into the archive; returns whether the document exists.
    fn copy_document(
        &self,
        file: &str,
        change: &dyn Fn(&[u8]) -> Vec<u8>,
    ) -> Result<bool, Failure> {
        let Some(bytes) = self.context.load(file)? else { return Ok(false) };
        self.writer.replace(&self.path(file), &change(&bytes))?;
        Ok(true)
    }

    /// Puts the archive header before the requirements.
    fn with_archive_header(&self, name: &str, bytes: &[u8]) -> Vec<u8> {
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

    fn audit_path(&self) -> PathBuf {
        self.context.planning(&format!("{}-MILESTONE-AUDIT.md", self.version))
    }

    fn move_audit(&self) -> Result<bool, Failure> {
        if !self.audit_path().is_file() {
            return Ok(self.path("MILESTONE-AUDIT.md").is_file());
        }
        self.writer.rename(&self.audit_path(), &self.path("MILESTONE-AUDIT.md"))?;
        Ok(true)
    }

    /// Adds the entry to MILESTONES.md unless it is already there.
    fn record(&self, name: &str, totals: &MilestoneTotals) -> Result<(), Failure> {
        let count = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let shipped = ShippedMilestone {
            version: self.version,
            name,
            date: self.today,
            counts: [count(totals.phases), count(totals.plans), count(totals.tasks)],
            accomplishments: &totals.accomplishments,
        };
        self.writer.update(&self.context.planning("MILESTONES.md"), |old| {
            let old = old.unwrap_or_default();
            let is_same = |entry: &milestones::MilestoneEntry| {
                entry.version == self.version && entry.shipped.as_deref() == Some(self.today)
            };
            // A repeated call after an interruption finds its own entry.
            let recorded = milestones::parse(old).iter().any(is_same);
            Ok::<_, Failure>((!recorded).then(|| milestones::append(old, &shipped)))
        })?;
        Ok(())
    }

    fn move_phases(&self, phase_names: &[&str]) -> Result<(), Failure> {
        if phase_names.is_empty() {
            return Ok(());
        }
        let phases_dir = self.path("phases");
        self.writer.create_dir(&phases_dir)?;
        for dir in phase_names {
            self.writer
                .rename(&self.context.planning("phases").join(dir), &phases_dir.join(dir))?;
        }
        Ok(())
    }
}
