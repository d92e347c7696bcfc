//! Reads the prose of a dependency field.
