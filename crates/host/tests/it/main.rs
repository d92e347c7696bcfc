//! Agents as they are: the real programs against a scripted model, and small ones that misbehave.

#![expect(clippy::disallowed_methods, reason = "tests make their own files")]
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod acp;
mod bench;
mod claude;
mod codex;
mod stand_ins;
