//! The rules of mow as pure functions: values in, decisions out.
//!
//! Nothing in this crate uses files, clocks, the environment, randomness or the terminal;
//! `clippy.toml` enforces this. Start with [`phase`] (phase numbers), then [`roadmap`] (declared
//! phases) and [`graph`] (dependencies between phases). [`lead`] decides about a run, [`worker`]
//! about a phase; both are a [`machine`].

pub mod agent_answer;
pub mod banner;
pub mod check_inputs;
pub mod color;
pub mod dashboard;
pub mod depends_on;
pub mod duration;
pub mod file_scope;
pub mod forecast;
pub mod graph;
pub mod hash;
pub mod inbox;
pub mod lead;
pub mod machine;
pub mod message;
pub mod models;
pub mod money;
pub mod phase;
pub mod report;
pub mod roadmap;
pub mod seal;
pub mod slug;
pub mod stage;
pub mod team_color;
pub mod text_width;
pub mod view;
pub mod word_search;
pub mod worker;
