//! Finds the byte positions of a JSON object's members.
//!
//! The text must have been accepted by a parser. Other text gives wrong positions, but no panic.

use std::ops::Range;

/// An object in the text, with byte offsets.
pub(super) struct Object {
    /// The offset of the opening brace.
    pub(super) open: usize,
    /// The offset of the closing brace.
    pub(super) close: usize,
    /// The members in file order.
    pub(super) members: Vec<Member>,
}

/// One member of an object, with byte offsets.
pub(super) struct Member {
    /// The key, unescaped.
    pub(super) key: String,
    /// The offset of the blanks before the key.
    pub(super) blanks_start: usize,
    /// The offset of the key's opening quote.
    pub(super) key_at: usize,
    /// The offset of the colon.
    pub(super) colon: usize,
    /// The byte range of the value.
    pub(super) value: Range<usize>,
}

/// Reads the object that begins at an offset; `None` when no object begins there.
pub(super) fn object_at(bytes: &[u8], open: usize) -> Option<Object> {
    if bytes.get(open) != Some(&b'{') {
        return None;
    }
    let mut members = Vec::new();
    let mut blanks_start = open + 1;
    loop {
        let key_at = skip_blanks(bytes, blanks_start);
        if bytes.get(key_at)? == &b'}' {
            return Some(Object { open, close: key_at, members });
        }
        let key_end = value_end(bytes, key_at);
        let key = serde_json::from_slice(bytes.get(key_at..key_end)?).ok()?;
        let colon = skip_blanks(bytes, key_end);
        let start = skip_blanks(bytes, colon + 1);
        let end = value_end(bytes, start);
        members.push(Member { key, blanks_start, key_at, colon, value: start..end });
        let after = skip_blanks(bytes, end);
        match bytes.get(after)? {
            b',' => blanks_start = after + 1,
            b'}' => return Some(Object { open, close: after, members }),
            _ => return None,
        }
    }
}

/// Returns the offset of the first byte that is not a blank.
pub(super) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Returns the end of the value that begins at an offset.
pub(super) fn value_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' | b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                at += 1;
            }
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
