//! Tests with real processes, and tests that feed hostile files to the readers.

mod agents;
mod corpus;
mod slowness;
mod storm;
