//! What passes, and what must not.

use super::*;

fn check(name: &str, named: &[&str]) -> bool {
    let named: Vec<_> = named.iter().map(|name| (*name).to_owned()).collect();
    !select([(name.into(), "value".into())], &named).is_empty()
}

#[test]
fn what_an_agent_needs_passes() {
    for name in [
        "PATH",
        "HOME",
        "LC_ALL",
        "XDG_DATA_HOME",
        "ANTHROPIC_API_KEY",
        "OPENAI_BASE_URL",
        "GEMINI_API_KEY",
        "GOOGLE_CLOUD_PROJECT",
        "https_proxy",
        "CODEX_HOME",
        "CLAUDE_CONFIG_DIR",
        "MOW_TOKEN",
        "GIT_AUTHOR_EMAIL",
    ] {
        assert!(check(name, &[]), "{name}");
    }
}

#[test]
fn secrets_and_traces_of_other_sessions_do_not() {
    for name in [
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "DATABASE_URL",
        "CLAUDECODE",
        "CLAUDE_PID",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "LD_PRELOAD",
        "NODE_OPTIONS",
        "PATHS",
    ] {
        assert!(!check(name, &[]), "{name}");
    }
}

#[test]
fn what_is_named_passes() {
    assert!(check("AWS_REGION", &["AWS_REGION"]) && check("AWS_REGION", &["X", "AWS_*"]));
    assert!(!check("AWS_REGION", &["AWS_"]) && !check("AWS_REGION", &["AWS_REGIO"]));
}
