//! Snapshots of the drawings in all formats.

use std::collections::BTreeSet;

use super::{GraphDrawing, NodeLabel, NodeState, TerminalFormat};
use crate::graph::Graph;
use crate::graph::tests::parse_nodes;

const NAMES: [&str; 6] = ["Foundation", "Auth", "Data model", "Public API", "Search", "Release"];

fn graph(roadmap: &str) -> Graph {
    Graph::new(parse_nodes(roadmap), &BTreeSet::new())
}

fn label(graph: &Graph, index: usize) -> NodeLabel {
    let state = if graph.nodes()[index].done {
        NodeState::Done
    } else if graph.ready().first() == Some(&index) {
        NodeState::Running
    } else if graph.ready().contains(&index) {
        NodeState::Ready
    } else {
        NodeState::Blocked
    };
    let number = graph.nodes()[index].number.to_string();
    NodeLabel { number, name: NAMES[index % NAMES.len()].to_owned(), state }
}

fn terminal(roadmap: &str, ascii: bool) -> String {
    let graph = graph(roadmap);
    let drawing = GraphDrawing::new(&graph, |index| label(&graph, index));
    let lines = drawing.terminal(&TerminalFormat { width: 80, ascii });
    lines.iter().map(|line| format!("{line}\n")).collect()
}

const FORKED: &str =
    "+1; +2<-1; 3<-1; 4<-1; 5<-2,3; 6<-4,5; 7<-4; 8<-6,7; 9<-2; 10<-9,8,1; 11; 12<-11,3";

/// A name with the special characters of all formats.
const SPECIAL_CHARACTERS: &str =
    "a \"b\" [c] {d} <e> | f & 'g' \\n #h; `i`\n\t\u{1b}[31m\u{202e}end";

#[test]
fn lanes_fork_and_join() {
    insta::assert_snapshot!(terminal("+1; 2<-1; 3<-1; 4<-2,3", false), @r##"
    Wave 1  ●   1 Foundation
            ├─╮
    Wave 2  ◐ │ 2 Auth
            │ ○ 3 Data model  ← 1
            ├─╯
    Wave 3  ◌   4 Public API  ← 2, 3

    ● done   ◐ running   ○ ready   ◌ blocked
    "##);
    insta::assert_snapshot!(terminal(FORKED, false), @r##"
    Wave 1  ●         1  Foundation
            ├─┬─╮
            │ │ │ ○   11 Search
    Wave 2  ● │ │ │   2  Auth        ← 1
            ├─│─│─│─╮
            │ ◐ │ │ │ 3  Data model  ← 1
            ├─┴─│─┤ │
            │   ○ │ │ 4  Public API  ← 1
            │ ╭─┤ │ │
    Wave 3  ◌ │ │ │ │ 5  Search      ← 2, 3
            ╰─│─┤ │ │
              ◌ │ │ │ 7  Foundation  ← 4
              │ │ │ ○ 9  Data model  ← 2
              │ │ ◌ │ 12 Release     ← 3, 11
    Wave 4    │ ◌   │ 6  Release     ← 4, 5
              ├─╯   │
    Wave 5    ◌     │ 8  Auth        ← 6, 7
              ╰─────┤
    Wave 6          ◌ 10 Public API  ← 1, 8, 9

    ● done   ◐ running   ○ ready   ◌ blocked
    "##);
}

#[test]
fn ascii_drawings_have_the_same_shape() {
    insta::assert_snapshot!(terminal("+1; 2<-1; 3<-1; 4<-2,3,9; 5<-1", true), @r##"
    Wave 1  *     1 Foundation
            +-+-\
    Wave 2  @ | | 2 Auth
            | o | 3 Data model  <- 1
            +-/ |
            |   o 5 Search      <- 1
    Wave 3  .     4 Public API  <- 2, 3, 9?

    * done   @ running   o ready   . blocked
    "##);
}

#[test]
fn a_sequence_is_drawn_without_waves() {
    insta::assert_snapshot!(terminal("+1; 2<-1; 2.1<-2; 3<-2.1,9", false), @r##"
    ● 1   Foundation
    ◐ 2   Auth
    ◌ 2.1 Data model
    ◌ 3   Public API  ← 2.1, 9?

    ● done   ◐ running   ◌ blocked
    "##);
}

#[test]
fn phases_without_edges_are_a_list() {
    insta::assert_snapshot!(terminal("1; 2; 3", false), @r##"
    Wave 1  ◐ 1 Foundation
            ○ 2 Auth
            ○ 3 Data model

    ◐ running   ○ ready
    "##);
    assert_eq!(terminal("", false), "");
}

#[test]
fn stuck_phases_come_last_with_their_cycle() {
    insta::assert_snapshot!(terminal("1; 2<-1; 3<-5,2; 4<-3; 5<-4; 6<-5,77", false), @r##"
    Wave 1  ◐ 1 Foundation
    Wave 2  ◌ 2 Auth
    Stuck   ◌ 3 Data model  ← 2, 5
            ◌ 4 Public API  ← 3
            ◌ 5 Search      ← 4
            ◌ 6 Release     ← 5, 77?

    Cycle: 3 → 5 → 4 → 3

    ◐ running   ◌ blocked
    "##);
}

#[test]
fn too_many_lanes_make_a_list_by_wave() {
    let fan: String = (2..=14).map(|number| format!("; {number}<-1")).collect();
    let all: Vec<String> = (2..=14).map(|number| number.to_string()).collect();
    insta::assert_snapshot!(terminal(&format!("1{fan}; 15<-{}", all.join(",")), false), @r##"
    Wave 1  ◐ 1  Foundation
    Wave 2  ◌ 2  Auth        ← 1
            ◌ 3  Data model  ← 1
            ◌ 4  Public API  ← 1
            ◌ 5  Search      ← 1
            ◌ 6  Release     ← 1
            ◌ 7  Foundation  ← 1
            ◌ 8  Auth        ← 1
            ◌ 9  Data model  ← 1
            ◌ 10 Public API  ← 1
            ◌ 11 Search      ← 1
            ◌ 12 Release     ← 1
            ◌ 13 Foundation  ← 1
            ◌ 14 Auth        ← 1
    Wave 3  ◌ 15 Data model  ← 2, 3, 4, 5, 6, 7, 8, +6

    ◐ running   ◌ blocked
    "##);
}

#[test]
fn sixty_phases_in_a_row_take_sixty_lines() {
    let chain: String = (2..=60).map(|number| format!("; {number}<-{}", number - 1)).collect();
    let drawn = terminal(&format!("1{chain}"), false);
    let lines: Vec<_> = drawn.lines().collect();
    assert_eq!(lines.len(), 62);
    assert_eq!((lines[0], lines[59]), ("◐ 1  Foundation", "◌ 60 Release"));
}

/// A phase with two dependents that may run in parallel.
fn fork() -> Graph {
    graph("1; 2<-1|3; 3<-1|2")
}

fn named<'a>(fork: &'a Graph, names: [&str; 3]) -> GraphDrawing<'a> {
    GraphDrawing::new(fork, |at| NodeLabel { name: names[at].to_owned(), ..label(fork, at) })
}

#[test]
fn names_are_cut_by_terminal_columns() {
    let names =
        ["データモデルの設計と移行計画", "🚀 launch 👩‍💻 all", "A rather long name that is cut"];
    let fork = fork();
    let lines = named(&fork, names).terminal(&TerminalFormat { width: 40, ascii: false });
    let drawn: String = lines.iter().map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(drawn, @r##"
    Wave 1  ◐   1 データモデルの設計と…
            ├─╮
    Wave 2  ◌ │ 2 🚀 launch 👩‍💻 all
              ◌ 3 A rather long name t…  ← 1

    ◐ running   ◌ blocked
    "##);
}

#[test]
fn names_cannot_break_out_of_the_terminal() {
    let fork = fork();
    let lines = named(&fork, [SPECIAL_CHARACTERS, "", "x"])
        .terminal(&TerminalFormat { width: 200, ascii: false });
    let drawn: String = lines.iter().map(ToString::to_string).collect();
    assert!(!drawn.contains(['\u{1b}', '\u{202e}', '\n', '\t']), "{drawn:?}");
    assert!(drawn.contains("`i` [31mend"), "{drawn:?}");
}

#[test]
fn graphviz_labels_are_escaped() {
    insta::assert_snapshot!(named(&fork(), [SPECIAL_CHARACTERS, "", "x"]).dot(), @r##"
    digraph roadmap {
      rankdir=TB;
      bgcolor=transparent;
      node [shape=box, style="rounded,filled", fontname="sans-serif", color="#64748b"];
      edge [color="#64748b"];
      p0 [label="1 a \"b\" [c] {d} <e> | f &amp; 'g' \\n #h; `i` [31mend", fillcolor="#fde68a", tooltip="running"];
      p1 [label="2", fillcolor="#e2e8f0", tooltip="blocked"];
      p2 [label="3 x", fillcolor="#e2e8f0", tooltip="blocked"];
      { rank=same; p1; p2; }
      p0 -> p1 [penwidth=2.5];
      p0 -> p2;
      p1 -> p2 [dir=none, style=dashed, constraint=false];
    }
    "##);
}

#[test]
fn mermaid_labels_use_entity_codes() {
    insta::assert_snapshot!(named(&fork(), [SPECIAL_CHARACTERS, "", "x"]).mermaid(), @r##"
    flowchart TB
      p0["1 a #34;b#34; #91;c#93; #123;d#125; #60;e#62; #124; f #38; #39;g#39; #92;n #35;h#59; #96;i#96; #91;31mend"]:::running
      p1["2"]:::blocked
      p2["3 x"]:::blocked
      p0 ==> p1
      p0 --> p2
      p1 -.- p2
      classDef done fill:#bbf7d0,stroke:#16a34a,color:#14532d
      classDef running fill:#fde68a,stroke:#d97706,color:#78350f
      classDef ready fill:#bfdbfe,stroke:#2563eb,color:#1e3a8a
      classDef blocked fill:#e2e8f0,stroke:#64748b,color:#334155
    "##);
}

#[test]
fn svg_text_is_escaped() {
    let svg =
        named(&fork(), [SPECIAL_CHARACTERS, "設計とデータモデルの見直しと移行の計画", "x"]).svg();
    let body = svg.split("</style>").nth(1).expect("a body");
    let boxes: Vec<_> = body.lines().filter(|line| line.starts_with("<g ")).collect();
    insta::assert_snapshot!(boxes.join("\n"), @r##"
    <g class="box running" transform="translate(196 24)"><title>1 a &quot;b&quot; [c] {d} &lt;e&gt; | f &amp; &#39;g&#39; \n #h; `i` [31mend: running</title><rect width="196" height="68" rx="8"/><text class="number" x="12" y="21">1</text><text class="state" x="184" y="21" text-anchor="end">running</text><text x="12" y="40">a &quot;b&quot; [c] {d} &lt;e&gt; | f &amp;</text><text x="12" y="56">&#39;g&#39; \n #h; `i` [31mend</text></g>
    <g class="box blocked" transform="translate(88 142)"><title>2 設計とデータモデルの見直しと移行の計画: blocked, needs 1</title><rect width="196" height="68" rx="8"/><text class="number" x="12" y="21">2</text><text class="state" x="184" y="21" text-anchor="end">blocked</text><text x="12" y="40">設計とデータモデルの見直</text><text x="12" y="56">しと移行の計画</text></g>
    <g class="box blocked" transform="translate(304 142)"><title>3 x: blocked, needs 1</title><rect width="196" height="68" rx="8"/><text class="number" x="12" y="21">3</text><text class="state" x="184" y="21" text-anchor="end">blocked</text><text x="12" y="40">x</text></g>
    "##);
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("prefers-color-scheme:dark"));
}

#[test]
fn an_empty_graph_gives_a_valid_drawing() {
    let graph = graph("");
    let drawing = GraphDrawing::new(&graph, |index| label(&graph, index));
    assert!(drawing.svg().contains("viewBox=\"0 0 112 48\""), "{}", drawing.svg());
    assert!(drawing.dot().ends_with("}\n"));
}

#[test]
fn a_long_edge_bends_around_the_boxes_between() {
    let graph = graph("1; 2<-1; 3<-2; 4<-3; 5; 6<-4,5");
    let svg = GraphDrawing::new(&graph, |index| label(&graph, index)).svg();
    let bends =
        svg.lines().filter(|line| line.starts_with("<path") && line.matches('L').count() == 3);
    assert_eq!(bends.count(), 1, "the edge from 5 to 6 passes three layers");
}
