//! What tests, fuzz targets and measurements share. Development only: nothing ships from here.
//!
//! [`sandbox`] makes a temporary project and [`call`] runs a program in it, the way a person or a
//! script would, but with nothing of the machine's own settings around it; [`terminal`] gives it one
//! to ask on; [`field`] is a planned repository to run; [`agents`] are real
//! coding agents, and [`llm`] is what they talk to.
//! [`checks`] is what must hold for any bytes.

pub mod agents;
pub mod call;
pub mod checks;
pub mod dice;
pub mod field;
pub mod llm;
pub mod sandbox;
pub mod terminal;
