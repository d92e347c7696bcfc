//! Which variables an agent gets of those around it: what it needs to run, to log in, and to reach its
//! model. Nothing else, so that no secret of a shell ends in a prompt.

use std::ffi::OsString;

/// What passes by its name.
const NAMES: &[&str] = &[
    // To run.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TZ",
    "TMPDIR",
    // To fetch and commit as the user does.
    "SSH_AUTH_SOCK",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    // To log in. Other variables of Claude Code tell of a session around us, which is not the agent's.
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CODEX_HOME",
    // To reach the model.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// What passes by the beginning of its name.
const BEGINNINGS: &[&str] = &["LC_", "XDG_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "MOW_"];

/// Returns those variables that an agent gets; `named` are further names, such as configuration gives.
///
/// A name that ends with `*` stands for all that begin like it.
pub fn select(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    named: &[String],
) -> Vec<(OsString, OsString)> {
    let is_named = |name: &str| {
        named.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == wanted,
        })
    };
    let passes = |name: &str| {
        NAMES.contains(&name) || BEGINNINGS.iter().any(|b| name.starts_with(b)) || is_named(name)
    };
    // A name that is not text is none of these.
    all.into_iter().filter(|(name, _)| name.to_str().is_some_and(passes)).collect()
}

#[cfg(test)]
mod tests;
