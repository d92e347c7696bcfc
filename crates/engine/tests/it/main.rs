//! Tests of the engine as a whole. Nothing here ships.

mod sim;
