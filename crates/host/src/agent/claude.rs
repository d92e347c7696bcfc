//! Speaks with Claude Code: its stream of JSON lines, with control messages in both directions.
//!
//! - Permissions come as `can_use_tool`. Parking one ends the process; when the session is resumed,
//!   Claude Code goes to its model again for the last answer only, and asks again. Its own name for the
//!   call is a new one then, so a permission is known by what it is for.
//! - Questions come through a hook before the tool is used, which can defer the call: parking one
//!   costs nothing, and the resumed session asks by the same name without going to its model.
//! - The tools of mow are served over the same pipes, as the server `mow`.
//!
//! The control messages are no documented contract. What is unknown is ignored or refused, never fatal.

mod meter;
mod server;
mod start;
mod words;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pump::{Ending, Heard, Pump};
use super::{
    AgentError, Ask, Counterpart, End, Event, GO_ON, Job, Reply, Session, ToolSpec, Trouble, id_of,
    one_line,
};
use crate::stop::Stop;
use meter::Meter;
use words::{answered, new_uuid, question, status, summary, text};

const QUESTION_TOOL: &str = "AskUserQuestion";
/// How long it may take to stop what it does, or to say what it used.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);
/// What it says of a session that it does not have.
const UNKNOWN: &str = "No conversation found";

/// Lets Claude Code do a job.
pub(super) fn run(
    job: &Job,
    counterpart: &mut dyn Counterpart,
    stop: &Stop,
) -> Result<End, AgentError> {
    let tools = counterpart.tools();
    let Some(pump) = Pump::start(job, &start::arguments(job, &tools), &start::environment(job))?
    else {
        return Ok(End::not_installed(job));
    };
    let mut talk = Talk {
        pump,
        counterpart,
        tools,
        session: None,
        meter: Meter::new(job.session == Session::New),
        tokens: 0,
        unheard: BTreeSet::new(),
        parking: None,
        resets_at: None,
    };
    talk.begin(job)?;
    let end = talk.listen(job, stop)?;
    talk.finish(end)
}

/// A conversation with one process.
struct Talk<'a> {
    pump: Pump,
    counterpart: &'a mut dyn Counterpart,
    tools: Vec<ToolSpec>,
    session: Option<String>,
    meter: Meter,
    /// How many tokens it has reported.
    tokens: u64,
    /// What it was told since it began, and has not worked on yet.
    unheard: BTreeSet<String>,
    /// The question that was deferred, until its turn has ended.
    parking: Option<Ask>,
    /// When the limit of its model ends, in seconds since 1970.
    resets_at: Option<u64>,
}

/// The control requests that we send.
const INITIALIZE: &str = "mow-initialize";
const BASELINE: &str = "mow-baseline";

impl Talk<'_> {
    fn begin(&mut self, job: &Job) -> Result<(), AgentError> {
        let hook = json!({ "matcher": QUESTION_TOOL, "hookCallbackIds": ["question"] });
        let mut request = json!({ "subtype": "initialize", "hooks": { "PreToolUse": [hook] } });
        if let Some(system) = &job.system {
            request["appendSystemPrompt"] = json!(system);
        }
        if !self.tools.is_empty() {
            request["sdkMcpServers"] = json!([server::NAME]);
        }
        self.request(INITIALIZE, &request)?;
        if job.session != Session::New {
            self.request(BASELINE, &json!({ "subtype": "get_usage" }))?;
        }
        Ok(())
    }

    fn listen(&mut self, job: &Job, stop: &Stop) -> Result<Ending, AgentError> {
        loop {
            let line = match self.pump.hear(Some(stop), None)? {
                Heard::Line(line) => line,
                Heard::Sign(sign) => {
                    self.counterpart.told(Event::Sign(sign));
                    continue;
                }
                Heard::Nothing => continue,
                Heard::Stopped => return self.interrupt(),
                Heard::Exited => return Ok(Ending::Exit),
                Heard::Broke(kind) => {
                    let text = self.pump.last_words(None);
                    return Ok(Ending::kill(End::Failed { kind, text }));
                }
            };
            if let Some(ending) = self.heard(job, &line)? {
                return Ok(ending);
            }
        }
    }

    /// Takes one line; returns how it ends, if it does.
    fn heard(&mut self, job: &Job, line: &Value) -> Result<Option<Ending>, AgentError> {
        match text(line, "/type") {
            "control_response" => self.heard_response(job, &line["response"]),
            "control_request" => self.heard_request(text(line, "/request_id"), &line["request"]),
            "assistant" => self.heard_assistant(job, line),
            "user" if line["parent_tool_use_id"].is_null() => self.pass_messages().map(|()| None),
            "system" => Ok(self.heard_system(line)),
            "command_lifecycle" => {
                if matches!(text(line, "/state"), "completed" | "cancelled") {
                    self.unheard.remove(text(line, "/command_uuid"));
                }
                Ok(None)
            }
            "rate_limit_event" => {
                self.resets_at = line.pointer("/rate_limit_info/resetsAt").and_then(Value::as_u64);
                Ok(None)
            }
            "result" => Ok(self.heard_result(line)),
            _ => Ok(None),
        }
    }

    fn heard_response(
        &mut self,
        job: &Job,
        response: &Value,
    ) -> Result<Option<Ending>, AgentError> {
        match text(response, "/request_id") {
            INITIALIZE if text(response, "/subtype") == "error" => {
                let text = format!("it could not begin: {}", text(response, "/error"));
                Ok(Some(Ending::kill(End::Failed { kind: Trouble::Other, text })))
            }
            INITIALIZE => {
                // A resumed session that was cut off goes on by itself.
                if text(response, "/response/session_state") != "running" {
                    let prompt = if job.prompt.is_empty() { GO_ON } else { &job.prompt };
                    self.tell(prompt)?;
                }
                self.pass_messages().map(|()| None)
            }
            BASELINE => {
                self.meter.begin(&response["response"]);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn heard_request(&mut self, id: &str, request: &Value) -> Result<Option<Ending>, AgentError> {
        let answer = match text(request, "/subtype") {
            "can_use_tool" => match self.decide(request) {
                (_, Some(answer)) => answer,
                (ask, None) => {
                    self.take_stock()?;
                    return Ok(Some(Ending::kill(End::Parked { ask })));
                }
            },
            "hook_callback" => self.answer(&request["input"]),
            "mcp_message" => {
                let message = server::answer(&self.tools, self.counterpart, &request["message"]);
                json!({ "mcp_response": message })
            }
            other => {
                let error = format!("{other} is not supported");
                let response = json!({ "subtype": "error", "request_id": id, "error": error });
                self.pump.say(&json!({ "type": "control_response", "response": response }))?;
                return Ok(None);
            }
        };
        let response = json!({ "subtype": "success", "request_id": id, "response": answer });
        self.pump.say(&json!({ "type": "control_response", "response": response }))?;
        Ok(None)
    }

    /// Asks for a permission; without an answer it is to be parked.
    fn decide(&mut self, request: &Value) -> (Ask, Option<Value>) {
        let (tool, input) = (text(request, "/tool_name"), &request["input"]);
        let ask = if tool == QUESTION_TOOL {
            question(text(request, "/tool_use_id"), input)
        } else {
            let (id, text) = (id_of(tool, input), summary(input));
            Ask::Permission { id, tool: tool.to_owned(), text, input: input.clone() }
        };
        let yes = |input: &Value| json!({ "behavior": "allow", "updatedInput": input });
        let no = |text: String| json!({ "behavior": "deny", "message": text });
        let answer = match (self.ask(&ask), &ask) {
            (Reply::Park, _) => None,
            (Reply::Deny(text), _) => Some(no(text)),
            (Reply::Allow, Ask::Permission { .. }) => Some(yes(input)),
            (Reply::Answer(answers), Ask::Question { questions, .. }) => {
                Some(yes(&answered(input, questions, &answers)))
            }
            (Reply::Allow, Ask::Question { .. }) => Some(no("nobody answered".to_owned())),
            (Reply::Answer(answers), Ask::Permission { .. }) => Some(no(answers.join(", "))),
        };
        (ask, answer)
    }

    /// Asks a question before its tool is used.
    fn answer(&mut self, call: &Value) -> Value {
        let input = &call["tool_input"];
        let ask = question(text(call, "/tool_use_id"), input);
        let Ask::Question { questions, .. } = &ask else { return json!({}) };
        let mut decision = json!({ "hookEventName": "PreToolUse" });
        match self.ask(&ask) {
            Reply::Answer(answers) => {
                decision["permissionDecision"] = json!("allow");
                decision["updatedInput"] = answered(input, questions, &answers);
            }
            Reply::Park => {
                decision["permissionDecision"] = json!("defer");
                self.parking = Some(ask);
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

    fn ask(&mut self, ask: &Ask) -> Reply {
        let start = Instant::now();
        let reply = self.counterpart.asked(ask);
        self.pump.forgive(start.elapsed());
        reply
    }

    fn heard_assistant(&mut self, job: &Job, line: &Value) -> Result<Option<Ending>, AgentError> {
        self.meter.hear(&line["message"]);
        let mut goes_on = false;
        let is_own = line["parent_tool_use_id"].is_null();
        for block in
            line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten()
        {
            let event = match text(block, "/type") {
                "text" if is_own => Event::Text(text(block, "/text").to_owned()),
                "tool_use" => {
                    goes_on = true;
                    let (name, summary) =
                        (text(block, "/name").to_owned(), summary(&block["input"]));
                    Event::Tool { name, summary }
                }
                _ => continue,
            };
            self.counterpart.told(event);
        }
        let used = self.tokens + self.meter.unreported();
        if goes_on && job.limits.tokens.is_some_and(|most| used >= most) {
            self.take_stock()?;
            return Ok(Some(Ending::fail(Trouble::Budget, format!("{used} tokens"))));
        }
        Ok(None)
    }

    fn heard_system(&mut self, line: &Value) -> Option<Ending> {
        match text(line, "/subtype") {
            "init" if self.session.is_none() => {
                let session = text(line, "/session_id").to_owned();
                self.counterpart.told(Event::Started { session: session.clone() });
                self.session = Some(session);
                None
            }
            "api_retry" => {
                let status = status(&line["error_status"]);
                let reason = text(line, "/error").to_owned();
                let kind = Trouble::of_answer(status, &reason);
                let wait_ms = line["retry_delay_ms"].as_f64().unwrap_or_default() as u64;
                self.counterpart.told(Event::Retry { status, wait_ms, reason: reason.clone() });
                // It would try for long what cannot succeed.
                kind.is_terminal().then(|| Ending::kill(End::Failed { kind, text: reason }))
            }
            _ => None,
        }
    }

    fn heard_result(&mut self, line: &Value) -> Option<Ending> {
        let usage = self.meter.settle(line);
        self.report(usage);
        if let Some(ask) = self.parking.take()
            && text(line, "/terminal_reason") == "tool_deferred"
        {
            return Some(Ending::close(End::Parked { ask }));
        }
        for uuid in line["user_message_uuids"].as_array().into_iter().flatten() {
            self.unheard.remove(uuid.as_str().unwrap_or_default());
        }
        let is_error = line["is_error"].as_bool().unwrap_or(false);
        let is_queued = line["queued_turn_count"].as_u64().unwrap_or(0) > 0;
        if !is_error && (is_queued || !self.unheard.is_empty()) {
            return None;
        }
        let text = text(line, "/result").to_owned();
        Some(Ending::close(if is_error { self.judge(line) } else { End::Done { text } }))
    }

    /// Says why a result is none.
    fn judge(&self, line: &Value) -> End {
        let errors = line["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let errors: Vec<_> = errors.collect();
        let said = match text(line, "/result") {
            "" => one_line(&errors.join("; ")),
            said => one_line(said),
        };
        let status = status(&line["api_error_status"]);
        let kind = match (text(line, "/terminal_reason"), text(line, "/subtype")) {
            ("budget_exhausted", _) | (_, "error_max_budget_usd") => Trouble::Budget,
            ("max_turns", _) | (_, "error_max_turns") => Trouble::Turns,
            ("completed", "error_during_execution") => Trouble::Cut,
            _ => match Trouble::of_answer(
                status,
                &format!("{said} {}", text(line, "/api_error_type")),
            ) {
                Trouble::RateLimited { .. } => {
                    Trouble::RateLimited { retry_after_ms: self.resets_in() }
                }
                kind => kind,
            },
        };
        End::Failed { kind, text: said }
    }

    fn resets_in(&self) -> Option<u64> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(self.resets_at?.saturating_sub(now.as_secs()) * 1_000)
    }

    /// Lets it stop what it does, so that it says what it used.
    fn interrupt(&mut self) -> Result<Ending, AgentError> {
        self.request("mow-interrupt", &json!({ "subtype": "interrupt" }))?;
        self.wait_for(|talk, line| {
            let is_result = text(line, "/type") == "result";
            if is_result {
                let usage = talk.meter.settle(line);
                talk.report(usage);
            }
            is_result
        })?;
        Ok(Ending::kill(End::Stopped))
    }

    /// Finds out what it used, before it is ended in the middle of a turn.
    fn take_stock(&mut self) -> Result<(), AgentError> {
        self.request("mow-stock", &json!({ "subtype": "get_usage" }))?;
        self.wait_for(|talk, line| {
            let is_answer = text(line, "/response/request_id") == "mow-stock";
            if is_answer {
                let usage = talk.meter.stock(&line["response"]["response"]);
                talk.report(usage);
            }
            is_answer
        })
    }

    /// Listens for one line only, and not for long.
    fn wait_for(
        &mut self,
        mut is_it: impl FnMut(&mut Self, &Value) -> bool,
    ) -> Result<(), AgentError> {
        let until = Instant::now() + ANSWERS_WITHIN;
        loop {
            match self.pump.hear(None, Some(until))? {
                Heard::Line(line) if is_it(self, &line) => return Ok(()),
                Heard::Line(line) if text(&line, "/type") == "assistant" => {
                    self.meter.hear(&line["message"]);
                }
                Heard::Line(_) | Heard::Sign(_) => {}
                Heard::Nothing | Heard::Stopped | Heard::Exited | Heard::Broke(_) => return Ok(()),
            }
        }
    }

    fn report(&mut self, usage: Option<super::Usage>) {
        if let Some(usage) = usage {
            self.tokens += usage.tokens();
            self.counterpart.told(Event::Usage(usage));
        }
    }

    fn pass_messages(&mut self) -> Result<(), AgentError> {
        for message in self.counterpart.messages() {
            let uuid = self.tell(&message)?;
            self.unheard.insert(uuid);
        }
        Ok(())
    }

    fn tell(&mut self, words: &str) -> Result<String, AgentError> {
        let uuid = new_uuid();
        let message = json!({ "role": "user", "content": words });
        let line = json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "uuid": uuid,
        });
        self.pump.say(&line)?;
        Ok(uuid)
    }

    fn request(&mut self, id: &str, request: &Value) -> Result<(), AgentError> {
        self.pump.say(&json!({ "type": "control_request", "request_id": id, "request": request }))
    }

    /// Ends the process, and says what came of it.
    fn finish(mut self, ending: Ending) -> Result<End, AgentError> {
        let end = self.pump.finish(ending)?;
        let usage = self.meter.rest();
        self.report(usage);
        Ok(match end {
            End::Failed { text, .. } if text.contains(UNKNOWN) => {
                End::Failed { kind: Trouble::SessionUnknown, text }
            }
            end => end,
        })
    }
}
