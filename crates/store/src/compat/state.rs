//! Writes the table of STATE.md that only contract commands use: [`verification`], the table of
//! verification results (`mow worktree verify-result`).

pub mod verification;
