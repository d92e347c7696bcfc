//! Generates random secrets. They stay in the memory of one process and are never stored.

use std::fs::File;
use std::io::{self, Read};

/// Returns 32 random bytes from `/dev/urandom`.
pub fn random() -> io::Result<[u8; 32]> {
    let mut secret = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut secret)?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_secrets_differ() {
        assert_ne!(super::random().unwrap(), super::random().unwrap());
    }
}
