//! The rules of mow: values in, decisions out.
//!
//! Nothing in this crate touches files, clocks, the environment, randomness or the terminal; the
//! fences are in `clippy.toml`. Start with [`phase`] (what a phase number is), then [`roadmap`]
//! (what a roadmap declares) and [`graph`] (what may run when). A run is decided in [`lead`], a phase
//! in [`worker`]; both are a [`machine`].

pub mod banner;
pub mod color;
pub mod dashboard;
pub mod deciding;
pub mod declared;
pub mod depends;
pub mod fit;
pub mod forecast;
pub mod graph;
pub mod hash;
pub mod item;
pub mod lead;
pub mod machine;
pub mod message;
pub mod minutes;
pub mod models;
pub mod money;
pub mod phase;
pub mod report;
pub mod roadmap;
pub mod said;
pub mod seal;
pub mod slug;
pub mod stage;
pub mod team_color;
pub mod touch;
pub mod words;
pub mod worker;
