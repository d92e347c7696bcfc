//! What acts on the world outside the planning files: the `git` program, worktrees, merges, processes.
//!
//! Nothing here decides what is to be done, and nothing prints. Every act looks before it acts, so
//! that it can be done again after a crash at any point. Start with [`git`] and [`process`].

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests make their own files"))]

pub mod agent;
pub mod bounded_log;
pub mod commit;
pub mod custody;
pub mod empty_dirs;
pub mod follow;
pub mod git;
pub mod history;
pub mod in_progress;
pub mod life;
pub mod merge;
pub mod own_output;
pub mod pager;
pub mod phase_worktree;
pub mod probe;
pub mod process;
pub mod pulse;
pub mod rescue;
pub mod scratch;
pub mod secret;
pub mod shell;
pub mod stop;
pub mod submodules;

#[cfg(test)]
mod test_repository;
