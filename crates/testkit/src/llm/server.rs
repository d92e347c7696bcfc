//! The server threads: accept connections, record requests, answer them as the scripts say.
//!
//! Everything is limited: connections, idle time, recorded requests, and how long an answer is held.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::io::BufReader;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::conversation::{Conversation, ModelReply, Protocol, ResponseBody, Speaker};
use super::http::{self, Content, HttpRequest, HttpResponse, RequestError};
use super::scripts::{self, ChosenStep, Script, Step};
use super::{Request, anthropic, chat, gemini, responses, tools};

const CONNECTIONS_MAX: usize = 256;
const REQUESTS_MAX: usize = 4096;
const SILENCE_MAX: Duration = Duration::from_secs(240);
/// The longest time that an answer is held or delayed.
const HOLD_MAX: Duration = Duration::from_secs(180);

#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) port: u16,
    shared: Mutex<SharedState>,
    /// Notified when the shared state changes.
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct SharedState {
    pub(super) scripts: Vec<Script>,
    /// The last requests, in order.
    pub(super) requests: VecDeque<Request>,
    /// Names whose requests are no longer held.
    pub(super) released: BTreeSet<String>,
    /// How often each step failed on purpose, by script and step number.
    failures: BTreeMap<(String, usize), u32>,
    connections: BTreeMap<u64, TcpStream>,
    /// Counts connections and replies, for unique numbers.
    count: u64,
    is_closing: bool,
}

impl SharedState {
    /// The requests, one per line.
    pub(super) fn transcript(&self) -> String {
        let mut lines = format!("there were {} requests:\n", self.requests.len());
        for request in &self.requests {
            let Request { method, path, script, step, refused, tools, .. } = request;
            let script = script.as_deref().unwrap_or("no script");
            writeln!(lines, "{method} {path}: {script}, step {step}, of {tools:?}; {refused:?}")
                .expect("a String grows");
        }
        lines
    }
}

impl ServerState {
    pub(super) fn shared(&self) -> MutexGuard<'_, SharedState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait<'a>(
        &self,
        shared: MutexGuard<'a, SharedState>,
        at_most: Duration,
    ) -> MutexGuard<'a, SharedState> {
        self.changed.wait_timeout(shared, at_most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until a condition holds, the time is over or the server ends; returns whether it holds.
    fn wait_until(&self, at_most: Duration, holds: impl Fn(&SharedState) -> bool) -> bool {
        let end = Instant::now() + at_most;
        let mut shared = self.shared();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if holds(&shared) || left.is_zero() || shared.is_closing {
                return holds(&shared);
            }
            shared = self.wait(shared, left);
        }
    }

    /// Ends all threads of the server.
    pub(super) fn close(&self) {
        let mut shared = self.shared();
        shared.is_closing = true;
        for stream in shared.connections.values() {
            stream.shutdown(Shutdown::Both).ok();
        }
        drop(shared);
        self.changed.notify_all();
        // The accepting thread blocks until a connection arrives.
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok();
    }

    fn record(&self, request: Request) {
        let mut shared = self.shared();
        if shared.requests.len() == REQUESTS_MAX {
            shared.requests.pop_front();
        }
        shared.requests.push_back(request);
        drop(shared);
        self.changed.notify_all();
    }
}

pub(super) fn start(scripts: Vec<Script>) -> (Arc<ServerState>, JoinHandle<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
    let port = listener.local_addr().expect("it was just bound").port();
    let shared = Mutex::new(SharedState { scripts, ..SharedState::default() });
    let state = Arc::new(ServerState { port, shared, changed: Condvar::new() });
    let accepting = Arc::clone(&state);
    (state, thread::spawn(move || accept(&listener, &accepting)))
}

fn accept(listener: &TcpListener, state: &Arc<ServerState>) {
    for stream in listener.incoming() {
        let mut shared = state.shared();
        if shared.is_closing {
            return;
        }
        let Ok((stream, other)) = stream.and_then(|stream| Ok((stream.try_clone()?, stream)))
        else {
            continue;
        };
        // A connection beyond the limit is closed without an answer.
        if shared.connections.len() == CONNECTIONS_MAX {
            continue;
        }
        shared.count += 1;
        let number = shared.count;
        shared.connections.insert(number, other);
        drop(shared);
        let state = Arc::clone(state);
        thread::spawn(move || {
            serve(&stream, &state);
            stream.shutdown(Shutdown::Both).ok();
            state.shared().connections.remove(&number);
        });
    }
}

/// Answers the requests of one connection, one after the other.
fn serve(stream: &TcpStream, state: &ServerState) {
    let limits = stream
        .set_read_timeout(Some(SILENCE_MAX))
        .and_then(|()| stream.set_write_timeout(Some(SILENCE_MAX)))
        .and_then(|()| stream.set_nodelay(true));
    if limits.is_err() {
        return;
    }
    let mut reader = BufReader::new(stream);
    loop {
        let (answer, is_last) = match http::read(&mut reader) {
            Ok(incoming) => (answer(state, &incoming), incoming.wants_close()),
            Err(RequestError::Refused(status, why)) => (refusal(None, status, why), true),
            Err(RequestError::Gone) => return,
        };
        let mut writer = stream;
        if !http::write(&mut writer, &answer).is_ok_and(|is_whole| is_whole && !is_last) {
            return;
        }
    }
}

fn answer(state: &ServerState, incoming: &HttpRequest) -> HttpResponse {
    let path = incoming.path();
    let protocol = protocol(&incoming.method, path);
    let mut request = Request {
        protocol,
        method: incoming.method.clone(),
        path: incoming.target.clone(),
        script: None,
        step: 0,
        model: String::new(),
        tools: Vec::new(),
        system: String::new(),
        user: String::new(),
        results: Vec::new(),
        has_auth: has_auth(incoming),
        refused: None,
    };
    let Some(protocol) = protocol else {
        state.record(request);
        return answer_side_request(incoming);
    };
    match read_prompt(state, protocol, incoming, &mut request) {
        Ok((conversation, chosen)) => {
            state.record(request);
            perform_step(state, protocol, &conversation, chosen)
        }
        Err(why) => {
            let answer = refusal(Some(protocol), 400, &why);
            request.refused = Some(why);
            state.record(request);
            answer
        }
    }
}

/// Returns the protocol of a prompt; `None` for other requests.
fn protocol(method: &str, path: &str) -> Option<Protocol> {
    let is = |end: &str| method == "POST" && path.starts_with('/') && path.ends_with(end);
    if is("/messages") {
        Some(Protocol::Anthropic)
    } else if is("/responses") {
        Some(Protocol::Responses)
    } else if is("/chat/completions") {
        Some(Protocol::Chat)
    } else if is(":generateContent") || is(":streamGenerateContent") {
        Some(Protocol::Gemini)
    } else {
        None
    }
}

fn has_auth(incoming: &HttpRequest) -> bool {
    let headers = ["authorization", "x-api-key", "x-goog-api-key"];
    headers.iter().any(|name| incoming.header(name).is_some_and(|value| !value.is_empty()))
}

/// Answers requests that are not prompts: token counts, model lists, probes.
fn answer_side_request(incoming: &HttpRequest) -> HttpResponse {
    let path = incoming.path();
    // An estimate; the same text always gets the same number.
    let tokens = incoming.body.len() / 4 + 1;
    match incoming.method.as_str() {
        "POST" if path.ends_with("/count_tokens") => {
            HttpResponse::json(200, &json!({ "input_tokens": tokens }))
        }
        "POST" if path.ends_with(":countTokens") => {
            HttpResponse::json(200, &json!({ "totalTokens": tokens }))
        }
        "GET" if path.ends_with("/models") => HttpResponse::json(200, &models()),
        "HEAD" => HttpResponse {
            content: Content::Json(Vec::new()),
            ..HttpResponse::json(200, &json!({}))
        },
        "GET" if path == "/" => HttpResponse::json(200, &json!({})),
        _ => refusal(None, 404, "nothing is scripted here"),
    }
}

/// A model list that all protocols can read.
fn models() -> Value {
    let model = json!({
        "id": "scripted", "object": "model", "type": "model", "display_name": "Scripted",
        "created": 0, "created_at": "2026-01-01T00:00:00Z", "owned_by": "testkit",
    });
    json!({ "object": "list", "data": [model], "models": [], "has_more": false })
}

/// Parses a prompt, records it in `request` and chooses the step that answers it.
fn read_prompt(
    state: &ServerState,
    protocol: Protocol,
    incoming: &HttpRequest,
    request: &mut Request,
) -> Result<(Conversation, Option<ChosenStep>), String> {
    let body: Value = serde_json::from_slice(&incoming.body)
        .map_err(|error| format!("the body is no JSON: {error}"))?;
    let conversation = match protocol {
        Protocol::Anthropic => anthropic::parse(&body),
        Protocol::Responses => responses::parse(&body),
        Protocol::Chat => chat::parse(&body),
        Protocol::Gemini => gemini::parse(incoming.path(), &body),
    }?;
    request.model.clone_from(&conversation.model);
    request.system.clone_from(&conversation.system);
    request.tools = conversation.offered_tools.iter().map(|offer| offer.name.clone()).collect();
    request.user = conversation.texts_by(Speaker::User).collect::<Vec<_>>().join("\n");
    request.results = conversation.texts_by(Speaker::Tool).map(str::to_owned).collect();
    let chosen = scripts::choose(&state.shared().scripts, &conversation)?;
    if let Some(chosen) = &chosen {
        request.script = Some(chosen.script.clone());
        request.step = chosen.number;
        // Tools are checked before the step is held or fails on purpose.
        for tool in &chosen.step.tools {
            tools::translate(tool, &conversation.offered_tools, String::new())?;
        }
    }
    Ok((conversation, chosen))
}

/// Performs a step: hold, delay, fail or answer. Without a step the model answers "ok".
fn perform_step(
    state: &ServerState,
    protocol: Protocol,
    conversation: &Conversation,
    chosen: Option<ChosenStep>,
) -> HttpResponse {
    let Some(ChosenStep { script, number, step }) = chosen else {
        return render_reply(state, protocol, conversation, &Step::text("ok"));
    };
    if let Some(name) = &step.hold
        && !state.wait_until(HOLD_MAX, |shared| shared.released.contains(name))
    {
        return refusal(Some(protocol), 504, &format!("nobody let go of {name:?}"));
    }
    state.wait_until(Duration::from_millis(step.delay_ms).min(HOLD_MAX), |_| false);
    let is_faulty =
        (step.status.is_some() || step.drop) && count_failure(state, (script, number), step.times);
    match step.status {
        Some(status) if is_faulty => {
            let usual = format!("scripted failure {status}");
            let message = step.message.as_deref().unwrap_or(&usual);
            let body = error(Some(protocol), status, step.code.as_deref(), message);
            HttpResponse { retry_after: step.retry_after, ..HttpResponse::json(status, &body) }
        }
        _ => HttpResponse {
            is_dropped: is_faulty,
            ..render_reply(state, protocol, conversation, &step)
        },
    }
}

fn count_failure(state: &ServerState, step: (String, usize), times: Option<u32>) -> bool {
    let mut shared = state.shared();
    let failed = shared.failures.entry(step).or_default();
    let again = times.is_none_or(|times| *failed < times);
    *failed += u32::from(again);
    again
}

fn render_reply(
    state: &ServerState,
    protocol: Protocol,
    conversation: &Conversation,
    step: &Step,
) -> HttpResponse {
    let reply = match reply(state, conversation, step) {
        Ok(reply) => reply,
        Err(why) => return refusal(Some(protocol), 400, &why),
    };
    let wire = match protocol {
        Protocol::Anthropic => anthropic::render(conversation, &reply),
        Protocol::Responses => responses::render(conversation, &reply),
        Protocol::Chat => chat::render(conversation, &reply),
        Protocol::Gemini => gemini::render(conversation, &reply),
    };
    let content = match wire {
        ResponseBody::Whole(body) => Content::Json(body.to_string().into_bytes()),
        ResponseBody::Events(events) => Content::Events(events.iter().map(event).collect()),
    };
    HttpResponse { status: 200, retry_after: None, content, is_dropped: false }
}

fn reply(
    state: &ServerState,
    conversation: &Conversation,
    step: &Step,
) -> Result<ModelReply, String> {
    let mut shared = state.shared();
    shared.count += 1;
    // The port is part of the id, because a conversation may continue with another server.
    let id = format!("{:05}x{:07}", state.port, shared.count);
    drop(shared);
    let calls = (0..).zip(&step.tools).map(|(index, tool): (usize, _)| {
        tools::translate(tool, &conversation.offered_tools, format!("{id}x{index}"))
    });
    let calls = calls.collect::<Result<_, _>>()?;
    Ok(ModelReply { text: step.text.clone(), calls, usage: step.usage, id })
}

fn event((name, value): &(&'static str, Value)) -> String {
    // The only event that is not JSON is the end of a chat.
    let data = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if name.is_empty() {
        format!("data: {data}\n\n")
    } else {
        format!("event: {name}\ndata: {data}\n\n")
    }
}

fn error(protocol: Option<Protocol>, status: u16, code: Option<&str>, message: &str) -> Value {
    match protocol {
        None | Some(Protocol::Anthropic) => anthropic::error(status, code, message),
        Some(Protocol::Responses | Protocol::Chat) => chat::error(status, code, message),
        Some(Protocol::Gemini) => gemini::error(status, code, message),
    }
}

fn refusal(protocol: Option<Protocol>, status: u16, why: &str) -> HttpResponse {
    HttpResponse::json(status, &error(protocol, status, None, why))
}
