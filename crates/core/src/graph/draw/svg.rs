//! Writes the graph as an SVG image: boxes in layers, with edges between them.
//!
//! The image has its own style sheet and follows the light or dark setting of the reader. Colour is
//! never the only sign: each box also shows its state as a word.

use std::fmt::Write as _;

use super::GraphDrawing;
use super::label_text::{shorten, width};
use super::layout::{EdgeRoute, GraphLayout};

const BOX: (f64, f64) = (196.0, 68.0);
/// The number of text columns that fit in a box.
const COLUMNS: usize = 25;
const MARGIN: f64 = 24.0;

const STYLE: &str = "\
.roadmap{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}
.roadmap .ground{fill:#fff}
.roadmap text{fill:#0f172a;font-size:12px}
.roadmap .number{font-weight:700;font-size:13px}
.roadmap .state,.roadmap .wave{fill:#64748b;font-size:11px}
.roadmap .box rect{stroke-width:1.5}
.roadmap .done rect{fill:#dcfce7;stroke:#16a34a}
.roadmap .running rect{fill:#fef3c7;stroke:#d97706;stroke-width:2.5}
.roadmap .ready rect{fill:#dbeafe;stroke:#2563eb}
.roadmap .blocked rect{fill:#f1f5f9;stroke:#94a3b8}
.roadmap .stuck rect{stroke:#dc2626;stroke-dasharray:5 3}
.roadmap path{fill:none;stroke:#94a3b8;stroke-width:1.5}
.roadmap path.critical{stroke:#334155;stroke-width:2.5}
.roadmap path.knot{stroke:#dc2626}
.roadmap marker path{fill:#64748b;stroke:none}
@media (prefers-color-scheme:dark){
.roadmap .ground{fill:#0f172a}
.roadmap text{fill:#f1f5f9}
.roadmap .state,.roadmap .wave{fill:#a8b5c7}
.roadmap .done rect{fill:#14432a;stroke:#22c55e}
.roadmap .running rect{fill:#5a3a0c;stroke:#f59e0b}
.roadmap .ready rect{fill:#1e3a8a;stroke:#60a5fa}
.roadmap .blocked rect{fill:#1e293b;stroke:#64748b}
.roadmap .stuck rect{stroke:#f87171}
.roadmap path{stroke:#64748b}
.roadmap path.critical{stroke:#cbd5e1}
.roadmap path.knot{stroke:#f87171}
.roadmap marker path{fill:#a8b5c7}
}
";

pub(super) fn draw(drawing: &GraphDrawing<'_>) -> String {
    let axes = PageAxes::new(drawing);
    let layout = GraphLayout::new(drawing.graph, axes.across, axes.gap);
    let deep = axes.start(layout.layers.len()) - axes.step + axes.deep + MARGIN;
    // Edges between stuck phases need space after the last layer.
    let deep = if layout.stuck_edges.is_empty() { deep } else { deep + axes.step - axes.deep };
    let (wide, high) = axes.point(deep.max(2.0 * MARGIN), axes.edge + layout.length + MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"roadmap\" role=\"img\" \
         width=\"{wide:.0}\" height=\"{high:.0}\" viewBox=\"0 0 {wide:.0} {high:.0}\">\n\
         <title>Roadmap</title>\n<style>\n{STYLE}</style>\n\
         <defs><marker id=\"roadmap-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
         markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
         <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
    );
    axes.waves(&mut svg, drawing);
    axes.edges(&mut svg, drawing, &layout);
    for item in &layout.items {
        if let Some(phase) = item.phase {
            let (x, y) = axes.corner(item.layer, item.middle);
            push_box(&mut svg, drawing, phase, (x, y));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// The direction and spacing of layers: "deep" is from layer to layer, "across" along a layer.
struct PageAxes {
    /// Whether layers are columns, so that the graph grows to the right.
    rightward: bool,
    /// The size of a box in both directions, and the gap between boxes of a layer.
    deep: f64,
    across: f64,
    gap: f64,
    /// The distance between the starts of two layers.
    step: f64,
    /// The start of the layers across, after the names of the waves.
    edge: f64,
}

impl PageAxes {
    /// Chooses the direction for which the longer side of the image is shorter.
    fn new(drawing: &GraphDrawing<'_>) -> Self {
        let down = Self {
            rightward: false,
            deep: BOX.1,
            across: BOX.0,
            gap: 20.0,
            step: 118.0,
            edge: 88.0,
        };
        let right = Self {
            rightward: true,
            deep: BOX.0,
            across: BOX.1,
            gap: 16.0,
            step: 256.0,
            edge: 44.0,
        };
        let all = &drawing.graph.all;
        let depth = all.waves.len() as f64;
        let widest = all.waves.iter().chain([&all.stuck]).map(Vec::len).max().unwrap_or(0) as f64;
        let longer = |axes: &Self| (depth * axes.step).max(widest * (axes.across + axes.gap));
        if longer(&down) <= longer(&right) { down } else { right }
    }

    fn start(&self, layer: usize) -> f64 {
        MARGIN + layer as f64 * self.step
    }

    fn point(&self, deep: f64, across: f64) -> (f64, f64) {
        if self.rightward { (deep, across) } else { (across, deep) }
    }

    /// Returns the upper left corner of a box.
    fn corner(&self, layer: usize, middle: f64) -> (f64, f64) {
        self.point(self.start(layer), self.edge + middle - self.across / 2.0)
    }

    fn waves(&self, svg: &mut String, drawing: &GraphDrawing<'_>) {
        let all = &drawing.graph.all;
        let names = (1..=all.waves.len()).map(|wave| format!("Wave {wave}"));
        let stuck = (!all.stuck.is_empty()).then(|| "Stuck".to_owned());
        for (layer, name) in names.chain(stuck).enumerate() {
            let inset = if self.rightward { 0.0 } else { self.deep / 2.0 + 4.0 };
            let (x, y) = self.point(self.start(layer) + inset, MARGIN);
            let _ = writeln!(svg, "<text class=\"wave\" x=\"{x:.0}\" y=\"{y:.0}\">{name}</text>");
        }
    }

    fn edges(&self, svg: &mut String, drawing: &GraphDrawing<'_>, layout: &GraphLayout) {
        let critical = drawing.critical_edges();
        let is_critical = |route: &&EdgeRoute| critical.contains(&(route.from, route.to));
        let (critical_routes, other_routes): (Vec<_>, Vec<_>) =
            layout.routes.iter().partition(is_critical);
        // Critical edges are written last, so that they are drawn on top.
        for (class, routes) in [("", other_routes), (" class=\"critical\"", critical_routes)] {
            for route in routes {
                let path = self.path(layout, route);
                let _ =
                    writeln!(svg, "<path{class} d=\"{path}\" marker-end=\"url(#roadmap-arrow)\"/>");
            }
        }
        for &(from, to) in &layout.stuck_edges {
            let layer = layout.items[from].layer;
            let bottom = self.start(layer) + self.deep;
            let middle = |phase: usize| self.edge + layout.items[phase].middle;
            let ends = [(bottom, middle(from)), (bottom + 1.0, middle(to))];
            let path = self.curve("M", ends[0], ends[1], bottom + self.step - self.deep);
            let _ = writeln!(
                svg,
                "<path class=\"knot\" d=\"{path}\" marker-end=\"url(#roadmap-arrow)\"/>"
            );
        }
    }

    /// Returns the path of an edge: a curve from layer to layer, straight through bends.
    fn path(&self, layout: &GraphLayout, route: &EdgeRoute) -> String {
        let mut path = String::new();
        for (place, pair) in route.items.windows(2).enumerate() {
            let [from, to] = [&layout.items[pair[0]], &layout.items[pair[1]]];
            let out = (self.start(from.layer) + self.deep, self.edge + from.middle);
            let into = (self.start(to.layer), self.edge + to.middle);
            let command = if place == 0 { "M" } else { "L" };
            path += &self.curve(command, out, into, f64::midpoint(out.0, into.0));
        }
        path
    }

    /// Returns a curve between two points that leaves and arrives at right angles to the layers.
    fn curve(&self, command: &str, out: (f64, f64), into: (f64, f64), turn: f64) -> String {
        let (x1, y1) = self.point(out.0, out.1);
        let (x2, y2) = self.point(turn, out.1);
        let (x3, y3) = self.point(turn, into.1);
        let (x4, y4) = self.point(into.0, into.1);
        format!("{command}{x1:.0} {y1:.0}C{x2:.0} {y2:.0} {x3:.0} {y3:.0} {x4:.0} {y4:.0}")
    }
}

fn push_box(svg: &mut String, drawing: &GraphDrawing<'_>, phase: usize, (x, y): (f64, f64)) {
    let label = &drawing.labels[phase];
    let state = label.state.word();
    let stuck = drawing.graph.all.stuck.binary_search(&phase).is_ok();
    let class = if stuck { " stuck" } else { "" };
    let needs: Vec<&str> = drawing
        .graph
        .dependencies(phase)
        .iter()
        .map(|&on| drawing.labels[on].number.as_str())
        .collect();
    let needs =
        if needs.is_empty() { String::new() } else { format!(", needs {}", needs.join(", ")) };
    let (wide, high) = BOX;
    let _ = write!(
        svg,
        "<g class=\"box {state}{class}\" transform=\"translate({x:.0} {y:.0})\">\
         <title>{}: {state}{}</title><rect width=\"{wide}\" height=\"{high}\" rx=\"8\"/>\
         <text class=\"number\" x=\"12\" y=\"21\">{}</text>\
         <text class=\"state\" x=\"{}\" y=\"21\" text-anchor=\"end\">{state}</text>",
        escape(&drawing.title(phase)),
        escape(&needs),
        escape(&shorten(&label.number, COLUMNS / 2, "…")),
        wide - 12.0,
    );
    for (place, line) in wrap(&label.name).iter().enumerate() {
        let y = 40 + 16 * place;
        let _ = write!(svg, "<text x=\"12\" y=\"{y}\">{}</text>", escape(line));
    }
    svg.push_str("</g>\n");
}

/// Breaks a name into at most two lines that fit a box.
fn wrap(name: &str) -> Vec<String> {
    let mut first = String::new();
    let mut rest = name;
    while let Some(word) = rest.split(' ').next().filter(|word| !word.is_empty()) {
        let gap = usize::from(!first.is_empty());
        if width(&first) + gap + width(word) > COLUMNS {
            break;
        }
        first = if gap == 0 { word.to_owned() } else { format!("{first} {word}") };
        rest = rest[word.len()..].trim_start();
    }
    if first.is_empty() {
        // The first word is longer than a line, or the script has no spaces.
        first = shorten(rest, COLUMNS, "");
        rest = &rest[first.len()..];
    }
    let lines = [first, shorten(rest, COLUMNS, "…")];
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}
