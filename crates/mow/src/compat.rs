//! The compatibility layer: commands that exist only because the contract asks for them.
//!
//! The contract is the set of commands that prompts, agents and scripts of existing GSD and Mowism
//! projects call, such as `mow state get`, `mow phase add` or `mow init plan-phase`. People who run
//! a fleet do not need them. Each family has one file or folder here.
//!
//! Two rules hold. The outputs are fixed: JSON keys, texts, the files that are written and the exit
//! codes 0 and 1 change only when the contract does. And the product never depends on this layer:
//! only the lists of commands (`commands.rs`, `cli.rs`) name it, and `cargo xtask tidy` checks that.
//! What both sides need lives outside, in [`crate::commands`], [`crate::worktrees`] or
//! [`crate::planning_commit`].
//!
//! Some families are mixed. `config-get` and `config-set` are in [`crate::commands::config`] with
//! the rest of their family. [`roadmap`] and [`worktree`] list a few commands of the product, which
//! run from there. `mow init` and `mow dashboard` alone belong to the product.

mod agent_teams;
pub(crate) mod chat_log;
pub(crate) mod commit;
pub(crate) mod dashboard;
pub(crate) mod format;
pub(crate) mod frontmatter;
pub(crate) mod init;
pub(crate) mod message;
pub(crate) mod milestone;
pub(crate) mod phase;
pub(crate) mod phases;
pub(crate) mod progress;
pub(crate) mod requirements;
pub(crate) mod roadmap;
pub(crate) mod scaffold;
pub(crate) mod small_commands;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod team;
pub(crate) mod template;
pub(crate) mod todo;
pub(crate) mod validate;
pub(crate) mod verify;
pub(crate) mod worktree;
