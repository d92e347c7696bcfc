//! SHA-256 digests: content ids of frozen plans and printed output, and the hash of seals.

#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Returns the SHA-256 digest of some bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the SHA-256 digest of some bytes as 64 lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&hex_bytes(bytes)).into_owned()
}

/// Returns the bytes of [`hex`] without an allocation, because seals hash thousands of times.
pub(crate) fn hex_bytes(bytes: &[u8]) -> [u8; 64] {
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(sha256(bytes)) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 0xf)];
    }
    text
}
