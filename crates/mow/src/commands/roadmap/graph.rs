//! `mow roadmap graph`: the dependencies, drawn.

use std::fmt::Write;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Effects, Style as Paint};
use clap::ValueEnum;
use mow_core::graph::Graph;
use mow_core::graph::draw::{Label, Line, Picture, State, Style, Terminal};
use mow_store::survey::Surveyed;

use super::{load, no_roadmap};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// The arguments of `roadmap graph`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How to draw it
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// Draw the phases that are not done, and nothing else
    #[arg(long)]
    open: bool,
    /// Use ASCII signs only
    #[arg(long)]
    ascii: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For this terminal
    Terminal,
    /// For Graphviz
    Dot,
    /// For Markdown pages
    Mermaid,
    /// For a browser
    Svg,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let survey = load(context)?.ok_or_else(no_roadmap)?;
    let mut phases = survey.scheduled();
    if args.open {
        phases.retain(|phase| !phase.is_done());
    }
    if phases.is_empty() {
        let all_done = args.open && !survey.phases.is_empty();
        let text =
            if all_done { "Every phase is done.\n" } else { "The roadmap declares no phases.\n" };
        return Ok(Output::Text(text.to_owned()));
    }
    let graph = survey.graph(&context.project.planning, &phases);
    let picture = picture(&graph, &phases);
    let text = match args.format {
        Format::Terminal => {
            let ascii = args.ascii || !speaks_utf8();
            colored(&picture.terminal(&Terminal { width: width(), ascii }))
                + &summary(&graph, &phases, ascii)
        }
        Format::Dot => picture.dot(),
        Format::Mermaid => picture.mermaid(),
        Format::Svg => picture.svg(),
    };
    Ok(Output::Text(text))
}

fn picture<'a>(graph: &'a Graph, phases: &[&Surveyed]) -> Picture<'a> {
    let ready = graph.ready();
    Picture::new(graph, |index| {
        let surveyed = phases[index];
        let state = if surveyed.is_done() {
            State::Done
        } else if ready.binary_search(&index).is_ok() {
            State::Ready
        } else {
            State::Blocked
        };
        let phase = &surveyed.entry.phase;
        Label { number: phase.written.clone(), name: phase.name.clone(), state }
    })
}

/// Says in one line what the drawing cannot: how much can run at once, and what takes longest.
fn summary(graph: &Graph, phases: &[&Surveyed], ascii: bool) -> String {
    let path = graph.critical_path();
    if path.is_empty() {
        return String::new();
    }
    let numbers: Vec<_> =
        path.iter().map(|index| phases[*index].entry.phase.written.as_str()).collect();
    let (arrow, gap) = if ascii { (" -> ", "...") } else { (" → ", "…") };
    let shown = if numbers.len() > 12 {
        let head = numbers[..5].join(arrow);
        let last = numbers[numbers.len() - 1];
        format!("{head}{arrow}{gap}{arrow}{last} ({} phases)", numbers.len())
    } else {
        numbers.join(arrow)
    };
    format!(
        "\nLongest chain: {shown}\nAt once: up to {} phases; at best {:.1} times as fast as one by one\n",
        graph.widest_wave(),
        graph.speedup_bound(),
    )
}

fn colored(lines: &[Line]) -> String {
    let mut text = String::new();
    for Line(spans) in lines {
        for (style, words) in spans {
            let paint = paint(*style);
            let _ = write!(text, "{paint}{words}{paint:#}");
        }
        text.push('\n');
    }
    text
}

fn paint(style: Style) -> Paint {
    let color = |color: AnsiColor| color.on_default();
    match style {
        Style::Plain | Style::Name(_) => Paint::new(),
        Style::Wave | Style::Edge | Style::Needs | Style::Mark(State::Blocked) => {
            Paint::new().effects(Effects::DIMMED)
        }
        Style::Number => Paint::new().effects(Effects::BOLD),
        Style::Mark(State::Done) => color(AnsiColor::Green),
        Style::Mark(State::Running) => color(AnsiColor::Blue),
        Style::Mark(State::Ready) => color(AnsiColor::Yellow),
        Style::Cycle => color(AnsiColor::Red),
    }
}

/// Returns the columns to draw for: those of the terminal, `COLUMNS`, or eighty.
fn width() -> usize {
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || std::io::stdout().is_terminal().then(terminal_size::terminal_size)?;
    let width = stated.or_else(|| terminal().map(|(width, _)| usize::from(width.0)));
    width.unwrap_or(80).clamp(40, 400)
}

/// Returns whether the locale can show more than ASCII.
fn speaks_utf8() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    locale.is_none_or(|locale| !matches!(locale.as_str(), "C" | "POSIX"))
}
