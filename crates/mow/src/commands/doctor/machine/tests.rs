//! Versions and what is made of the agents' answers.

use super::*;
use crate::commands::doctor::Level;

#[test]
fn versions_of_git_are_read_in_all_its_spellings() {
    assert_eq!(parse_version("git version 2.47.3"), Some((2, 47)));
    assert_eq!(parse_version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
    assert_eq!(parse_version("git version 2.41.0.windows.1"), Some((2, 41)));
    assert_eq!(parse_version("git version 2.50-rc1"), Some((2, 50)));
    assert_eq!(parse_version("git"), None);
    assert!((2, 100) > GIT_MIN && (2, 40) < GIT_MIN);
}

#[test]
fn one_agent_is_enough_and_none_is_a_warning() {
    let none = [Probe::Absent, Probe::Absent, Probe::Absent, Probe::Absent];
    let checks = judge_agents(&none);
    assert_eq!(checks.len(), 1);
    assert_eq!((checks[0].level, checks[0].advice.len()), (Level::Warn, AGENTS.len()));
    let mut one = none;
    one[1] = Probe::Version("codex 1.0".to_owned());
    let checks = judge_agents(&one);
    assert!(checks.iter().all(|check| check.level == Level::Ok));
    assert_eq!(checks[0].message, "codex: codex 1.0");
    assert_eq!(checks[1].message, "not installed: claude, opencode, gemini");
    one[0] = Probe::Silent("gave no answer".to_owned());
    assert_eq!(judge_agents(&one)[0].level, Level::Warn);
}
