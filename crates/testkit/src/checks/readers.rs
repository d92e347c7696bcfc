//! Checks of documents that are only read: nothing panics, and what is found lies in the file.

use std::collections::BTreeSet;
use std::ops::Range;

use mow_core::graph::{Graph, GraphNode};
use mow_store::compat::summary as summaries;
use mow_store::text::collapsed::collapsed_blocks;
use mow_store::text::field::field_at;
use mow_store::text::heading::{headings, section_end};
use mow_store::text::inline::strip_markup;
use mow_store::text::list::item_at;
use mow_store::text::splice::apply;
use mow_store::text::table::tables;
use mow_store::text::{LineSpan, Text};
use mow_store::{phase_files as files, plan as plans, roadmap as roadmaps};

use super::Input;

/// The text layer: offsets are good in both copies, structures lie within their lines.
pub fn text(bytes: &[u8]) {
    let input = Input::new(bytes);
    let text = Text::new(input.file);
    visible_has_the_same_offsets(&text);
    let lines = text.lines().len();
    let headings = headings(&text);
    for (index, heading) in headings.iter().enumerate() {
        assert!(text.visible().get(heading.text.clone()).is_some());
        assert!((heading.line + 1..=lines).contains(&section_end(&text, &headings, index)));
    }
    for line in 0..lines {
        items_lie_in_their_line(&text, line);
    }
    for table in tables(&text, 0..lines) {
        for row in table.rows.iter().chain([&table.header]) {
            let place = text.lines()[row.line];
            assert!(row.cells.iter().all(|cell| is_within(&text, place, cell)));
        }
        table.column(&text, &["Phase"]);
    }
    for block in collapsed_blocks(&text) {
        assert!(block.first_line <= block.last_line && block.last_line < lines);
    }
    strip_markup(text.visible());
    a_field_reads_back(&text, &input.word());
}

fn visible_has_the_same_offsets(text: &Text<'_>) {
    let (visible, bytes) = (text.visible().as_bytes(), text.bytes());
    assert_eq!(visible.len(), bytes.len());
    for (seen, byte) in visible.iter().zip(bytes) {
        assert!(seen == byte || *byte != b'\n' && matches!(seen, b' ' | b'?'));
    }
    let ends: Vec<_> = text.lines().iter().map(|line| line.next).collect();
    assert!(ends.is_sorted() && ends.last().is_none_or(|end| *end == bytes.len()));
}

fn items_lie_in_their_line(text: &Text<'_>, line: usize) {
    let place = text.lines()[line];
    if let Some(field) = field_at(text, line) {
        assert!(is_within(text, place, &field.name) && is_within(text, place, &field.value));
    }
    if let Some(item) = item_at(text, line) {
        assert!(is_within(text, place, &item.checkbox_range) && is_within(text, place, &item.text));
    }
}

fn is_within(text: &Text<'_>, line: LineSpan, range: &Range<usize>) -> bool {
    line.start <= range.start
        && range.end <= line.end
        && text.visible().get(range.clone()).is_some()
}

fn a_field_reads_back(text: &Text<'_>, value: &str) {
    let Some(field) = (0..text.lines().len()).find_map(|line| field_at(text, line)) else { return };
    let new = apply(text.bytes(), vec![field.set(text, value)]);
    assert!(new.starts_with(&text.bytes()[..field.value.start]));
    assert!(new.ends_with(&text.bytes()[text.lines()[field.line].end..]));
    let after = Text::new(&new);
    let read = field_at(&after, field.line).map(|field| after.slice(field.value).to_owned());
    assert_eq!(read.as_deref(), Some(value));
}

/// Roadmaps: phases in order, each with a line of the file, and a graph can be made of them.
pub fn roadmap(bytes: &[u8]) {
    let roadmap = roadmaps::parse(bytes);
    let lines = Text::new(bytes).lines().len();
    assert!(roadmap.entries.is_sorted_by_key(|entry| entry.phase.number));
    let mut nodes = Vec::new();
    for entry in &roadmap.entries {
        let phase = &entry.phase;
        assert!((1..=lines).contains(&phase.line));
        assert!(!phase.sources.letters().is_empty());
        assert!(phase.depends_on.is_sorted() && !phase.depends_on.contains(&phase.number));
        nodes.push(GraphNode {
            number: phase.number,
            block: phase.block,
            done: phase.completion.done,
            depends_on: phase.depends_on.clone(),
            parallel_with: phase.parallel_with.clone(),
        });
    }
    let graph = Graph::new(nodes, &BTreeSet::new());
    assert!(graph.self_refs().is_empty());
}

/// Plans: tasks in file order, their elements inside them.
pub fn plan(bytes: &[u8]) {
    let plan = plans::parse(bytes);
    let all: BTreeSet<_> = plan.missing_keys().into_iter().collect();
    assert!(all.len() <= plans::REQUIRED_KEYS.len());
    assert!(plan.tasks.is_sorted_by_key(|task| task.range.start));
    for task in &plan.tasks {
        assert!(task.range.start <= task.range.end && task.range.end <= bytes.len());
        assert!(task.line >= 1);
        for element in &task.elements {
            let Range { start, end } = element.range.clone();
            assert!(task.range.start <= start && start <= end && end <= task.range.end);
        }
        task.is_checkpoint();
    }
    let ids = vec!["01-01".to_owned(), "PLAN".to_owned()];
    for reference in &plan.depends_on {
        reference.resolve("01", &ids);
    }
}

/// Summaries: every file and commit is named once.
pub fn summary(bytes: &[u8]) {
    let summary = summaries::parse(bytes);
    assert!(!summary.self_check.word().is_empty());
    let files = summaries::mentioned_files(bytes);
    let distinct: BTreeSet<_> = files.iter().collect();
    assert_eq!(distinct.len(), files.len());
}

/// The smaller files of a phase.
pub fn phase_files(bytes: &[u8]) {
    files::parse_context(bytes);
    files::parse_verification(bytes);
}
