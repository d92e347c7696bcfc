//! Numbers that look random and are the same in every run.

/// A row of such numbers.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Begins the row that belongs to a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Throws a number below a limit, which must not be zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
