//! The threads behind the port: takes requests, notes them, answers as the scripts say.
//!
//! Everything has a bound: connections, their silence, what is noted, how long something is held.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::io::BufReader;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::conversation::{Conversation, Protocol, Reply, Who, Wire};
use super::http::{self, Content, Incoming, Outgoing, Unread};
use super::scripts::{self, Chosen, Script, Step};
use super::{Request, anthropic, chat, gemini, responses, tools};

const CONNECTIONS_MAX: usize = 256;
const REQUESTS_MAX: usize = 4096;
const SILENCE_MAX: Duration = Duration::from_secs(240);
/// The longest that an answer is held back.
const HOLD_MAX: Duration = Duration::from_secs(180);

#[derive(Debug)]
pub(super) struct State {
    pub(super) port: u16,
    scene: Mutex<Scene>,
    /// Something in the scene is different.
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct Scene {
    pub(super) scripts: Vec<Script>,
    /// The last requests, in order.
    pub(super) requests: VecDeque<Request>,
    /// The names that hold nothing any more.
    pub(super) let_go: BTreeSet<String>,
    /// How often each step of a script failed on purpose.
    failures: BTreeMap<(String, usize), u32>,
    connections: BTreeMap<u64, TcpStream>,
    /// Connections and replies so far.
    count: u64,
    is_closing: bool,
}

impl Scene {
    /// The requests, one a line.
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

impl State {
    pub(super) fn scene(&self) -> MutexGuard<'_, Scene> {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait<'a>(
        &self,
        scene: MutexGuard<'a, Scene>,
        at_most: Duration,
    ) -> MutexGuard<'a, Scene> {
        self.changed.wait_timeout(scene, at_most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until something holds, a time is over or the server ends; tells whether it holds.
    fn wait_until(&self, at_most: Duration, holds: impl Fn(&Scene) -> bool) -> bool {
        let end = Instant::now() + at_most;
        let mut scene = self.scene();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if holds(&scene) || left.is_zero() || scene.is_closing {
                return holds(&scene);
            }
            scene = self.wait(scene, left);
        }
    }

    /// Ends all threads of the server.
    pub(super) fn close(&self) {
        let mut scene = self.scene();
        scene.is_closing = true;
        for stream in scene.connections.values() {
            stream.shutdown(Shutdown::Both).ok();
        }
        drop(scene);
        self.changed.notify_all();
        // Whoever accepts connections waits for one.
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok();
    }

    fn note(&self, request: Request) {
        let mut scene = self.scene();
        if scene.requests.len() == REQUESTS_MAX {
            scene.requests.pop_front();
        }
        scene.requests.push_back(request);
        drop(scene);
        self.changed.notify_all();
    }
}

pub(super) fn start(scripts: Vec<Script>) -> (Arc<State>, JoinHandle<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
    let port = listener.local_addr().expect("it was just bound").port();
    let scene = Mutex::new(Scene { scripts, ..Scene::default() });
    let state = Arc::new(State { port, scene, changed: Condvar::new() });
    let accepting = Arc::clone(&state);
    (state, thread::spawn(move || accept(&listener, &accepting)))
}

fn accept(listener: &TcpListener, state: &Arc<State>) {
    for stream in listener.incoming() {
        let mut scene = state.scene();
        if scene.is_closing {
            return;
        }
        let Ok((stream, other)) = stream.and_then(|stream| Ok((stream.try_clone()?, stream)))
        else {
            continue;
        };
        // One too many is simply closed.
        if scene.connections.len() == CONNECTIONS_MAX {
            continue;
        }
        scene.count += 1;
        let number = scene.count;
        scene.connections.insert(number, other);
        drop(scene);
        let state = Arc::clone(state);
        thread::spawn(move || {
            serve(&stream, &state);
            stream.shutdown(Shutdown::Both).ok();
            state.scene().connections.remove(&number);
        });
    }
}

/// Answers one request after the other.
fn serve(stream: &TcpStream, state: &State) {
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
            Err(Unread::Refused(status, why)) => (refusal(None, status, why), true),
            Err(Unread::Gone) => return,
        };
        let mut writer = stream;
        if !http::write(&mut writer, &answer).is_ok_and(|is_whole| is_whole && !is_last) {
            return;
        }
    }
}

fn answer(state: &State, incoming: &Incoming) -> Outgoing {
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
        state.note(request);
        return side_answer(incoming);
    };
    match understand(state, protocol, incoming, &mut request) {
        Ok((talk, chosen)) => {
            state.note(request);
            perform(state, protocol, &talk, chosen)
        }
        Err(why) => {
            let answer = refusal(Some(protocol), 400, &why);
            request.refused = Some(why);
            state.note(request);
            answer
        }
    }
}

/// What is spoken, for requests that want a model to say something.
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

fn has_auth(incoming: &Incoming) -> bool {
    let headers = ["authorization", "x-api-key", "x-goog-api-key"];
    headers.iter().any(|name| incoming.header(name).is_some_and(|value| !value.is_empty()))
}

/// Answers what agents ask beside their prompts.
fn side_answer(incoming: &Incoming) -> Outgoing {
    let path = incoming.path();
    // As good a guess as any; whoever asks gets the same number for the same text.
    let tokens = incoming.body.len() / 4 + 1;
    match incoming.method.as_str() {
        "POST" if path.ends_with("/count_tokens") => {
            Outgoing::json(200, &json!({ "input_tokens": tokens }))
        }
        "POST" if path.ends_with(":countTokens") => {
            Outgoing::json(200, &json!({ "totalTokens": tokens }))
        }
        "GET" if path.ends_with("/models") => Outgoing::json(200, &models()),
        "HEAD" => {
            Outgoing { content: Content::Json(Vec::new()), ..Outgoing::json(200, &json!({})) }
        }
        "GET" if path == "/" => Outgoing::json(200, &json!({})),
        _ => refusal(None, 404, "nothing is scripted here"),
    }
}

/// One list that all protocols can read.
fn models() -> Value {
    let model = json!({
        "id": "scripted", "object": "model", "type": "model", "display_name": "Scripted",
        "created": 0, "created_at": "2026-01-01T00:00:00Z", "owned_by": "testkit",
    });
    json!({ "object": "list", "data": [model], "models": [], "has_more": false })
}

/// Reads a prompt, notes what it says and finds the step that answers it.
fn understand(
    state: &State,
    protocol: Protocol,
    incoming: &Incoming,
    request: &mut Request,
) -> Result<(Conversation, Option<Chosen>), String> {
    let body: Value = serde_json::from_slice(&incoming.body)
        .map_err(|error| format!("the body is no JSON: {error}"))?;
    let talk = match protocol {
        Protocol::Anthropic => anthropic::parse(&body),
        Protocol::Responses => responses::parse(&body),
        Protocol::Chat => chat::parse(&body),
        Protocol::Gemini => gemini::parse(incoming.path(), &body),
    }?;
    request.model.clone_from(&talk.model);
    request.system.clone_from(&talk.system);
    request.tools = talk.offers.iter().map(|offer| offer.name.clone()).collect();
    request.user = talk.said_by(Who::User).collect::<Vec<_>>().join("\n");
    request.results = talk.said_by(Who::Tool).map(str::to_owned).collect();
    let chosen = scripts::choose(&state.scene().scripts, &talk)?;
    if let Some(chosen) = &chosen {
        request.script = Some(chosen.script.clone());
        request.step = chosen.number;
        // Whether the tools fit is known before anything is held or fails on purpose.
        for tool in &chosen.step.tools {
            tools::translate(tool, &talk.offers, String::new())?;
        }
    }
    Ok((talk, chosen))
}

/// Does what a step says; without one the model agrees to everything.
fn perform(
    state: &State,
    protocol: Protocol,
    talk: &Conversation,
    chosen: Option<Chosen>,
) -> Outgoing {
    let Some(Chosen { script, number, step }) = chosen else {
        return speak(state, protocol, talk, &Step::text("ok"));
    };
    if let Some(name) = &step.hold
        && !state.wait_until(HOLD_MAX, |scene| scene.let_go.contains(name))
    {
        return refusal(Some(protocol), 504, &format!("nobody let go of {name:?}"));
    }
    state.wait_until(Duration::from_millis(step.delay_ms).min(HOLD_MAX), |_| false);
    let is_faulty =
        (step.status.is_some() || step.drop) && fails_again(state, (script, number), step.times);
    match step.status {
        Some(status) if is_faulty => {
            let usual = format!("scripted failure {status}");
            let message = step.message.as_deref().unwrap_or(&usual);
            let body = error(Some(protocol), status, step.code.as_deref(), message);
            Outgoing { retry_after: step.retry_after, ..Outgoing::json(status, &body) }
        }
        _ => Outgoing { is_cut: is_faulty, ..speak(state, protocol, talk, &step) },
    }
}

fn fails_again(state: &State, step: (String, usize), times: Option<u32>) -> bool {
    let mut scene = state.scene();
    let failed = scene.failures.entry(step).or_default();
    let again = times.is_none_or(|times| *failed < times);
    *failed += u32::from(again);
    again
}

fn speak(state: &State, protocol: Protocol, talk: &Conversation, step: &Step) -> Outgoing {
    let reply = match reply(state, talk, step) {
        Ok(reply) => reply,
        Err(why) => return refusal(Some(protocol), 400, &why),
    };
    let wire = match protocol {
        Protocol::Anthropic => anthropic::render(talk, &reply),
        Protocol::Responses => responses::render(talk, &reply),
        Protocol::Chat => chat::render(talk, &reply),
        Protocol::Gemini => gemini::render(talk, &reply),
    };
    let content = match wire {
        Wire::Whole(body) => Content::Json(body.to_string().into_bytes()),
        Wire::Events(events) => Content::Events(events.iter().map(event).collect()),
    };
    Outgoing { status: 200, retry_after: None, content, is_cut: false }
}

fn reply(state: &State, talk: &Conversation, step: &Step) -> Result<Reply, String> {
    let mut scene = state.scene();
    scene.count += 1;
    // With the port, since a conversation may go on with another server.
    let id = format!("{:05}x{:07}", state.port, scene.count);
    drop(scene);
    let calls = (0..).zip(&step.tools).map(|(index, tool): (usize, _)| {
        tools::translate(tool, &talk.offers, format!("{id}x{index}"))
    });
    let calls = calls.collect::<Result<_, _>>()?;
    Ok(Reply { text: step.text.clone(), calls, usage: step.usage, id })
}

fn event((name, value): &(&'static str, Value)) -> String {
    // The only event that is no JSON is the end of a chat.
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

fn refusal(protocol: Option<Protocol>, status: u16, why: &str) -> Outgoing {
    Outgoing::json(status, &error(protocol, status, None, why))
}
