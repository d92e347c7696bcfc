//! `mow scaffold …` creates the directory of a phase or one of its first files.
//!
//! An existing file is never overwritten: the answer then says `already_exists`.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use mow_core::slug::slug;
use mow_store::compat::templates;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use mow_store::phase_dirs;
use serde_json::json;

use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;

/// The arguments of `scaffold`.
#[derive(Debug, Args)]
pub(crate) struct ScaffoldArgs {
    /// The file or directory to create
    #[arg(value_enum)]
    kind: ScaffoldTarget,
    /// The phase, such as 3 or 03
    #[arg(long, allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    phase: String,
    /// The phase name, to the end of the line; by default taken from the directory
    #[arg(long, num_args = 1.., allow_hyphen_values = true, value_name = "WORDS")]
    name: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScaffoldTarget {
    /// NN-CONTEXT.md: decisions made before planning
    Context,
    /// NN-UAT.md: the user acceptance test
    Uat,
    /// NN-VERIFICATION.md: whether the phase reached its goal
    Verification,
    /// The directory of a phase
    PhaseDir,
}

impl ScaffoldArgs {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self.kind {
            ScaffoldTarget::Context => self.create_file(context, templates::ScaffoldKind::Context),
            ScaffoldTarget::Uat => self.create_file(context, templates::ScaffoldKind::Uat),
            ScaffoldTarget::Verification => {
                self.create_file(context, templates::ScaffoldKind::Verification)
            }
            ScaffoldTarget::PhaseDir => self.create_phase_dir(context),
        }
    }

    fn name(&self) -> Option<String> {
        let name = self.name.join(" ");
        (!name.trim().is_empty()).then_some(name)
    }

    fn create_file(
        &self,
        context: &Context,
        kind: templates::ScaffoldKind,
    ) -> Result<Output, Failure> {
        let dir = context.phase_dir(&self.phase).ok_or_else(|| {
            let phase = self.phase.escape_debug();
            Failure::refused(format!("Phase {phase} not found in .planning/phases/"))
                .hint(format!("mow scaffold phase-dir --phase {phase} --name NAME"))
        })?;
        let padded = dir.number.map_or_else(|| dir.name.clone(), |number| number.padded());
        let name = self.name().or_else(|| dir.label().map(str::to_owned));
        let name = name.unwrap_or_else(|| "Unnamed".to_owned());
        let path = dir.path.join(format!("{padded}-{}", kind.suffix()));
        let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
        if std::fs::symlink_metadata(&path).is_ok() {
            let path = path.display().to_string();
            let answer = json!({ "created": false, "reason": "already_exists", "path": path });
            return Ok(Output::with_raw(answer, "exists"));
        }
        let typed = self.phase.trim();
        let text = templates::scaffold(kind, &padded, typed, &name, &today());
        writer.replace(&path, text.as_bytes())?;
        let shown = context.display_path(&path);
        Ok(Output::with_raw(json!({ "created": true, "path": shown }), shown))
    }

    fn create_phase_dir(&self, context: &Context) -> Result<Output, Failure> {
        let number = phase_dirs::parse_argument(&self.phase).ok_or_else(|| {
            let phase = self.phase.escape_debug();
            Failure::refused(format!("`{phase}` is not the number of a phase")).hint("--phase 3")
        })?;
        let name = self.name().ok_or_else(|| {
            Failure::refused("name required for a phase directory").hint("--name User Accounts")
        })?;
        let slug = slug(&name);
        if slug.is_empty() {
            return Err(Failure::refused(format!(
                "`{}` has no letters or digits",
                name.escape_debug()
            )));
        }
        let path = context.planning("phases").join(format!("{}-{slug}", number.padded()));
        Writer::open(&context.project, WAIT_DEFAULT)?.create_dir(&path)?;
        let absolute = path.display().to_string();
        let directory = context.display_path(&path);
        let answer = json!({ "created": true, "directory": directory, "path": absolute });
        Ok(Output::with_raw(answer, absolute))
    }
}
