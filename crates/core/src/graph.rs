//! The roadmap as a graph.
