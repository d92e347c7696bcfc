//! Speaks with Codex by its app server: one process, one thread, turns in it.
//!
//! The tools of mow are dynamic tools of the thread. What is parked is asked again in the next turn of
//! the resumed thread, by a new call of the model: Codex has no other way. So everything that is
//! asked is known by what it is for. Codex counts tokens and no dollars.

mod trouble;

use std::collections::HashMap;
use std::time::Instant;

use serde_json::{Value, json};

use super::pump::Ending;
use super::rpc::{Answer, Call, Refusal, Rpc, STOPS_WITHIN, Talk, got, refused};
use super::{
    Access, AgentError, Ask, Choice, Counterpart, End, Event, GO_ON, Job, Question, Reply, Session,
    Trouble, Usage, id_of, one_line,
};
use crate::stop::Stop;

/// How many changes to files are remembered until somebody asks about them.
const CHANGES_MAX: usize = 1_000;

/// Lets Codex do a job.
pub(super) fn run(
    job: &Job,
    counterpart: &mut dyn Counterpart,
    stop: &Stop,
) -> Result<End, AgentError> {
    let args = ["app-server".to_owned()];
    let Some(rpc) = Rpc::start(job, &args, &[], false)? else {
        return Ok(End::not_installed(job));
    };
    let (turns_max, tokens_max) = (job.limits.turns, job.limits.tokens);
    let mut codex = Codex {
        rpc,
        counterpart,
        thread: String::new(),
        turn: String::new(),
        last_words: String::new(),
        changes: HashMap::new(),
        counted: Value::Null,
        turns_max,
        turns: 0,
        tokens_max,
        tokens: 0,
        steering: Vec::new(),
    };
    let ending = codex.work(job, stop)?;
    codex.rpc.pump.finish(ending)
}

struct Codex<'a> {
    rpc: Rpc,
    counterpart: &'a mut dyn Counterpart,
    thread: String,
    turn: String,
    /// What it said last.
    last_words: String,
    /// What it wants to change, by the name of the item.
    changes: HashMap<String, Value>,
    /// What the thread had used when it was last reported.
    counted: Value,
    turns_max: Option<u32>,
    turns: u32,
    tokens_max: Option<u64>,
    tokens: u64,
    /// What it was told within a turn, and has not taken yet.
    steering: Vec<String>,
}

impl Codex<'_> {
    fn work(&mut self, job: &Job, stop: &Stop) -> Result<Ending, AgentError> {
        let client = json!({ "name": "mow", "title": "mow", "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({
            "clientInfo": client, "capabilities": { "experimentalApi": true },
        });
        let _ = got!(self, self.call("initialize", &hello, stop)?, refused);
        self.rpc.notify("initialized", &json!({}))?;
        let (method, params) = self.opening(job);
        let thread = got!(self, self.call(method, &params, stop)?, |refusal| {
            no_thread(&job.session, refusal)
        });
        thread["thread"]["id"].as_str().unwrap_or_default().clone_into(&mut self.thread);
        self.counterpart.told(Event::Started { session: self.thread.clone() });
        let mut prompt = vec![match job.prompt.as_str() {
            "" => GO_ON.to_owned(),
            prompt => prompt.to_owned(),
        }];
        loop {
            prompt.extend(self.counterpart.messages());
            let params = json!({ "threadId": self.thread, "input": texts(&prompt) });
            let turn = got!(self, self.call("turn/start", &params, stop)?, refused);
            turn["turn"]["id"].as_str().unwrap_or_default().clone_into(&mut self.turn);
            match self.wait(None, Some(stop), None)? {
                Answer::Over(Ending::Close(end)) if matches!(*end, End::Done { .. }) => {
                    prompt = std::mem::take(&mut self.steering);
                    if prompt.is_empty() {
                        return Ok(Ending::Close(end));
                    }
                }
                Answer::Over(ending) => return Ok(ending),
                Answer::Stopped => return self.interrupt(),
                Answer::Got(_) | Answer::Refused(_) | Answer::Nothing => return Ok(Ending::Exit),
            }
        }
    }

    /// Returns the call that begins or resumes a thread.
    fn opening(&self, job: &Job) -> (&'static str, Value) {
        let sandbox = if job.access == Access::Edit { "workspace-write" } else { "read-only" };
        let tools = self.counterpart.tools().into_iter().map(|tool| {
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
            "developerInstructions": job.system,
            "config": { "features.default_mode_request_user_input": true },
        });
        match &job.session {
            Session::New => {
                params["dynamicTools"] = tools.collect();
                ("thread/start", params)
            }
            Session::Resume(thread) => {
                params["threadId"] = json!(thread);
                params["excludeTurns"] = json!(true);
                ("thread/resume", params)
            }
        }
    }

    /// Lets it stop what it does.
    fn interrupt(&mut self) -> Result<Ending, AgentError> {
        let params = json!({ "threadId": self.thread, "turnId": self.turn });
        if !self.turn.is_empty() {
            self.rpc.call("turn/interrupt", &params)?;
            self.wait(None, None, Some(Instant::now() + STOPS_WITHIN))?;
        }
        Ok(Ending::kill(End::Stopped))
    }

    /// Tells it within a turn what there is to tell.
    fn steer(&mut self) -> Result<(), AgentError> {
        self.counterpart.messages().into_iter().try_for_each(|text| self.steer_with(text))
    }

    fn steer_with(&mut self, text: String) -> Result<(), AgentError> {
        let input = texts(std::slice::from_ref(&text));
        let params =
            json!({ "threadId": self.thread, "expectedTurnId": self.turn, "input": input });
        self.rpc.call("turn/steer", &params)?;
        self.steering.push(text);
        Ok(())
    }

    /// Answers whether something may be done; `None` when it is to be parked.
    fn decide(&mut self, ask: &Ask) -> Result<Option<bool>, AgentError> {
        match self.ask(ask) {
            Reply::Allow => Ok(Some(true)),
            Reply::Park => Ok(None),
            Reply::Deny(reason) => {
                // A refusal has no place for a reason.
                self.steer_with(reason)?;
                Ok(Some(false))
            }
            Reply::Answer(answers) => {
                self.steer_with(answers.join(", "))?;
                Ok(Some(false))
            }
        }
    }

    fn heard_item(&mut self, item: &Value, is_done: bool) -> Result<(), AgentError> {
        let word = |key: &str| item[key].as_str().unwrap_or_default();
        match (word("type"), is_done) {
            ("agentMessage", true) => {
                word("text").clone_into(&mut self.last_words);
                self.counterpart.told(Event::Text(self.last_words.clone()));
            }
            (
                "commandExecution" | "fileChange" | "mcpToolCall" | "dynamicToolCall" | "webSearch",
                false,
            ) => {
                if word("type") == "fileChange" && self.changes.len() < CHANGES_MAX {
                    self.changes.insert(word("id").to_owned(), item["changes"].clone());
                }
                let name = match word("tool") {
                    "" => word("type"),
                    tool => tool,
                };
                let (name, summary) = (name.to_owned(), summary(item));
                self.counterpart.told(Event::Tool { name, summary });
            }
            ("commandExecution" | "fileChange" | "mcpToolCall" | "dynamicToolCall", true) => {
                return self.steer();
            }
            _ => {}
        }
        Ok(())
    }

    fn heard_usage(&mut self, params: &Value) -> Option<Ending> {
        let (total, last) = (&params["tokenUsage"]["total"], &params["tokenUsage"]["last"]);
        // A resumed thread tells what its last turn used.
        if params["turnId"] != self.turn.as_str() || *total == self.counted {
            return None;
        }
        self.counted = total.clone();
        let count = |key: &str| last[key].as_u64().unwrap_or(0);
        let cached = count("cachedInputTokens");
        let (input, output) = (count("inputTokens").saturating_sub(cached), count("outputTokens"));
        let usage = Usage { input, output, cached, usd: None };
        self.counterpart.told(Event::Usage(usage));
        // Who reaches a bound with its last answer does not break it.
        let is_spent = self.tokens_max.is_some_and(|most| self.tokens >= most);
        self.tokens += usage.tokens();
        if is_spent {
            return Some(Ending::fail(Trouble::Budget, format!("{} tokens", self.tokens)));
        }
        self.turns += 1;
        let is_over = self.turns_max.is_some_and(|max| self.turns > max);
        let text = "it went to its model as often as it may".to_owned();
        is_over.then(|| Ending::fail(Trouble::Turns, text))
    }

    fn heard_end(&mut self, turn: &Value) -> Option<Ending> {
        if turn["id"] != self.turn.as_str() {
            return None;
        }
        Some(match turn["status"].as_str() {
            Some("completed") => Ending::close(End::Done { text: self.last_words.clone() }),
            Some("failed") => {
                let (kind, text) = trouble::of_error(&turn["error"]);
                Ending::close(End::Failed { kind, text })
            }
            _ => {
                let text = "the turn was interrupted".to_owned();
                Ending::close(End::Failed { kind: Trouble::Other, text })
            }
        })
    }
}

impl Talk for Codex<'_> {
    fn rpc(&mut self) -> &mut Rpc {
        &mut self.rpc
    }

    fn counterpart(&mut self) -> &mut dyn Counterpart {
        self.counterpart
    }

    fn requested(&mut self, call: &Call<'_>) -> Result<Option<Ending>, AgentError> {
        let result = match call.method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
                let ask = self.permission(call);
                match self.decide(&ask)? {
                    Some(true) => json!({ "decision": "accept" }),
                    Some(false) => json!({ "decision": "decline" }),
                    None => return Ok(Some(Ending::kill(End::Parked { ask }))),
                }
            }
            "item/permissions/requestApproval" => {
                let ask = self.permission(call);
                match self.decide(&ask)? {
                    Some(true) => {
                        json!({ "permissions": call.params["permissions"], "scope": "turn" })
                    }
                    Some(false) => json!({ "permissions": {}, "scope": "turn" }),
                    None => return Ok(Some(Ending::kill(End::Parked { ask }))),
                }
            }
            "item/tool/requestUserInput" => {
                let ask = question(call.params);
                match self.ask(&ask) {
                    Reply::Park => return Ok(Some(Ending::kill(End::Parked { ask }))),
                    reply => answers(call.params, &reply),
                }
            }
            "item/tool/call" => {
                let tool = call.params["tool"].as_str().unwrap_or_default();
                let done = self.counterpart.called(tool, &call.params["arguments"]);
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

    fn noticed(&mut self, method: &str, params: &Value) -> Result<Option<Ending>, AgentError> {
        // One process may have other threads: those of agents below this one.
        if params.get("threadId").is_some_and(|thread| *thread != self.thread.as_str()) {
            return Ok(None);
        }
        match method {
            "item/started" => self.heard_item(&params["item"], false)?,
            "item/completed" => {
                let item = &params["item"];
                if item["type"] == "userMessage" {
                    self.heard_own_words(item);
                }
                self.heard_item(item, true)?;
            }
            "thread/tokenUsage/updated" => return Ok(self.heard_usage(params)),
            "error" if params["willRetry"] == true => {
                let (kind, text) = trouble::of_error(&params["error"]);
                let status = trouble::status(&params["error"]);
                self.counterpart.told(Event::Retry { status, wait_ms: 0, reason: text.clone() });
                return Ok(kind.is_terminal().then(|| Ending::fail(kind, text)));
            }
            "turn/completed" => return Ok(self.heard_end(&params["turn"])),
            _ => {}
        }
        Ok(None)
    }
}

impl Codex<'_> {
    /// Forgets what it was told within the turn once it has taken it.
    fn heard_own_words(&mut self, item: &Value) {
        let said = item.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
        if let Some(at) = self.steering.iter().position(|text| text == said) {
            self.steering.remove(at);
        }
    }

    fn permission(&self, call: &Call<'_>) -> Ask {
        let params = call.params;
        let word = |key: &str| params[key].as_str().unwrap_or_default();
        let (tool, input) = match call.method {
            "item/commandExecution/requestApproval" => {
                ("shell", json!({ "command": word("command"), "cwd": word("cwd") }))
            }
            "item/fileChange/requestApproval" => {
                let changes = self.changes.get(word("itemId")).cloned().unwrap_or_default();
                ("edit", json!({ "changes": changes }))
            }
            _ => ("permissions", params["permissions"].clone()),
        };
        let id = id_of(tool, &input);
        let text = [word("command"), word("reason")].into_iter().filter(|text| !text.is_empty());
        let text = one_line(&text.collect::<Vec<_>>().join(" — "));
        Ask::Permission { id, tool: tool.to_owned(), text, input }
    }
}

fn no_thread(session: &Session, refusal: Refusal) -> Ending {
    let is_unknown = *session != Session::New && !refusal.text.contains("auth");
    if is_unknown { Ending::fail(Trouble::SessionUnknown, refusal.text) } else { refused(refusal) }
}

fn texts(texts: &[String]) -> Value {
    texts.iter().map(|text| json!({ "type": "text", "text": text })).collect()
}

fn question(params: &Value) -> Ask {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let word = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let choice = |value: &Value| Choice {
        label: word(value, "label"),
        description: word(value, "description"),
    };
    let one = |value: &Value| Question {
        text: word(value, "question"),
        header: word(value, "header"),
        choices: list(value, "options").iter().map(choice).collect(),
        many: false,
    };
    let questions = list(params, "questions").iter().map(one).collect();
    Ask::Question { id: id_of("question", &params["questions"]), questions }
}

fn answers(params: &Value, reply: &Reply) -> Value {
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

/// Says in a line what an item is about.
fn summary(item: &Value) -> String {
    if let Some(command) = item["command"].as_str() {
        return one_line(command);
    }
    if let Some(changes) = item["changes"].as_array() {
        let paths = changes.iter().filter_map(|change| change["path"].as_str());
        return one_line(&paths.collect::<Vec<_>>().join(", "));
    }
    let rest = if item["arguments"].is_null() { &item["query"] } else { &item["arguments"] };
    one_line(&rest.to_string())
}
