//! Tests of which milestone is the current one.

use super::{current_milestone, phases_in_progress};

fn current(text: &str) -> (String, String) {
    let found = current_milestone(text.as_bytes());
    (found.version, found.name)
}

fn pair(version: &str, name: &str) -> (String, String) {
    (version.to_owned(), name.to_owned())
}

#[test]
fn d22_the_milestone_in_progress_counts_and_names_itself() {
    let list = "## Milestones\n\n- ✅ **v1.0 MVP** - Phases 1-4 (shipped 2025-01-02)\n\
                - 🚧 **v1.1 Next Thing** - Phases 5-6 (in progress)\n- 📋 **v2.0 Later** - planned\n";
    assert_eq!(current(list), pair("v1.1", "Next Thing"));
    let headings = "# Roadmap\n\nSince v0.9 we plan.\n\n## v1.0 First (Shipped 2025-01-02)\n\n\
                    ### v1.1: Second Thing (In Progress)\n";
    assert_eq!(current(headings), pair("v1.1", "Second Thing"));
    assert_eq!(current("### 🚧 v1.4 Richer — IN PROGRESS\n"), pair("v1.4", "Richer"));
}

#[test]
fn the_first_that_has_not_shipped_is_next() {
    let text = "- ✅ **v1.0 One** - Phases 1-2 (shipped 2025-01-02)\n- 📋 **v1.1 Two** - Phases 3\n\
                - 📋 **v1.2 Three** - Phase 4\n";
    assert_eq!(current(text), pair("v1.1", "Two"));
    let collapsed = "<details>\n<summary>✅ v1.0 One (Phases 1-2) - SHIPPED 2025-01-02</summary>\n\
                  </details>\n\n### v1.1 Two\n";
    assert_eq!(current(collapsed), pair("v1.1", "Two"));
}

#[test]
fn the_newest_counts_when_all_have_shipped() {
    let text = "- ✅ **v1.10 Ten** (shipped)\n- ✅ **v1.9 Nine** (shipped)\n";
    assert_eq!(current(text), pair("v1.10", "Ten"));
}

#[test]
fn without_milestones_the_title_or_a_default_is_used() {
    assert_eq!(current("# Roadmap v2.0: Payments (draft)\n"), pair("v2.0", "Payments"));
    assert_eq!(current("# Roadmap\n\nThis is v0.3 of it.\n"), pair("v0.3", "milestone"));
    assert_eq!(current(""), pair("v1.0", "milestone"));
    assert_eq!(current("# Acme v1.2 Roadmap\n"), pair("v1.2", "milestone"));
    assert_eq!(current("### Phase 3: Serve v2.1 clients\n"), pair("v2.1", "milestone"));
}

#[test]
fn d23_an_emoji_does_not_hide_the_heading_and_the_list_ends_at_its_level() {
    let text = "## Phases\n\n### 🚧 v1.1 Next (In Progress)\n\n- [x] **Phase 5: Five** - a\n\
                - [ ] **Phase 6.1: Six** - b\n- [ ] Phase 7: not bold\n\n#### Notes\n\n\
                - [ ] **Phase 8: Eight**\n\n### v1.2 Later\n\n- [ ] **Phase 9: Nine**\n";
    let phases = phases_in_progress(text.as_bytes()).unwrap();
    let shown: Vec<_> = phases.iter().map(|phase| (phase.written.as_str(), phase.done)).collect();
    assert_eq!(shown, [("5", true), ("6.1", false), ("8", false)]);
    assert_eq!(phases[1].name, "Six");
    assert_eq!(phases_in_progress(b"### v1.1 Next\n\n- [ ] **Phase 5: Five**\n"), None);
}
