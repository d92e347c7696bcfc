//! What the tests of several crates share. For development only; no part of the product uses it.
//!
//! [`sandbox`] makes a temporary project and [`call`] runs a program in it, the way a person or a
//! script would, but with nothing of the machine's own settings around it.

pub mod call;
pub mod dice;
pub mod sandbox;
