//! Tests that summaries hold what the contract's readers look for.

use super::super::tests::{HEADER, evidence};
use super::*;
use crate::compat::summary::{self as summary_file, SelfCheck};
use crate::frontmatter;

fn files(paths: &[(&str, FinishedChange)]) -> Vec<FinishedFile> {
    let file = |(path, change): &(&str, FinishedChange)| FinishedFile {
        path: (*path).to_owned(),
        change: *change,
    };
    paths.iter().map(file).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn tasks() -> [FinishedTask; 1] {
    [FinishedTask {
        name: "Build: the \"index\"".to_owned(),
        commit: Some("0123456789abcdef".to_owned()),
        checks: vec!["sh test.sh".to_owned()],
    }]
}

fn plan(tasks: &[FinishedTask]) -> FinishedPlan<'_> {
    FinishedPlan {
        plan: "01",
        objective: "Index all words,\nand more. Then rest.\n\nBackground.",
        results: &[],
        tasks,
        files: &[],
        provides: &[],
        requirements: &[],
        answers: &[],
        decisions: &[],
        patterns: &[],
        deferred: &[],
        deviations: &[],
        evidence: &[],
        duration: "3min",
    }
}

fn render(plan: &FinishedPlan<'_>) -> (Vec<u8>, String) {
    let bytes = render_summary(&HEADER, plan).unwrap();
    (bytes.clone(), String::from_utf8(bytes).unwrap())
}

#[test]
fn a_summary_names_commits_files_and_checks() {
    use FinishedChange::{Created, Deleted, Modified};
    let changed = files(&[
        ("src/index/words.rs", Created),
        ("src/index/mod.rs", Modified),
        ("docs/index.md", Modified),
        ("old.rs", Deleted),
    ]);
    let deviations = texts(&["`extra` is not among files_modified"]);
    let (tasks, requirements, evidence) = (tasks(), texts(&["SRCH-01"]), [evidence()]);
    let (bytes, text) = render(&FinishedPlan {
        files: &changed,
        deviations: &deviations,
        requirements: &requirements,
        evidence: &evidence,
        ..plan(&tasks)
    });
    for wanted in ["phase: 03-search", "`01234567`", "passed: `sh test.sh`", "- old.rs (deleted)"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(text.contains("| `sh a.sh \\| wc` | 0 | `dddddddd` | `ffffffff` |"), "{text}");
    assert!(text.contains("## Deviations from Plan\n\n- `extra`"), "{text}");
    let read = summary_file::parse(&bytes);
    assert_eq!(read.requirements_completed, ["SRCH-01"]);
    assert_eq!(read.tags, ["index", "docs"]);
    assert_eq!(read.self_check, SelfCheck::Passed);
    let key_files = read.key_files.unwrap().to_json();
    assert_eq!(key_files["created"], json!(["src/index/words.rs"]));
    assert_eq!(key_files["modified"], json!(["src/index/mod.rs", "docs/index.md"]));
}

#[test]
fn a_summary_without_agent_and_files_still_has_all_required_keys() {
    let (bytes, text) = render(&plan(&tasks()));
    let front = frontmatter::parse(&bytes).unwrap();
    for key in summary_file::REQUIRED_KEYS {
        assert!(front.entry(key).is_some(), "{key}: {text}");
    }
    let read = summary_file::parse(&bytes);
    assert_eq!(read.one_liner.as_deref(), Some("Index all words, and more."));
    assert_eq!(
        (read.subsystem.as_deref(), &read.tags[..]),
        (Some("search"), &texts(&["search"])[..])
    );
}

#[test]
fn the_words_of_agents_become_one_liner_decisions_and_deferred_items() {
    let results = texts(&["Built the **index** in a.rs. It is fast.", "Wrote tests! All pass."]);
    let decided = texts(&["Lower case: titles are typed by hand"]);
    let deferred = texts(&["list.rs fails when blocked"]);
    let patterns = texts(&["Readers return positions"]);
    let (bytes, text) = render(&FinishedPlan {
        results: &results,
        decisions: &decided,
        patterns: &patterns,
        deferred: &deferred,
        ..plan(&tasks())
    });
    let read = summary_file::parse(&bytes);
    assert_eq!(read.one_liner.as_deref(), Some("Built the **index** in a.rs. Wrote tests!"));
    assert_eq!((&read.decisions, &read.patterns), (&decided, &patterns));
    assert_eq!(read.self_check, SelfCheck::Passed, "words of agents do not count: {text}");
    assert!(text.contains("## Decisions Made\n\n- Lower case"), "{text}");
    assert_eq!(super::super::deferred_items::parse_sections(&bytes), deferred);
}
