//! Draws secrets from the system. They are for the memory of one process and never written down.

use std::fs::File;
use std::io::{self, Read};

/// Draws a secret that nobody can guess.
pub fn draw() -> io::Result<[u8; 32]> {
    let mut secret = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut secret)?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_two_are_alike() {
        assert_ne!(super::draw().unwrap(), super::draw().unwrap());
    }
}
