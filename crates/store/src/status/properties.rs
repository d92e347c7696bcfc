//! Property tests of status file edits for any file and any value.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::awkward_text;

const NOW: &str = "2026-01-02T10:05:00.000Z";

fn value() -> impl Strategy<Value = String> {
    awkward_text::awkward_text(0..8)
}

fn file() -> impl Strategy<Value = String> {
    let plans = prop::collection::vec(0_usize..9, 1..5);
    (plans, value(), any::<bool>(), any::<bool>()).prop_map(|(tasks, name, windows, tight)| {
        let plans: Vec<_> =
            tasks.iter().enumerate().map(|(at, tasks)| (format!("03-0{at}"), *tasks)).collect();
        let file = render(&NewStatus { phase: "03", name: &name, plans: &plans });
        let file = if tight { file.replace(" | ", "|").replace("| ", "|") } else { file };
        if windows { file.replace('\n', "\r\n") } else { file }
    })
}

/// Returns the value that is read back after it is written.
fn read_back(value: &str) -> String {
    unescape_or_unset(&one_line(value))
}

/// Returns the pairs of lines in which two files with the same number of lines differ.
fn changed<'a>(old: &'a str, new: &'a str) -> Vec<(&'a str, &'a str)> {
    let pairs: Vec<_> = old.split('\n').zip(new.split('\n')).collect();
    assert_eq!(old.split('\n').count(), new.split('\n').count(), "{old}\n{new}");
    pairs.into_iter().filter(|(old, new)| old != new).collect()
}

proptest! {
    #[test]
    fn a_row_changes_alone(
        file in file(), status in value(), commit in value(), tasks in value(), last in value(),
    ) {
        let change = PlanChange {
            plan: "03-00",
            status: Some(&status),
            commit: Some(&commit),
            tasks: Some(&tasks),
            duration: Some(&last),
            now_utc: NOW,
            ..PlanChange::default()
        };
        let new = update_plan(file.as_bytes(), &change).expect("plan exists");
        let (before, after) = (parse(file.as_bytes()), parse(&new));
        prop_assert_eq!(&after.plans[0].status, &read_back(&status));
        prop_assert_eq!(&after.plans[0].commit, &read_back(&commit));
        prop_assert_eq!(&after.plans[0].tasks, &read_back(&tasks));
        prop_assert_eq!(&after.plans[0].duration, &read_back(&last));
        prop_assert_eq!(&after.plans[1..], &before.plans[1..]);
        prop_assert_eq!(&after.last_update, NOW);
        let new = String::from_utf8(new).expect("text");
        for (old, _) in changed(&file, &new) {
            let is_meant = ["|03-00|", "| 03-00 |", "**Last", "**Status", "**Plans", "**Commits"]
                .iter()
                .any(|start| old.starts_with(start));
            prop_assert!(is_meant, "{}", old);
        }
        prop_assert_eq!(rewrite_aggregate(new.as_bytes()), new.as_bytes());
    }

    #[test]
    fn a_field_changes_alone(file in file(), name in select(&FIELDS[..6]), value in value()) {
        let new = set_field(file.as_bytes(), name, &value).expect("known field");
        let after = parse(&new);
        let read = match name {
            "status" => &after.status,
            "worker" => &after.worker,
            "worktree" => &after.worktree,
            "started" => &after.started,
            "last_update" => &after.last_update,
            _ => &after.blocker_mode,
        };
        prop_assert_eq!(read, &read_back(&value));
        let new = String::from_utf8(new).expect("text");
        prop_assert!(changed(&file, &new).len() <= 1);
    }

    #[test]
    fn a_bullet_is_added_alone(file in file(), first in value(), second in value()) {
        let bullet = |value: &str| one_line(value).trim().to_owned();
        prop_assume!(!bullet(&first).is_empty() && !bullet(&second).is_empty());
        let is_none = |value: &str| crate::state::list_sections::is_placeholder(&bullet(value));
        prop_assume!(!is_none(&first) && !is_none(&second));
        let one = add_decision(file.as_bytes(), &first).expect("has text");
        let two = add_decision(&one, &second).expect("has text");
        let expected = [unescape_value(&bullet(&first)), unescape_value(&bullet(&second))];
        let after = parse(&two);
        prop_assert_eq!(&after.decisions, &expected);
        prop_assert_eq!(Status { decisions: Vec::new(), ..after }, parse(file.as_bytes()));
        let one = String::from_utf8(one).expect("text");
        let changed = changed(&file, &one);
        prop_assert_eq!(changed.len(), 1);
        prop_assert_eq!(changed[0].0.trim_end(), "None.");
    }

    #[test]
    fn no_bytes_make_an_edit_panic(
        noise in prop::collection::vec(any::<u8>(), 0..60), file in file(), at in 0_usize..900,
        value in value(),
    ) {
        let mut bytes = file.into_bytes();
        let at = at.min(bytes.len());
        bytes.splice(at..at, noise.iter().copied());
        for bytes in [noise.as_slice(), value.as_bytes(), bytes.as_slice()] {
            let status = parse(bytes);
            let plan = status.plans.first().map_or("", |row| row.plan.as_str());
            let change = PlanChange {
                plan,
                status: Some(&value),
                tasks: Some("1/1"),
                now_utc: &value,
                ..Default::default()
            };
            let _ = update_plan(bytes, &change);
            let _ = set_field(bytes, "verified", &value);
            let _ = add_blocker(bytes, &value);
            let once = rewrite_aggregate(bytes);
            prop_assert_eq!(rewrite_aggregate(&once), once);
        }
    }

    #[test]
    fn no_template_makes_rendering_panic(template in value(), name in value()) {
        let plans = [("03-01".to_owned(), 1)];
        let _ = render_with(&template, &NewStatus { phase: "03", name: &name, plans: &plans });
    }
}
