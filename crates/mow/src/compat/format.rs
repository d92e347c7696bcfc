//! `mow format …` draws banners and progress bars for a terminal.

use clap::Subcommand;
use mow_core::banner::{self, ORCHESTRATOR, ORCHESTRATOR_TEXT, ProgressBar};
use mow_core::color::{self, ColorPair};
use mow_core::phase::PhaseNumber;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, compact};
use crate::terminal;

/// The subcommands of `mow format`.
#[derive(Debug, Subcommand)]
pub(crate) enum FormatCommand {
    /// Draw the banner of the orchestrator
    Banner {
        /// The text of the banner
        #[arg(long, allow_hyphen_values = true, default_value = ORCHESTRATOR_TEXT)]
        text: String,
        /// The background colour, from 0 to 255
        #[arg(long, allow_hyphen_values = true, default_value_t = ORCHESTRATOR.fill)]
        bg: u8,
        /// The text colour, from 0 to 255
        #[arg(long, allow_hyphen_values = true, default_value_t = ORCHESTRATOR.text)]
        fg: u8,
        #[command(flatten)]
        width: WidthArgs,
    },
    /// Draw the banner of a phase in the colour of the phase
    BannerPhase {
        /// The phase, such as 3 or 03
        #[arg(long, allow_hyphen_values = true)]
        phase: String,
        /// The text of the banner; by default PHASE and the number
        #[arg(long, allow_hyphen_values = true)]
        text: Option<String>,
        #[command(flatten)]
        width: WidthArgs,
    },
    /// Draw an error text between caution stripes
    BannerError {
        /// The text of the banner
        #[arg(long, allow_hyphen_values = true)]
        text: String,
        #[command(flatten)]
        width: WidthArgs,
    },
    /// Draw a progress bar
    Progress(ProgressBarArgs),
}

/// The width argument of banners and of the dashboard.
#[derive(Debug, clap::Args)]
pub(crate) struct WidthArgs {
    /// The width in columns; by default that of the terminal
    #[arg(long, allow_hyphen_values = true, value_name = "COLUMNS")]
    width: Option<u16>,
}

impl WidthArgs {
    pub(crate) fn columns(&self) -> usize {
        terminal::drawing_width(self.width)
    }
}

/// The arguments of `format progress`.
#[derive(Debug, clap::Args)]
pub(crate) struct ProgressBarArgs {
    /// The progress in percent, from 0 to 100
    #[arg(long, allow_hyphen_values = true, default_value = "0", value_parser = parse_percent)]
    percent: f64,
    /// The width of the bar in cells
    #[arg(long, allow_hyphen_values = true, value_name = "CELLS", default_value_t = 10)]
    width: u16,
    /// Draw the bar as blocked
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

impl FormatCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let level = terminal::color_level();
        let line = match self {
            Self::Banner { text, bg, fg, width } => {
                let pair = ColorPair { fill: *bg, text: *fg };
                banner::banner(text, pair, width.columns(), level)
            }
            Self::BannerPhase { phase, text, width } => {
                let text = text.clone().unwrap_or_else(|| format!("PHASE {phase}"));
                banner::banner(&text, phase_colors(phase)?, width.columns(), level)
            }
            Self::BannerError { text, width } => {
                if text.is_empty() {
                    return Err(Failure::refused("--text is empty").hint("say what went wrong"));
                }
                banner::error_banner(text, width.columns(), level)
            }
            Self::Progress(args) => {
                let ProgressBarArgs { percent, width, blocked, color } = *args;
                ProgressBar { percent, cells: width.into(), blocked, color }.draw(level)
            }
        };
        Ok(Output::Verbatim(if context.wants_json() {
            compact(&json!({ "rendered": line }))
        } else {
            line + "\n"
        }))
    }
}

fn phase_colors(phase: &str) -> Result<ColorPair, Failure> {
    let number = PhaseNumber::parse_prefix(phase.trim()).map(|(number, _)| number);
    let number = number.ok_or_else(|| {
        Failure::refused(format!("`{phase}` is not a phase number"))
            .hint("mow format banner-phase --phase 3")
    })?;
    Ok(color::phase_colors(&number))
}
