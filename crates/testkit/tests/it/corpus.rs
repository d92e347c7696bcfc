//! Replays the fuzz corpus, so that fixed findings stay fixed on machines that never fuzz.

use std::fs;
use std::path::Path;

use mow_testkit::checks::TARGETS;

#[test]
fn every_input_of_the_corpus_passes_its_check() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for (name, check) in TARGETS {
        let folder = fuzz.join("corpus").join(name);
        let mut count = 0;
        for entry in fs::read_dir(&folder).expect("every target has a corpus") {
            let path = entry.expect("the corpus can be listed").path();
            let bytes = fs::read(&path).expect("the corpus can be read");
            // A failing check does not name its input.
            println!("{}", path.display());
            check(&bytes);
            count += 1;
        }
        assert!(count > 0, "the corpus of {name} is empty");
        assert!(fuzz.join(format!("fuzz_targets/{name}.rs")).exists(), "{name} has no target");
    }
}
