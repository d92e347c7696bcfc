//! Speaks JSON-RPC with an agent: calls in both directions, told apart and answered.
//!
//! It knows nothing of what is called. Whoever speaks with an agent is a [`Talk`]; while it waits for an
//! answer, everything else that the agent says is dealt with as it comes.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pump::{Ending, Heard, Pump};
use super::{AgentError, Ask, Counterpart, Event, Job, Reply, Trouble};
use crate::stop::Stop;

/// How long an agent may take to stop what it does.
pub(super) const STOPS_WITHIN: Duration = Duration::from_secs(3);
/// What agents answer that are not logged in.
const AUTH_REQUIRED: i64 = -32000;
/// What a method that is not there is answered with.
const NO_SUCH_METHOD: i64 = -32601;

/// The line to an agent.
pub(super) struct Rpc {
    pub(super) pump: Pump,
    /// Whether messages say which JSON-RPC they are.
    is_versioned: bool,
    calls: u64,
}

/// What came of waiting.
pub(super) enum Answer {
    /// What was called for.
    Got(Value),
    /// It was refused.
    Refused(Refusal),
    /// All is over before that.
    Over(Ending),
    /// It is to stop.
    Stopped,
    /// The time was over.
    Nothing,
}

/// Why a call was refused.
pub(super) struct Refusal {
    pub(super) code: i64,
    /// The status of what its model answered, where the agent passes that on.
    pub(super) status: Option<u16>,
    pub(super) text: String,
}

/// Someone who speaks with an agent.
pub(super) trait Talk {
    fn rpc(&mut self) -> &mut Rpc;
    fn counterpart(&mut self) -> &mut dyn Counterpart;
    /// Answers a call of the agent's; returns how it all ends, if it does.
    fn requested(&mut self, call: &Call<'_>) -> Result<Option<Ending>, AgentError>;
    /// Takes something that wants no answer; returns how it all ends, if it does.
    fn noticed(&mut self, method: &str, params: &Value) -> Result<Option<Ending>, AgentError>;

    /// Asks, and does not count the time.
    fn ask(&mut self, ask: &Ask) -> Reply {
        let start = Instant::now();
        let reply = self.counterpart().asked(ask);
        self.rpc().pump.forgive(start.elapsed());
        reply
    }

    /// Calls, and waits for the answer.
    fn call(&mut self, method: &str, params: &Value, stop: &Stop) -> Result<Answer, AgentError> {
        let id = self.rpc().call(method, params)?;
        self.wait(Some(id), Some(stop), None)
    }

    /// Listens until there is an answer to a call, or until all is over.
    fn wait(
        &mut self,
        id: Option<u64>,
        stop: Option<&Stop>,
        until: Option<Instant>,
    ) -> Result<Answer, AgentError> {
        loop {
            let line = match self.rpc().pump.hear(stop, until)? {
                Heard::Line(line) => line,
                Heard::Sign(sign) => {
                    self.counterpart().told(Event::Sign(sign));
                    continue;
                }
                Heard::Nothing => return Ok(Answer::Nothing),
                Heard::Stopped => return Ok(Answer::Stopped),
                Heard::Exited => return Ok(Answer::Over(Ending::Exit)),
                Heard::Broke(kind) => {
                    let text = self.rpc().pump.last_words(None);
                    return Ok(Answer::Over(Ending::fail(kind, text)));
                }
            };
            let ending = match (line["method"].as_str(), line.get("id")) {
                (Some(method), Some(id)) => {
                    self.requested(&Call { id, method, params: &line["params"] })?
                }
                (Some(method), None) => self.noticed(method, &line["params"])?,
                (None, Some(answered)) if id.is_some() && answered.as_u64() == id => {
                    return Ok(answer(&line));
                }
                (None, _) => None,
            };
            if let Some(ending) = ending {
                return Ok(Answer::Over(ending));
            }
        }
    }
}

/// Something that the agent calls for.
pub(super) struct Call<'a> {
    pub(super) id: &'a Value,
    pub(super) method: &'a str,
    pub(super) params: &'a Value,
}

impl Rpc {
    /// Starts the agent; `None` when its program is not there.
    pub(super) fn start(
        job: &Job,
        args: &[String],
        env: &[(&str, OsString)],
        is_versioned: bool,
    ) -> Result<Option<Self>, AgentError> {
        let pump = Pump::start(job, args, env)?;
        Ok(pump.map(|pump| Self { pump, is_versioned, calls: 0 }))
    }

    /// Calls, and does not wait; returns the number of the call.
    pub(super) fn call(&mut self, method: &str, params: &Value) -> Result<u64, AgentError> {
        self.calls += 1;
        self.say(json!({ "id": self.calls, "method": method, "params": params }))?;
        Ok(self.calls)
    }

    /// Tells something that wants no answer.
    pub(super) fn notify(&mut self, method: &str, params: &Value) -> Result<(), AgentError> {
        self.say(json!({ "method": method, "params": params }))
    }

    /// Answers a call of the agent's.
    pub(super) fn answer(&mut self, call: &Call<'_>, result: &Value) -> Result<(), AgentError> {
        self.say(json!({ "id": call.id, "result": result }))
    }

    /// Says that there is no such method.
    pub(super) fn refuse(&mut self, call: &Call<'_>) -> Result<(), AgentError> {
        let message = format!("{} is not supported", call.method);
        let error = json!({ "code": NO_SUCH_METHOD, "message": message });
        self.say(json!({ "id": call.id, "error": error }))
    }

    fn say(&mut self, mut message: Value) -> Result<(), AgentError> {
        if self.is_versioned {
            message["jsonrpc"] = json!("2.0");
        }
        self.pump.say(&message)
    }
}

fn answer(line: &Value) -> Answer {
    match line.get("error") {
        None => Answer::Got(line["result"].clone()),
        Some(error) => {
            let message = error["message"].as_str().unwrap_or("no reason given");
            let detail = match &error["data"] {
                Value::Null => String::new(),
                Value::String(text) => format!(": {text}"),
                other => format!(": {other}"),
            };
            let code = error["code"].as_i64().unwrap_or_default();
            let status = u16::try_from(code).ok().filter(|code| (400..600).contains(code));
            let text = super::one_line(&format!("{message}{detail}"));
            Answer::Refused(Refusal { code, status, text })
        }
    }
}

/// Takes the answer out of an [`Answer`], or returns how it ends.
macro_rules! got {
    ($talk:expr, $answer:expr, $refused:expr) => {
        match $answer {
            Answer::Got(value) => value,
            Answer::Refused(refusal) => return Ok($refused(refusal)),
            Answer::Over(ending) => return Ok(ending),
            Answer::Stopped => return $talk.interrupt(),
            Answer::Nothing => return Ok(Ending::Exit),
        }
    };
}
pub(super) use got;

/// Judges a call that was refused.
pub(super) fn refused(refusal: Refusal) -> Ending {
    let kind = match (refusal.code, Trouble::of_answer(refusal.status, &refusal.text)) {
        (AUTH_REQUIRED, _) => Trouble::Login,
        (_, Trouble::Cut) => Trouble::Other,
        (_, kind) => kind,
    };
    Ending::fail(kind, refusal.text)
}
