//! x
pub mod disk;
pub mod project;
