//! Tests of which variables an agent gets and which not.

use super::*;

fn passes(name: &str, extra: &[&str]) -> bool {
    let extra: Vec<_> = extra.iter().map(|name| (*name).to_owned()).collect();
    !select([(name.into(), "value".into())], &extra).is_empty()
}

#[test]
fn variables_that_an_agent_needs_pass() {
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
        assert!(passes(name, &[]), "{name}");
    }
}

#[test]
fn secrets_and_variables_of_other_sessions_are_dropped() {
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
        assert!(!passes(name, &[]), "{name}");
    }
}

#[test]
fn configured_names_and_prefixes_pass() {
    assert!(passes("AWS_REGION", &["AWS_REGION"]) && passes("AWS_REGION", &["X", "AWS_*"]));
    assert!(!passes("AWS_REGION", &["AWS_"]) && !passes("AWS_REGION", &["AWS_REGIO"]));
}
