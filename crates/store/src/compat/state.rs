//! Writes the tables of STATE.md that only contract commands use.
//!
//! [`metrics`] is the table of plans under Performance Metrics (`mow state record-metric`),
//! [`verification`] the table of verification results (`mow worktree verify-result`).

pub mod metrics;
pub mod verification;
