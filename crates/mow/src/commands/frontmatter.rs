//! `mow frontmatter …`.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::frontmatter;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, warn};

/// Commands on the YAML block of a file.
#[derive(Debug, Subcommand)]
pub(crate) enum Frontmatter {
    /// Print the block, or one field of it
    Get {
        /// The Markdown file
        file: PathBuf,
        /// The key, `a.b` for a nested one
        #[arg(long, value_name = "KEY")]
        field: Option<String>,
    },
    /// Set one field and leave all else as it is
    Set {
        /// The Markdown file
        file: PathBuf,
        /// The key, `a.b` for a nested one
        #[arg(long, value_name = "KEY")]
        field: String,
        /// The value: JSON, or else a plain string
        #[arg(long, allow_hyphen_values = true)]
        value: String,
    },
}

impl Frontmatter {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Get { file, field } => get(context, file, field.as_deref()),
            Self::Set { file, field, value } => set(context, file, field, value),
        }
    }
}

fn not_found(file: &Path) -> Output {
    Output::json(json!({ "error": "File not found", "path": file.display().to_string() }))
}

fn load(context: &Context, file: &Path) -> Result<Option<Vec<u8>>, Failure> {
    Ok(disk::read(&context.named(file))?.filter(|bytes| !bytes.is_empty()))
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

/// Reads a value as JSON, or else as text. A number that would come out other than it was typed
/// is text: phase 6.10 is not 6.1.
fn parse_value(typed: &str) -> Value {
    let parsed = serde_json::from_str(typed).ok();
    let kept = parsed.filter(|value: &Value| !value.is_number() || value.to_string() == typed);
    kept.unwrap_or_else(|| json!(typed))
}

fn set(context: &Context, file: &Path, field: &str, value: &str) -> Result<Output, Failure> {
    if load(context, file)?.is_none() {
        return Ok(not_found(file));
    }
    let value = parse_value(value);
    let path = context.named(file);
    let home = path.parent().unwrap_or(Path::new("/"));
    Writer::open(&context.project, WAIT_DEFAULT)?.with_root(home)?.update(&path, |old| {
        Ok::<_, Failure>(Some(frontmatter::set(old.unwrap_or_default(), field, &value)?))
    })?;
    Ok(Output::with_raw(json!({ "updated": true, "field": field, "value": value }), "true"))
}
