//! Tests that every reader takes at most linear time on hostile files.
//!
//! Each pattern is repeated to a large file. A reader that is done with it soon is fast enough. One
//! that is not must be linear: a file a quarter as long takes it a quarter of the time, where a
//! quadratic reader takes a sixteenth. A measurement that looks bad is repeated, because a busy
//! machine makes one run slow, not the fastest of several; and where the system tells it, the time
//! is that of the processor, not of the clock.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use mow_core::depends_on::{self, DependencyContext};
use mow_core::phase::PhaseNumber;
use mow_store::compat::{milestones, summary};
use mow_store::state::{active_phases, snapshot};
use mow_store::text::collapsed::collapsed_blocks;
use mow_store::text::heading::headings;
use mow_store::text::inline::strip_markup;
use mow_store::text::table::tables;
use mow_store::text::{Text, field, list};
use mow_store::{
    config, dashboard, frontmatter, journal, manifest, phase_files, plan, requirements, roadmap,
    status, todo,
};
use serde_json::json;

const LARGE: usize = 120_000;
/// A reader below this time is fast enough, even without optimisation.
const SHORT: Duration = Duration::from_millis(500);
const GROWTH_MAX: u32 = 11;
const ATTEMPTS: usize = 4;

/// What stands once at the top, and what is repeated below it; `{n}` counts.
type Pattern = (&'static str, &'static str);

type Reader = fn(&[u8]);

const MARKDOWN: &[Pattern] = &[
    ("", "<details>\n"),
    ("", "<details><summary>v1.0</summary>\n### Phase 1: a\n"),
    ("", "```a\n"),
    ("", "~~~~\n```\n"),
    ("", "> ```\n\n"),
    ("", "<!-- "),
    ("", "<!-- ```\n-->\n"),
    ("", "<!-- </task> -->\n"),
    ("", "# a\n"),
    ("", "## v{n}.0\n### Phase 1: name{n}\n"),
    ("# Phase 1: ", "("),
    ("# Phase 1 ", "()"),
    ("## v1.0 ", "("),
    ("", "*"),
    ("- ", "["),
    ("- ", "[a]("),
    ("# ", "_"),
    ("**a:** ", "   "),
    ("", "\n"),
    ("", "|"),
    ("", "|-|\n"),
    ("| Phase ", "| a "),
    ("", "  - a\n"),
    ("", "> "),
    ("", "a: b\n"),
    ("", "**a"),
    ("", "\u{ff}\u{3000}"),
];

const FRONTMATTER: &[Pattern] = &[
    ("---\n", "a{n}:\n"),
    ("---\na:\n", " - b\n"),
    ("---\na: ", "["),
    ("---\na: ", "{a: "),
    ("---\na:\n", "- \"\n"),
    ("---\na: &a b\n", "c{n}: *a\n"),
];

const TASKS: &[Pattern] = &[
    ("", "<task>\n"),
    ("<task>\n", "<name>a\n"),
    ("<task>\n", "<action "),
    ("", "<task \""),
    ("<objective>\n", "<objective"),
    ("", "</task"),
];

const DEPENDS: &[Pattern] =
    &[("", ";"), ("", "#"), ("", "(Phase 1 "), ("", "Phases 1-9, "), ("Phase ", "1 and ")];

const JSON: &[Pattern] =
    &[("{\"a\": ", "["), ("{", "\"a\": {"), ("", "{}\n"), ("", "{\"type\": \"a\"}\n")];

#[test]
fn the_text_layer_is_linear() {
    let read: Reader = |bytes| {
        let text = Text::new(bytes);
        headings(&text);
        collapsed_blocks(&text);
        tables(&text, 0..text.lines().len());
        for line in 0..text.lines().len() {
            field::field_at(&text, line);
            list::item_at(&text, line);
        }
        strip_markup(text.visible());
    };
    check(&[("text", read)], MARKDOWN);
}

#[test]
fn roadmaps_are_read_in_linear_time() {
    check(&[("roadmap", |bytes| drop(roadmap::parse(bytes)))], MARKDOWN);
    let depends: Reader = |bytes| {
        let known: Vec<_> = (1..40).map(PhaseNumber::whole).collect();
        let around =
            DependencyContext { phase: &known[0], block_phases: &known, milestone_phases: &known };
        depends_on::parse(&String::from_utf8_lossy(bytes), around);
    };
    check(&[("depends", depends)], DEPENDS);
}

#[test]
fn state_and_status_are_read_in_linear_time() {
    let state: Reader = |bytes| {
        snapshot::parse(bytes);
        active_phases::next_unblockable(&active_phases::parse(bytes).unwrap_or_default());
    };
    let status: Reader = |bytes| drop(status::parse(bytes));
    check(&[("state", state), ("status", status)], MARKDOWN);
    let table = "## Active Phases\n| Phase | Status |\n|---|---|\n";
    let rows = [(table, "| {n} | blocked (1-1000) |\n"), (table, "| 1 | complete |\n")];
    check(&[("state", state)], &rows);
    check(&[("status", status)], &[("| Plan | Status |\n|---|---|\n", "| 01-{n} | done |\n")]);
}

#[test]
fn the_other_documents_are_read_in_linear_time() {
    let readers: &[(&str, Reader)] = &[
        ("milestones", |bytes| drop(milestones::parse(bytes))),
        ("requirements", |bytes| drop(requirements::parse(bytes))),
        ("context", |bytes| drop(phase_files::parse_context(bytes))),
    ];
    check(readers, MARKDOWN);
    let ids: Reader = |bytes| drop(requirements::parse_ids(&String::from_utf8_lossy(bytes)));
    check(&[("ids", ids)], &[("", "A{n}-1..9 "), ("", "<!-- "), ("", "(")]);
}

#[test]
fn plans_and_summaries_are_read_in_linear_time() {
    let plan: Reader = |bytes| drop(plan::parse(bytes));
    let summary: Reader = |bytes| {
        summary::parse(bytes);
        summary::mentioned_files(bytes);
    };
    check(&[("plan", plan), ("summary", summary)], MARKDOWN);
    check(&[("plan", plan)], TASKS);
    let evidence = [
        ("", "# Commits\n"),
        ("| Commit |\n|---|\n", "| a1b2c3d{n} |\n"),
        ("# Commits\n", "- a1b2c3d{n}\n"),
        ("", "`a/b{n}.c` "),
    ];
    check(&[("summary", summary)], &evidence);
}

#[test]
fn frontmatter_is_read_and_edited_in_linear_time() {
    let readers: &[(&str, Reader)] = &[
        ("frontmatter", |bytes| drop(frontmatter::parse(bytes))),
        ("set", |bytes| drop(frontmatter::set(bytes, "new", &json!("x")))),
        ("todo", |bytes| drop(todo::parse(bytes))),
    ];
    let closed: &[(&str, Reader)] = &[("closed", |bytes| {
        drop(frontmatter::parse(&[bytes, b"\n---\n"].concat()));
    })];
    check(readers, FRONTMATTER);
    check(closed, FRONTMATTER);
}

#[test]
fn json_is_read_in_linear_time() {
    let readers: &[(&str, Reader)] = &[
        ("config", |bytes| drop(config::set(bytes, "a.b", &json!(1)))),
        ("manifest", |bytes| drop(manifest::parse(bytes))),
        ("events", |bytes| drop(dashboard::parse_events(bytes))),
    ];
    check(readers, JSON);
}

#[test]
fn journals_are_read_in_linear_time() {
    let read: Reader = |bytes| drop(journal::parse(Path::new("journal"), bytes));
    let patterns = [
        ("", "\0"),
        ("\0", "\n"),
        ("\0", "{\"seq\":1,"),
        ("\0\n", "{\"seq\":{n},\"crc\":\"00000000\",\"at\":1,\"body\":1}\n"),
        ("{\"seq\":0,\"crc\":\"", "0"),
    ];
    check(&[("journal", read)], &patterns);
}

fn check(readers: &[(&str, Reader)], patterns: &[Pattern]) {
    for (name, reader) in readers {
        for pattern in patterns {
            if let Some((small, large)) = grows_too_fast(*reader, pattern) {
                panic!("{name} {pattern:?}: {small:?} for a quarter, {large:?} for all");
            }
        }
    }
}

/// Returns the times of both files when the large one takes too long for the small one.
fn grows_too_fast(reader: Reader, pattern: &Pattern) -> Option<(Duration, Duration)> {
    let (small, large) = (file(pattern, LARGE / 4), file(pattern, LARGE));
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..ATTEMPTS {
        best.1 = best.1.min(time(reader, &large));
        if best.1 < SHORT {
            return None;
        }
        best.0 = best.0.min(time(reader, &small));
        if best.1 < best.0 * GROWTH_MAX {
            return None;
        }
    }
    Some(best)
}

fn file((top, unit): &Pattern, size: usize) -> Vec<u8> {
    let mut file = (*top).to_owned();
    let mut count = 0;
    while file.len() < size {
        file.push_str(&unit.replace("{n}", &count.to_string()));
        count += 1;
    }
    file.into_bytes()
}

fn time(reader: Reader, file: &[u8]) -> Duration {
    let (clock, start) = (Instant::now(), processor_time());
    reader(file);
    let spent = start.zip(processor_time()).map(|(start, end)| end.saturating_sub(start));
    spent.unwrap_or_else(|| clock.elapsed())
}

/// Returns the time this thread has run so far.
fn processor_time() -> Option<Duration> {
    let numbers = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = numbers.split_whitespace().next()?.parse().ok()?;
    (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
}
