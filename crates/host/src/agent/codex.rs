//! Drives Codex over its app server: one process, one thread, several turns.
//!
//! The tools of mow are dynamic tools of the thread. After parking, the resumed thread asks again in
//! its next turn by a new model call; Codex has no other way. So every request is identified by its
//! tool and input. Codex reports tokens but no dollars.

mod failure_kind;
mod tool_item;

use std::collections::HashMap;
use std::time::Instant;

use serde_json::{Value, json};

use super::json_line_process::Shutdown;
use super::rpc::{
    CallResult, INTERRUPT_TIMEOUT, IncomingCall, RpcClient, RpcConnection, RpcError, failed_call,
    returned_value,
};
use super::{
    Access, AgentCallbacks, AgentError, AgentJob, AgentOutcome, AgentQuestion, AgentRequest,
    AgentSession, Event, FailureKind, QuestionChoice, RESUME_PROMPT, Reply, Usage, one_line,
    request_id,
};
use crate::stop_signal::StopSignal;

/// How many proposed file changes are kept for the permission requests that refer to them.
const CHANGES_MAX: usize = 1_000;

/// Runs Codex.
pub(super) fn run(
    job: &AgentJob,
    callbacks: &mut dyn AgentCallbacks,
    stop: &StopSignal,
) -> Result<AgentOutcome, AgentError> {
    let args = ["app-server".to_owned()];
    let Some(rpc) = RpcConnection::start(job, &args, &[], false)? else {
        return Ok(AgentOutcome::not_installed(job));
    };
    let (turns_max, tokens_max) = (job.limits.turns, job.limits.tokens);
    let mut codex = Codex {
        rpc,
        callbacks,
        thread: String::new(),
        turn: String::new(),
        last_message: String::new(),
        changes: HashMap::new(),
        reported_total: Value::Null,
        turns_max,
        turns: 0,
        tokens_max,
        tokens: 0,
        steering: Vec::new(),
    };
    let ending = codex.converse(job, stop)?;
    codex.rpc.process.finish(ending)
}

struct Codex<'a> {
    rpc: RpcConnection,
    callbacks: &'a mut dyn AgentCallbacks,
    thread: String,
    turn: String,
    /// The last message of the agent.
    last_message: String,
    /// Proposed file changes, by item id.
    changes: HashMap<String, Value>,
    /// The thread's total usage at the last report.
    reported_total: Value,
    turns_max: Option<u32>,
    turns: u32,
    tokens_max: Option<u64>,
    tokens: u64,
    /// Messages that were sent during a turn and that Codex has not taken yet.
    steering: Vec<String>,
}

impl Codex<'_> {
    fn converse(&mut self, job: &AgentJob, stop: &StopSignal) -> Result<Shutdown, AgentError> {
        let client = json!({ "name": "mow", "title": "mow", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({
            "clientInfo": client, "capabilities": { "experimentalApi": true },
        });
        let _ = returned_value!(self, self.call("initialize", &params, stop)?, failed_call);
        self.rpc.notify("initialized", &json!({}))?;
        let (method, params) = self.session_call(job);
        let thread = returned_value!(self, self.call(method, &params, stop)?, |error| {
            thread_call_failed(&job.session, error)
        });
        thread["thread"]["id"].as_str().unwrap_or_default().clone_into(&mut self.thread);
        self.callbacks.on_event(Event::Started { session: self.thread.clone() });
        let mut prompt = vec![match job.prompt.as_str() {
            "" => RESUME_PROMPT.to_owned(),
            prompt => prompt.to_owned(),
        }];
        loop {
            prompt.extend(self.callbacks.take_messages());
            let params = json!({ "threadId": self.thread, "input": text_blocks(&prompt) });
            let turn = returned_value!(self, self.call("turn/start", &params, stop)?, failed_call);
            turn["turn"]["id"].as_str().unwrap_or_default().clone_into(&mut self.turn);
            match self.wait(None, Some(stop), None)? {
                CallResult::Over(Shutdown::Close(end))
                    if matches!(*end, AgentOutcome::Done { .. }) =>
                {
                    prompt = std::mem::take(&mut self.steering);
                    if prompt.is_empty() {
                        return Ok(Shutdown::Close(end));
                    }
                }
                CallResult::Over(ending) => return Ok(ending),
                CallResult::Stopped => return self.interrupt(),
                CallResult::Returned(_) | CallResult::Failed(_) | CallResult::TimedOut => {
                    return Ok(Shutdown::Exit);
                }
            }
        }
    }

    /// Returns the method and parameters that start or resume a thread.
    fn session_call(&self, job: &AgentJob) -> (&'static str, Value) {
        let sandbox = if job.access == Access::Edit { "workspace-write" } else { "read-only" };
        let tools = self.callbacks.tools().into_iter().map(|tool| {
            json!({
                "type": "function", "name": tool.name, "description": tool.description,
                "inputSchema": tool.schema,
            })
        });
        let mut params = json!({
            "cwd": job.cwd,
            "approvalPolicy": "on-request",
            "sandbox": sandbox,
            "model": job.model,
            "config": { "features.default_mode_request_user_input": true },
        });
        match &job.session {
            AgentSession::New => {
                params["dynamicTools"] = tools.collect();
                ("thread/start", params)
            }
            AgentSession::Resume(thread) => {
                params["threadId"] = json!(thread);
                params["excludeTurns"] = json!(true);
                ("thread/resume", params)
            }
        }
    }

    /// Interrupts the current turn.
    fn interrupt(&mut self) -> Result<Shutdown, AgentError> {
        let params = json!({ "threadId": self.thread, "turnId": self.turn });
        if !self.turn.is_empty() {
            self.rpc.call("turn/interrupt", &params)?;
            self.wait(None, None, Some(Instant::now() + INTERRUPT_TIMEOUT))?;
        }
        Ok(Shutdown::kill(AgentOutcome::Stopped))
    }

    /// Sends the waiting messages during a turn.
    fn steer(&mut self) -> Result<(), AgentError> {
        self.callbacks.take_messages().into_iter().try_for_each(|text| self.steer_with(text))
    }

    fn steer_with(&mut self, text: String) -> Result<(), AgentError> {
        let input = text_blocks(std::slice::from_ref(&text));
        let params =
            json!({ "threadId": self.thread, "expectedTurnId": self.turn, "input": input });
        self.rpc.call("turn/steer", &params)?;
        self.steering.push(text);
        Ok(())
    }

    /// Asks whether Codex may do something; returns `None` when the request is parked.
    fn ask_permission(&mut self, ask: &AgentRequest) -> Result<Option<bool>, AgentError> {
        match self.ask(ask) {
            Reply::Allow => Ok(Some(true)),
            Reply::Park => Ok(None),
            Reply::Deny(reason) => {
                // Codex's refusal has no field for a reason, so the reason is sent as a message.
                self.steer_with(reason)?;
                Ok(Some(false))
            }
            Reply::Answer(answers) => {
                self.steer_with(answers.join(", "))?;
                Ok(Some(false))
            }
        }
    }

    fn on_item(&mut self, item: &Value, is_done: bool) -> Result<(), AgentError> {
        let field = |key: &str| item[key].as_str().unwrap_or_default();
        match (field("type"), is_done) {
            ("agentMessage", true) => {
                field("text").clone_into(&mut self.last_message);
                self.callbacks.on_event(Event::Text(self.last_message.clone()));
            }
            (kind, false) if tool_item::is_tool(kind) => {
                if kind == "fileChange" && self.changes.len() < CHANGES_MAX {
                    self.changes.insert(field("id").to_owned(), item["changes"].clone());
                }
                self.callbacks.on_event(Event::Tool(tool_item::tool_use(item)));
            }
            (kind, true) if tool_item::is_tool(kind) => {
                self.callbacks.on_event(Event::ToolEnded(tool_item::outcome(item)));
                if kind != "webSearch" {
                    self.steer()?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn on_usage(&mut self, params: &Value) -> Option<Shutdown> {
        let (total, last) = (&params["tokenUsage"]["total"], &params["tokenUsage"]["last"]);
        // A resumed thread first reports the usage of its previous turn.
        if params["turnId"] != self.turn.as_str() || *total == self.reported_total {
            return None;
        }
        self.reported_total = total.clone();
        let count = |key: &str| last[key].as_u64().unwrap_or(0);
        let cached = count("cachedInputTokens");
        let (input, output) = (count("inputTokens").saturating_sub(cached), count("outputTokens"));
        let usage = Usage { input, output, cached, usd: None };
        self.callbacks.on_event(Event::Usage(usage));
        // Reaching the limit with the last answer does not exceed it.
        let is_over_budget = self.tokens_max.is_some_and(|most| self.tokens >= most);
        self.tokens += usage.tokens();
        if is_over_budget {
            return Some(Shutdown::fail(
                FailureKind::BudgetExceeded,
                format!("{} tokens", self.tokens),
            ));
        }
        self.turns += 1;
        let is_over = self.turns_max.is_some_and(|max| self.turns > max);
        let text = "it went to its model as often as it may".to_owned();
        is_over.then(|| Shutdown::fail(FailureKind::TurnLimitReached, text))
    }

    fn on_turn_completed(&mut self, turn: &Value) -> Option<Shutdown> {
        if turn["id"] != self.turn.as_str() {
            return None;
        }
        Some(match turn["status"].as_str() {
            Some("completed") => {
                Shutdown::close(AgentOutcome::Done { text: self.last_message.clone() })
            }
            Some("failed") => {
                let (kind, text) = failure_kind::of_error(&turn["error"]);
                Shutdown::close(AgentOutcome::Failed { kind, text })
            }
            _ => {
                let text = "the turn was interrupted".to_owned();
                Shutdown::close(AgentOutcome::Failed { kind: FailureKind::Other, text })
            }
        })
    }
}

impl RpcClient for Codex<'_> {
    fn rpc(&mut self) -> &mut RpcConnection {
        &mut self.rpc
    }

    fn callbacks(&mut self) -> &mut dyn AgentCallbacks {
        self.callbacks
    }

    fn on_call(&mut self, call: &IncomingCall<'_>) -> Result<Option<Shutdown>, AgentError> {
        let result = match call.method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
                let ask = self.permission(call);
                match self.ask_permission(&ask)? {
                    Some(true) => json!({ "decision": "accept" }),
                    Some(false) => json!({ "decision": "decline" }),
                    None => return Ok(Some(Shutdown::kill(AgentOutcome::Parked { ask }))),
                }
            }
            "item/permissions/requestApproval" => {
                let ask = self.permission(call);
                match self.ask_permission(&ask)? {
                    Some(true) => {
                        json!({ "permissions": call.params["permissions"], "scope": "turn" })
                    }
                    Some(false) => json!({ "permissions": {}, "scope": "turn" }),
                    None => return Ok(Some(Shutdown::kill(AgentOutcome::Parked { ask }))),
                }
            }
            "item/tool/requestUserInput" => {
                let ask = question(call.params);
                match self.ask(&ask) {
                    Reply::Park => return Ok(Some(Shutdown::kill(AgentOutcome::Parked { ask }))),
                    reply => answers_json(call.params, &reply),
                }
            }
            "item/tool/call" => {
                let tool = call.params["tool"].as_str().unwrap_or_default();
                let done = self.callbacks.call_tool(tool, &call.params["arguments"]);
                let success = done.is_ok();
                let text = done.unwrap_or_else(|error| error);
                json!({ "contentItems": [{ "type": "inputText", "text": text }], "success": success })
            }
            "mcpServer/elicitation/request" => json!({ "action": "decline" }),
            _ => {
                self.rpc.refuse(call)?;
                return Ok(None);
            }
        };
        self.rpc.answer(call, &result)?;
        Ok(None)
    }

    fn on_notification(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<Option<Shutdown>, AgentError> {
        // The process may run further threads for subagents.
        if params.get("threadId").is_some_and(|thread| *thread != self.thread.as_str()) {
            return Ok(None);
        }
        match method {
            "item/started" => self.on_item(&params["item"], false)?,
            "item/completed" => {
                let item = &params["item"];
                if item["type"] == "userMessage" {
                    self.on_message_taken(item);
                }
                self.on_item(item, true)?;
            }
            "thread/tokenUsage/updated" => return Ok(self.on_usage(params)),
            "error" if params["willRetry"] == true => {
                let (kind, text) = failure_kind::of_error(&params["error"]);
                let status = failure_kind::status(&params["error"]);
                self.callbacks.on_event(Event::Retry { status, wait_ms: 0, reason: text.clone() });
                return Ok(kind.needs_person().then(|| Shutdown::fail(kind, text)));
            }
            "turn/completed" => return Ok(self.on_turn_completed(&params["turn"])),
            _ => {}
        }
        Ok(None)
    }
}

impl Codex<'_> {
    /// Removes a message from `steering` once Codex has taken it into the turn.
    fn on_message_taken(&mut self, item: &Value) {
        let text_taken =
            item.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
        if let Some(at) = self.steering.iter().position(|text| text == text_taken) {
            self.steering.remove(at);
        }
    }

    fn permission(&self, call: &IncomingCall<'_>) -> AgentRequest {
        let params = call.params;
        let field = |key: &str| params[key].as_str().unwrap_or_default();
        let (tool, input) = match call.method {
            "item/commandExecution/requestApproval" => {
                ("shell", json!({ "command": field("command"), "cwd": field("cwd") }))
            }
            "item/fileChange/requestApproval" => {
                let changes = self.changes.get(field("itemId")).cloned().unwrap_or_default();
                ("edit", json!({ "changes": changes }))
            }
            _ => ("permissions", params["permissions"].clone()),
        };
        let id = request_id(tool, &input);
        let text = [field("command"), field("reason")].into_iter().filter(|text| !text.is_empty());
        let text = one_line(&text.collect::<Vec<_>>().join(" — "));
        AgentRequest::Permission { id, tool: tool.to_owned(), text, input }
    }
}

fn thread_call_failed(session: &AgentSession, error: RpcError) -> Shutdown {
    let is_unknown = *session != AgentSession::New && !error.text.contains("auth");
    if is_unknown {
        Shutdown::fail(FailureKind::SessionUnknown, error.text)
    } else {
        failed_call(error)
    }
}

fn text_blocks(texts: &[String]) -> Value {
    texts.iter().map(|text| json!({ "type": "text", "text": text })).collect()
}

fn question(params: &Value) -> AgentRequest {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let word = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let choice = |value: &Value| QuestionChoice {
        label: word(value, "label"),
        description: word(value, "description"),
    };
    let one = |value: &Value| AgentQuestion {
        text: word(value, "question"),
        header: word(value, "header"),
        choices: list(value, "options").iter().map(choice).collect(),
        allows_many: false,
    };
    let questions = list(params, "questions").iter().map(one).collect();
    AgentRequest::Question { id: request_id("question", &params["questions"]), questions }
}

fn answers_json(params: &Value, reply: &Reply) -> Value {
    let questions = params["questions"].as_array().into_iter().flatten().enumerate();
    let answer = |n: usize| match reply {
        Reply::Answer(answers) => answers.get(n).map_or("no answer", String::as_str),
        Reply::Deny(reason) => reason,
        Reply::Allow | Reply::Park => "no answer",
    };
    let all = questions.map(|(n, question)| {
        (question["id"].as_str().unwrap_or_default().to_owned(), json!({ "answers": [answer(n)] }))
    });
    json!({ "answers": all.collect::<serde_json::Map<_, _>>() })
}
