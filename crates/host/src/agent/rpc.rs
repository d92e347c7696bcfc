//! Exchanges JSON-RPC messages with an agent: sends calls, answers its calls, takes notifications.
//!
//! This module knows no method names. Each protocol implements [`RpcClient`]. While a client waits for
//! an answer, it handles every other message of the agent in the order of arrival.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::json_line_process::{JsonLineProcess, ProcessEvent, Shutdown};
use super::{AgentCallbacks, AgentError, AgentJob, AgentRequest, Event, FailureKind, Reply};
use crate::stop_signal::StopSignal;

/// How long an agent may take to interrupt its turn.
pub(super) const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(3);
/// The error code of an agent that is not logged in.
const AUTH_REQUIRED: i64 = -32000;
/// The error code for an unknown method.
const NO_SUCH_METHOD: i64 = -32601;

/// A JSON-RPC connection to an agent's process.
pub(super) struct RpcConnection {
    pub(super) process: JsonLineProcess,
    /// Whether messages carry `"jsonrpc": "2.0"`.
    is_versioned: bool,
    calls: u64,
}

/// The result of waiting for the answer to a call.
pub(super) enum CallResult {
    /// The agent returned this result.
    Returned(Value),
    /// The agent returned an error.
    Failed(RpcError),
    /// The conversation ended before the answer came.
    Over(Shutdown),
    /// The stop signal was raised.
    Stopped,
    /// The deadline has passed.
    TimedOut,
}

/// The error with which an agent answered a call.
pub(super) struct RpcError {
    pub(super) code: i64,
    /// The HTTP status of the model's answer, where the agent passes it on.
    pub(super) status: Option<u16>,
    pub(super) text: String,
}

/// The client side of one protocol over JSON-RPC.
pub(super) trait RpcClient {
    fn rpc(&mut self) -> &mut RpcConnection;
    fn callbacks(&mut self) -> &mut dyn AgentCallbacks;
    /// Answers a call of the agent; returns a shutdown when the call ends the conversation.
    fn on_call(&mut self, call: &IncomingCall<'_>) -> Result<Option<Shutdown>, AgentError>;
    /// Takes a notification; returns a shutdown when the notification ends the conversation.
    fn on_notification(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<Option<Shutdown>, AgentError>;

    /// Passes a request to the callbacks; the time this takes does not count as the agent's.
    fn ask(&mut self, request: &AgentRequest) -> Reply {
        let start = Instant::now();
        let reply = self.callbacks().on_request(request);
        self.rpc().process.extend_deadline(start.elapsed());
        reply
    }

    /// Sends a call and waits for its answer.
    fn call(
        &mut self,
        method: &str,
        params: &Value,
        stop: &StopSignal,
    ) -> Result<CallResult, AgentError> {
        let id = self.rpc().call(method, params)?;
        self.wait(Some(id), Some(stop), None)
    }

    /// Handles messages until call `id` is answered, the conversation ends, or a deadline passes.
    fn wait(
        &mut self,
        id: Option<u64>,
        stop: Option<&StopSignal>,
        until: Option<Instant>,
    ) -> Result<CallResult, AgentError> {
        loop {
            let line = match self.rpc().process.receive(stop, until)? {
                ProcessEvent::Line(line) => line,
                ProcessEvent::Activity(sign) => {
                    self.callbacks().on_event(Event::Activity(sign));
                    continue;
                }
                ProcessEvent::TimedOut => return Ok(CallResult::TimedOut),
                ProcessEvent::Stopped => return Ok(CallResult::Stopped),
                ProcessEvent::Exited => return Ok(CallResult::Over(Shutdown::Exit)),
                ProcessEvent::LimitExceeded(kind) => {
                    let text = self.rpc().process.last_error_line(None);
                    return Ok(CallResult::Over(Shutdown::fail(kind, text)));
                }
            };
            let shutdown = match (line["method"].as_str(), line.get("id")) {
                (Some(method), Some(id)) => {
                    self.on_call(&IncomingCall { id, method, params: &line["params"] })?
                }
                (Some(method), None) => self.on_notification(method, &line["params"])?,
                (None, Some(answered)) if id.is_some() && answered.as_u64() == id => {
                    return Ok(call_result(&line));
                }
                (None, _) => None,
            };
            if let Some(shutdown) = shutdown {
                return Ok(CallResult::Over(shutdown));
            }
        }
    }
}

/// A call that the agent sent, which needs an answer.
pub(super) struct IncomingCall<'a> {
    pub(super) id: &'a Value,
    pub(super) method: &'a str,
    pub(super) params: &'a Value,
}

impl RpcConnection {
    /// Starts the agent; returns `None` when its program does not exist.
    pub(super) fn start(
        job: &AgentJob,
        args: &[String],
        env: &[(&str, OsString)],
        is_versioned: bool,
    ) -> Result<Option<Self>, AgentError> {
        let process = JsonLineProcess::start(job, args, env)?;
        Ok(process.map(|process| Self { process, is_versioned, calls: 0 }))
    }

    /// Sends a call without waiting; returns the id of the call.
    pub(super) fn call(&mut self, method: &str, params: &Value) -> Result<u64, AgentError> {
        self.calls += 1;
        self.send(json!({ "id": self.calls, "method": method, "params": params }))?;
        Ok(self.calls)
    }

    /// Sends a notification.
    pub(super) fn notify(&mut self, method: &str, params: &Value) -> Result<(), AgentError> {
        self.send(json!({ "method": method, "params": params }))
    }

    /// Answers a call of the agent.
    pub(super) fn answer(
        &mut self,
        call: &IncomingCall<'_>,
        result: &Value,
    ) -> Result<(), AgentError> {
        self.send(json!({ "id": call.id, "result": result }))
    }

    /// Answers a call with "no such method".
    pub(super) fn refuse(&mut self, call: &IncomingCall<'_>) -> Result<(), AgentError> {
        let message = format!("{} is not supported", call.method);
        let error = json!({ "code": NO_SUCH_METHOD, "message": message });
        self.send(json!({ "id": call.id, "error": error }))
    }

    fn send(&mut self, mut message: Value) -> Result<(), AgentError> {
        if self.is_versioned {
            message["jsonrpc"] = json!("2.0");
        }
        self.process.send(&message)
    }
}

fn call_result(line: &Value) -> CallResult {
    match line.get("error") {
        None => CallResult::Returned(line["result"].clone()),
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
            CallResult::Failed(RpcError { code, status, text })
        }
    }
}

/// Takes the value out of a [`CallResult`], or returns from the caller with a [`Shutdown`].
macro_rules! returned_value {
    ($client:expr, $result:expr, $on_error:expr) => {
        match $result {
            CallResult::Returned(value) => value,
            CallResult::Failed(error) => return Ok($on_error(error)),
            CallResult::Over(shutdown) => return Ok(shutdown),
            CallResult::Stopped => return $client.interrupt(),
            CallResult::TimedOut => return Ok(Shutdown::Exit),
        }
    };
}
pub(super) use returned_value;

/// Returns the shutdown for a call that the agent answered with an error.
pub(super) fn failed_call(error: RpcError) -> Shutdown {
    let kind = match (error.code, FailureKind::from_model_error(error.status, &error.text)) {
        (AUTH_REQUIRED, _) => FailureKind::NotLoggedIn,
        (_, FailureKind::ConnectionLost) => FailureKind::Other,
        (_, kind) => kind,
    };
    Shutdown::fail(kind, error.text)
}
