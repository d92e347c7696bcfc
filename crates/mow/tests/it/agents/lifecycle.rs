//! A whole phase, from the first question to the merge.

use mow_testkit::field::{ALL, phase};

use super::{Casting, Scene, good};

#[test]
fn a_phase_goes_from_its_first_question_to_its_merge() {
    let scene = Scene::new(&Casting::default(), &[phase("1", &[]).undiscussed()], good());
    let field = &scene.field;
    field.ends(&ALL, 5);
    let open = scene.open();
    let question = open[0]["question"].as_str().expect("it asks").to_owned();
    assert!(open.len() == 1 && question == "Crop: What shall grow?", "{open:?}");
    scene.answer(&open[0], "oats");
    field.run_all();
    field.inspect();
    let context = field.git(&["show", "main:.planning/phases/01-field-1/01-CONTEXT.md"]);
    assert!(context.contains("oats") && context.contains("What shall grow?"), "{context}");
    assert_eq!(field.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    for paper in ["01-RESEARCH.md", "01-01-SUMMARY.md", "01-VERIFICATION.md"] {
        field.git(&["show", &format!("main:.planning/phases/01-field-1/{paper}")]);
    }
    assert_eq!(field.trailers("Mow-Task").len(), 2);
}
