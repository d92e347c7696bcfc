//! The contract messages of a worker's report.

use serde_json::Value;

use super::facts::PhaseHistory;
use super::{ContractMessage, MessageFold, NONE, agent_kind, state_change};
use crate::lead::text::short;
use crate::message::{ENVELOPE, Fields, Message, MessageKind};
use crate::phase::PhaseNumber;
use crate::report::Report;
use crate::stage::Stage;

/// The state before the first stage.
const INITIALIZING: &str = "initializing";
/// The state after the last stage.
const COMPLETE: &str = "complete";

impl MessageFold {
    /// Returns the messages of a report, each followed by its acknowledgement.
    pub(super) fn of_report(
        &self,
        phase: PhaseNumber,
        report: &Report,
        at: u64,
    ) -> Vec<ContractMessage> {
        let facts = self.facts.phase(phase);
        let maker = ReportMessages { phase, at, facts: &facts, text: text_of(report) };
        let mut messages = Vec::new();
        for message in maker.messages(report) {
            let ack = message.kind().is_acknowledged().then(|| ack(&message));
            messages.push(message);
            messages.extend(ack);
        }
        messages
    }
}

/// Returns the report in one line for people.
fn text_of(report: &Report) -> String {
    match report {
        Report::TaskStarted { plan, task } => format!("plan {plan}: task {task} begins"),
        report => report.sentence().unwrap_or_default(),
    }
}

/// Returns the lead's acknowledgement. The record of the report is what it stands for.
fn ack(message: &ContractMessage) -> ContractMessage {
    let plan = message.message.fields().get("plan").and_then(Value::as_str).unwrap_or(NONE);
    let of = message.kind().name();
    let fields = [("ref_type", of), ("ref_plan", plan)];
    let place = (message.phase, message.at);
    ContractMessage::new(place, MessageKind::Ack, &fields, format!("{of} {plan} is acknowledged"))
}

/// Returns the word of the contract for a stage that runs.
fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Discuss => "discussing",
        Stage::Research => "researching",
        Stage::Plan => "planning",
        Stage::Execute => "executing",
        Stage::Refine => "refining",
    }
}

/// Makes the messages of one report.
struct ReportMessages<'a> {
    phase: PhaseNumber,
    at: u64,
    facts: &'a PhaseHistory,
    /// The report in one line for people.
    text: String,
}

impl ReportMessages<'_> {
    fn messages(&self, report: &Report) -> Vec<ContractMessage> {
        use MessageKind as Kind;
        match report {
            Report::Started { pid } => {
                vec![self.state("starting", "running", &format!("worker {pid} is running"))]
            }
            Report::Stage { from, to, artifact } => vec![self.stage(*from, *to, artifact)],
            Report::Plans { .. } => vec![self.state("executing", "executing", &self.text)],
            Report::PlanStarted { plan, tasks } => {
                let tasks = tasks.to_string();
                vec![self.make(Kind::PlanStarted, &[("plan", plan), ("tasks", &tasks)])]
            }
            Report::PlanCreated { plan } => vec![self.make(Kind::PlanCreated, &[("plan", plan)])],
            Report::TaskStarted { plan, task } => {
                let task = task.to_string();
                vec![self.make(Kind::TaskClaimed, &[("plan", plan), ("task", &task)])]
            }
            Report::TaskDone { plan, task, commit } => {
                let task = task.to_string();
                let commit = commit.as_ref().map(|commit| self.commit(plan, commit));
                let done = self.make(Kind::TaskComplete, &[("plan", plan), ("task", &task)]);
                commit.into_iter().chain([done]).collect()
            }
            Report::PlanDone { plan, commit, minutes, decisions } => {
                self.plan_done((plan, commit), *minutes, decisions)
            }
            Report::Blocked { plan, text, skipped } => {
                vec![self.blocker(plan, text, if *skipped { "skip" } else { "pause" })]
            }
            Report::Denied { reason } => vec![self.blocker(self.facts.plan(), reason, "pause")],
            Report::Note { text } => vec![self.state(self.status(), self.status(), text)],
            Report::Decisions { decisions } => {
                let text = format!("decided: {}", decisions.join("; "));
                vec![self.state(self.status(), self.status(), &text)]
            }
            Report::Throttled { .. } => vec![self.state(self.status(), "throttled", &self.text)],
            Report::Planned { .. } => vec![self.state("planning", "planned", &self.text)],
            Report::LookaheadDone { .. } => vec![self.state(self.status(), "ahead", &self.text)],
            Report::Stopped { how } => vec![self.state(self.status(), how.name(), &self.text)],
            Report::Complete { commit } => self.complete(commit),
            Report::Failed { reason } => {
                let fields = [("plan", self.facts.plan()), ("error", reason.as_str())];
                vec![self.with_detail(Kind::Error, &fields, reason)]
            }
            Report::AgentMessage { message } => vec![self.agent_call(message)],
            Report::Asked { .. }
            | Report::QuestionObsolete { .. }
            | Report::Spent(_)
            | Report::Agents { .. }
            | Report::Parked => Vec::new(),
        }
    }

    fn make(&self, kind: MessageKind, fields: &[(&str, &str)]) -> ContractMessage {
        self.with_detail(kind, fields, &self.text)
    }

    fn with_detail(
        &self,
        kind: MessageKind,
        fields: &[(&str, &str)],
        detail: &str,
    ) -> ContractMessage {
        ContractMessage::new((Some(self.phase), self.at), kind, fields, detail)
    }

    fn status(&self) -> &'static str {
        self.facts.status.name()
    }

    fn state(&self, from: &str, to: &str, note: &str) -> ContractMessage {
        state_change((self.phase, self.at), (from, to), note)
    }

    fn stage(&self, from: Option<Stage>, to: Stage, artifact: &str) -> ContractMessage {
        let artifact = if artifact.is_empty() { "worktree prepared" } else { artifact };
        let from = from.map_or(INITIALIZING, stage_word);
        let fields = [("from_stage", from), ("to_stage", stage_word(to)), ("artifact", artifact)];
        self.make(MessageKind::StageTransition, &fields)
    }

    fn commit(&self, plan: &str, commit: &str) -> ContractMessage {
        let fields = [("plan", plan), ("commit_hash", commit)];
        let detail = format!("plan {plan}: commit {}", short(commit));
        self.with_detail(MessageKind::CommitMade, &fields, &detail)
    }

    fn plan_done(
        &self,
        (plan, commit): (&str, &str),
        minutes: u64,
        decisions: &[String],
    ) -> Vec<ContractMessage> {
        let (minutes, decisions) = (minutes.to_string(), decisions.join("; "));
        // A plan without a closing commit has none to name.
        let hash = if commit.is_empty() { NONE } else { commit };
        let mut fields = vec![("plan", plan), ("commit", hash), ("duration_min", minutes.as_str())];
        if !decisions.is_empty() {
            fields.push(("decisions", decisions.as_str()));
        }
        let done = self.make(MessageKind::PlanComplete, &fields);
        let commit = (!commit.is_empty()).then(|| self.commit(plan, commit));
        commit.into_iter().chain([done]).collect()
    }

    fn blocker(&self, plan: &str, text: &str, action: &str) -> ContractMessage {
        let fields = [("plan", plan), ("blocker", text), ("action", action)];
        self.make(MessageKind::Blocker, &fields)
    }

    fn complete(&self, commit: &str) -> Vec<ContractMessage> {
        let artifact = format!("commit {}", short(commit));
        let fields = [
            ("from_stage", stage_word(Stage::Refine)),
            ("to_stage", COMPLETE),
            ("artifact", artifact.as_str()),
        ];
        let transition = self.make(MessageKind::StageTransition, &fields);
        let done = self.facts.plans_done;
        let (plans, minutes) = (done.to_string(), self.facts.minutes(self.at).to_string());
        let fields = [
            ("plans_completed", plans.as_str()),
            ("total_duration_min", minutes.as_str()),
            ("commit", commit),
        ];
        let detail = format!("{plans} {}", if done == 1 { "plan" } else { "plans" });
        vec![transition, self.with_detail(MessageKind::PhaseComplete, &fields, &detail)]
    }

    /// Returns the message that an agent sent; other calls of agents become a state change.
    fn agent_call(&self, sent: &Fields) -> ContractMessage {
        let mut fields = sent.clone();
        fields.retain(|key, _| !ENVELOPE.contains(&key.as_str()) && key != "from_phase");
        let phase = Some(self.phase);
        let name = |key: &str| sent.get(key).and_then(Value::as_str);
        let kind = agent_kind(sent);
        if name("type") == Some(kind.name())
            && let Ok(message) = Message::new(kind, fields)
        {
            let detail = super::bounded::text(&self.text, super::DETAIL_MAX);
            return ContractMessage { at: self.at, phase, message, detail };
        }
        let to = name("type").filter(|name| !name.is_empty()).unwrap_or("called");
        let plan = name("plan").filter(|plan| !plan.is_empty()).unwrap_or(NONE);
        let fields =
            [("plan", plan), ("from_state", self.status()), ("to_state", to), ("note", &self.text)];
        self.make(MessageKind::StateChange, &fields)
    }
}
