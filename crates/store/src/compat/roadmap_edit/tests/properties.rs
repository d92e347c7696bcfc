//! Property tests of roadmap edits on generated roadmaps.

use proptest::prelude::*;

use super::{COMPLETE, insert, number, remove, set_progress, text};
use crate::compat::roadmap_edit::NewPhase;

/// A phase with its name and the indexes of the phases it depends on.
#[derive(Clone, Debug)]
struct Model {
    name: String,
    needs: Vec<usize>,
}

fn models() -> impl Strategy<Value = Vec<Model>> {
    let name = "[A-Z][a-z]{1,8}( 20[0-9]{2}-0[1-9]-[0-2][1-9])?";
    let model = (name, prop::collection::vec(0_usize..20, 0..3));
    prop::collection::vec(model, 2..14).prop_map(|models| {
        let tidy = |(at, (name, needs)): (usize, (String, Vec<usize>))| {
            let mut needs: Vec<_> = needs.into_iter().filter(|need| *need < at).collect();
            needs.sort_unstable();
            needs.dedup();
            Model { name, needs }
        };
        models.into_iter().enumerate().map(tidy).collect()
    })
}

/// Renders a roadmap; phase numbers are list positions counted from 1.
fn render(models: &[Model], ending: &str) -> String {
    let mut list = String::new();
    let mut sections = String::new();
    let mut rows = String::new();
    for (at, model) in models.iter().enumerate() {
        let (number, name) = (at + 1, &model.name);
        let needs: Vec<_> = model.needs.iter().map(|need| format!("Phase {}", need + 1)).collect();
        let needs = if needs.is_empty() { "Nothing".to_owned() } else { needs.join(", ") };
        list += &format!("- [ ] **Phase {number}: {name}** - since 2025-0{}-01\n", at % 9 + 1);
        sections += &format!(
            "### Phase {number}: {name}\n**Depends on**: {needs}\n**Plans**: 2 plans\n\
             - [ ] {number:02}-01-PLAN.md: by 20{number:02}-01-02\n\n"
        );
        rows += &format!("| {number}. {name} | 0/{number} | Not started | - |\n");
    }
    let table = "| Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n";
    let whole = format!(
        "# Plan\n\n{list}\n## Details\n\n{sections}## Progress\n\n{table}{rows}\nEnd 03-01\n"
    );
    whole.replace('\n', ending)
}

/// Removes a phase from the list. Phases that depended on it depend on its dependencies instead.
fn without(models: &[Model], removed: usize) -> Vec<Model> {
    let inherited = models[removed].needs.clone();
    let remaining = models.iter().enumerate().filter(|(at, _)| *at != removed);
    let moved = remaining.map(|(_, model)| {
        let mut needs = model.needs.clone();
        if needs.contains(&removed) {
            needs.extend(&inherited);
        }
        needs.retain(|need| *need != removed);
        needs.sort_unstable();
        needs.dedup();
        let needs = needs.into_iter().map(|need| need - usize::from(need > removed)).collect();
        Model { name: model.name.clone(), needs }
    });
    moved.collect()
}

proptest! {
    #[test]
    fn a_removal_gives_the_roadmap_that_never_had_the_phase(
        models in models(), pick in any::<prop::sample::Index>(), windows in any::<bool>(),
    ) {
        let ending = if windows { "\r\n" } else { "\n" };
        let removed = pick.index(models.len());
        let before = render(&models, ending);
        let after = remove(before.as_bytes(), &number(&(removed + 1).to_string())).unwrap();
        // Plan counts belong to the phase, not to its number, so they are not compared.
        let bare = |text: &str| {
            let lines = text.lines().map(|line| match line.split_once(" | 0/") {
                Some((head, _)) => head.to_owned(),
                None => match line.split_once(" - since ").or_else(|| line.split_once(": by ")) {
                    Some((head, _)) => head.to_owned(),
                    None => line.to_owned(),
                },
            });
            lines.collect::<Vec<_>>()
        };
        prop_assert_eq!(bare(&text(after)), bare(&render(&without(&models, removed), ending)));
    }

    #[test]
    fn what_was_added_last_is_removed_without_a_trace(models in models()) {
        let before = render(&models, "\n");
        let count = u32::try_from(models.len()).unwrap();
        let new = NewPhase {
            number: mow_core::phase::PhaseNumber::whole(count + 1),
            name: "New",
            after: Some(mow_core::phase::PhaseNumber::whole(count)),
            inserted: false,
        };
        let added = insert(before.as_bytes(), &new);
        prop_assert_eq!(text(remove(&added, &new.number).unwrap()), before);
    }

    #[test]
    fn progress_changes_three_lines_of_one_phase(models in models(), pick in any::<prop::sample::Index>()) {
        let at = pick.index(models.len());
        let before = render(&models, "\n");
        let after = text(set_progress(before.as_bytes(), &number(&format!("{:02}", at + 1)), &COMPLETE));
        let changed: Vec<_> = before.lines().zip(after.lines()).filter(|(old, new)| old != new).collect();
        prop_assert_eq!(changed.len(), 3);
        prop_assert_eq!(before.lines().count(), after.lines().count());
        let starts = format!("| {}. ", at + 1);
        prop_assert!(changed[2].1.starts_with(&starts));
    }

    #[test]
    fn no_bytes_make_an_edit_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), lines in "((#{1,4} |- \\[[ x]\\] |\\| )?(\\*\\*)?Phase [0-9.]{1,4}(: |-|\\|)?[a-z \\-|\n]{0,9}(\n|---\n|\\*\\*Depends on\\*\\*: Phase 1)?){0,9}") {
        let mut all = lines.into_bytes();
        all.extend(bytes);
        for asked in ["1", "2.1"] {
            let _ = remove(&all, &number(asked));
            let _ = set_progress(&all, &number(asked), &COMPLETE);
            for inserted in [true, false] {
                let new = NewPhase { number: number("1.1"), name: "x", after: Some(number("1")), inserted };
                let _ = insert(&all, &new);
            }
        }
    }
}
