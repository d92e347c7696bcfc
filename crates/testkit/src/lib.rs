//! Shared fixtures for tests, fuzz targets and benchmarks. Development only: nothing ships from here.
//!
//! - [`sandbox`] creates a temporary project, and [`program_call`] runs a program in it without any
//!   settings of this machine; [`terminal`] runs a program on a pseudo-terminal.
//! - [`planned_project`] is a planned repository that mow can run for real.
//! - [`agents`] are the real coding agents, and [`llm`] is the scripted model that they talk to.
//! - [`checks`] are the properties that must hold for any input bytes.
//! - [`seeded_rng`] gives reproducible random numbers.

pub mod agents;
pub mod checks;
pub mod llm;
pub mod planned_project;
pub mod program_call;
pub mod sandbox;
pub mod seeded_rng;
pub mod terminal;
