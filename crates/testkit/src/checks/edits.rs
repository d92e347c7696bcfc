//! Checks of documents that are edited: what is written reads back, and the rest stays.

use mow_core::phase::PhaseNumber;
use mow_store::compat::milestones as shipped;
use mow_store::compat::milestones::ShippedMilestone;
use mow_store::frontmatter::{EditError, Value};
use mow_store::state::active_phases::{self, ActivePhaseChange};
use mow_store::state::{list_sections, snapshot};
use mow_store::status::{PlanChange, Status};
use mow_store::{frontmatter as front, requirements as required};
use mow_store::{status as statuses, todo as todos};
use serde_json::Value as Json;

use super::{Input, ends_in_half, lost_lines};

const NOW: &str = "2026-01-02T10:05:00.000Z";

/// STATE.md: a row and a blocker read back; no line but the row's and the one below it is lost.
pub fn state(bytes: &[u8]) {
    let input = Input::new(bytes);
    let (file, word) = (input.file, input.word());
    snapshot::parse(file);
    if ends_in_half(file) {
        return;
    }
    let rows = active_phases::parse(file).unwrap_or_default();
    let numbers: Vec<_> =
        rows.iter().map(|row| &*row.phase).filter(|n| PhaseNumber::parse(n).is_some()).collect();
    let phase = numbers.get(input.pick(numbers.len() + 1)).copied().unwrap_or("7");
    for value in [&word, &input.value] {
        let change = ActivePhaseChange {
            status: Some(value),
            name: Some("Name"),
            last_update: NOW,
            ..ActivePhaseChange::default()
        };
        let Ok((new, _)) = active_phases::update_row(file, phase, change) else { continue };
        assert!(lost_lines(file, &new) <= 2, "{}", String::from_utf8_lossy(&new));
        if *value == word {
            let number = PhaseNumber::parse(phase);
            let after = active_phases::parse(&new).expect("the section was there");
            let row = after.iter().find(|row| PhaseNumber::parse(&row.phase) == number);
            // A table may lack the column, or the one of phases, which then takes its place.
            let status = &row.expect("the row was written").status;
            let is_known = status.is_empty() || *status == format!("{phase}. Name");
            assert!(is_known || *status == word, "{status}");
            assert!(after.len() == rows.len() || after.len() == rows.len() + 1);
        }
    }
    list_sections::add_blocker(file, &input.value);
    if let Some(new) = list_sections::add_blocker(file, &word) {
        assert!(snapshot::parse(&new).blockers.contains(&word));
        assert!(lost_lines(file, &new) <= 1);
    }
}

/// NN-STATUS.md: fields, rows and bullets read back, all else reads as before.
pub fn status(bytes: &[u8]) {
    let input = Input::new(bytes);
    let before = statuses::parse(input.file);
    if ends_in_half(input.file) {
        return;
    }
    a_field_is_set(&input, &before);
    a_plan_is_updated(&input, &before);
    for value in [&input.value, &input.word()] {
        let _ = statuses::add_context(input.file, value);
        let _ = statuses::set_field(input.file, "verified", value);
        let Ok(new) = statuses::add_blocker(input.file, value) else { continue };
        assert!(lost_lines(input.file, &new) <= 1);
        let after = statuses::parse(&new);
        assert_eq!(after.plans.len(), before.plans.len());
        if *value == input.word() {
            assert!(after.blockers.contains(value), "{:?}", after.blockers);
        }
    }
    let once = statuses::rewrite_aggregate(input.file);
    assert_eq!(statuses::rewrite_aggregate(&once), once);
}

fn a_field_is_set(input: &Input<'_>, before: &Status) {
    let name = statuses::FIELDS[input.pick(statuses::FIELDS.len())];
    let word = input.word();
    let new = statuses::set_field(input.file, name, &word).expect("the field is known");
    let after = statuses::parse(&new);
    let read = fields(&after).into_iter().zip(fields(before)).zip(statuses::FIELDS);
    for ((new, old), field) in read {
        assert_eq!(new, if *field == name { &word } else { old }, "{field}");
    }
    assert_eq!((&after.phase, &after.plans), (&before.phase, &before.plans));
    assert!(lost_lines(input.file, &new) <= 1);
}

/// Returns the values of all fields, in the order of their names.
fn fields(status: &Status) -> [&String; 8] {
    [
        &status.status,
        &status.worker,
        &status.worktree,
        &status.started,
        &status.last_update,
        &status.blocker_mode,
        &status.plans_completed,
        &status.verified,
    ]
}

fn a_plan_is_updated(input: &Input<'_>, before: &Status) {
    let Some(row) = before.plans.get(input.pick(before.plans.len())) else { return };
    let place = before.plans.iter().position(|other| other.plan == row.plan);
    let word = input.word();
    let change = PlanChange {
        plan: &row.plan,
        status: Some(&word),
        tasks: Some("1/2"),
        now_utc: NOW,
        ..PlanChange::default()
    };
    let Ok(new) = statuses::update_plan(input.file, &change) else { return };
    let after = statuses::parse(&new);
    assert_eq!(after.plans.len(), before.plans.len());
    assert_eq!(after.last_update, NOW);
    for (at, (old, new)) in before.plans.iter().zip(&after.plans).enumerate() {
        if Some(at) == place {
            assert_eq!((new.status.as_str(), new.tasks.as_str()), (word.as_str(), "1/2"));
        } else {
            assert!(old.plan == new.plan && keeps(&old.status, &new.status), "{old:?} {new:?}");
            assert!(keeps(&old.commit, &new.commit) && keeps(&old.tasks, &new.tasks));
        }
    }
    let hostile = PlanChange { status: Some(&input.value), now_utc: &input.value, ..change };
    let _ = statuses::update_plan(input.file, &hostile);
}

/// Returns whether a cell is as before; in a new column there may be what was too much in a row.
fn keeps(old: &str, new: &str) -> bool {
    old == new || old == statuses::UNSET
}

/// Frontmatter: a key that is set reads back and the text below the block stays.
pub fn frontmatter(bytes: &[u8]) {
    let input = Input::new(bytes);
    let (key, value) = input.value.split_once('=').unwrap_or((&input.value, "x"));
    let value = serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()));
    let before = front::parse(input.file);
    if let Some(before) = &before {
        assert!(before.problems.is_sorted_by_key(|problem| problem.line));
        before.to_json();
    }
    let edited = match front::set(input.file, key, &value) {
        Ok(edited) => edited,
        Err(EditError::BadKey { .. } | EditError::TooDeep { .. } | EditError::NotAMap { .. }) => {
            return;
        }
        Err(EditError::ChangesOtherKey { .. }) => {
            let holds = |byte: u8| input.file.contains(&byte);
            assert!(holds(b'&') && holds(b'*') || key.contains('.'));
            return;
        }
    };
    let after = front::parse(&edited);
    let read = after.as_ref().and_then(|front| front.lookup(key)).cloned();
    assert_eq!(read.filter(|read| *read != Value::Null), read_back(&value));
    if let (Some(before), Some(after)) = (before, after) {
        assert_eq!(edited[after.body_start()..], input.file[before.body_start()..]);
    }
}

/// Returns the value as it reads once written: scalars as text, nulls left out.
fn read_back(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => return None,
        Json::String(text) => Value::Scalar(text.clone()),
        Json::Bool(_) | Json::Number(_) => Value::Scalar(json.to_string()),
        Json::Array(items) => Value::List(items.iter().filter_map(read_back).collect()),
        Json::Object(fields) => {
            let kept =
                fields.iter().filter_map(|(key, value)| Some((key.clone(), read_back(value)?)));
            Value::Map(kept.collect())
        }
    })
}

/// REQUIREMENTS.md: what is marked is ticked, and marking twice is marking once.
pub fn requirements(bytes: &[u8]) {
    let input = Input::new(bytes);
    let before = required::parse(input.file);
    let boxed = before.items.iter().filter(|item| item.ticked.is_some());
    let mut ids: Vec<String> = boxed.map(|item| item.id.clone()).take(20).collect();
    ids.extend(required::parse_ids(&input.value).into_iter().take(20));
    let (new, _) = required::mark_complete(input.file, &ids);
    let after = required::parse(&new);
    let ticked = |id: &String| {
        let mut of_id = after.items.iter().filter(|item| item.id == *id);
        of_id.all(|item| item.ticked != Some(false))
    };
    assert!(ids.iter().all(ticked), "{}", String::from_utf8_lossy(&new));
    let (again, outcome) = required::mark_complete(&new, &ids);
    assert_eq!(again, new);
    assert!(outcome.marked.is_empty(), "{outcome:?}");
}

/// MILESTONES.md: the file stays as it is, with the new entry last.
pub fn milestones(bytes: &[u8]) {
    let input = Input::new(bytes);
    let before = shipped::parse(input.file);
    let accomplishments = [input.word().replace('\\', "")];
    let entry = ShippedMilestone {
        version: "v9.9",
        name: "Name",
        date: "2026-01-02",
        counts: [1, 2, 3],
        accomplishments: &accomplishments,
    };
    let new = shipped::append(input.file, &entry);
    assert!(new.starts_with(input.file) || input.file.trim_ascii().is_empty());
    let after = shipped::parse(&new);
    let (last, others) = after.split_last().expect("an entry was added");
    assert_eq!(
        (last.version.as_str(), last.accomplishments.as_slice()),
        ("v9.9", &accomplishments[..])
    );
    assert_eq!(others.len(), before.len());
}

/// Todos: a key that is recorded reads back.
pub fn todo(bytes: &[u8]) {
    let input = Input::new(bytes);
    todos::parse(input.file);
    let word = input.word();
    let Ok(new) = todos::set_key(input.file, "started", &word) else { return };
    assert_eq!(todos::parse(&new).started.as_deref(), Some(word.as_str()));
    let _ = todos::set_key(input.file, "started", &input.value);
}
