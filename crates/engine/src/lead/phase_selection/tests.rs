//! Tests the selection of phases, and rereading the roadmap during a run.

#![expect(clippy::disallowed_methods, reason = "tests make their own files")]

use mow_core::lead::Input;
use mow_core::machine::step;
use tempfile::TempDir;

use super::*;

fn project(roadmap: &str) -> (TempDir, Project) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".planning")).unwrap();
    fs::write(dir.path().join(".planning/ROADMAP.md"), roadmap).unwrap();
    let project = Project::find(dir.path()).unwrap();
    (dir, project)
}

fn section(number: &str, on: &str) -> String {
    format!("### Phase {number}: Part {number}\n\n**Goal**: x\n**Depends on**: {on}\n\n")
}

fn diamond() -> String {
    let boxes = "- [x] **Phase 1: Part 1**\n- [ ] **Phase 2: Part 2**\n- [ ] **Phase 3: Part 3**\n- [ ] **Phase 4: Part 4**\n\n";
    format!(
        "# Roadmap\n\n{boxes}## Phase Details\n\n{}{}{}{}",
        section("1", "Nothing"),
        section("2", "Phase 1"),
        section("3", "Phase 1"),
        section("4", "Phase 2, Phase 3")
    )
}

fn numbers(phases: &[PhaseSpec]) -> Vec<String> {
    phases.iter().map(|spec| spec.number.to_string()).collect()
}

fn number(text: &str) -> PhaseNumber {
    PhaseNumber::parse(text).unwrap()
}

#[test]
fn selects_all_ready_or_named_phases() {
    let (_dir, project) = project(&diamond());
    assert_eq!(
        numbers(&select_phases(&project, &PhaseChoice::All).unwrap().phases),
        ["2", "3", "4"]
    );
    assert_eq!(
        numbers(&select_phases(&project, &PhaseChoice::AllReady).unwrap().phases),
        ["2", "3"]
    );
    let named = PhaseChoice::Named(vec![number("1"), number("4")]);
    let chosen = select_phases(&project, &named).unwrap();
    assert_eq!(numbers(&chosen.phases), ["4"]);
    assert_eq!(chosen.done, [number("1")]);
    assert_eq!(chosen.unmet, [(number("4"), vec![number("2"), number("3")])]);
    assert!(
        chosen.phases[0].depends_on.is_empty(),
        "a phase does not wait for phases that are not selected"
    );
}

#[test]
fn refuses_unknown_phases_and_dependency_cycles() {
    let (_dir, planned) = project(&diamond());
    let unknown = select_phases(&planned, &PhaseChoice::Named(vec![number("9")])).unwrap_err();
    assert!(unknown.to_string().contains("no phase 9"), "{unknown}");
    let circle = format!("# Roadmap\n\n{}{}", section("1", "Phase 2"), section("2", "Phase 1"));
    let (_dir, planned) = project(&circle);
    let error = select_phases(&planned, &PhaseChoice::All).unwrap_err();
    assert!(error.to_string().contains("1 → 2 → 1"), "{error}");
}

#[test]
fn rereading_the_roadmap_changes_waiting_phases_only() {
    let (dir, project) = project(&diamond());
    let chosen = select_phases(&project, &PhaseChoice::All).unwrap();
    let (mut lead, mut plans) = (Lead::default(), PlanFileCache::default());
    let begin = Input::Begin { run: "r".into(), target: "main".into(), tip: "c".into() };
    step(&mut lead, Some(&begin), 1);
    let (scope, phases) = reread(&project, &lead, &chosen, &mut plans).unwrap();
    assert_eq!(
        (scope, numbers(&phases)),
        (RunScope::All, vec!["2".into(), "3".into(), "4".into()])
    );
    step(&mut lead, Some(&Input::Roadmap { scope, phases }), 2);
    let edited = diamond().replace("Phase 2, Phase 3", "Phase 2") + &section("5", "Phase 3");
    fs::write(dir.path().join(".planning/ROADMAP.md"), edited).unwrap();
    let (_, phases) = reread(&project, &lead, &chosen, &mut plans).unwrap();
    assert_eq!(numbers(&phases), ["2", "3", "4", "5"]);
    assert_eq!(phases[2].depends_on, [number("2")]);
    // Phase 2 is being prepared by now, so it keeps its specification.
    assert_eq!(phases[0], lead.phases[&number("2")].spec);
    fs::write(dir.path().join(".planning/ROADMAP.md"), "# Nothing of use\n").unwrap();
    let (_, phases) = reread(&project, &lead, &chosen, &mut plans).unwrap();
    assert_eq!(numbers(&phases), ["2"], "a started phase stays in the run");
}

#[test]
fn a_changed_plan_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut cache) = (dir.path().join("01-01-PLAN.md"), PlanFileCache::default());
    let write = |file: &str, age: u64| {
        fs::write(&path, format!("---\nfiles_modified: [{file}]\n---\n")).unwrap();
        let at = std::time::SystemTime::now() - Duration::from_secs(age);
        fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
    };
    for (file, age) in [("a", 60), ("b", 60), ("c", 0), ("d", 0), ("e", 60)] {
        write(file, age);
        assert_eq!(cache.files_of(&path), [file]);
        assert_eq!(cache.files_of(&path), [file]);
        assert_eq!(
            cache.0.len(),
            usize::from(age > 0),
            "only files with a reliable stamp are cached"
        );
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(cache.files_of(&path), [""; 0]);
}
