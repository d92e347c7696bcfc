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

fn agent_dir() -> (tempfile::TempDir, AgentDir) {
    let dir = tempfile::tempdir().expect("temporary directories can be made");
    let npm = dir.path().join("npm.sh");
    fs::write(&npm, NPM).expect("files can be written");
    let home = dir.path().join("agents");
    (dir, AgentDir { home, npm: vec!["sh".into(), npm.into()] })
}

fn calls(agents: &AgentDir) -> usize {
    fs::read_to_string(agents.home.join("calls")).map_or(0, |calls| calls.lines().count())
}

#[test]
fn they_are_installed_once_and_again_for_other_pins() {
    let (_dir, agents) = agent_dir();
    assert!(agents.check().is_err(), "nothing is there yet");
    agents.ensure().unwrap();
    assert_eq!(calls(&agents), 2, "node, then the agents");
    agents.check().unwrap();
    agents.ensure().unwrap();
    assert_eq!(calls(&agents), 2);
    fs::write(agents.home.join(STAMP), "claude@0\n").unwrap();
    agents.ensure().unwrap();
    assert_eq!(calls(&agents), 4);
}

#[test]
fn what_was_cut_off_does_not_count() {
    let (_dir, agents) = agent_dir();
    fs::create_dir_all(&agents.home).unwrap();
    fs::write(agents.home.join("broken"), "").unwrap();
    assert!(agents.ensure().unwrap_err().to_string().contains("npm could not"));
    assert!(!agents.is_installed());
    fs::remove_file(agents.home.join("broken")).unwrap();
    agents.ensure().unwrap();
    assert!(agents.is_installed());
}

#[test]
fn another_version_is_refused_by_name() {
    let (_dir, agents) = agent_dir();
    agents.ensure().unwrap();
    let gemini = agents.bin().join("gemini");
    let text = fs::read_to_string(&gemini).unwrap().replace("0.61.0", "0.61.01");
    let other = agents.bin().join("other");
    fs::write(&other, text).unwrap();
    // By another process, so that nobody here holds it open while it is run.
    let mut copy = Command::new("cp");
    assert!(copy.arg(&other).arg(&gemini).status().unwrap().success());
    let error = agents.check().unwrap_err().to_string();
    assert!(error.starts_with("gemini is \"v0.61.01 (scripted)\" and not 0.61.0;"), "{error}");
}

#[test]
fn two_at_once_install_once() {
    let (_dir, agents) = agent_dir();
    thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| agents.ensure()));
        both.into_iter().for_each(|one| one.join().unwrap().unwrap());
    });
    assert_eq!(calls(&agents), 2);
}
