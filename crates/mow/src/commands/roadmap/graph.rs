//! `mow roadmap graph`: draws the dependency graph of the phases.

use std::fmt::Write;

use anstyle::{AnsiColor, Effects, Style as Paint};
use clap::ValueEnum;
use mow_core::graph::Graph;
use mow_core::graph::draw::{
    GraphDrawing, NodeLabel, NodeState, SpanKind, StyledLine, TerminalFormat,
};
use mow_store::project_phases::ProjectPhase;

use super::{load, no_roadmap};
use crate::commands::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{supports_utf8, width};

/// The arguments of `roadmap graph`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The output format
    #[arg(long, value_enum, default_value = "terminal")]
    format: GraphFormat,
    /// Draw only the phases that are not done
    #[arg(long)]
    open: bool,
    /// Use only ASCII characters
    #[arg(long)]
    ascii: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum GraphFormat {
    /// Text for a terminal
    Terminal,
    /// Graphviz
    Dot,
    /// Mermaid, for Markdown pages
    Mermaid,
    /// An SVG image, for a browser
    Svg,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let all_phases = load(context)?.ok_or_else(no_roadmap)?;
    let mut phases = all_phases.scheduled();
    if args.open {
        phases.retain(|phase| !phase.is_done());
    }
    if phases.is_empty() {
        let all_done = args.open && !all_phases.phases.is_empty();
        let text =
            if all_done { "Every phase is done.\n" } else { "The roadmap declares no phases.\n" };
        return Ok(Output::Text(text.to_owned()));
    }
    let graph = all_phases.graph(&context.project.planning, &phases);
    let drawing = drawing(&graph, &phases);
    let text = match args.format {
        GraphFormat::Terminal => {
            let ascii = args.ascii || !supports_utf8();
            colored(&drawing.terminal(&TerminalFormat { width: width(), ascii }))
                + &summary(&graph, &phases, ascii)
        }
        GraphFormat::Dot => drawing.dot(),
        GraphFormat::Mermaid => drawing.mermaid(),
        GraphFormat::Svg => drawing.svg(),
    };
    Ok(Output::Text(text))
}

fn drawing<'a>(graph: &'a Graph, phases: &[&ProjectPhase]) -> GraphDrawing<'a> {
    let ready = graph.ready();
    GraphDrawing::new(graph, |index| {
        let project_phase = phases[index];
        let state = if project_phase.is_done() {
            NodeState::Done
        } else if ready.binary_search(&index).is_ok() {
            NodeState::Ready
        } else {
            NodeState::Blocked
        };
        let phase = &project_phase.entry.phase;
        NodeLabel { number: phase.written.clone(), name: phase.name.clone(), state }
    })
}

/// Returns the critical path and the possible parallelism, which the drawing does not show.
fn summary(graph: &Graph, phases: &[&ProjectPhase], ascii: bool) -> String {
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
        "\nLongest chain: {shown}\nParallel: up to {}, at best {:.1} times as fast as one by one\n",
        counted(graph.widest_wave(), "phase"),
        graph.speedup_bound(),
    )
}

fn colored(lines: &[StyledLine]) -> String {
    let mut text = String::new();
    for StyledLine(spans) in lines {
        for (kind, content) in spans {
            let paint = paint(*kind);
            let _ = write!(text, "{paint}{content}{paint:#}");
        }
        text.push('\n');
    }
    text
}

fn paint(kind: SpanKind) -> Paint {
    let color = |color: AnsiColor| color.on_default();
    match kind {
        SpanKind::Plain | SpanKind::Name(_) => Paint::new(),
        SpanKind::Wave | SpanKind::Edge | SpanKind::Needs | SpanKind::Mark(NodeState::Blocked) => {
            Paint::new().effects(Effects::DIMMED)
        }
        SpanKind::Number => Paint::new().effects(Effects::BOLD),
        SpanKind::Mark(NodeState::Done) => color(AnsiColor::Green),
        SpanKind::Mark(NodeState::Running) => color(AnsiColor::Blue),
        SpanKind::Mark(NodeState::Ready) => color(AnsiColor::Yellow),
        SpanKind::Cycle => color(AnsiColor::Red),
    }
}
