//! The checks that `doctor` derives from the detected agents.

use super::*;
use crate::commands::doctor::CheckLevel;

fn installed(version: &str, login: LoginState) -> DetectedAgent {
    DetectedAgent {
        program: Some("agent".into()),
        version: ProbeResult::Version(version.to_owned()),
        login,
    }
}

fn not_installed() -> DetectedAgent {
    DetectedAgent { program: None, version: ProbeResult::NotFound, login: LoginState::Unknown }
}

#[test]
fn one_installed_agent_is_enough_and_none_is_a_warning() {
    let mut detected = vec![not_installed(); AGENT_PROGRAMS.len()];
    let checks = check_detected(&detected, |_| false);
    assert_eq!(checks.len(), 1);
    assert_eq!((checks[0].level, checks[0].advice.len()), (CheckLevel::Warn, AGENT_PROGRAMS.len()));
    detected[1] = installed("codex 1.0", LoginState::Found("OPENAI_API_KEY".to_owned()));
    let checks = check_detected(&detected, |_| false);
    assert!(checks.iter().all(|check| check.level == CheckLevel::Ok));
    assert_eq!(checks[0].message, "codex: codex 1.0, logged in with OPENAI_API_KEY");
    assert_eq!(checks[1].message, "not installed: claude, gemini, opencode");
    detected[0].version = ProbeResult::NoVersion("gave no answer".to_owned());
    assert_eq!(check_detected(&detected, |_| false)[0].level, CheckLevel::Warn);
}

#[test]
fn a_missing_login_is_a_warning_only_for_a_configured_agent() {
    let detected = [installed("1", LoginState::Missing)];
    assert_eq!(check_detected(&detected, |_| false)[0].level, CheckLevel::Ok);
    let check = &check_detected(&detected, |name| name == "claude")[0];
    assert_eq!(
        (check.level, check.message.as_str()),
        (CheckLevel::Warn, "claude: 1, not logged in")
    );
    assert_eq!(check.advice, [AGENT_PROGRAMS[0].login]);
}
