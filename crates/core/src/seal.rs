//! Seals: hash-chain links by which a worker marks its own commits, so that no agent can forge one.
//!
//! A worker draws a secret and hashes it repeatedly. The end of the chain, its root, is recorded in
//! the journal before any agent runs. The commit of effect *n* carries the link that is *n* + 1 hashes
//! away from the root. Anybody who sees a link can verify it, but cannot compute a later one. A link
//! proves which effect made a commit, not what the commit contains: a copied link is detected by
//! comparing the commit with the journal's record of that effect.

#[cfg(test)]
mod tests;

use crate::hash;

/// How many links a chain has.
pub const LINKS_MAX: usize = 1024;

/// The hash chain with which an attempt seals its commits.
#[derive(Debug)]
pub struct SealChain {
    root: String,
    /// The links in hexadecimal; the last one is nearest to the root.
    links: Vec<[u8; 64]>,
}

impl SealChain {
    /// Computes the chain of a secret that only the worker knows.
    pub fn new(secret: &[u8; 32]) -> Self {
        let mut links = Vec::with_capacity(LINKS_MAX);
        let mut link = hash::hex_bytes(secret);
        for _ in 0..LINKS_MAX {
            links.push(link);
            link = hash::hex_bytes(&link);
        }
        Self { root: text(&link).to_owned(), links }
    }

    /// Returns the root, against which links are verified.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns the link of an effect number; `None` when the chain is too short.
    pub fn link(&self, number: u64) -> Option<&str> {
        let at = LINKS_MAX.checked_sub(usize::try_from(number).ok()?.checked_add(1)?)?;
        self.links.get(at).map(text)
    }
}

fn text(link: &[u8; 64]) -> &str {
    std::str::from_utf8(link).expect("links are hexadecimal digits")
}

/// Returns the effect number of a link; `None` when the link does not belong to the root.
pub fn number(root: &str, link: &str) -> Option<u64> {
    if root.is_empty() || link.len() != root.len() {
        return None;
    }
    let mut link: [u8; 64] = link.as_bytes().try_into().ok()?;
    (0..LINKS_MAX as u64).find(|_| {
        link = hash::hex_bytes(&link);
        link == root.as_bytes()
    })
}
