//! Writes the graph in the DOT language of Graphviz.

use std::fmt::Write as _;

use super::{GraphDrawing, NodeState};

pub(super) fn draw(drawing: &GraphDrawing<'_>) -> String {
    let mut text = String::from(
        "digraph roadmap {\n  rankdir=TB;\n  bgcolor=transparent;\n  \
         node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", \
         color=\"#64748b\"];\n  \
         edge [color=\"#64748b\"];\n",
    );
    let mut line = |line: String| {
        let _ = writeln!(text, "  {line}");
    };
    for (index, label) in drawing.labels.iter().enumerate() {
        let title = escape(&drawing.title(index));
        let fill = fill(label.state);
        line(format!(
            "p{index} [label=\"{title}\", fillcolor=\"{fill}\", tooltip=\"{}\"];",
            label.state.word()
        ));
    }
    for wave in drawing.graph.all.waves.iter().filter(|wave| wave.len() > 1) {
        let members: Vec<_> = wave.iter().map(|index| format!("p{index};")).collect();
        line(format!("{{ rank=same; {} }}", members.join(" ")));
    }
    let critical = drawing.critical_edges();
    for edge in drawing.edges() {
        let bold = if critical.contains(&edge) { " [penwidth=2.5]" } else { "" };
        line(format!("p{} -> p{}{bold};", edge.0, edge.1));
    }
    for (one, other) in drawing.parallel_pairs() {
        line(format!("p{one} -> p{other} [dir=none, style=dashed, constraint=false];"));
    }
    text.push_str("}\n");
    text
}

fn fill(state: NodeState) -> &'static str {
    match state {
        NodeState::Done => "#bbf7d0",
        NodeState::Running => "#fde68a",
        NodeState::Ready => "#bfdbfe",
        NodeState::Blocked => "#e2e8f0",
    }
}

/// Escapes quotes and backslashes, and the ampersand because Graphviz decodes HTML entities.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}
