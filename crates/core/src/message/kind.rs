//! The types of messages: wire names, required fields, and the templates of their summaries.

use serde_json::Value;

use super::Fields;

/// A type of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the table below says what each type is")]
pub enum MessageKind {
    PlanStarted,
    PlanComplete,
    PhaseComplete,
    Error,
    Blocker,
    StateChange,
    Ack,
    TaskClaimed,
    CommitMade,
    TaskComplete,
    StageTransition,
    InputNeeded,
    PlanCreated,
}

/// The schema of one type.
struct Schema {
    name: &'static str,
    since: u64,
    required: &'static [&'static str],
    /// The template of the summary; `{field}` stands for the value of a field.
    summary: &'static str,
}

const fn schema(
    name: &'static str,
    since: u64,
    required: &'static [&'static str],
    summary: &'static str,
) -> Schema {
    Schema { name, since, required, summary }
}

/// One line for each type, in the order of [`MessageKind`].
#[rustfmt::skip]
const SCHEMAS: [Schema; 13] = [
    schema("plan_started", 1, &["phase", "plan"], "Phase {phase}: plan {plan} started"),
    schema("plan_complete", 1, &["phase", "plan", "commit", "duration_min"],
        "Phase {phase}: plan {plan} complete ({duration_min}min)"),
    schema("phase_complete", 1, &["phase", "plans_completed", "total_duration_min"],
        "Phase {phase}: all plans complete"),
    schema("error", 1, &["phase", "plan", "error"], "Phase {phase}: error in {plan}"),
    schema("blocker", 1, &["phase", "plan", "blocker", "action"],
        "Phase {phase}: blocker in {plan} ({action})"),
    schema("state_change", 1, &["phase", "plan", "from_state", "to_state"],
        "Phase {phase}: {plan} {to_state}"),
    schema("ack", 1, &["ref_type", "ref_plan"], "Ack: {ref_type} {ref_plan}"),
    schema("task_claimed", 2, &["phase", "plan", "task"], "Phase {phase}: task {task} claimed"),
    schema("commit_made", 2, &["phase", "plan", "commit_hash"],
        "Phase {phase}: commit {commit_hash}"),
    schema("task_complete", 2, &["phase", "plan", "task"], "Phase {phase}: task {task} complete"),
    schema("stage_transition", 2, &["phase", "from_stage", "to_stage"],
        "Phase {phase}: {from_stage} -> {to_stage}"),
    schema("input_needed", 2, &["phase", "input_type", "detail"],
        "Phase {phase}: input needed ({input_type})"),
    schema("plan_created", 2, &["phase", "plan"], "Phase {phase}: plan {plan} created"),
];

impl MessageKind {
    /// All types in the order of the schema.
    pub const ALL: [Self; 13] = [
        Self::PlanStarted,
        Self::PlanComplete,
        Self::PhaseComplete,
        Self::Error,
        Self::Blocker,
        Self::StateChange,
        Self::Ack,
        Self::TaskClaimed,
        Self::CommitMade,
        Self::TaskComplete,
        Self::StageTransition,
        Self::InputNeeded,
        Self::PlanCreated,
    ];

    fn schema(self) -> &'static Schema {
        &SCHEMAS[self as usize]
    }

    /// Returns the value of the `type` field.
    pub fn name(self) -> &'static str {
        self.schema().name
    }

    /// Finds a type by the value of the `type` field.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the schema version that introduced the type.
    pub fn since(self) -> u64 {
        self.schema().since
    }

    /// Returns whether the message is a milestone: the only ones with `messages.events` `lean`.
    pub fn is_milestone(self) -> bool {
        matches!(
            self,
            Self::PlanComplete
                | Self::PhaseComplete
                | Self::Error
                | Self::Blocker
                | Self::InputNeeded
                | Self::Ack
        )
    }

    /// Returns whether the lead acknowledges the message.
    pub fn is_acknowledged(self) -> bool {
        matches!(self, Self::PlanComplete | Self::PhaseComplete | Self::Error | Self::Blocker)
    }

    /// Returns whether an agent or a hook may send the message; the engine makes all others.
    pub fn is_for_agents(self) -> bool {
        matches!(self, Self::Blocker | Self::Error | Self::StateChange)
    }

    /// Returns the required fields.
    pub fn required(self) -> &'static [&'static str] {
        self.schema().required
    }

    /// Returns the summary for people, with a question mark for each missing field.
    pub(super) fn summary(self, fields: &Fields) -> String {
        let mut parts = self.schema().summary.split(['{', '}']);
        let mut line = String::new();
        while let Some(words) = parts.next() {
            line.push_str(words);
            if let Some(key) = parts.next() {
                line.push_str(&shown(fields.get(key)));
            }
        }
        line
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "?".to_owned(),
        Some(Value::String(text)) if text.is_empty() => "?".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
