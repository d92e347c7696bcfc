//! `mow format …`: banners and bars for a terminal.

use clap::Subcommand;
use mow_core::banner::{self, Bar, ORCHESTRATOR, ORCHESTRATOR_TEXT};
use mow_core::color::{self, Pair};
use mow_core::phase::PhaseNumber;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, compact};
use crate::terminal;

/// Commands that draw one line.
#[derive(Debug, Subcommand)]
pub(crate) enum Format {
    /// Draw the banner of the orchestrator
    Banner {
        /// What it says
        #[arg(long, allow_hyphen_values = true, default_value = ORCHESTRATOR_TEXT)]
        text: String,
        /// The colour behind the text, from 0 to 255
        #[arg(long, allow_hyphen_values = true, default_value_t = ORCHESTRATOR.fill)]
        bg: u8,
        /// The colour of the text, from 0 to 255
        #[arg(long, allow_hyphen_values = true, default_value_t = ORCHESTRATOR.text)]
        fg: u8,
        #[command(flatten)]
        width: Width,
    },
    /// Draw the banner of a phase, in its colour
    BannerPhase {
        /// The phase, such as 3 or 03
        #[arg(long, allow_hyphen_values = true)]
        phase: String,
        /// What it says instead of the phase's number
        #[arg(long, allow_hyphen_values = true)]
        text: Option<String>,
        #[command(flatten)]
        width: Width,
    },
    /// Draw an error between caution stripes
    BannerError {
        /// What it says
        #[arg(long, allow_hyphen_values = true)]
        text: String,
        #[command(flatten)]
        width: Width,
    },
    /// Draw a bar that shows how far something is
    Progress(Progress),
}

/// The argument of everything that fills a line.
#[derive(Debug, clap::Args)]
pub(crate) struct Width {
    /// How many columns to fill, instead of all
    #[arg(long, allow_hyphen_values = true, value_name = "COLUMNS")]
    width: Option<u16>,
}

impl Width {
    pub(super) fn columns(&self) -> usize {
        terminal::columns(self.width)
    }
}

/// The arguments of `format progress`.
#[derive(Debug, clap::Args)]
pub(crate) struct Progress {
    /// How far it is, from 0 to 100
    #[arg(long, allow_hyphen_values = true, default_value = "0", value_parser = parse_percent)]
    percent: f64,
    /// How many cells the bar has
    #[arg(long, allow_hyphen_values = true, value_name = "CELLS", default_value_t = 10)]
    width: u16,
    /// Draw it as standing still
    #[arg(long)]
    blocked: bool,
    /// The colour of the filled part, from 0 to 255
    #[arg(long, allow_hyphen_values = true)]
    color: Option<u8>,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').parse::<f64>();
    number.ok().filter(|number| number.is_finite()).ok_or_else(|| "not a number".to_owned())
}

impl Format {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let level = terminal::level();
        let line = match self {
            Self::Banner { text, bg, fg, width } => {
                let pair = Pair { fill: *bg, text: *fg };
                banner::banner(text, pair, width.columns(), level)
            }
            Self::BannerPhase { phase, text, width } => {
                let text = text.clone().unwrap_or_else(|| format!("PHASE {phase}"));
                banner::banner(&text, colors(phase)?, width.columns(), level)
            }
            Self::BannerError { text, width } => {
                if text.is_empty() {
                    return Err(Failure::refused("--text is empty").hint("say what went wrong"));
                }
                banner::error_banner(text, width.columns(), level)
            }
            Self::Progress(args) => {
                let Progress { percent, width, blocked, color } = *args;
                Bar { percent, cells: width.into(), blocked, color }.draw(level)
            }
        };
        Ok(Output::Drawn(if context.wants_json() {
            compact(&json!({ "rendered": line }))
        } else {
            line + "\n"
        }))
    }
}

fn colors(phase: &str) -> Result<Pair, Failure> {
    let number = PhaseNumber::parse_prefix(phase.trim()).map(|(number, _)| number);
    let number = number.ok_or_else(|| {
        Failure::refused(format!("`{phase}` is not a phase number"))
            .hint("mow format banner-phase --phase 3")
    })?;
    Ok(color::of_phase(&number))
}
