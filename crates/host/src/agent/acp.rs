//! Speaks the Agent Client Protocol, version 1: with OpenCode, Gemini, and whoever else knows it.
//!
//! Only what mow needs of it: one session, prompts, permissions, forms. The protocol has no way to
//! serve tools over the same pipes (an agent starts [`ToolServer`]s), to bound money, or to tell an agent
//! something within a turn. What is
//! parked is asked again after the session was resumed, where the agent can do that; where it cannot,
//! the session is unknown then, and a new one has to begin.

mod form;

use std::time::Instant;

use serde_json::{Value, json};

use super::pump::Ending;
use super::rpc::{Answer, Call, Refusal, Rpc, STOPS_WITHIN, Talk, got, refused};
use super::{
    Access, AgentError, Ask, Counterpart, End, Event, GO_ON, Job, Reply, Session, ToolServer,
    Trouble, Usage, id_of, one_line,
};
use crate::stop::Stop;

const PROTOCOL_VERSION: u64 = 1;
/// The names that agents give to modes in which they edit without asking, and only look.
const MODES_OF_EDITING: &[&str] = &["autoEdit", "acceptEdits", "auto_edit", "auto"];
const MODES_OF_READING: &[&str] = &["plan", "read-only"];

/// Lets an agent do a job.
pub(super) fn run(
    job: &Job,
    counterpart: &mut dyn Counterpart,
    stop: &Stop,
) -> Result<End, AgentError> {
    let Some(rpc) = Rpc::start(job, &[], &[], true)? else {
        return Ok(End::not_installed(job));
    };
    let tools = counterpart.tools();
    let full = |server: &ToolServer| -> Vec<String> {
        tools.iter().map(|tool| format!("mcp_{}_{}", server.name, tool.name)).collect()
    };
    let served = job.servers.iter().flat_map(full).collect();
    let mut acp = Acp {
        rpc,
        counterpart,
        session: String::new(),
        is_working: false,
        words: String::new(),
        refusal: None,
        cost: (job.session == Session::New).then_some(0.0),
        spent: None,
        served,
        usd_max: job.limits.usd,
    };
    let ending = acp.work(job, stop)?;
    acp.rpc.pump.finish(ending)
}

struct Acp<'a> {
    rpc: Rpc,
    counterpart: &'a mut dyn Counterpart,
    session: String,
    /// Whether what it says is new: a session that is loaded is told again from its beginning.
    is_working: bool,
    /// What it has said since it last did something.
    words: String,
    /// Why something was refused, until it goes on.
    refusal: Option<String>,
    /// What the session had cost when that was last reported, and what it costs now.
    cost: Option<f64>,
    spent: Option<f64>,
    /// What the ids of calls begin with that go to servers of the job.
    served: Vec<String>,
    /// What this run may cost.
    usd_max: Option<f64>,
}

impl Acp<'_> {
    fn work(&mut self, job: &Job, stop: &Stop) -> Result<Ending, AgentError> {
        let client = json!({ "name": "mow", "title": "mow", "version": env!("CARGO_PKG_VERSION") });
        let files = json!({ "readTextFile": false, "writeTextFile": false });
        let hello = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientInfo": client,
            "clientCapabilities": { "fs": files, "terminal": false, "elicitation": { "form": {} } },
        });
        let about = got!(self, self.call("initialize", &hello, stop)?, refused);
        if about["protocolVersion"] != PROTOCOL_VERSION {
            let text = format!("it speaks version {} of the protocol", about["protocolVersion"]);
            return Ok(Ending::fail(Trouble::Other, text));
        }
        let Some((method, params)) =
            opening(job, &about["agentCapabilities"], self.rpc.pump.mark())
        else {
            let text = "the agent cannot resume a session".to_owned();
            return Ok(Ending::fail(Trouble::SessionUnknown, text));
        };
        let place =
            got!(self, self.call(method, &params, stop)?, |refusal| no_session(job, refusal));
        self.session = match &job.session {
            Session::Resume(session) => session.clone(),
            Session::New => place["sessionId"].as_str().unwrap_or_default().to_owned(),
        };
        self.counterpart.told(Event::Started { session: self.session.clone() });
        for (method, params) in settings(job, &self.session, &place) {
            // Who may not edit without asking will ask.
            let is_mode = params.get("modeId").is_some() || params["configId"] == "mode";
            match self.call(method, &params, stop)? {
                Answer::Refused(_) if is_mode => {}
                answer => drop(got!(self, answer, refused)),
            }
        }
        self.is_working = true;
        self.talk(job, stop)
    }

    /// Tells it what to do, until there is no more to tell.
    fn talk(&mut self, job: &Job, stop: &Stop) -> Result<Ending, AgentError> {
        let mut prompt = vec![match job.prompt.as_str() {
            "" => GO_ON.to_owned(),
            prompt => prompt.to_owned(),
        }];
        if let (Some(system), Session::New) = (&job.system, &job.session) {
            prompt.insert(0, system.clone());
        }
        prompt.extend(self.counterpart.messages());
        loop {
            let blocks: Value =
                prompt.iter().map(|text| json!({ "type": "text", "text": text })).collect();
            let params = json!({ "sessionId": self.session, "prompt": blocks });
            let answer = got!(self, self.call("session/prompt", &params, stop)?, refused);
            let words = self.finish_words();
            self.heard_usage(&answer);
            prompt = self.refusal.take().into_iter().collect();
            prompt.extend(self.counterpart.messages());
            if prompt.is_empty() {
                return Ok(Ending::close(end(answer["stopReason"].as_str(), words)));
            }
        }
    }

    fn interrupt(&mut self) -> Result<Ending, AgentError> {
        if self.is_working {
            self.rpc.notify("session/cancel", &json!({ "sessionId": self.session }))?;
            self.wait(None, None, Some(Instant::now() + STOPS_WITHIN))?;
        }
        Ok(Ending::kill(End::Stopped))
    }

    fn heard_update(&mut self, update: &Value) -> Option<Ending> {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "usage_update" => {
                let amount = update["cost"]["amount"].as_f64();
                self.spent = amount.filter(|_| update["cost"]["currency"] == "USD");
                if !self.is_working {
                    self.cost = self.spent;
                }
            }
            _ if !self.is_working => {}
            "agent_message_chunk" => {
                self.refusal = None;
                self.words.push_str(update["content"]["text"].as_str().unwrap_or_default());
            }
            "tool_call" => {
                if let Some(ending) = self.overspent() {
                    return Some(ending);
                }
                self.refusal = None;
                self.finish_words();
                let name = update["kind"].as_str().unwrap_or("other").to_owned();
                let summary = one_line(update["title"].as_str().unwrap_or_default());
                self.counterpart.told(Event::Tool { name, summary });
            }
            _ => {}
        }
        None
    }

    /// Ends it when it has spent what it may, and goes on all the same.
    fn overspent(&mut self) -> Option<Ending> {
        let cost = self.spent? - self.cost?;
        let text = self.usd_max.filter(|most| cost >= *most).map(|_| format!("${cost:.2}"))?;
        // The answer that would tell of its tokens will not come any more.
        self.heard_usage(&Value::Null);
        Some(Ending::fail(Trouble::Budget, text))
    }

    /// Passes on what it said, now that it does something else; returns that.
    fn finish_words(&mut self) -> String {
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.counterpart.told(Event::Text(words.clone()));
        }
        words
    }

    /// Reports what a prompt used, as far as the agent says so.
    fn heard_usage(&mut self, answer: &Value) {
        let usage = &answer["usage"];
        let count = |key: &str| usage[key].as_u64().unwrap_or(0);
        let of_gemini =
            |key: &str| answer["_meta"]["quota"]["token_count"][key].as_u64().unwrap_or(0);
        let spent = self.spent.or(self.cost);
        let usage = Usage {
            input: count("inputTokens") + of_gemini("input_tokens"),
            output: count("outputTokens") + of_gemini("output_tokens"),
            cached: count("cachedReadTokens"),
            usd: spent.zip(self.cost).map(|(now, then)| (now - then).max(0.0)),
        };
        // An agent that never tells of dollars spends an unknown number of them.
        let usage = Usage { usd: usage.usd.filter(|_| self.spent.is_some()), ..usage };
        self.cost = spent;
        self.counterpart.told(Event::Usage(usage));
    }

    fn permit(&mut self, call: &Call<'_>) -> Result<Option<Ending>, AgentError> {
        let ask = permission(&call.params["toolCall"]);
        let reply = if self.is_served(call) { Reply::Allow } else { self.ask(&ask) };
        let (wanted, refusal): (&[&str], _) = match reply {
            Reply::Park => return Ok(Some(Ending::kill(End::Parked { ask }))),
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

    /// Returns whether a tool is one that the job serves: nobody has to be asked about that. Gemini
    /// makes the id of a call from the tool's full name, and what is a shell's is of another kind.
    fn is_served(&self, call: &Call<'_>) -> bool {
        let call = &call.params["toolCall"];
        let id = call["toolCallId"].as_str().unwrap_or_default();
        let is_name_of = |name: &String| {
            let rest = id.strip_prefix(name.as_str());
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(['-', ' ']) || rest.starts_with("__")
            })
        };
        call["kind"] == "other" && self.served.iter().any(is_name_of)
    }

    fn fill_in(&mut self, call: &Call<'_>) -> Result<Option<Ending>, AgentError> {
        let Some(form) = form::Form::parse(call.params) else {
            self.rpc.answer(call, &json!({ "action": "decline" }))?;
            return Ok(None);
        };
        let ask = form.ask();
        let result = match self.ask(&ask) {
            Reply::Park => return Ok(Some(Ending::kill(End::Parked { ask }))),
            Reply::Answer(answers) => json!({ "action": "accept", "content": form.fill(&answers) }),
            Reply::Deny(_) | Reply::Allow => json!({ "action": "decline" }),
        };
        self.rpc.answer(call, &result)?;
        Ok(None)
    }
}

impl Talk for Acp<'_> {
    fn rpc(&mut self) -> &mut Rpc {
        &mut self.rpc
    }

    fn counterpart(&mut self) -> &mut dyn Counterpart {
        self.counterpart
    }

    fn requested(&mut self, call: &Call<'_>) -> Result<Option<Ending>, AgentError> {
        match call.method {
            "session/request_permission" => self.permit(call),
            "elicitation/create" | "session/elicitation" => self.fill_in(call),
            _ => self.rpc.refuse(call).map(|()| None),
        }
    }

    fn noticed(&mut self, method: &str, params: &Value) -> Result<Option<Ending>, AgentError> {
        if method == "session/update" {
            return Ok(self.heard_update(&params["update"]));
        }
        Ok(None)
    }
}

/// Returns the call that begins or resumes a session; `None` when the agent cannot do that.
fn opening(job: &Job, able: &Value, (mark, value): (&str, &str)) -> Option<(&'static str, Value)> {
    let server = |server: &ToolServer| {
        // Agents do not pass on their environment to all that they start.
        let mark = json!({ "name": mark, "value": value });
        let env = server.env.iter().map(|(name, value)| json!({ "name": name, "value": value }));
        let env = env.chain([mark]);
        json!({
            "name": server.name, "command": server.command, "args": server.args,
            "env": env.collect::<Vec<_>>(),
        })
    };
    let servers: Vec<_> = job.servers.iter().map(server).collect();
    let mut params = json!({ "cwd": job.cwd, "mcpServers": servers });
    let Session::Resume(session) = &job.session else { return Some(("session/new", params)) };
    params["sessionId"] = json!(session);
    if !able["sessionCapabilities"]["resume"].is_null() {
        return Some(("session/resume", params));
    }
    (able["loadSession"] == true).then_some(("session/load", params))
}

/// Returns the calls that set what the job wants and the agent offers.
fn settings(job: &Job, session: &str, place: &Value) -> Vec<(&'static str, Value)> {
    let modes = if job.access == Access::Edit { MODES_OF_EDITING } else { MODES_OF_READING };
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
        let listed = place.pointer(list).unwrap_or(&none);
        let option = place["configOptions"].as_array().into_iter().flatten();
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

fn no_session(job: &Job, refusal: Refusal) -> Ending {
    match refused(refusal) {
        Ending::Kill(end) if job.session != Session::New => match *end {
            End::Failed { kind: Trouble::Other, text } => {
                Ending::fail(Trouble::SessionUnknown, text)
            }
            end => Ending::kill(end),
        },
        ending => ending,
    }
}

fn end(reason: Option<&str>, text: String) -> End {
    let failed = |kind, text: &str| End::Failed { kind, text: text.to_owned() };
    match reason {
        Some("end_turn") => End::Done { text },
        Some("max_turn_requests") => {
            failed(Trouble::Turns, "it went to its model as often as it may")
        }
        Some("max_tokens") => failed(Trouble::Other, "its model ran out of tokens"),
        Some("refusal") => failed(Trouble::Other, "its model refused to go on"),
        Some("cancelled") => failed(Trouble::Other, "the turn was cancelled"),
        _ => failed(Trouble::NoResult, "it did not say how it ended"),
    }
}

fn permission(call: &Value) -> Ask {
    let word = |key: &str| call[key].as_str().unwrap_or_default();
    let input = match &call["rawInput"] {
        Value::Null => json!({ "title": word("title"), "content": call["content"] }),
        input => input.clone(),
    };
    let tool = if word("kind").is_empty() { "other" } else { word("kind") };
    let (id, text) = (id_of(tool, &input), one_line(word("title")));
    Ask::Permission { id, tool: tool.to_owned(), text, input }
}
