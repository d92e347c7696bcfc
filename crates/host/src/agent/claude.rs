//! Drives Claude Code over its stream of JSON lines, with control messages in both directions.
//!
//! - Permission requests come as `can_use_tool`. Parking one ends the process. When the session is
//!   resumed, Claude Code requests only the last answer from its model again, and then asks again. Its
//!   own id of the call is new then, so a permission is identified by tool and input.
//! - Questions come through a hook that runs before the tool and can defer the call. Parking one costs
//!   nothing: the resumed session asks under the same id without a model request.
//! - The tools of mow are served over the same pipes, as the MCP server `mow`.
//!
//! The control messages are not a documented contract. Unknown messages are ignored or refused; they
//! never end the run.

mod launch;
mod message_fields;
mod usage_meter;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::json_line_process::{JsonLineProcess, ProcessEvent, Shutdown};
use super::{
    AgentCallbacks, AgentError, AgentJob, AgentOutcome, AgentRequest, AgentSession, Event,
    FailureKind, RESUME_PROMPT, Reply, ToolSpec, mcp, one_line, request_id,
};
use crate::stop_signal::StopSignal;
use message_fields::{
    new_uuid, question, status, summary, text, tool_outcomes, tool_use, with_answers,
};
use usage_meter::UsageMeter;

const QUESTION_TOOL: &str = "AskUserQuestion";
/// How long Claude Code may take to interrupt a turn or to report its usage.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(3);
/// The error text for an unknown session.
const UNKNOWN_SESSION: &str = "No conversation found";

/// Runs Claude Code.
pub(super) fn run(
    job: &AgentJob,
    callbacks: &mut dyn AgentCallbacks,
    stop: &StopSignal,
) -> Result<AgentOutcome, AgentError> {
    let tools = callbacks.tools();
    let Some(process) =
        JsonLineProcess::start(job, &launch::arguments(job, &tools), &launch::environment(job))?
    else {
        return Ok(AgentOutcome::not_installed(job));
    };
    let mut conversation = ClaudeConversation {
        process,
        callbacks,
        tools,
        session: None,
        meter: UsageMeter::new(job.session == AgentSession::New),
        tokens: 0,
        unprocessed: BTreeSet::new(),
        deferred_question: None,
        resets_at: None,
    };
    conversation.begin(job)?;
    let end = conversation.listen(job, stop)?;
    conversation.finish(end)
}

/// The state of the conversation with one process.
struct ClaudeConversation<'a> {
    process: JsonLineProcess,
    callbacks: &'a mut dyn AgentCallbacks,
    tools: Vec<ToolSpec>,
    session: Option<String>,
    meter: UsageMeter,
    /// Tokens that were passed to the callbacks so far.
    tokens: u64,
    /// Ids of messages that were sent after the prompt and are not processed yet.
    unprocessed: BTreeSet<String>,
    /// The question that was deferred, until the turn ends.
    deferred_question: Option<AgentRequest>,
    /// When the rate limit ends, in seconds since 1970.
    resets_at: Option<u64>,
}

/// Ids of control requests that this client sends.
const INITIALIZE: &str = "mow-initialize";
const BASELINE: &str = "mow-baseline";

impl ClaudeConversation<'_> {
    fn begin(&mut self, job: &AgentJob) -> Result<(), AgentError> {
        let hook = json!({ "matcher": QUESTION_TOOL, "hookCallbackIds": ["question"] });
        let mut request = json!({ "subtype": "initialize", "hooks": { "PreToolUse": [hook] } });
        if !self.tools.is_empty() {
            request["sdkMcpServers"] = json!([mcp::SERVER_NAME]);
        }
        self.request(INITIALIZE, &request)?;
        if job.session != AgentSession::New {
            self.request(BASELINE, &json!({ "subtype": "get_usage" }))?;
        }
        Ok(())
    }

    fn listen(&mut self, job: &AgentJob, stop: &StopSignal) -> Result<Shutdown, AgentError> {
        loop {
            let line = match self.process.receive(Some(stop), None)? {
                ProcessEvent::Line(line) => line,
                ProcessEvent::Activity(sign) => {
                    self.callbacks.on_event(Event::Activity(sign));
                    continue;
                }
                ProcessEvent::TimedOut => continue,
                ProcessEvent::Stopped => return self.interrupt(),
                ProcessEvent::Exited => return Ok(Shutdown::Exit),
                ProcessEvent::LimitExceeded(kind) => {
                    let text = self.process.last_error_line(None);
                    return Ok(Shutdown::kill(AgentOutcome::Failed { kind, text }));
                }
            };
            if let Some(ending) = self.on_line(job, &line)? {
                return Ok(ending);
            }
        }
    }

    /// Handles one line; returns a shutdown when the line ends the conversation.
    fn on_line(&mut self, job: &AgentJob, line: &Value) -> Result<Option<Shutdown>, AgentError> {
        match text(line, "/type") {
            "control_response" => self.on_control_response(job, &line["response"]),
            "control_request" => {
                self.on_control_request(text(line, "/request_id"), &line["request"])
            }
            "assistant" => self.on_assistant(job, line),
            "user" => {
                for outcome in tool_outcomes(line) {
                    self.callbacks.on_event(Event::ToolEnded(outcome));
                }
                if line["parent_tool_use_id"].is_null() {
                    self.send_messages()?;
                }
                Ok(None)
            }
            "system" => Ok(self.on_system(line)),
            "command_lifecycle" => {
                if matches!(text(line, "/state"), "completed" | "cancelled") {
                    self.unprocessed.remove(text(line, "/command_uuid"));
                }
                Ok(None)
            }
            "rate_limit_event" => {
                self.resets_at = line.pointer("/rate_limit_info/resetsAt").and_then(Value::as_u64);
                Ok(None)
            }
            "result" => Ok(self.on_result(line)),
            _ => Ok(None),
        }
    }

    fn on_control_response(
        &mut self,
        job: &AgentJob,
        response: &Value,
    ) -> Result<Option<Shutdown>, AgentError> {
        match text(response, "/request_id") {
            INITIALIZE if text(response, "/subtype") == "error" => {
                let text = format!("it could not begin: {}", text(response, "/error"));
                Ok(Some(Shutdown::kill(AgentOutcome::Failed { kind: FailureKind::Other, text })))
            }
            INITIALIZE => {
                // A resumed session that was interrupted continues by itself.
                if text(response, "/response/session_state") != "running" {
                    let prompt = if job.prompt.is_empty() { RESUME_PROMPT } else { &job.prompt };
                    self.send_user_message(prompt)?;
                }
                self.send_messages().map(|()| None)
            }
            BASELINE => {
                self.meter.set_baseline(&response["response"]);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn on_control_request(
        &mut self,
        id: &str,
        request: &Value,
    ) -> Result<Option<Shutdown>, AgentError> {
        let answer = match text(request, "/subtype") {
            "can_use_tool" => match self.answer_permission(request) {
                (_, Some(answer)) => answer,
                (ask, None) => {
                    self.query_usage()?;
                    return Ok(Some(Shutdown::kill(AgentOutcome::Parked { ask })));
                }
            },
            "hook_callback" => self.answer_question_hook(&request["input"]),
            "mcp_message" => {
                let mut call = |tool: &str, input: &Value| self.callbacks.call_tool(tool, input);
                let message = mcp::answer_message(&self.tools, &mut call, &request["message"]);
                // The control envelope needs a response even for an MCP notification.
                let nothing = || json!({ "jsonrpc": "2.0", "id": 0, "result": {} });
                json!({ "mcp_response": message.unwrap_or_else(nothing) })
            }
            other => {
                let error = format!("{other} is not supported");
                let response = json!({ "subtype": "error", "request_id": id, "error": error });
                self.process.send(&json!({ "type": "control_response", "response": response }))?;
                return Ok(None);
            }
        };
        let response = json!({ "subtype": "success", "request_id": id, "response": answer });
        self.process.send(&json!({ "type": "control_response", "response": response }))?;
        Ok(None)
    }

    /// Asks the callbacks for a permission; without an answer the caller parks the session.
    fn answer_permission(&mut self, request: &Value) -> (AgentRequest, Option<Value>) {
        let (tool, input) = (text(request, "/tool_name"), &request["input"]);
        let ask = if tool == QUESTION_TOOL {
            question(text(request, "/tool_use_id"), input)
        } else {
            let (id, text) = (request_id(tool, input), summary(input));
            AgentRequest::Permission { id, tool: tool.to_owned(), text, input: input.clone() }
        };
        let yes = |input: &Value| json!({ "behavior": "allow", "updatedInput": input });
        let no = |text: String| json!({ "behavior": "deny", "message": text });
        let answer = match (self.ask(&ask), &ask) {
            (Reply::Park, _) => None,
            (Reply::Deny(text), _) => Some(no(text)),
            (Reply::Allow, AgentRequest::Permission { .. }) => Some(yes(input)),
            (Reply::Answer(answers), AgentRequest::Question { questions, .. }) => {
                Some(yes(&with_answers(input, questions, &answers)))
            }
            (Reply::Allow, AgentRequest::Question { .. }) => Some(no("nobody answered".to_owned())),
            (Reply::Answer(answers), AgentRequest::Permission { .. }) => {
                Some(no(answers.join(", ")))
            }
        };
        (ask, answer)
    }

    /// Answers the hook that runs before the question tool.
    fn answer_question_hook(&mut self, call: &Value) -> Value {
        let input = &call["tool_input"];
        let ask = question(text(call, "/tool_use_id"), input);
        let AgentRequest::Question { questions, .. } = &ask else { return json!({}) };
        let mut decision = json!({ "hookEventName": "PreToolUse" });
        match self.ask(&ask) {
            Reply::Answer(answers) => {
                decision["permissionDecision"] = json!("allow");
                decision["updatedInput"] = with_answers(input, questions, &answers);
            }
            Reply::Park => {
                decision["permissionDecision"] = json!("defer");
                self.deferred_question = Some(ask);
            }
            Reply::Deny(text) => {
                decision["permissionDecision"] = json!("deny");
                decision["permissionDecisionReason"] = json!(text);
            }
            Reply::Allow => {
                decision["permissionDecision"] = json!("deny");
                decision["permissionDecisionReason"] = json!("nobody answered");
            }
        }
        json!({ "hookSpecificOutput": decision })
    }

    fn ask(&mut self, ask: &AgentRequest) -> Reply {
        let start = Instant::now();
        let reply = self.callbacks.on_request(ask);
        self.process.extend_deadline(start.elapsed());
        reply
    }

    fn on_assistant(
        &mut self,
        job: &AgentJob,
        line: &Value,
    ) -> Result<Option<Shutdown>, AgentError> {
        self.meter.add_answer(&line["message"]);
        let mut uses_tool = false;
        let is_own = line["parent_tool_use_id"].is_null();
        for block in
            line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten()
        {
            let event = match text(block, "/type") {
                "text" if is_own => Event::Text(text(block, "/text").to_owned()),
                "tool_use" => {
                    uses_tool = true;
                    Event::Tool(tool_use(block))
                }
                _ => continue,
            };
            self.callbacks.on_event(event);
        }
        let used = self.tokens + self.meter.unreported_tokens();
        if uses_tool && job.limits.tokens.is_some_and(|most| used >= most) {
            self.query_usage()?;
            return Ok(Some(Shutdown::fail(FailureKind::BudgetExceeded, format!("{used} tokens"))));
        }
        Ok(None)
    }

    fn on_system(&mut self, line: &Value) -> Option<Shutdown> {
        match text(line, "/subtype") {
            "init" if self.session.is_none() => {
                let session = text(line, "/session_id").to_owned();
                self.callbacks.on_event(Event::Started { session: session.clone() });
                self.session = Some(session);
                None
            }
            "api_retry" => {
                let status = status(&line["error_status"]);
                let reason = text(line, "/error").to_owned();
                let kind = FailureKind::from_model_error(status, &reason);
                let wait_ms = line["retry_delay_ms"].as_f64().unwrap_or_default() as u64;
                self.callbacks.on_event(Event::Retry { status, wait_ms, reason: reason.clone() });
                // Claude Code would keep retrying a request that cannot succeed.
                kind.needs_person()
                    .then(|| Shutdown::kill(AgentOutcome::Failed { kind, text: reason }))
            }
            _ => None,
        }
    }

    fn on_result(&mut self, line: &Value) -> Option<Shutdown> {
        let usage = self.meter.add_result(line);
        self.report(usage);
        if let Some(ask) = self.deferred_question.take()
            && text(line, "/terminal_reason") == "tool_deferred"
        {
            return Some(Shutdown::close(AgentOutcome::Parked { ask }));
        }
        for uuid in line["user_message_uuids"].as_array().into_iter().flatten() {
            self.unprocessed.remove(uuid.as_str().unwrap_or_default());
        }
        let is_error = line["is_error"].as_bool().unwrap_or(false);
        let is_queued = line["queued_turn_count"].as_u64().unwrap_or(0) > 0;
        if !is_error && (is_queued || !self.unprocessed.is_empty()) {
            return None;
        }
        let text = text(line, "/result").to_owned();
        Some(Shutdown::close(if is_error {
            self.failed_outcome(line)
        } else {
            AgentOutcome::Done { text }
        }))
    }

    /// Returns the failure that an error result describes.
    fn failed_outcome(&self, line: &Value) -> AgentOutcome {
        let errors = line["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let errors: Vec<_> = errors.collect();
        let message = match text(line, "/result") {
            "" => one_line(&errors.join("; ")),
            message => one_line(message),
        };
        let status = status(&line["api_error_status"]);
        let kind = match (text(line, "/terminal_reason"), text(line, "/subtype")) {
            ("budget_exhausted", _) | (_, "error_max_budget_usd") => FailureKind::BudgetExceeded,
            ("max_turns", _) | (_, "error_max_turns") => FailureKind::TurnLimitReached,
            ("completed", "error_during_execution") => FailureKind::ConnectionLost,
            _ => match FailureKind::from_model_error(
                status,
                &format!("{message} {}", text(line, "/api_error_type")),
            ) {
                FailureKind::RateLimited { .. } => {
                    FailureKind::RateLimited { retry_after_ms: self.resets_in() }
                }
                kind => kind,
            },
        };
        AgentOutcome::Failed { kind, text: message }
    }

    fn resets_in(&self) -> Option<u64> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(self.resets_at?.saturating_sub(now.as_secs()) * 1_000)
    }

    /// Interrupts the turn, so that Claude Code reports its usage.
    fn interrupt(&mut self) -> Result<Shutdown, AgentError> {
        self.request("mow-interrupt", &json!({ "subtype": "interrupt" }))?;
        self.wait_for(|conversation, line| {
            let is_result = text(line, "/type") == "result";
            if is_result {
                let usage = conversation.meter.add_result(line);
                conversation.report(usage);
            }
            is_result
        })?;
        Ok(Shutdown::kill(AgentOutcome::Stopped))
    }

    /// Requests the usage before the process is ended during a turn.
    fn query_usage(&mut self) -> Result<(), AgentError> {
        self.request("mow-stock", &json!({ "subtype": "get_usage" }))?;
        self.wait_for(|conversation, line| {
            let is_answer = text(line, "/response/request_id") == "mow-stock";
            if is_answer {
                let usage = conversation.meter.add_session_total(&line["response"]["response"]);
                conversation.report(usage);
            }
            is_answer
        })
    }

    /// Reads lines until one matches, at most for [`CONTROL_TIMEOUT`].
    fn wait_for(
        &mut self,
        mut matches: impl FnMut(&mut Self, &Value) -> bool,
    ) -> Result<(), AgentError> {
        let until = Instant::now() + CONTROL_TIMEOUT;
        loop {
            match self.process.receive(None, Some(until))? {
                ProcessEvent::Line(line) if matches(self, &line) => return Ok(()),
                ProcessEvent::Line(line) if text(&line, "/type") == "assistant" => {
                    self.meter.add_answer(&line["message"]);
                }
                ProcessEvent::Line(_) | ProcessEvent::Activity(_) => {}
                ProcessEvent::TimedOut
                | ProcessEvent::Stopped
                | ProcessEvent::Exited
                | ProcessEvent::LimitExceeded(_) => return Ok(()),
            }
        }
    }

    fn report(&mut self, usage: Option<super::Usage>) {
        if let Some(usage) = usage {
            self.tokens += usage.tokens();
            self.callbacks.on_event(Event::Usage(usage));
        }
    }

    fn send_messages(&mut self) -> Result<(), AgentError> {
        for message in self.callbacks.take_messages() {
            let uuid = self.send_user_message(&message)?;
            self.unprocessed.insert(uuid);
        }
        Ok(())
    }

    fn send_user_message(&mut self, words: &str) -> Result<String, AgentError> {
        let uuid = new_uuid();
        let message = json!({ "role": "user", "content": words });
        let line = json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "uuid": uuid,
        });
        self.process.send(&line)?;
        Ok(uuid)
    }

    fn request(&mut self, id: &str, request: &Value) -> Result<(), AgentError> {
        self.process
            .send(&json!({ "type": "control_request", "request_id": id, "request": request }))
    }

    /// Ends the process and returns the outcome of the run.
    fn finish(mut self, ending: Shutdown) -> Result<AgentOutcome, AgentError> {
        let end = self.process.finish(ending)?;
        let usage = self.meter.take_unreported();
        self.report(usage);
        Ok(match end {
            AgentOutcome::Failed { text, .. } if text.contains(UNKNOWN_SESSION) => {
                AgentOutcome::Failed { kind: FailureKind::SessionUnknown, text }
            }
            end => end,
        })
    }
}
