//! Model lookups by agent and profile.

use super::*;

#[test]
fn every_profile_has_its_column() {
    let models = |profile| model_of("mow-planner", profile).map(inherited_name);
    assert_eq!(models("quality"), Some("inherit"));
    assert_eq!(models("budget"), Some("sonnet"));
    assert_eq!(model_of("mow-codebase-mapper", "quality"), Some("sonnet"));
    assert_eq!(model_of("mow-codebase-mapper", "balanced"), Some("haiku"));
    assert_eq!(model_of("mow-verifier", "no such"), model_of("mow-verifier", "balanced"));
}

#[test]
fn gsd_names_are_accepted_and_unknown_names_have_no_model() {
    assert_eq!(model_of("gsd-executor", "quality"), model_of("mow-executor", "quality"));
    assert_eq!(model_of("executor", "quality"), None);
    assert_eq!(model_of("mow-nobody", "quality"), None);
}
