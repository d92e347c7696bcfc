//! Store code that only the contract commands need: the compatibility layer.
//!
//! The contract is the set of commands that prompts of existing GSD and Mowism projects call, such
//! as `mow state`, `mow phase` or `mow template`. The modules here read and write what only those
//! commands touch. Nothing that runs phases needs them.
//!
//! The rule: code outside `compat` never names a module in here, tests excepted. Code in here may
//! use the rest of the crate. What both sides need lives outside. The texts and values that these
//! modules make are fixed by the contract: they change only when the contract does.

pub mod digest;
pub mod milestones;
pub mod phase_removal;
pub mod references;
pub mod roadmap_edit;
pub mod state;
pub mod summary;
pub mod templates;
