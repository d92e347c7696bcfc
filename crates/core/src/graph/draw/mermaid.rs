//! Writes the graph as a Mermaid flowchart.

use std::fmt::Write as _;

use super::GraphDrawing;

/// The colours of the states. Text is dark on all of them, so they work with every theme.
const CLASSES: &str = "  \
  classDef done fill:#bbf7d0,stroke:#16a34a,color:#14532d
  classDef running fill:#fde68a,stroke:#d97706,color:#78350f
  classDef ready fill:#bfdbfe,stroke:#2563eb,color:#1e3a8a
  classDef blocked fill:#e2e8f0,stroke:#64748b,color:#334155
";

pub(super) fn draw(drawing: &GraphDrawing<'_>) -> String {
    let mut text = String::from("flowchart TB\n");
    let mut line = |line: String| {
        let _ = writeln!(text, "  {line}");
    };
    for (index, label) in drawing.labels.iter().enumerate() {
        let title = escape(&drawing.title(index));
        line(format!("p{index}[\"{title}\"]:::{}", label.state.word()));
    }
    let critical = drawing.critical_edges();
    for edge in drawing.edges() {
        let arrow = if critical.contains(&edge) { "==>" } else { "-->" };
        line(format!("p{} {arrow} p{}", edge.0, edge.1));
    }
    for (one, other) in drawing.parallel_pairs() {
        line(format!("p{one} -.- p{other}"));
    }
    text.push_str(CLASSES);
    text
}

/// Writes punctuation as entity codes, because Mermaid parses labels as Markdown and HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() && !matches!(c, '.' | ',' | ':' | '-' | '/' | '(' | ')') {
            let _ = write!(escaped, "#{};", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}
