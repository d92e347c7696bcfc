//! The tests that need real processes, and those that feed the readers hostile files.

mod agents;
mod corpus;
mod slowness;
mod storm;
