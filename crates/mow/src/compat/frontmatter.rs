//! `mow frontmatter …` reads and changes the YAML block of a Markdown file.
//!
//! A change touches only the lines of the named fields.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use mow_store::compat::summary;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::frontmatter::{self, EditError};
use mow_store::{phase_files, plan};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, warn};

/// The subcommands of `mow frontmatter`.
#[derive(Debug, Subcommand)]
pub(crate) enum FrontmatterCommand {
    /// Print all fields, or one field
    Get {
        /// The Markdown file
        file: PathBuf,
        /// The key; `a.b` names a nested field
        #[arg(long, allow_hyphen_values = true, value_name = "KEY")]
        field: Option<String>,
    },
    /// Set one field and leave the rest of the file unchanged
    Set {
        /// The Markdown file
        file: PathBuf,
        /// The key; `a.b` names a nested field
        #[arg(long, allow_hyphen_values = true, value_name = "KEY")]
        field: String,
        /// The value as JSON; anything else is a string
        #[arg(long, allow_hyphen_values = true)]
        value: String,
    },
    /// Set several fields and leave the rest of the file unchanged
    Merge {
        /// The Markdown file
        file: PathBuf,
        /// The fields as a JSON object
        #[arg(long, allow_hyphen_values = true, value_name = "JSON")]
        data: String,
    },
    /// Check that all fields of a schema are present
    Validate {
        /// The Markdown file
        file: PathBuf,
        /// The schema that lists the required fields
        #[arg(long, value_enum)]
        schema: FrontmatterSchema,
    },
}

/// The kinds of files whose required fields are known.
#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FrontmatterSchema {
    Plan,
    Summary,
    Verification,
}

impl FrontmatterSchema {
    fn required(self) -> &'static [&'static str] {
        match self {
            Self::Plan => &plan::REQUIRED_KEYS,
            Self::Summary => &summary::REQUIRED_KEYS,
            Self::Verification => &phase_files::VERIFICATION_KEYS,
        }
    }
}

impl FrontmatterCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Get { file, field } => get(context, file, field.as_deref()),
            Self::Set { file, field, value } => set(context, file, field, value),
            Self::Merge { file, data } => merge(context, file, data),
            Self::Validate { file, schema } => validate(context, file, *schema),
        }
    }
}

fn not_found(file: &Path) -> Output {
    Output::json(json!({ "error": "File not found", "path": file.display().to_string() }))
}

fn load(context: &Context, file: &Path) -> Result<Option<Vec<u8>>, Failure> {
    Ok(disk::read(&context.path_from_cwd(file))?.filter(|bytes| !bytes.is_empty()))
}

fn get(context: &Context, file: &Path, field: Option<&str>) -> Result<Output, Failure> {
    let Some(bytes) = load(context, file)? else { return Ok(not_found(file)) };
    let block = frontmatter::parse(&bytes);
    for problem in block.iter().flat_map(|block| &block.problems) {
        warn(&format!("{}:{}: {}", file.display(), problem.line, problem.message));
    }
    let Some(field) = field else {
        return Ok(Output::json(block.map_or(json!({}), |block| block.to_json())));
    };
    let value =
        block.as_ref().and_then(|block| block.lookup(field)).map(frontmatter::Value::to_json);
    Ok(match value {
        Some(value) => {
            let raw = value.to_string();
            Output::with_raw(json!({ field: value }), raw)
        }
        None => Output::json(json!({ "error": "Field not found", "field": field })),
    })
}

/// Parses a value as JSON, or else takes it as text.
///
/// A number that would be printed differently than it was typed stays text: phase 6.10 is not 6.1.
fn parse_value(typed: &str) -> Value {
    let parsed = serde_json::from_str(typed).ok();
    let prints_as_typed =
        |value: &Value| value.as_number().is_none_or(|number| number.to_string() == typed);
    parsed.filter(prints_as_typed).unwrap_or_else(|| json!(typed))
}

fn set(context: &Context, file: &Path, field: &str, value: &str) -> Result<Output, Failure> {
    if load(context, file)?.is_none() {
        return Ok(not_found(file));
    }
    let value = parse_value(value);
    edit(context, file, |old| frontmatter::set(old, field, &value))?;
    Ok(Output::with_raw(json!({ "updated": true, "field": field, "value": value }), "true"))
}

/// Changes a file that the user named, inside or outside of the project.
fn edit(
    context: &Context,
    file: &Path,
    change: impl Fn(&[u8]) -> Result<Vec<u8>, EditError>,
) -> Result<(), Failure> {
    let path = context.path_from_cwd(file);
    caller::refuse_shared_file(context, &path)?;
    let dir = path.parent().unwrap_or(Path::new("/"));
    Writer::open(&context.project, WAIT_DEFAULT)?
        .with_root(dir)?
        .update(&path, |old| Ok::<_, Failure>(Some(change(old.unwrap_or_default())?)))?;
    Ok(())
}

fn merge(context: &Context, file: &Path, data: &str) -> Result<Output, Failure> {
    let fields: Map<String, Value> = serde_json::from_str(data).map_err(|error| {
        Failure::refused(format!("--data is not a JSON object: {error}"))
            .hint("--data '{\"wave\": 2, \"autonomous\": false}'")
    })?;
    if load(context, file)?.is_none() {
        return Ok(not_found(file));
    }
    edit(context, file, |old| frontmatter::merge(old, &fields))?;
    let names: Vec<_> = fields.keys().collect();
    Ok(Output::with_raw(json!({ "merged": true, "fields": names }), "true"))
}

fn validate(context: &Context, file: &Path, schema: FrontmatterSchema) -> Result<Output, Failure> {
    let Some(bytes) = load(context, file)? else { return Ok(not_found(file)) };
    let block = frontmatter::parse(&bytes);
    let has = |key: &&&str| {
        let block = block.as_ref();
        // Older files have hyphens where newer ones have underscores.
        block.is_some_and(|block| {
            block.entry(key).is_some() || block.entry(&key.replace('_', "-")).is_some()
        })
    };
    let (present, missing): (Vec<&str>, Vec<&str>) = schema.required().iter().partition(has);
    let valid = missing.is_empty();
    let answer =
        json!({ "valid": valid, "missing": missing, "present": present, "schema": schema });
    Ok(Output::with_raw(answer, if valid { "valid" } else { "invalid" }))
}
