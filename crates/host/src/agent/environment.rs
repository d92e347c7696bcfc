//! Selects the environment variables that an agent gets: those to run, log in and reach its model.
//!
//! All other variables are dropped, so that no secret of the user's shell ends up in a prompt.

use std::ffi::OsString;

/// Variables that pass by their exact name.
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
    // To log in. Other variables of Claude Code describe the session that mow itself may run in.
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

/// Variables that pass by the prefix of their name.
const PREFIXES: &[&str] = &["LC_", "XDG_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "MOW_"];

/// Returns the variables that an agent gets; `extra` holds further names from the configuration.
///
/// A name that ends with `*` is a prefix.
pub fn select(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    extra: &[String],
) -> Vec<(OsString, OsString)> {
    let is_extra = |name: &str| {
        extra.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == wanted,
        })
    };
    let passes = |name: &str| {
        NAMES.contains(&name) || PREFIXES.iter().any(|b| name.starts_with(b)) || is_extra(name)
    };
    // A name that is not UTF-8 is never selected.
    all.into_iter().filter(|(name, _)| name.to_str().is_some_and(passes)).collect()
}

#[cfg(test)]
mod tests;
