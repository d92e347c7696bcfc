//! Reads HTTP/1.1 requests and writes responses or event streams, as far as agents need it.
//!
//! A malformed or oversized request is an error with an HTTP status, never a panic.

use std::io::{self, BufRead, Read, Write};

/// Size limits in bytes, far above what agents send.
const HEAD_MAX: u64 = 64 << 10;
const BODY_MAX: u64 = 32 << 20;

#[derive(Debug, Default)]
pub(super) struct HttpRequest {
    pub(super) method: String,
    /// The path with its query; a full address when the server is used as a proxy.
    pub(super) target: String,
    /// Names are in lower case.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl HttpRequest {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The target without its query.
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(super) fn wants_close(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Why no request could be read.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The client closed the connection or was silent for too long.
    Gone,
    /// The status and message to send before the connection is closed.
    Refused(u16, &'static str),
}

impl From<io::Error> for RequestError {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

pub(super) fn read(stream: &mut impl BufRead) -> Result<HttpRequest, RequestError> {
    let mut left = HEAD_MAX;
    let first = read_line(stream, &mut left)?;
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(RequestError::Refused(400, "the request line must have three words"));
    };
    if !version.starts_with("HTTP/1.") {
        return Err(RequestError::Refused(400, "only HTTP/1 is spoken here"));
    }
    let mut incoming = HttpRequest {
        method: method.to_owned(),
        target: target.to_owned(),
        ..HttpRequest::default()
    };
    loop {
        let line = read_line(stream, &mut left)?;
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(RequestError::Refused(400, "a header needs a colon"));
        };
        incoming.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    incoming.body = read_body(stream, &incoming)?;
    Ok(incoming)
}

fn read_line(stream: &mut impl BufRead, left: &mut u64) -> Result<String, RequestError> {
    let mut line = Vec::new();
    let count = stream.by_ref().take(*left).read_until(b'\n', &mut line)?;
    *left -= count as u64;
    if !line.ends_with(b"\n") {
        let is_full = *left == 0;
        return Err(if is_full {
            RequestError::Refused(431, "too many headers")
        } else {
            RequestError::Gone
        });
    }
    let text =
        String::from_utf8(line).map_err(|_| RequestError::Refused(400, "headers are text"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn read_body(stream: &mut impl BufRead, head: &HttpRequest) -> Result<Vec<u8>, RequestError> {
    if head.header("transfer-encoding").is_some_and(|kind| kind.eq_ignore_ascii_case("chunked")) {
        return read_chunks(stream);
    }
    let length = match head.header("content-length").map(str::parse::<u64>) {
        None => 0,
        Some(Ok(length)) => length,
        Some(Err(_)) => return Err(RequestError::Refused(400, "content-length must be a number")),
    };
    let mut body = Vec::new();
    read_exactly(stream, length, &mut body)?;
    Ok(body)
}

fn read_chunks(stream: &mut impl BufRead) -> Result<Vec<u8>, RequestError> {
    let mut body = Vec::new();
    loop {
        let mut left = 1024;
        let line = read_line(stream, &mut left)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let Ok(length) = u64::from_str_radix(digits, 16) else {
            return Err(RequestError::Refused(400, "a chunk needs its length"));
        };
        read_exactly(stream, length, &mut body)?;
        // A line break follows each chunk; trailers may follow the last one.
        while !read_line(stream, &mut left)?.is_empty() {}
        if length == 0 {
            return Ok(body);
        }
    }
}

/// Appends this many bytes. Memory is allocated as bytes arrive, not by the announced length.
fn read_exactly(
    stream: &mut impl Read,
    length: u64,
    body: &mut Vec<u8>,
) -> Result<(), RequestError> {
    if length > BODY_MAX || body.len() as u64 + length > BODY_MAX {
        return Err(RequestError::Refused(413, "the body is too large"));
    }
    let count = stream.take(length).read_to_end(body)?;
    if (count as u64) < length { Err(RequestError::Gone) } else { Ok(()) }
}

/// A response to write.
#[derive(Debug)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) retry_after: Option<u32>,
    pub(super) content: Content,
    /// Whether to drop the connection in the middle of the content.
    pub(super) is_dropped: bool,
}

#[derive(Debug)]
pub(super) enum Content {
    Json(Vec<u8>),
    /// Server-sent events, each already encoded.
    Events(Vec<String>),
}

impl HttpResponse {
    pub(super) fn json(status: u16, body: &serde_json::Value) -> Self {
        let content = Content::Json(body.to_string().into_bytes());
        Self { status, retry_after: None, content, is_dropped: false }
    }
}

/// Writes a response; returns `false` when the connection must be closed.
pub(super) fn write(stream: &mut impl Write, answer: &HttpResponse) -> io::Result<bool> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", answer.status);
    if let Some(seconds) = answer.retry_after {
        head.push_str(&format!("retry-after: {seconds}\r\n"));
    }
    match &answer.content {
        Content::Json(body) => {
            head.push_str("content-type: application/json\r\n");
            head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
            let end = if answer.is_dropped { body.len() / 2 } else { body.len() };
            stream.write_all(head.as_bytes())?;
            stream.write_all(&body[..end])?;
        }
        Content::Events(events) => {
            head.push_str("content-type: text/event-stream\r\ncache-control: no-cache\r\n");
            head.push_str("transfer-encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            write_events(stream, events, answer.is_dropped)?;
        }
    }
    stream.flush()?;
    Ok(!answer.is_dropped)
}

fn write_events(stream: &mut impl Write, events: &[String], is_dropped: bool) -> io::Result<()> {
    let mut left = events.iter().map(String::len).sum::<usize>();
    if is_dropped {
        left /= 2;
    }
    for event in events {
        let bytes = &event.as_bytes()[..event.len().min(left)];
        if bytes.is_empty() {
            break;
        }
        left -= bytes.len();
        write!(stream, "{:x}\r\n", bytes.len())?;
        stream.write_all(bytes)?;
        stream.write_all(b"\r\n")?;
        stream.flush()?;
    }
    // A dropped stream has no final chunk.
    if is_dropped { Ok(()) } else { stream.write_all(b"0\r\n\r\n") }
}
