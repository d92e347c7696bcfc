//! The arguments of the task, and that every target can be built and has a corpus.

use super::*;

fn arguments(line: &str) -> Result<(Option<String>, u32)> {
    parse_arguments(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

#[test]
fn arguments_choose_a_target_and_the_seconds() {
    assert_eq!(arguments("").expect("fine"), (None, SECONDS_DEFAULT));
    assert_eq!(arguments("text --seconds 5").expect("fine"), (Some("text".to_owned()), 5));
    for wrong in ["text roadmap", "--seconds", "--seconds x", "--fast"] {
        assert!(arguments(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn every_target_is_declared_and_has_a_corpus() {
    let fuzz = repo::root().join("fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).expect("the manifest is there");
    let targets = targets().expect("the targets can be listed");
    assert!(!targets.is_empty());
    for target in targets {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
        assert!(fuzz.join("corpus").join(&target).is_dir(), "{target}");
    }
}
