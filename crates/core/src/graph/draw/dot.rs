//! The graph in Graphviz's language.

use std::fmt::Write as _;

use super::{Picture, State};

pub(super) fn draw(picture: &Picture<'_>) -> String {
    let mut text = String::from(
        "digraph roadmap {\n  rankdir=TB;\n  bgcolor=transparent;\n  \
         node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", \
         color=\"#64748b\"];\n  \
         edge [color=\"#64748b\"];\n",
    );
    let mut line = |line: String| {
        let _ = writeln!(text, "  {line}");
    };
    for (index, label) in picture.labels.iter().enumerate() {
        let title = escape(&picture.title(index));
        let fill = fill(label.state);
        line(format!(
            "p{index} [label=\"{title}\", fillcolor=\"{fill}\", tooltip=\"{}\"];",
            label.state.word()
        ));
    }
    for wave in picture.graph.all.waves.iter().filter(|wave| wave.len() > 1) {
        let members: Vec<_> = wave.iter().map(|index| format!("p{index};")).collect();
        line(format!("{{ rank=same; {} }}", members.join(" ")));
    }
    let critical = picture.critical_edges();
    for edge in picture.edges() {
        let strong = if critical.contains(&edge) { " [penwidth=2.5]" } else { "" };
        line(format!("p{} -> p{}{strong};", edge.0, edge.1));
    }
    for (one, other) in picture.pairs() {
        line(format!("p{one} -> p{other} [dir=none, style=dashed, constraint=false];"));
    }
    text.push_str("}\n");
    text
}

fn fill(state: State) -> &'static str {
    match state {
        State::Done => "#bbf7d0",
        State::Running => "#fde68a",
        State::Ready => "#bfdbfe",
        State::Blocked => "#e2e8f0",
    }
}

/// Escapes what ends a quoted string, and the ampersand because labels may hold HTML entities.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}
