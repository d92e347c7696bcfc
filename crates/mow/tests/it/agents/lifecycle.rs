//! Tests a complete phase, from the first question to the merge.

use mow_testkit::planned_project::{ALL, phase};

use super::{AgentAssignment, AgentRunFixture, successful_phase_scripts};

#[test]
fn a_phase_runs_from_its_first_question_to_its_merge() {
    let fixture = AgentRunFixture::new(
        &AgentAssignment::default(),
        &[phase("1", &[]).without_context()],
        successful_phase_scripts(),
    );
    let project = &fixture.project;
    project.exits_with(&ALL, 5);
    let questions = fixture.open_questions();
    let question = questions[0]["question"].as_str().expect("it asks").to_owned();
    assert!(questions.len() == 1 && question == "Crop: What shall grow?", "{questions:?}");
    fixture.answer(&questions[0], "oats");
    project.run_all();
    project.assert_consistent();
    let context = project.git(&["show", "main:.planning/phases/01-field-1/01-CONTEXT.md"]);
    assert!(context.contains("oats") && context.contains("What shall grow?"), "{context}");
    assert_eq!(project.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    for document in ["01-RESEARCH.md", "01-01-SUMMARY.md", "01-VERIFICATION.md"] {
        project.git(&["show", &format!("main:.planning/phases/01-field-1/{document}")]);
    }
    assert_eq!(project.trailers("Mow-Task").len(), 2);
}
