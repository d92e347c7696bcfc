//! SHA-256: names for what was frozen or printed, and the one-way step of seals.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Returns the hash of some bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the hash of some bytes as text.
pub fn hex(bytes: &[u8]) -> String {
    sha256(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text can be extended");
        text
    })
}
