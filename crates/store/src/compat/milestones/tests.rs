//! Tests of milestone entries in real notations, and of appended entries.

use proptest::prelude::*;

use super::*;
use crate::corpus;

const SAMPLE: &str = "\
# Milestones

## v1.1 Deep Water (Shipped: 2026-02-01)

**Phases completed:** 6 phases (3-8), 59 plans, 32 tasks

**Key accomplishments:**
- Built the *hull*
1. **Rig** — done

**Stats:**
- no accomplishment

---

## v1.0 — Harbour

**Shipped:** 2026-01-01

## ✅ v0.9 Dock *(completed 2025-12-31)*

## v2.0 \"Sea\" (Planned: 2026-03-01 onwards)

## Known gaps (2026-01-05)
";

#[test]
fn reads_entries_of_all_shapes() {
    let found = parse(SAMPLE.as_bytes());
    let brief: Vec<_> = found
        .iter()
        .map(|m| (m.version.as_str(), m.name.as_str(), m.shipped.as_deref(), m.line))
        .collect();
    assert_eq!(
        brief,
        [
            ("v1.1", "Deep Water", Some("2026-02-01"), 3),
            ("v1.0", "Harbour", Some("2026-01-01"), 16),
            ("v0.9", "Dock", Some("2025-12-31"), 20),
            ("v2.0", "\"Sea\"", None, 22),
        ]
    );
    assert_eq!(
        found[0].counts,
        MilestoneCounts { phases: Some(6), plans: Some(59), tasks: Some(32) }
    );
    assert_eq!(found[0].accomplishments, ["Built the hull", "Rig — done"]);
}

fn shipped<'a>(name: &'a str, accomplishments: &'a [String]) -> ShippedMilestone<'a> {
    ShippedMilestone {
        version: "v3.0",
        name,
        date: "2026-04-01",
        counts: [1, 2, 3],
        accomplishments,
    }
}

#[test]
fn a_first_entry_brings_the_title() {
    let written = append(b"", &shipped("Sky", &[]));
    let expected = "# Milestones\n\n## v3.0 Sky (Shipped: 2026-04-01)\n\n\
        **Phases completed:** 1 phases, 2 plans, 3 tasks\n\n\
        **Key accomplishments:**\n- (none recorded)\n\n---\n";
    assert_eq!(String::from_utf8(written).unwrap(), expected);
}

proptest! {
    #[test]
    fn appending_keeps_what_was_there(
        old in prop::collection::vec(any::<u8>(), 0..80),
        name in "[a-z$&|🚀]{1,12}",
        crlf: bool,
    ) {
        let mut file = if crlf { b"# Milestones\r\n".to_vec() } else { b"# Milestones\n".to_vec() };
        file.extend(old);
        let lines = ["won $1 & $& | \n twice".to_owned()];
        let written = append(&file, &shipped(&name, &lines));
        prop_assert!(written.starts_with(&file));
        let added = String::from_utf8(written[file.len()..].to_vec()).unwrap();
        prop_assert_eq!(added.matches("\r\n").count() == added.matches('\n').count(), crlf);
        let entry = format!("## v3.0 {name} (Shipped: 2026-04-01)");
        prop_assert!(added.contains(&entry));
        prop_assert!(added.contains("- won $1 & $& | twice"));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, text in "(## |v1|\\(|[0-9-]|Shipped: |\n|é)*") {
        parse(&bytes);
        parse(text.as_bytes());
    }
}

#[test]
fn a_file_that_opens_with_a_rule_stays_visible() {
    let shipped = ShippedMilestone {
        version: "v2.0",
        name: "Name",
        date: "2026-01-02",
        counts: [1, 2, 3],
        accomplishments: &[],
    };
    let file = append(b"---\n## v1.0 First\n", &shipped);
    let versions: Vec<_> = parse(&file).into_iter().map(|entry| entry.version).collect();
    assert_eq!(versions, ["v1.0", "v2.0"]);
}

#[test]
fn corpus_files_have_milestones() {
    let files = corpus::files(|name| name == "MILESTONES.md", SAMPLE);
    let (mut entries, mut dated, mut counted) = (0, 0, 0);
    for (path, bytes) in &files {
        let found = parse(bytes);
        assert!(!found.is_empty(), "{path} has no entries");
        entries += found.len();
        dated += found.iter().filter(|m| m.shipped.is_some()).count();
        counted += found.iter().filter(|m| m.counts.plans.is_some()).count();
    }
    let files = files.len();
    corpus::print_line(&format!(
        "milestones: {files} files, {entries} entries, {dated} dated, {counted} counted"
    ));
}
