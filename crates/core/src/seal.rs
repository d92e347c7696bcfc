//! Seals: how a worker marks its own commits so that no agent can make one that passes for them.
//!
//! A worker draws a secret and hashes it over and over. The end of that chain, its root, is written
//! into the journal before any agent runs; what comes of the effect of a number carries the link that
//! is as many hashes away from the root. Whoever has seen a link can check it, and cannot know a
//! later one. A link says by which effect a commit was made, and not what is in it: a copy of it is
//! told apart by what the journal knows of that effect.

#[cfg(test)]
mod tests;

use crate::hash;

/// How many links a chain has.
pub const LINKS_MAX: usize = 1024;

/// What an attempt seals its commits with.
#[derive(Debug)]
pub struct Seals {
    root: String,
    /// The links, as text, the last one nearest to the root.
    links: Vec<[u8; 64]>,
}

impl Seals {
    /// Makes a chain of a secret that nobody else has.
    pub fn new(secret: &[u8; 32]) -> Self {
        let mut links = Vec::with_capacity(LINKS_MAX);
        let mut link = hash::hex_bytes(secret);
        for _ in 0..LINKS_MAX {
            links.push(link);
            link = hash::hex_bytes(&link);
        }
        Self { root: text(&link).to_owned(), links }
    }

    /// Returns what links are checked against.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns the link of a number; `None` when the chain is not that long.
    pub fn link(&self, number: u64) -> Option<&str> {
        let at = LINKS_MAX.checked_sub(usize::try_from(number).ok()?.checked_add(1)?)?;
        self.links.get(at).map(text)
    }
}

fn text(link: &[u8; 64]) -> &str {
    std::str::from_utf8(link).expect("it is made of digits")
}

/// Returns the number of a link in the chain of a root; `None` when it does not belong to it.
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
