//! Runs agents: the real programs against a scripted model, and small scripts that misbehave.

#![expect(clippy::disallowed_methods, reason = "tests make their own files")]
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod acp;
mod claude;
mod codex;
mod fake_agents;
mod fixture;
mod tool_uses;
