//! A run in sentences: what `mow log` and `mow run --plain` say about each event.

#[cfg(test)]
mod tests;

use super::schedule::list;
use super::{Command, Effect, Event, Hold, Lead, Outcome, PhaseSpec, Status, Track};
use crate::phase::PhaseNumber;
use crate::report::{Halt, Report};

/// How many groups of phases are named when a roadmap was read; the rest is counted.
const GROUPS_MAX: usize = 8;
/// How many files of a phase are named.
const FILES_MAX: usize = 4;

impl Event {
    /// Returns the phase it is about.
    pub fn phase(&self) -> Option<PhaseNumber> {
        match self {
            Self::Reported { phase, .. }
            | Self::Moved { phase, .. }
            | Self::Halted { phase, .. }
            | Self::Unhalted { phase }
            | Self::Noted { phase, .. }
            | Self::Spent { phase, .. }
            | Self::Died { phase } => Some(*phase),
            Self::Asked { item } => item.phase,
            Self::Intended { effect, .. } => match effect {
                Effect::Prepare { phase, .. }
                | Effect::Tell { phase, .. }
                | Effect::End { phase, .. }
                | Effect::Gather { phase, .. }
                | Effect::Merge { phase, .. } => Some(*phase),
                Effect::Start { brief } => Some(brief.phase),
                Effect::Follow { .. } | Effect::Close { .. } => None,
            },
            _ => None,
        }
    }

    /// Returns the event in one line for people; `None` where another event says it better.
    pub fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::Begun { run, target, tip } => {
                format!("run {run} begins on {target} at {}", short(tip))
            }
            Self::TakenUp { settings } => {
                format!("a lead takes up the run, at most {} workers", settings.max_workers)
            }
            Self::Planned { phases, .. } => planned(phases),
            Self::Observed { phases } => {
                let planned = phases.iter().filter(|spec| spec.touches.is_some());
                let planned: Vec<_> = planned.map(|spec| spec.number).collect();
                match planned.as_slice() {
                    [] => return None,
                    some => format!("the plans of phase {} are there", list(some)),
                }
            }
            Self::Finished { outcome, .. } => return outcome.sentence(),
            Self::Reported { phase, report, .. } => {
                format!("phase {phase}: {}", report.sentence()?)
            }
            Self::Moved { phase, why, ahead: Some(_), .. } => format!("phase {phase}: {why}"),
            Self::Moved { phase, to, why, attempt, .. } => moved(*phase, *to, why, *attempt),
            Self::Halted { phase, how } => match how {
                Halt::Paused => format!("phase {phase} is told to rest"),
                Halt::Cancelled => format!("phase {phase} is told to end"),
                Halt::Timeout => format!("phase {phase} has used up its time"),
            },
            Self::Unhalted { phase } => format!("phase {phase} shall go on after all"),
            Self::Died { phase } => format!("phase {phase}: its worker died"),
            Self::Told { text } => text.clone(),
            Self::Noted { phase, text } => format!("phase {phase}: {text}"),
            Self::Spent { phase, spent } => format!("phase {phase}: {}", spent.sentence()),
            Self::Asked { item } => format!("question {}: {}", item.id, item.ask.question),
            Self::Answered { item, text } => format!("question {item} is answered: {text}"),
            Self::Withdrawn { item } => format!("question {item} is no longer asked"),
            Self::Commanded { command, effect, .. } => {
                format!("a person wants: {} ({effect})", command.sentence())
            }
            Self::Breaker { open: true } => "nothing more is started".to_owned(),
            Self::Breaker { open: false } => "phases may start again".to_owned(),
            Self::Held { hold: Hold::Draining } => {
                "no more starts; what runs may end by itself".to_owned()
            }
            Self::Held { hold: Hold::Stopping } => "all workers are told to rest".to_owned(),
            Self::Held { hold: Hold::None } | Self::Intended { .. } => return None,
        })
    }

    /// Returns the event in one line, with what only the run as it was before can tell.
    pub fn explained(&self, before: &Lead) -> Option<String> {
        match self {
            Self::Finished { id, outcome } => match before.open.get(id) {
                Some(effect) => outcome.explained(effect),
                None => outcome.sentence(),
            },
            Self::Reported { phase, report: Report::Started { pid }, .. } => {
                Some(format!("phase {phase}: worker {pid} is at work"))
            }
            Self::Answered { item, text } => {
                let phase = before.items.get(item).and_then(|item| item.phase);
                let phase = phase.map_or(String::new(), |phase| format!(" about phase {phase}"));
                Some(format!("question {item}{phase} is answered: {text}"))
            }
            event => event.sentence(),
        }
    }
}

impl Lead {
    /// Returns why a phase stands where it stands; of one that waits, what it waits for.
    pub fn why(&self, track: &Track) -> String {
        if track.status != Status::Waiting && !track.looks_ahead() {
            return track.why.clone();
        }
        let others = track.spec.depends_on.iter().filter_map(|number| self.phases.get(number));
        let open: Vec<_> = others
            .filter(|other| other.status != Status::Merged)
            .map(|other| format!("{} ({})", other.spec.number, other.status.name()))
            .collect();
        let workers = self.settings.max_workers;
        if let Some(through) = track.through.filter(|_| track.looks_ahead()) {
            return format!(
                "it looks ahead through {} and waits for {}",
                through.name(),
                open.join(", ")
            );
        }
        if !open.is_empty() {
            let done = track
                .ahead
                .map_or_else(String::new, |stage| format!("; done ahead through {}", stage.name()));
            format!("it waits for {}{done}", open.join(", "))
        } else if let Some((other, path)) = self.in_the_way(track) {
            format!("it waits for {other}, which changes {path}, too")
        } else if self.breaker {
            "nothing is started until a person has decided".to_owned()
        } else if self.hold != Hold::None {
            "nothing new is started".to_owned()
        } else if self.live.len() >= workers {
            format!("it waits for a slot: {} of {workers} are taken", self.live.len())
        } else {
            format!("it may start: {}", track.why)
        }
    }
}

/// Says which phases there are and what they wait for, those with the same dependencies together.
fn planned(phases: &[PhaseSpec]) -> String {
    let mut groups: Vec<(&[PhaseNumber], Vec<PhaseNumber>)> = Vec::new();
    for spec in phases {
        match groups.iter().position(|(on, _)| *on == spec.depends_on.as_slice()) {
            Some(at) => groups[at].1.push(spec.number),
            None if groups.len() < GROUPS_MAX => {
                groups.push((&spec.depends_on, vec![spec.number]));
            }
            None => {}
        }
    }
    let named: usize = groups.iter().map(|(_, numbers)| numbers.len()).sum();
    let mut parts: Vec<_> = groups
        .iter()
        .map(|(on, numbers)| match on {
            [] => format!("{} at once", list(numbers)),
            on => format!("{} after {}", list(numbers), list(on)),
        })
        .collect();
    if named < phases.len() {
        parts.push(format!("and {} more", phases.len() - named));
    }
    let waves = PhaseSpec::by_wave(phases);
    let pairs: Vec<_> = waves.iter().flat_map(|wave| PhaseSpec::overlaps(wave)).collect();
    for (a, b, path) in pairs.iter().take(GROUPS_MAX) {
        parts.push(format!("{a} and {b} both change {path}"));
    }
    format!("the roadmap has {} phases: {}", phases.len(), parts.join("; "))
}

/// Names a few files, and counts the rest.
fn named(files: &[String]) -> String {
    let more = files.len().saturating_sub(FILES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown: Vec<_> = files.iter().take(FILES_MAX).map(String::as_str).collect();
    format!("{}{more}", shown.join(", "))
}

fn moved(phase: PhaseNumber, to: Status, why: &str, attempt: u32) -> String {
    match to {
        Status::Preparing => format!("phase {phase} starts (attempt {attempt}): {why}"),
        _ => format!("phase {phase} is {}: {why}", to.name()),
    }
}

/// Returns the beginning of a commit's name.
pub(crate) fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

impl Command {
    fn sentence(&self) -> String {
        let all = |phase: &Option<_>| match phase {
            Some(phase) => format!("phase {phase}"),
            None => "all".to_owned(),
        };
        match self {
            Self::Pause { phase } => format!("pause {}", all(phase)),
            Self::Resume { phase } => format!("resume {}", all(phase)),
            Self::Cancel { phase } => format!("cancel {}", all(phase)),
            Self::Answer { item, .. } => format!("answer question {item}"),
        }
    }
}

impl Outcome {
    /// Says what came of an effect; `None` where the next event says it.
    fn explained(&self, effect: &Effect) -> Option<String> {
        Some(match (effect, self) {
            (Effect::Prepare { phase, .. }, Self::Prepared { base }) => {
                format!("phase {phase}: its worktree stands on {}", short(base))
            }
            (Effect::Merge { phase, .. }, Self::Merged { commit, note }) => {
                let note = if note.is_empty() { String::new() } else { format!("; {note}") };
                format!("phase {phase}: the run's target is now {}{note}", short(commit))
            }
            (Effect::End { phase, .. }, Self::Done) => {
                format!("phase {phase}: its worker was ended by force")
            }
            (Effect::Follow { target, commit, .. }, Self::Done) => {
                format!("{target} follows to {}", short(commit))
            }
            (Effect::Follow { target, .. }, Self::Refused { reason, command }) => {
                format!("{target} did not follow: {reason}; to finish: {command}")
            }
            (Effect::Follow { target, .. }, Self::Failed { reason }) => {
                format!("{target} did not follow: {reason}")
            }
            (Effect::Close { .. }, Self::Failed { reason }) => {
                format!("the planning files could not be committed: {reason}")
            }
            (Effect::Close { .. }, _) => "the planning files are written".to_owned(),
            // The move of the phase that follows has the reason.
            _ => return None,
        })
    }

    fn sentence(&self) -> Option<String> {
        match self {
            Self::Merged { commit, note } => {
                let note = if note.is_empty() { String::new() } else { format!("; {note}") };
                Some(format!("the run's target is now {}{note}", short(commit)))
            }
            Self::Refused { reason, command } => {
                Some(format!("the branch did not follow: {reason}; to finish: {command}"))
            }
            Self::Failed { reason } => Some(format!("that did not work: {reason}")),
            Self::Done | Self::Prepared { .. } | Self::Conflict { .. } | Self::Refuted { .. } => {
                None
            }
        }
    }
}

impl Report {
    /// Returns the report in a few words for people; `None` for what needs none.
    pub fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::Started { .. } | Self::Asked { .. } | Self::Settled { .. } => return None,
            Self::Stage { to, artifact, .. } if artifact.is_empty() => {
                format!("stage {}", to.name())
            }
            Self::Stage { to, artifact, .. } => format!("stage {} ({artifact})", to.name()),
            Self::Plans { done, total } => format!("{done} of {total} plans done"),
            Self::PlanStarted { plan, tasks } => format!("plan {plan} starts, {tasks} tasks"),
            Self::TaskDone { plan, task, .. } => format!("plan {plan}: task {task} done"),
            Self::PlanDone { plan, commit, .. } => {
                format!("plan {plan} done, {}", short(commit))
            }
            Self::Blocked { plan, text, skipped } => {
                let goes_on = if *skipped { "; it goes on with what it can" } else { "" };
                format!("plan {plan} is blocked: {text}{goes_on}")
            }
            Self::Note { text } => text.clone(),
            Self::Spent(spent) => spent.sentence(),
            Self::Throttled { reason, .. } => format!("it waits for its model: {reason}"),
            Self::Denied { reason } => format!("no agent can go on: {reason}"),
            Self::Said { message } => crate::message::Message::summary_of(message),
            Self::Planned { files, .. } if files.is_empty() => return None,
            Self::Planned { files, .. } => format!("its plans change {}", named(files)),
            Self::Ahead { through } => format!("done ahead through {}", through.name()),
            Self::Parked => "it waits for a person".to_owned(),
            Self::Complete { commit } => format!("complete at {}", short(commit)),
            Self::Failed { reason } => format!("failed: {reason}"),
            Self::Stopped { how } => format!("stopped: {}", how.name()),
        })
    }
}
