//! SHA-256: names for what was frozen or printed, and the one-way step of seals.

#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Returns the hash of some bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the hash of some bytes as text.
pub fn hex(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&hex_bytes(bytes)).into_owned()
}

/// The same, as the bytes of that text: seals take thousands of steps.
pub(crate) fn hex_bytes(bytes: &[u8]) -> [u8; 64] {
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(sha256(bytes)) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 0xf)];
    }
    text
}
