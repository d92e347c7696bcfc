//! Encodes a record as a line of bytes, and parses such a line.
//!
//! The form is exact. A line with the same meaning in another form is refused, so that every
//! changed byte is detected, also a byte that the checksum does not cover.

use std::io::Write;

use serde::Serialize;
use serde::de::IgnoredAny;

use super::Record;

const SEQ: &[u8] = b"{\"seq\":";
const CRC: &[u8] = b",\"crc\":\"";
const CRC_END: &[u8] = b"\",";
const AT: &[u8] = b"\"at\":";
const BODY: &[u8] = b",\"body\":";
const CRC_DIGITS: usize = 8;

/// Appends a record's line to a buffer.
///
/// Fails when the body cannot be serialized; the content of the buffer is then undefined.
pub(super) fn encode<T: Serialize>(
    buffer: &mut Vec<u8>,
    seq: u64,
    at: u64,
    body: &T,
) -> serde_json::Result<()> {
    let digits = seq.to_string();
    for part in [SEQ, digits.as_bytes(), CRC, &[b'0'; CRC_DIGITS], CRC_END] {
        buffer.extend_from_slice(part);
    }
    let checksum_start = buffer.len();
    buffer.extend_from_slice(AT);
    write!(buffer, "{at}").map_err(serde_json::Error::io)?;
    buffer.extend_from_slice(BODY);
    serde_json::to_writer(&mut *buffer, body)?;
    buffer.push(b'}');
    let crc = checksum(&buffer[checksum_start..], digits.as_bytes());
    let crc_at = checksum_start - CRC_END.len() - CRC_DIGITS;
    write!(&mut buffer[crc_at..crc_at + CRC_DIGITS], "{crc:08x}").map_err(serde_json::Error::io)?;
    buffer.push(b'\n');
    Ok(())
}

/// Parses a line without its line break; `None` when it is not exactly as written.
pub(super) fn parse(line: &[u8]) -> Option<Record> {
    let (digits, rest) = split_digits(line.strip_prefix(SEQ)?);
    let (crc, rest) = rest.strip_prefix(CRC)?.split_at_checked(CRC_DIGITS)?;
    let checksummed = rest.strip_prefix(CRC_END)?;
    if crc != format!("{:08x}", checksum(checksummed, digits)).as_bytes() {
        return None;
    }
    let (at, rest) = split_digits(checksummed.strip_prefix(AT)?);
    let body = str::from_utf8(rest.strip_prefix(BODY)?.strip_suffix(b"}")?).ok()?;
    serde_json::from_str::<IgnoredAny>(body).ok()?;
    Some(Record { seq: parse_number(digits)?, at: parse_number(at)?, body: body.into() })
}

fn checksum(checksummed: &[u8], digits: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(checksummed);
    hasher.update(digits);
    hasher.finalize()
}

fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
    bytes.split_at(end)
}

/// Parses a number without leading zeros.
fn parse_number(digits: &[u8]) -> Option<u64> {
    let text = str::from_utf8(digits).ok()?;
    let number: u64 = text.parse().ok()?;
    (text == "0" || !text.starts_with('0')).then_some(number)
}
