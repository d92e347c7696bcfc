//! Property tests of STATE.md edits: an edit changes only its own lines, and written values read
//! back.

use proptest::prelude::*;
use proptest::sample::select;

use super::active_phases::{self, ActivePhaseChange};
use super::team::{self, TeammateChange};
use super::{fields, list_sections, snapshot};
use crate::awkward_text;

fn value() -> impl Strategy<Value = String> {
    awkward_text::awkward_text(1..6)
}

/// Generates a value that fits on one line, has a letter or digit, and is not a placeholder.
fn words() -> impl Strategy<Value = String> {
    let is_something = |text: &String| {
        let text = text.trim();
        text.contains(|c: char| c.is_ascii_alphanumeric()) && !list_sections::is_placeholder(text)
    };
    value().prop_filter("says something", is_something)
}

/// Generates a file with text by people, some of it malformed.
fn file() -> impl Strategy<Value = String> {
    let prose = select(vec![
        "",
        "Words.\n",
        "```\n## Blockers\n```\n",
        "<!-- ## Blockers -->\n",
        "| a | b |\n|---|---|\n| 1 | |\n",
        "- item  \n  wrapped\n",
        "**Bold:** x  \n",
        "> quote\n",
    ]);
    let blockers = select(vec!["None.\n", "None yet.\n", "- one\n- two\n", "Prose.\n", ""]);
    let rows = select(vec![
        "",
        "| 1 | A | complete | -- | 1/1 |  |\n",
        "|7|B|x|w|0/0|t|\n| 3 | C |  | | | |\n",
    ]);
    (prose, blockers, rows, any::<bool>()).prop_map(|(prose, blockers, rows, windows)| {
        let file = format!(
            "# State\n\n{prose}\n## Active Phases\n\n| Phase | Name | Status | Worker | Plans | \
             Last Update |\n|--|--|--|--|--|--|\n{rows}\n**Next unblockable:** --\n\n### Blockers\n\n\
             {blockers}\n## Session\n\n{prose}"
        );
        if windows { file.replace('\n', "\r\n") } else { file }
    })
}

/// Returns the lines in which two texts differ, after removing their common start and end.
fn difference<'a>(old: &'a str, new: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let (old, new): (Vec<_>, Vec<_>) = (old.split('\n').collect(), new.split('\n').collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    (old[..old.len() - tail].to_vec(), new[..new.len() - tail].to_vec())
}

proptest! {
    #[test]
    fn a_blocker_is_added_alone(file in file(), first in words(), second in words()) {
        let before = snapshot::parse(file.as_bytes()).blockers;
        let one = list_sections::add_blocker(file.as_bytes(), &first).expect("there is a section");
        let one = String::from_utf8(one).expect("text stays text");
        let (old, new) = difference(&file, &one);
        prop_assert!(old.len() <= 1 && old.iter().all(|line| list_sections::is_placeholder(line)), "{:?}", old);
        let added = new.iter().filter(|line| !line.trim().is_empty()).count();
        prop_assert!(added == 1 && new.len() <= 2, "{:?}", new);
        let two = list_sections::add_blocker(one.as_bytes(), &second).expect("there is a section");
        let after = snapshot::parse(&two);
        prop_assert_eq!(after.blockers.len(), open(&before, &first, &second), "{}", String::from_utf8_lossy(&two));
        prop_assert_eq!(active_phases::parse(&two), active_phases::parse(file.as_bytes()));
    }

    #[test]
    fn a_field_changes_alone(file in file(), value in words()) {
        let file = file.replace("## Session", "**Mode:** x\n\n## Session");
        let new = fields::set(file.as_bytes(), "mode", &value).expect("there is a field");
        let expected = value.replace(['\n', '\r'], " ").trim().to_owned();
        prop_assert_eq!(fields::lookup(&new, "Mode"), Some(expected));
        let new = String::from_utf8(new).expect("text stays text");
        let (old, new) = difference(&file, &new);
        prop_assert!(old.len() <= 1 && new.len() == old.len(), "{:?} {:?}", old, new);
    }

    #[test]
    fn a_resolved_blocker_is_gone_and_nothing_else(file in file(), words in words()) {
        let added = list_sections::add_blocker(file.as_bytes(), &words).expect("there is a section");
        let (resolved, removed) = list_sections::resolve_blocker(&added, &words).expect("it is there");
        prop_assert!(removed >= 1, "{}", String::from_utf8_lossy(&added));
        prop_assert_eq!(active_phases::parse(&resolved), active_phases::parse(file.as_bytes()));
        let remaining = snapshot::parse(&resolved).blockers;
        prop_assert!(remaining.len() <= snapshot::parse(file.as_bytes()).blockers.len(), "{:?}", remaining);
    }

    #[test]
    fn a_team_comes_and_goes(file in file(), name in words(), task in words(), color in words()) {
        let started = team::start(file.as_bytes(), &name, "D");
        let mate = TeammateChange {
            name: &name, task: Some(&task), color: Some(&color), today: "D",
            ..TeammateChange::default()
        };
        let one = team::add(&started, mate).expect("there is a section");
        let found = team::find(&one, &name);
        let read_back = |value: &str| value.trim().replace(['\n', '\r'], " ");
        prop_assert_eq!(found.map(|mate| mate.task), Some(read_back(&task)), "{}", String::from_utf8_lossy(&one));
        prop_assert_eq!(active_phases::parse(&one), active_phases::parse(file.as_bytes()));
        let stopped = String::from_utf8(team::stop(&one)).expect("text stays text");
        prop_assert_eq!(stopped.trim_end(), file.trim_end());
    }

    #[test]
    fn a_row_changes_alone(
        file in file(), phase in "[1-9]", name in words(), status in words(), worker in words(),
    ) {
        let change = ActivePhaseChange {
            name: Some(&name), status: Some(&status), worker: Some(&worker), last_update: "now",
            ..ActivePhaseChange::default()
        };
        let before = active_phases::parse(file.as_bytes()).expect("there is a section");
        let (new, _) = active_phases::update_row(file.as_bytes(), &phase, change).expect("it is complete");
        let after = active_phases::parse(&new).expect("the section is still there");
        let row = after.iter().find(|row| row.phase == phase).expect("the row is there");
        let read_back = |value: &str| value.trim().replace(['\n', '\r'], " ");
        prop_assert_eq!(&row.name, &read_back(&name));
        prop_assert_eq!(&row.status, &read_back(&status));
        prop_assert_eq!(&row.worker, &read_back(&worker));
        let others = |rows: &[active_phases::ActivePhase]| {
            let mut others: Vec<_> = rows.iter().filter(|row| row.phase != phase).cloned().collect();
            others.sort_by(|a, b| a.phase.cmp(&b.phase));
            others
        };
        prop_assert_eq!(others(&after), others(&before));
        let blockers = |bytes: &[u8]| snapshot::parse(bytes).blockers;
        prop_assert_eq!(blockers(&new), blockers(file.as_bytes()));
        // All bytes outside of the table and the line below it stay unchanged.
        let (head, tail) = ("| Phase |", "### Blockers");
        let new = String::from_utf8(new).expect("text stays text");
        prop_assert_eq!(new.split(head).next(), file.split(head).next());
        let below = |text: &str| text.rsplit(tail).next().map(str::to_owned);
        prop_assert_eq!(below(&new), below(&file));
        // Applying the same change again changes nothing.
        let (again, _) = active_phases::update_row(new.as_bytes(), &phase, change).expect("it is complete");
        prop_assert_eq!(String::from_utf8(again).expect("text stays text"), new);
    }
}

/// Returns the number of open blockers after two were added; ticked ones are not open.
fn open(before: &[String], first: &str, second: &str) -> usize {
    let is_open = |text: &&str| !text.trim_start().starts_with("[x]");
    before.len() + [first, second].iter().filter(|text| is_open(text)).count()
}
