//! A language model that says what a script says, on a port of this machine, for real coding agents.
//!
//! One port speaks the four protocols that agents use. What it answers follows from the request alone:
//! the script is named by the last `[[script:NAME]]` in what the user said, or found by what its
//! [`Script::when`] asks for; the step is the number of assistant turns since. So many agents may share
//! one server, and one that was killed and resumed goes on where it was. Only scripted failures are
//! counted ([`Step::fails`]), and [`Step::hold`] stops a request until the test lets it go.
//!
//! It must never panic because of a request, nor answer one that a script does not fit as if it did.

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

use server::State;

pub use conversation::Protocol;
pub use scripts::{Portable, Script, Step, Tool, Usage};

/// A running server. It ends with the value, and so do the connections to it.
#[derive(Debug)]
pub struct ScriptedLlm {
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

/// A request as the server understood it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What was spoken, by its path; `None` for requests that are no prompts.
    pub protocol: Option<Protocol>,
    /// `POST`, mostly.
    pub method: String,
    /// The path with its query. Without a `/` in front it is what a proxy was asked to reach.
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
    /// All that was said by the user, in order.
    pub user: String,
    /// What came of the tools, in order.
    pub results: Vec<String>,
    /// Whether there was a key or token.
    pub has_auth: bool,
    /// Why it was refused, if it was: a request that is malformed or that no script fits.
    pub refused: Option<String>,
}

impl ScriptedLlm {
    /// Starts a server with these scripts.
    pub fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        let (state, accepting) = server::start(scripts.into_iter().collect());
        Self { state, accepting: Some(accepting) }
    }

    /// Adds a script behind the others.
    pub fn add(&self, script: Script) {
        self.state.scene().scripts.push(script);
    }

    /// Where it can be reached: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.state.port
    }

    /// Every request so far, as long as they were not too many.
    pub fn requests(&self) -> Vec<Request> {
        self.state.scene().requests.iter().cloned().collect()
    }

    /// The requests, one a line, for messages.
    pub fn transcript(&self) -> String {
        self.state.scene().transcript()
    }

    /// Waits for a request, one of the past included; ends the test when there is none in time.
    #[track_caller]
    pub fn wait_for(&self, wanted: impl Fn(&Request) -> bool, timeout: Duration) -> Request {
        let end = Instant::now() + timeout;
        let mut scene = self.state.scene();
        loop {
            if let Some(request) = scene.requests.iter().find(|request| wanted(request)) {
                return request.clone();
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no such request in {timeout:?}; {}", scene.transcript());
            scene = self.state.wait(scene, left);
        }
    }

    /// Answers the requests that are held by this name, now and from now on.
    pub fn let_go(&self, name: &str) {
        self.state.scene().let_go.insert(name.to_owned());
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
