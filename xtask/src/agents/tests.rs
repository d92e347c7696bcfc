//! Installing with a stand-in for npm: once, whole, and by one at a time.

use super::*;
use std::thread;

/// Makes the programs with the versions that it is told, and notes that it was called.
const NPM: &str = r#"
echo "$@" >> calls
test ! -e broken || exit 1
mkdir -p node_modules/.bin
for word in "$@"; do
    case $word in
        @anthropic-ai/*) name=claude ;;
        @openai/*) name=codex ;;
        @google/*) name=gemini ;;
        opencode-ai@*) name=opencode ;;
        node@*) name=node ;;
        *) continue ;;
    esac
    printf '#!/bin/sh\necho "v%s (scripted)"\n' "${word##*@}" > node_modules/.bin/$name
    chmod +x node_modules/.bin/$name
done
"#;

fn place() -> (tempfile::TempDir, Place) {
    let dir = tempfile::tempdir().expect("temporary directories can be made");
    let npm = dir.path().join("npm.sh");
    fs::write(&npm, NPM).expect("files can be written");
    let home = dir.path().join("agents");
    (dir, Place { home, npm: vec!["sh".into(), npm.into()] })
}

fn calls(place: &Place) -> usize {
    fs::read_to_string(place.home.join("calls")).map_or(0, |calls| calls.lines().count())
}

#[test]
fn they_are_installed_once_and_again_for_other_pins() {
    let (_dir, place) = place();
    assert!(place.check().is_err(), "nothing is there yet");
    place.ensure().unwrap();
    assert_eq!(calls(&place), 2, "node, then the agents");
    place.check().unwrap();
    place.ensure().unwrap();
    assert_eq!(calls(&place), 2);
    fs::write(place.home.join(STAMP), "claude@0\n").unwrap();
    place.ensure().unwrap();
    assert_eq!(calls(&place), 4);
}

#[test]
fn what_was_cut_off_does_not_count() {
    let (_dir, place) = place();
    fs::create_dir_all(&place.home).unwrap();
    fs::write(place.home.join("broken"), "").unwrap();
    assert!(place.ensure().unwrap_err().to_string().contains("npm could not"));
    assert!(!place.is_installed());
    fs::remove_file(place.home.join("broken")).unwrap();
    place.ensure().unwrap();
    assert!(place.is_installed());
}

#[test]
fn another_version_is_refused_by_name() {
    let (_dir, place) = place();
    place.ensure().unwrap();
    let gemini = place.bin().join("gemini");
    let text = fs::read_to_string(&gemini).unwrap().replace("0.61.0", "0.61.01");
    let other = place.bin().join("other");
    fs::write(&other, text).unwrap();
    // By another process, so that nobody here holds it open while it is run.
    let mut copy = Command::new("cp");
    assert!(copy.arg(&other).arg(&gemini).status().unwrap().success());
    let error = place.check().unwrap_err().to_string();
    assert!(error.starts_with("gemini is \"v0.61.01 (scripted)\" and not 0.61.0;"), "{error}");
}

#[test]
fn two_at_once_install_once() {
    let (_dir, place) = place();
    thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| place.ensure()));
        both.into_iter().for_each(|one| one.join().unwrap().unwrap());
    });
    assert_eq!(calls(&place), 2);
}
