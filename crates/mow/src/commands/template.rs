//! `mow template select|fill`.

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use mow_core::slug::slug;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::PhaseDir;
use mow_store::templates::{self, Checkpoint, Fill as Filling, Kind};
use mow_store::worktree_home::Home;
use mow_store::{plan, references};
use serde_json::{Map, Value, json};

use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;

/// Commands on templates.
#[derive(Debug, Subcommand)]
pub(crate) enum Template {
    /// Say which summary template fits a plan
    Select {
        /// The plan
        plan: PathBuf,
    },
    /// Write a plan, summary or verification to be filled in, or print a checkpoint
    Fill(Fill),
}

/// The arguments of `template fill`.
#[derive(Debug, Args)]
pub(crate) struct Fill {
    /// What to make
    #[arg(value_enum)]
    kind: Filled,
    /// The phase, such as 3 or 03
    #[arg(long, allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    phase: String,
    /// The number of the plan
    #[arg(long, allow_hyphen_values = true, default_value = "01")]
    plan: String,
    /// The name; the phase's if not given
    #[arg(long, allow_hyphen_values = true)]
    name: Option<String>,
    /// The type of a plan: execute or tdd
    #[arg(long = "type", allow_hyphen_values = true, default_value = "execute")]
    plan_type: String,
    /// The wave of a plan
    #[arg(long, default_value_t = 1)]
    wave: u32,
    /// Frontmatter keys as a JSON object, laid over the defaults
    #[arg(long, allow_hyphen_values = true, value_name = "JSON")]
    fields: Option<String>,
    /// The status of a checkpoint
    #[arg(long, allow_hyphen_values = true, default_value = "failed")]
    status: String,
    /// Who writes a checkpoint
    #[arg(long, allow_hyphen_values = true, default_value = "unknown")]
    worker: String,
    /// Where the work of a checkpoint lies
    #[arg(long, allow_hyphen_values = true, value_name = "PATH")]
    worktree: Option<String>,
    /// Why a checkpoint is written
    #[arg(long, allow_hyphen_values = true, default_value = "error")]
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Filled {
    Summary,
    Plan,
    Verification,
    Checkpoint,
}

impl Template {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
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
    let bytes = match disk::read(&context.named(path)) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return answer("standard", json!({ "error": "File not found" })),
        Err(error) => {
            return answer("standard", json!({ "error": Failure::from(error).message }));
        }
    };
    let tasks = plan::parse(&bytes).tasks.len();
    let files = references::coded_paths(&bytes).len();
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

impl Fill {
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
            Filled::Checkpoint => {
                return self.checkpoint(context, &dir, &format!("{padded}-{slug}"), &plan);
            }
            Filled::Summary => Kind::Summary,
            Filled::Plan => Kind::Plan,
            Filled::Verification => Kind::Verification,
        };
        let now = now();
        let text = templates::fill(
            kind,
            &Filling {
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
            Kind::Summary => format!("{padded}-{plan}-SUMMARY.md"),
            Kind::Plan => format!("{padded}-{plan}-PLAN.md"),
            Kind::Verification => format!("{padded}-VERIFICATION.md"),
        };
        self.create(context, &dir, &file, &text)
    }

    /// Writes a new file; one that is there stays as it is.
    fn create(
        &self,
        context: &Context,
        dir: &PhaseDir,
        file: &str,
        text: &[u8],
    ) -> Result<Output, Failure> {
        let path = dir.path.join(file);
        let shown = context.shown(&path);
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

    /// Returns the plan's number as file names have it; `03-01` of phase 3 is `01`.
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

    fn checkpoint(
        &self,
        context: &Context,
        dir: &PhaseDir,
        phase: &str,
        plan: &str,
    ) -> Result<Output, Failure> {
        let template = context.template("checkpoint.md")?;
        let worktree = match &self.worktree {
            Some(worktree) => worktree.clone(),
            None => worktree_of(context, dir)?,
        };
        let padded = dir.number.map_or_else(|| dir.name.clone(), |number| number.padded());
        let (now, plan_id) = (now(), format!("{padded}-{plan}"));
        let values = Checkpoint {
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

/// Returns where the worktree of a phase is, whether it exists or not.
fn worktree_of(context: &Context, dir: &PhaseDir) -> Result<String, Failure> {
    let Some(number) = dir.number else { return Ok("unknown".to_owned()) };
    let root = context.project.main_root().unwrap_or(&context.project.root);
    let home = Home::resolve(root, &context.config()?, &context.project.tag())
        .map_err(|error| Failure::refused(error.to_string()))?;
    Ok(home.dir.join(home.name(&number)).display().to_string())
}
