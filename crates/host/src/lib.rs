//! Runs everything outside the planning files: git, worktrees, merges, worker processes, shell
//! commands and agents.
//!
//! This crate makes no scheduling decisions and prints nothing. Every operation first checks the
//! current state, so that it can be repeated after a crash at any point. Start with [`git`] and
//! [`process`].

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests create files"))]

pub mod agent;
pub mod bounded_log;
pub mod commit;
pub mod empty_dirs;
pub mod fast_forward;
pub mod git;
pub mod history;
pub mod in_progress;
pub mod launch;
pub mod life_lock;
pub mod life_watch;
pub mod merge;
pub mod pager;
pub mod phase_worktree;
pub mod probe;
pub mod process;
pub mod redirected_output;
pub mod rescue;
pub mod scratch_worktree;
pub mod secret;
pub mod shell;
pub mod shell_words;
pub mod stop_signal;
pub mod stuck_detector;
pub mod submodules;
pub mod tamper_detection;

#[cfg(test)]
mod test_repository;
