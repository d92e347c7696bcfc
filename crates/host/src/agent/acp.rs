//! Drives agents over the Agent Client Protocol, version 1: OpenCode, Gemini and others.
//!
//! This module implements the part that mow needs: one session, prompts, permissions, forms. The
//! protocol cannot serve tools over the same pipes (an agent starts [`ToolServer`]s), limit the cost,
//! or deliver a message during a turn. A parked request is asked again after the session is resumed.
//! An agent that cannot resume reports the session as unknown, and a new session has to start.

mod form;
mod tool_calls;

use std::time::Instant;

use serde_json::{Value, json};

use super::json_line_process::Shutdown;
use super::rpc::{
    CallResult, INTERRUPT_TIMEOUT, IncomingCall, RpcClient, RpcConnection, RpcError, failed_call,
    returned_value,
};
use super::{
    Access, AgentCallbacks, AgentError, AgentJob, AgentOutcome, AgentRequest, AgentSession, Event,
    FailureKind, RESUME_PROMPT, Reply, ToolServer, Usage, one_line, request_id,
};
use crate::stop_signal::StopSignal;
use tool_calls::ToolCalls;

const PROTOCOL_VERSION: u64 = 1;
/// Names of the modes in which agents edit without asking, and in which they only read.
const EDIT_MODES: &[&str] = &["autoEdit", "acceptEdits", "auto_edit", "auto"];
const READ_MODES: &[&str] = &["plan", "read-only"];

/// Runs an agent that speaks the Agent Client Protocol.
pub(super) fn run(
    job: &AgentJob,
    callbacks: &mut dyn AgentCallbacks,
    stop: &StopSignal,
) -> Result<AgentOutcome, AgentError> {
    let Some(rpc) = RpcConnection::start(job, &[], &[], true)? else {
        return Ok(AgentOutcome::not_installed(job));
    };
    let tools = callbacks.tools();
    let full = |server: &ToolServer| -> Vec<String> {
        tools.iter().map(|tool| format!("mcp_{}_{}", server.name, tool.name)).collect()
    };
    let served_prefixes = job.tool_servers.iter().flat_map(full).collect();
    let mut acp = Acp {
        rpc,
        callbacks,
        session: String::new(),
        is_working: false,
        text: String::new(),
        calls: ToolCalls::default(),
        refusal: None,
        reported_cost: (job.session == AgentSession::New).then_some(0.0),
        spent: None,
        served_prefixes,
        usd_max: job.limits.usd,
    };
    let ending = acp.converse(job, stop)?;
    acp.rpc.process.finish(ending)
}

struct Acp<'a> {
    rpc: RpcConnection,
    callbacks: &'a mut dyn AgentCallbacks,
    session: String,
    /// Whether updates are new. An agent that loads a session replays it from the beginning first.
    is_working: bool,
    /// The text since the last tool call.
    text: String,
    calls: ToolCalls,
    /// The reason of the last refusal, until the agent continues.
    refusal: Option<String>,
    /// The session's cost in dollars at the last report; `spent` is the current cost.
    reported_cost: Option<f64>,
    spent: Option<f64>,
    /// The prefixes of call ids that belong to the tool servers of the job.
    served_prefixes: Vec<String>,
    /// The most dollars that this run may cost.
    usd_max: Option<f64>,
}

impl Acp<'_> {
    fn converse(&mut self, job: &AgentJob, stop: &StopSignal) -> Result<Shutdown, AgentError> {
        let client = json!({ "name": "mow", "title": "mow", "version": env!("CARGO_PKG_VERSION") });
        let files = json!({ "readTextFile": false, "writeTextFile": false });
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientInfo": client,
            "clientCapabilities": { "fs": files, "terminal": false, "elicitation": { "form": {} } },
        });
        let initialized =
            returned_value!(self, self.call("initialize", &params, stop)?, failed_call);
        if initialized["protocolVersion"] != PROTOCOL_VERSION {
            let text =
                format!("it speaks version {} of the protocol", initialized["protocolVersion"]);
            return Ok(Shutdown::fail(FailureKind::Other, text));
        }
        let Some((method, params)) =
            session_call(job, &initialized["agentCapabilities"], self.rpc.process.mark())
        else {
            let text = "the agent cannot resume a session".to_owned();
            return Ok(Shutdown::fail(FailureKind::SessionUnknown, text));
        };
        let session_state =
            returned_value!(self, self.call(method, &params, stop)?, |error| session_call_failed(
                job, error
            ));
        self.session = match &job.session {
            AgentSession::Resume(session) => session.clone(),
            AgentSession::New => session_state["sessionId"].as_str().unwrap_or_default().to_owned(),
        };
        self.callbacks.on_event(Event::Started { session: self.session.clone() });
        for (method, params) in settings(job, &self.session, &session_state) {
            // An agent that refuses the mode asks before each edit instead.
            let is_mode = params.get("modeId").is_some() || params["configId"] == "mode";
            match self.call(method, &params, stop)? {
                CallResult::Failed(_) if is_mode => {}
                answer => drop(returned_value!(self, answer, failed_call)),
            }
        }
        self.is_working = true;
        self.run_turns(job, stop)
    }

    /// Sends prompts until there is no further message.
    fn run_turns(&mut self, job: &AgentJob, stop: &StopSignal) -> Result<Shutdown, AgentError> {
        let mut prompt = vec![match job.prompt.as_str() {
            "" => RESUME_PROMPT.to_owned(),
            prompt => prompt.to_owned(),
        }];
        prompt.extend(self.callbacks.take_messages());
        loop {
            let blocks: Value =
                prompt.iter().map(|text| json!({ "type": "text", "text": text })).collect();
            let params = json!({ "sessionId": self.session, "prompt": blocks });
            let answer =
                returned_value!(self, self.call("session/prompt", &params, stop)?, failed_call);
            let words = self.flush_text();
            self.on_usage(&answer);
            prompt = self.refusal.take().into_iter().collect();
            prompt.extend(self.callbacks.take_messages());
            if prompt.is_empty() {
                return Ok(Shutdown::close(outcome_of(answer["stopReason"].as_str(), words)));
            }
        }
    }

    fn interrupt(&mut self) -> Result<Shutdown, AgentError> {
        if self.is_working {
            self.rpc.notify("session/cancel", &json!({ "sessionId": self.session }))?;
            self.wait(None, None, Some(Instant::now() + INTERRUPT_TIMEOUT))?;
        }
        Ok(Shutdown::kill(AgentOutcome::Stopped))
    }

    fn on_update(&mut self, update: &Value) -> Option<Shutdown> {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "usage_update" => {
                let amount = update["cost"]["amount"].as_f64();
                self.spent = amount.filter(|_| update["cost"]["currency"] == "USD");
                if !self.is_working {
                    self.reported_cost = self.spent;
                }
            }
            _ if !self.is_working => {}
            "agent_message_chunk" => {
                self.refusal = None;
                self.text.push_str(update["content"]["text"].as_str().unwrap_or_default());
            }
            "tool_call" => {
                if let Some(ending) = self.check_budget() {
                    return Some(ending);
                }
                self.refusal = None;
                self.flush_text();
                let events = self.calls.update(update);
                self.report(events);
            }
            "tool_call_update" => {
                let events = self.calls.update(update);
                self.report(events);
            }
            _ => {}
        }
        None
    }

    /// Returns a shutdown when the agent continues although it has spent its budget.
    fn check_budget(&mut self) -> Option<Shutdown> {
        let cost = self.spent? - self.reported_cost?;
        let text = self.usd_max.filter(|most| cost >= *most).map(|_| format!("${cost:.2}"))?;
        // The answer that would report the tokens will not come any more.
        self.on_usage(&Value::Null);
        Some(Shutdown::fail(FailureKind::BudgetExceeded, text))
    }

    fn report(&mut self, events: Vec<Event>) {
        events.into_iter().for_each(|event| self.callbacks.on_event(event));
    }

    /// Reports the collected text as one event and returns it.
    fn flush_text(&mut self) -> String {
        let words = std::mem::take(&mut self.text);
        if !words.is_empty() {
            self.callbacks.on_event(Event::Text(words.clone()));
        }
        words
    }

    /// Reports the usage of a prompt, as far as the agent states it.
    fn on_usage(&mut self, answer: &Value) {
        let usage = &answer["usage"];
        let count = |key: &str| usage[key].as_u64().unwrap_or(0);
        let gemini_count =
            |key: &str| answer["_meta"]["quota"]["token_count"][key].as_u64().unwrap_or(0);
        let spent = self.spent.or(self.reported_cost);
        let usage = Usage {
            input: count("inputTokens") + gemini_count("input_tokens"),
            output: count("outputTokens") + gemini_count("output_tokens"),
            cached: count("cachedReadTokens"),
            usd: spent.zip(self.reported_cost).map(|(now, then)| (now - then).max(0.0)),
        };
        // The cost of an agent that never reports dollars is unknown, not zero.
        let usage = Usage { usd: usage.usd.filter(|_| self.spent.is_some()), ..usage };
        self.reported_cost = spent;
        self.callbacks.on_event(Event::Usage(usage));
    }

    fn answer_permission(
        &mut self,
        call: &IncomingCall<'_>,
    ) -> Result<Option<Shutdown>, AgentError> {
        let ask = permission(&call.params["toolCall"]);
        self.flush_text();
        let events = self.calls.request(&call.params["toolCall"]);
        self.report(events);
        let reply = if self.is_served(call) { Reply::Allow } else { self.ask(&ask) };
        let (wanted, refusal): (&[&str], _) = match reply {
            Reply::Park => return Ok(Some(Shutdown::kill(AgentOutcome::Parked { ask }))),
            Reply::Allow => (&["allow_once", "allow_always"], None),
            Reply::Deny(reason) => (&["reject_once", "reject_always"], Some(reason)),
            Reply::Answer(answers) => (&["reject_once", "reject_always"], Some(answers.join(", "))),
        };
        let options = call.params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let chosen = wanted.iter().find_map(|kind| options.iter().find(|o| o["kind"] == *kind));
        let outcome = match chosen {
            Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
            None => json!({ "outcome": "cancelled" }),
        };
        self.refusal = refusal.map(|reason| format!("That was refused: {reason}"));
        self.rpc.answer(call, &json!({ "outcome": outcome }))?;
        Ok(None)
    }

    /// Returns whether a tool belongs to a server of the job, which needs no permission.
    ///
    /// Gemini builds the id of a call from the tool's full name. Shell calls have another kind.
    fn is_served(&self, call: &IncomingCall<'_>) -> bool {
        let call = &call.params["toolCall"];
        let id = call["toolCallId"].as_str().unwrap_or_default();
        let is_name_of = |name: &String| {
            let rest = id.strip_prefix(name.as_str());
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(['-', ' ']) || rest.starts_with("__")
            })
        };
        call["kind"] == "other" && self.served_prefixes.iter().any(is_name_of)
    }

    fn answer_form(&mut self, call: &IncomingCall<'_>) -> Result<Option<Shutdown>, AgentError> {
        let Some(form) = form::Form::parse(call.params) else {
            self.rpc.answer(call, &json!({ "action": "decline" }))?;
            return Ok(None);
        };
        let ask = form.to_request();
        let result = match self.ask(&ask) {
            Reply::Park => return Ok(Some(Shutdown::kill(AgentOutcome::Parked { ask }))),
            Reply::Answer(answers) => json!({ "action": "accept", "content": form.fill(&answers) }),
            Reply::Deny(_) | Reply::Allow => json!({ "action": "decline" }),
        };
        self.rpc.answer(call, &result)?;
        Ok(None)
    }
}

impl RpcClient for Acp<'_> {
    fn rpc(&mut self) -> &mut RpcConnection {
        &mut self.rpc
    }

    fn callbacks(&mut self) -> &mut dyn AgentCallbacks {
        self.callbacks
    }

    fn on_call(&mut self, call: &IncomingCall<'_>) -> Result<Option<Shutdown>, AgentError> {
        match call.method {
            "session/request_permission" => self.answer_permission(call),
            "elicitation/create" | "session/elicitation" => self.answer_form(call),
            _ => self.rpc.refuse(call).map(|()| None),
        }
    }

    fn on_notification(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<Option<Shutdown>, AgentError> {
        if method == "session/update" {
            return Ok(self.on_update(&params["update"]));
        }
        Ok(None)
    }
}

/// Returns the method and parameters that start or resume a session; `None` when the agent cannot
/// resume.
fn session_call(
    job: &AgentJob,
    capabilities: &Value,
    (mark, value): (&str, &str),
) -> Option<(&'static str, Value)> {
    let server = |server: &ToolServer| {
        // Some agents do not pass their environment on to the servers that they start.
        let mark = json!({ "name": mark, "value": value });
        let env = server.env.iter().map(|(name, value)| json!({ "name": name, "value": value }));
        let env = env.chain([mark]);
        json!({
            "name": server.name, "command": server.command, "args": server.args,
            "env": env.collect::<Vec<_>>(),
        })
    };
    let tool_servers: Vec<_> = job.tool_servers.iter().map(server).collect();
    let mut params = json!({ "cwd": job.cwd, "mcpServers": tool_servers });
    let AgentSession::Resume(session) = &job.session else { return Some(("session/new", params)) };
    params["sessionId"] = json!(session);
    if !capabilities["sessionCapabilities"]["resume"].is_null() {
        return Some(("session/resume", params));
    }
    (capabilities["loadSession"] == true).then_some(("session/load", params))
}

/// Returns the calls that set the mode and model of the job, as far as the agent offers them.
fn settings(job: &AgentJob, session: &str, session_state: &Value) -> Vec<(&'static str, Value)> {
    let modes = if job.access == Access::Edit { EDIT_MODES } else { READ_MODES };
    let modes: Vec<_> = modes.iter().map(|mode| (*mode).to_owned()).collect();
    let models: Vec<_> = job.model.iter().cloned().collect();
    let mut calls = Vec::new();
    for (wanted, category, list, names, method, key) in [
        (modes, "mode", "/modes/availableModes", "id", "session/set_mode", "modeId"),
        (models, "model", "/models/availableModels", "modelId", "session/set_model", "modelId"),
    ] {
        let offers = |options: &Value, name: &str, wanted: &str| {
            options.as_array().is_some_and(|all| all.iter().any(|one| one[name] == wanted))
        };
        let none = Value::Null;
        let listed = session_state.pointer(list).unwrap_or(&none);
        let option = session_state["configOptions"].as_array().into_iter().flatten();
        let option = option.filter(|option| option["category"] == category).collect::<Vec<_>>();
        for value in wanted {
            if offers(listed, names, &value) {
                calls.push((method, json!({ "sessionId": session, key: value })));
                break;
            }
            if let Some(option) = option.iter().find(|o| offers(&o["options"], "value", &value)) {
                let params =
                    json!({ "sessionId": session, "configId": option["id"], "value": value });
                calls.push(("session/set_config_option", params));
                break;
            }
        }
    }
    calls
}

fn session_call_failed(job: &AgentJob, error: RpcError) -> Shutdown {
    match failed_call(error) {
        Shutdown::Kill(end) if job.session != AgentSession::New => match *end {
            AgentOutcome::Failed { kind: FailureKind::Other, text } => {
                Shutdown::fail(FailureKind::SessionUnknown, text)
            }
            end => Shutdown::kill(end),
        },
        ending => ending,
    }
}

fn outcome_of(reason: Option<&str>, text: String) -> AgentOutcome {
    let failed = |kind, text: &str| AgentOutcome::Failed { kind, text: text.to_owned() };
    match reason {
        Some("end_turn") => AgentOutcome::Done { text },
        Some("max_turn_requests") => {
            failed(FailureKind::TurnLimitReached, "it went to its model as often as it may")
        }
        Some("max_tokens") => failed(FailureKind::Other, "its model ran out of tokens"),
        Some("refusal") => failed(FailureKind::Other, "its model refused to go on"),
        Some("cancelled") => failed(FailureKind::Other, "the turn was cancelled"),
        _ => failed(FailureKind::NoResult, "it did not report how the turn ended"),
    }
}

fn permission(call: &Value) -> AgentRequest {
    let field = |key: &str| call[key].as_str().unwrap_or_default();
    let input = match &call["rawInput"] {
        Value::Null => json!({ "title": field("title"), "content": call["content"] }),
        input => input.clone(),
    };
    let tool = if field("kind").is_empty() { "other" } else { field("kind") };
    let (id, text) = (request_id(tool, &input), one_line(field("title")));
    AgentRequest::Permission { id, tool: tool.to_owned(), text, input }
}
