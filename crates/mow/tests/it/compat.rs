//! Tests of the contract commands, which existing prompts and scripts call.
//!
//! The tests compare answers, files and exit codes with the contract. These must not change.

mod chat_log;
mod commit;
mod dashboard;
mod format;
mod frontmatter;
mod init;
mod message;
mod milestone;
mod phase;
mod phase_remove;
mod phases;
mod roadmap;
mod roadmap_dag;
mod roadmap_phase;
mod small_commands;
mod snapshot;
mod state;
pub(crate) mod state_fields;
mod state_lists;
mod status;
mod summary;
mod team;
mod template;
mod validate;
mod verify;
mod worktree_claims;
mod worktree_life;
mod worktree_merge;
mod worktree_worker;
