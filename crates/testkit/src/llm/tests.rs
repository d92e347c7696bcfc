//! Speaks to the server as agents do, over a socket; and as nobody should.

mod choosing;
mod hostile;
mod wire;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// An answer as it came.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
    /// Whether the body came to its end.
    is_whole: bool,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What stands behind `data:`, event by event.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]")
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }
}

fn connect(llm: &ScriptedLlm) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", llm.port())).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(stream)
}

/// Sends bytes and reads one answer.
fn send(stream: &mut BufReader<TcpStream>, bytes: &[u8]) -> Answer {
    stream.get_mut().write_all(bytes).unwrap();
    read_answer(stream)
}

fn read_answer(stream: &mut BufReader<TcpStream>) -> Answer {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).unwrap(), 0, "no answer: {head:?}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let (body, is_whole) = match length {
        Some(length) => {
            let length: u64 = length.parse().unwrap();
            let mut body = Vec::new();
            stream.by_ref().take(length).read_to_end(&mut body).unwrap();
            let is_whole = body.len() as u64 == length;
            (body, is_whole)
        }
        None => read_chunks(stream),
    };
    Answer { status, head, body: String::from_utf8_lossy(&body).into_owned(), is_whole }
}

fn read_chunks(stream: &mut BufReader<TcpStream>) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).unwrap() == 0 {
            return (body, false);
        }
        let length = u64::from_str_radix(line.trim(), 16).unwrap();
        stream.by_ref().take(length).read_to_end(&mut body).unwrap();
        stream.read_line(&mut String::new()).unwrap();
        if length == 0 {
            return (body, true);
        }
    }
}

/// Reads to the end and tells whether there was one, without a word before it.
fn is_closed(stream: &mut BufReader<TcpStream>) -> bool {
    let mut rest = Vec::new();
    let read = stream.read_to_end(&mut rest);
    let is_reset = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
    rest.is_empty() && read.map_or_else(is_reset, |_| true)
}

fn request(path: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nx-api-key: k\r\ncontent-length: {length}\r\n\r\n{body}").into()
}

fn post(llm: &ScriptedLlm, path: &str, body: &Value) -> Answer {
    send(&mut connect(llm), &request(path, body))
}

/// A prompt of Claude Code, with these messages before the answer is due.
fn prompt(messages: &Value) -> Value {
    let tools = json!([{ "name": "Bash" }, { "name": "Write" }, { "name": "AskUserQuestion" }]);
    json!({ "model": "m", "system": "Be kind.", "messages": messages, "tools": tools })
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

/// Says something as Claude Code does and returns the text of the answer.
fn say(llm: &ScriptedLlm, messages: &Value) -> String {
    let answer = post(llm, "/v1/messages", &prompt(messages)).json();
    answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}
