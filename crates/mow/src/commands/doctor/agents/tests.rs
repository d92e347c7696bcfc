//! What is made of the agents' answers.

use super::*;
use crate::commands::doctor::Level;

fn there(version: &str, login: Login) -> Finding {
    Finding { program: Some("there".into()), version: Probe::Version(version.to_owned()), login }
}

fn absent() -> Finding {
    Finding { program: None, version: Probe::Absent, login: Login::Unknown }
}

#[test]
fn one_agent_is_enough_and_none_is_a_warning() {
    let mut found = vec![absent(); KNOWN.len()];
    let checks = judge(&found, |_| false);
    assert_eq!(checks.len(), 1);
    assert_eq!((checks[0].level, checks[0].advice.len()), (Level::Warn, KNOWN.len()));
    found[1] = there("codex 1.0", Login::Found("OPENAI_API_KEY".to_owned()));
    let checks = judge(&found, |_| false);
    assert!(checks.iter().all(|check| check.level == Level::Ok));
    assert_eq!(checks[0].message, "codex: codex 1.0, logged in by OPENAI_API_KEY");
    assert_eq!(checks[1].message, "not installed: claude, gemini, opencode");
    found[0].version = Probe::Silent("gave no answer".to_owned());
    assert_eq!(judge(&found, |_| false)[0].level, Level::Warn);
}

#[test]
fn a_missing_login_matters_to_those_who_play_a_role() {
    let found = [there("1", Login::Missing)];
    assert_eq!(judge(&found, |_| false)[0].level, Level::Ok);
    let check = &judge(&found, |name| name == "claude")[0];
    assert_eq!((check.level, check.message.as_str()), (Level::Warn, "claude: 1, not logged in"));
    assert_eq!(check.advice, [KNOWN[0].login]);
}
