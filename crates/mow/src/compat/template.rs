//! `mow template select` chooses a summary template; `mow template fill` writes a new document.
//!
//! An existing file is never overwritten.

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use mow_core::slug::slug;
use mow_store::compat::references;
use mow_store::compat::templates::{self, CheckpointValues, TemplateKind, TemplateValues};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::PhaseDir;
use mow_store::plan;
use mow_store::worktree_home::WorktreeHome;
use serde_json::{Map, Value, json};

use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `mow template`.
#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    /// Print the summary template that fits a plan
    Select {
        /// The PLAN.md file
        plan: PathBuf,
    },
    /// Write a plan, summary or verification to fill in, or print a checkpoint
    Fill(TemplateFillArgs),
}

/// The arguments of `template fill`.
#[derive(Debug, Args)]
pub(crate) struct TemplateFillArgs {
    /// The document to create
    #[arg(value_enum)]
    kind: TemplateFillKind,
    /// The phase, such as 3 or 03
    #[arg(long, allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    phase: String,
    /// The number of the plan
    #[arg(long, allow_hyphen_values = true, default_value = "01")]
    plan: String,
    /// The name; by default that of the phase
    #[arg(long, allow_hyphen_values = true)]
    name: Option<String>,
    /// The type of a plan: execute or tdd
    #[arg(long = "type", allow_hyphen_values = true, default_value = "execute")]
    plan_type: String,
    /// The wave of a plan
    #[arg(long, default_value_t = 1)]
    wave: u32,
    /// Frontmatter keys as a JSON object; they override the defaults
    #[arg(long, allow_hyphen_values = true, value_name = "JSON")]
    fields: Option<String>,
    /// The status of a checkpoint
    #[arg(long, allow_hyphen_values = true, default_value = "failed")]
    status: String,
    /// The worker that writes the checkpoint
    #[arg(long, allow_hyphen_values = true, default_value = "unknown")]
    worker: String,
    /// The worktree of the checkpoint; by default that of the phase
    #[arg(long, allow_hyphen_values = true, value_name = "PATH")]
    worktree: Option<String>,
    /// The reason for the checkpoint
    #[arg(long, allow_hyphen_values = true, default_value = "error")]
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TemplateFillKind {
    Summary,
    Plan,
    Verification,
    Checkpoint,
}

impl TemplateCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Select { plan } => Ok(select(context, plan)),
            Self::Fill(args) => args.run(context),
        }
    }
}

fn select(context: &Context, path: &Path) -> Output {
    let answer = |kind: &str, more: Value| {
        let template = format!("templates/summary-{kind}.md");
        let mut all = Map::new();
        all.insert("template".to_owned(), json!(template));
        all.insert("type".to_owned(), json!(kind));
        if let Value::Object(mut more) = more {
            all.append(&mut more);
        }
        Output::with_raw(all, template)
    };
    let bytes = match disk::read(&context.path_from_cwd(path)) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return answer("standard", json!({ "error": "File not found" })),
        Err(error) => {
            return answer("standard", json!({ "error": Failure::from(error).message }));
        }
    };
    let tasks = plan::parse(&bytes).tasks.len();
    let files = references::code_span_paths(&bytes).len();
    let decisions = String::from_utf8_lossy(&bytes).to_lowercase().contains("decision");
    let kind = if tasks <= 2 && files <= 3 && !decisions {
        "minimal"
    } else if decisions || files > 6 || tasks > 5 {
        "complex"
    } else {
        "standard"
    };
    answer(kind, json!({ "taskCount": tasks, "fileCount": files, "hasDecisions": decisions }))
}

impl TemplateFillArgs {
    fn run(&self, context: &Context) -> Result<Output, Failure> {
        let fields = self.parse_fields()?;
        let Some(dir) = context.phase_dir(&self.phase) else {
            return Ok(Output::json(json!({ "error": "Phase not found", "phase": self.phase })));
        };
        let padded = dir.number.map_or_else(|| dir.name.clone(), |number| number.padded());
        let plan = self.plan_number(&padded)?;
        let name = self.name.as_deref().or(dir.label()).unwrap_or("Unnamed");
        let slug = slug(dir.label().unwrap_or(name));
        let kind = match self.kind {
            TemplateFillKind::Checkpoint => {
                return self.print_checkpoint(context, &dir, &format!("{padded}-{slug}"), &plan);
            }
            TemplateFillKind::Summary => TemplateKind::Summary,
            TemplateFillKind::Plan => TemplateKind::Plan,
            TemplateFillKind::Verification => TemplateKind::Verification,
        };
        let now = now();
        let text = templates::fill(
            kind,
            &TemplateValues {
                phase: &self.phase,
                padded: &padded,
                name,
                slug: &slug,
                plan: &plan,
                plan_type: &self.plan_type,
                wave: self.wave,
                now: &now,
                fields: &fields,
            },
        )?;
        let file = match kind {
            TemplateKind::Summary => format!("{padded}-{plan}-SUMMARY.md"),
            TemplateKind::Plan => format!("{padded}-{plan}-PLAN.md"),
            TemplateKind::Verification => format!("{padded}-VERIFICATION.md"),
        };
        self.create_file(context, &dir, &file, &text)
    }

    /// Writes a new file; an existing file stays unchanged.
    fn create_file(
        &self,
        context: &Context,
        dir: &PhaseDir,
        file: &str,
        text: &[u8],
    ) -> Result<Output, Failure> {
        let path = dir.path.join(file);
        let shown = context.display_path(&path);
        let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
        if std::fs::symlink_metadata(&path).is_ok() {
            return Ok(Output::json(json!({ "error": "File already exists", "path": shown })));
        }
        writer.replace(&path, text)?;
        let kind = self.kind.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned());
        let answer = json!({ "created": true, "path": shown, "template": kind });
        Ok(Output::with_raw(answer, shown))
    }

    fn parse_fields(&self) -> Result<Map<String, Value>, Failure> {
        let Some(fields) = &self.fields else { return Ok(Map::new()) };
        serde_json::from_str(fields).map_err(|error| {
            Failure::refused(format!("--fields is not a JSON object: {error}"))
                .hint("--fields '{\"subsystem\": \"auth\"}'")
        })
    }

    /// Returns the plan number as file names have it; `03-01` of phase 3 is `01`.
    fn plan_number(&self, padded: &str) -> Result<String, Failure> {
        let plan = self.plan.strip_prefix(padded).and_then(|rest| rest.strip_prefix('-'));
        let plan = plan.unwrap_or(&self.plan);
        let is_number = plan.starts_with(|c: char| c.is_ascii_digit())
            && plan.len() <= 20
            && plan.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_number {
            let message = format!("`{}` is not the number of a plan", self.plan.escape_debug());
            return Err(Failure::refused(message).hint("--plan 01"));
        }
        Ok(format!("{plan:0>2}"))
    }

    fn print_checkpoint(
        &self,
        context: &Context,
        dir: &PhaseDir,
        phase: &str,
        plan: &str,
    ) -> Result<Output, Failure> {
        let template = context.template("checkpoint.md")?;
        let worktree = match &self.worktree {
            Some(worktree) => worktree.clone(),
            None => worktree_path(context, dir)?,
        };
        let padded = dir.number.map_or_else(|| dir.name.clone(), |number| number.padded());
        let (now, plan_id) = (now(), format!("{padded}-{plan}"));
        let values = CheckpointValues {
            phase,
            plan,
            plan_id: &plan_id,
            status: &self.status,
            worker: &self.worker,
            worktree: &worktree,
            now: &now,
            reason: &self.reason,
        };
        let content = templates::checkpoint(template.as_deref(), &values);
        let answer = json!({ "filled": true, "content": content, "template": "checkpoint" });
        Ok(Output::with_raw(answer, content))
    }
}

/// Returns the path of the worktree of a phase, whether it exists or not.
fn worktree_path(context: &Context, dir: &PhaseDir) -> Result<String, Failure> {
    let Some(number) = dir.number else { return Ok("unknown".to_owned()) };
    let root = context.project.main_root().unwrap_or(&context.project.root);
    let home = WorktreeHome::resolve(root, &context.config()?, &context.project.tag())
        .map_err(|error| Failure::refused(error.to_string()))?;
    Ok(home.dir.join(home.name(&number)).display().to_string())
}
