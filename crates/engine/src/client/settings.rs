//! Changes a setting of a project.

use mow_store::config;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use serde_json::Value;

use super::{AgentPolicy, Caller, Client, PersonRequest, Refusal};

/// The settings that say what agents may do, or name programs that mow runs. Only people change
/// them; agents may call `mow config-set` for all others.
const PROTECTED: [&str; 7] =
    ["permissions", "roles", "agents", "notify", "hooks", "budget", "multi_phase"];

/// Changes one setting, and no other byte of the file.
#[derive(Clone, Debug)]
pub struct SettingRequest<'a> {
    /// The setting, such as `workflow.research`.
    pub key: &'a str,
    /// The new value.
    pub value: &'a Value,
}

impl PersonRequest for SettingRequest<'_> {
    type Receipt = ();

    fn agent_policy(&self) -> AgentPolicy {
        let section = self.key.split('.').next().unwrap_or_default();
        match PROTECTED.contains(&section) {
            true => AgentPolicy::Refuse,
            false => AgentPolicy::Allow,
        }
    }

    fn carry_out(self, client: &Client<'_>, _: &Caller) -> Result<(), Refusal> {
        let project = client.project;
        let writer = Writer::open(project, WAIT_DEFAULT)?;
        let path = project.planning.join("config.json");
        let old = disk::read(&path)?.unwrap_or_default();
        let new = config::set(&old, self.key, self.value)?;
        writer.create_dir(&project.planning)?;
        writer.replace(&path, &new)?;
        Ok(())
    }
}
