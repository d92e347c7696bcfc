//! A scripted language model on a local port, for tests with real coding agents.
//!
//! One port speaks the four protocols that agents use. The answer depends on the request alone. The
//! last `[[script:NAME]]` in the user's messages names the script, or [`Script::when`] selects it. The
//! step is the number of assistant turns since. So many agents can share one server, and an agent that
//! was killed and resumed continues where it was. Only scripted failures are counted ([`Step::fails`]),
//! and [`Step::hold`] delays a request until the test releases it.
//!
//! The server must never panic because of a request, nor answer a request that no script fits.

mod anthropic;
mod chat;
mod conversation;
mod gemini;
mod http;
mod responses;
mod scripts;
mod server;
mod tools;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use server::ServerState;

pub use conversation::Protocol;
pub use scripts::{Portable, Script, Step, TokenCounts, Tool};

/// A running server. Dropping it ends the server and its connections.
#[derive(Debug)]
pub struct ScriptedLlm {
    state: Arc<ServerState>,
    accepting: Option<JoinHandle<()>>,
}

/// A request as the server understood it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The protocol, by the path; `None` for requests that are not prompts.
    pub protocol: Option<Protocol>,
    /// The HTTP method; usually `POST`.
    pub method: String,
    /// The path with its query. Without a leading `/` it is the target of a proxy request.
    pub path: String,
    /// The script that answers it.
    pub script: Option<String>,
    /// The step of the script, from 0.
    pub step: usize,
    /// The model that was asked for.
    pub model: String,
    /// The names of the tools that were offered.
    pub tools: Vec<String>,
    /// The system prompt.
    pub system: String,
    /// All texts of the user, in order.
    pub user: String,
    /// The results of the tools, in order.
    pub results: Vec<String>,
    /// Whether the request carried a key or token.
    pub has_auth: bool,
    /// Why the server refused the request: it is malformed or no script fits. `None` when accepted.
    pub refused: Option<String>,
}

impl ScriptedLlm {
    /// Starts a server with these scripts.
    pub fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        let (state, accepting) = server::start(scripts.into_iter().collect());
        Self { state, accepting: Some(accepting) }
    }

    /// Appends a script.
    pub fn add(&self, script: Script) {
        self.state.shared().scripts.push(script);
    }

    /// The base URL: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.state.port
    }

    /// All requests so far; only the last 4096 are kept.
    pub fn requests(&self) -> Vec<Request> {
        self.state.shared().requests.iter().cloned().collect()
    }

    /// The requests, one per line, for assertion messages.
    pub fn transcript(&self) -> String {
        self.state.shared().transcript()
    }

    /// Waits for a request, including past ones; panics after the timeout.
    #[track_caller]
    pub fn wait_for(&self, wanted: impl Fn(&Request) -> bool, timeout: Duration) -> Request {
        let end = Instant::now() + timeout;
        let mut shared = self.state.shared();
        loop {
            if let Some(request) = shared.requests.iter().find(|request| wanted(request)) {
                return request.clone();
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no such request in {timeout:?}; {}", shared.transcript());
            shared = self.state.wait(shared, left);
        }
    }

    /// Answers all requests that are held under this name, now and in the future.
    pub fn release(&self, name: &str) {
        self.state.shared().released.insert(name.to_owned());
        self.state.changed.notify_all();
    }
}

impl Drop for ScriptedLlm {
    fn drop(&mut self) {
        self.state.close();
        if let Some(accepting) = self.accepting.take() {
            accepting.join().ok();
        }
    }
}

#[cfg(test)]
mod tests;
