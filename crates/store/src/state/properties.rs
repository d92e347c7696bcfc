//! What holds for every STATE.md and every value: an edit changes its own lines and no others, and
//! what was written is read back.

use proptest::prelude::*;
use proptest::sample::select;

use super::active::{self, RowChange};
use super::team::{self, TeammateChange};
use super::{fields, sections, snapshot};
use crate::trial_values;

fn value() -> impl Strategy<Value = String> {
    trial_values::value(1..6)
}

/// A value as a line can carry it, and that says something.
fn words() -> impl Strategy<Value = String> {
    let is_something = |text: &String| {
        let text = text.trim();
        text.contains(|c: char| c.is_ascii_alphanumeric()) && !sections::is_placeholder(text)
    };
    value().prop_filter("says something", is_something)
}

/// A file with other people's text in it, of which some is broken.
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

/// The lines that one text has and another has not, compared from both ends.
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
        let one = sections::add_blocker(file.as_bytes(), &first).expect("there is a section");
        let one = String::from_utf8(one).expect("text stays text");
        let (old, new) = difference(&file, &one);
        prop_assert!(old.len() <= 1 && old.iter().all(|line| sections::is_placeholder(line)), "{:?}", old);
        let added = new.iter().filter(|line| !line.trim().is_empty()).count();
        prop_assert!(added == 1 && new.len() <= 2, "{:?}", new);
        let two = sections::add_blocker(one.as_bytes(), &second).expect("there is a section");
        let after = snapshot::parse(&two);
        prop_assert_eq!(after.blockers.len(), open(&before, &first, &second), "{}", String::from_utf8_lossy(&two));
        prop_assert_eq!(active::parse(&two), active::parse(file.as_bytes()));
    }

    #[test]
    fn a_field_changes_alone(file in file(), value in words()) {
        let file = file.replace("## Session", "**Mode:** x\n\n## Session");
        let new = fields::set(file.as_bytes(), "mode", &value).expect("there is a field");
        let kept = value.replace(['\n', '\r'], " ").trim().to_owned();
        prop_assert_eq!(fields::lookup(&new, "Mode"), Some(kept));
        let new = String::from_utf8(new).expect("text stays text");
        let (old, new) = difference(&file, &new);
        prop_assert!(old.len() <= 1 && new.len() == old.len(), "{:?} {:?}", old, new);
    }

    #[test]
    fn a_resolved_blocker_is_gone_and_nothing_else(file in file(), words in words()) {
        let added = sections::add_blocker(file.as_bytes(), &words).expect("there is a section");
        let (gone, removed) = sections::resolve_blocker(&added, &words).expect("it is there");
        prop_assert!(removed >= 1, "{}", String::from_utf8_lossy(&added));
        prop_assert_eq!(active::parse(&gone), active::parse(file.as_bytes()));
        let left = snapshot::parse(&gone).blockers;
        prop_assert!(left.len() <= snapshot::parse(file.as_bytes()).blockers.len(), "{:?}", left);
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
        let kept = |value: &str| value.trim().replace(['\n', '\r'], " ");
        prop_assert_eq!(found.map(|mate| mate.task), Some(kept(&task)), "{}", String::from_utf8_lossy(&one));
        prop_assert_eq!(active::parse(&one), active::parse(file.as_bytes()));
        let gone = String::from_utf8(team::stop(&one)).expect("text stays text");
        prop_assert_eq!(gone.trim_end(), file.trim_end());
    }

    #[test]
    fn a_row_changes_alone(
        file in file(), phase in "[1-9]", name in words(), status in words(), worker in words(),
    ) {
        let change = RowChange {
            name: Some(&name), status: Some(&status), worker: Some(&worker), last_update: "now",
            ..RowChange::default()
        };
        let before = active::parse(file.as_bytes()).expect("there is a section");
        let (new, _) = active::update_row(file.as_bytes(), &phase, change).expect("it is complete");
        let after = active::parse(&new).expect("the section is still there");
        let row = after.iter().find(|row| row.phase == phase).expect("the row is there");
        let kept = |value: &str| value.trim().replace(['\n', '\r'], " ");
        prop_assert_eq!(&row.name, &kept(&name));
        prop_assert_eq!(&row.status, &kept(&status));
        prop_assert_eq!(&row.worker, &kept(&worker));
        let others = |rows: &[active::ActivePhase]| {
            let mut others: Vec<_> = rows.iter().filter(|row| row.phase != phase).cloned().collect();
            others.sort_by(|a, b| a.phase.cmp(&b.phase));
            others
        };
        prop_assert_eq!(others(&after), others(&before));
        let blockers = |bytes: &[u8]| snapshot::parse(bytes).blockers;
        prop_assert_eq!(blockers(&new), blockers(file.as_bytes()));
        // Everything outside of the table and the line below it stays, byte for byte.
        let (head, tail) = ("| Phase |", "### Blockers");
        let new = String::from_utf8(new).expect("text stays text");
        prop_assert_eq!(new.split(head).next(), file.split(head).next());
        let below = |text: &str| text.rsplit(tail).next().map(str::to_owned);
        prop_assert_eq!(below(&new), below(&file));
        // Saying the same again changes nothing.
        let (again, _) = active::update_row(new.as_bytes(), &phase, change).expect("it is complete");
        prop_assert_eq!(String::from_utf8(again).expect("text stays text"), new);
    }
}

/// How many open blockers there are once two were added: ticked ones are not open.
fn open(before: &[String], first: &str, second: &str) -> usize {
    let is_open = |text: &&str| !text.trim_start().starts_with("[x]");
    before.len() + [first, second].iter().filter(|text| is_open(text)).count()
}
