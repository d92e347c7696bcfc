//! `mow pause`, `mow resume`, `mow cancel`: what people want of a run.
//!
//! A wish is left for the lead in a file, durably, and is good without a lead, too. What would
//! change nothing is refused here, where the person still sees it.

use mow_core::lead::{Command, Status, Track};
use mow_core::phase::PhaseNumber;
use mow_core::report::Halt;
use mow_engine::lead as engine;
use serde_json::{Value, json};

use super::run::confirm;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, is_over};

/// The arguments of `pause` and `resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The phase, such as 3 or 2.1; all if not given
    phase: Option<String>,
}

/// The arguments of `cancel`.
#[derive(Debug, clap::Args)]
pub(crate) struct CancelArgs {
    /// The phase, such as 3 or 2.1; all that are not merged if not given
    phase: Option<String>,
    /// Cancel everything without asking
    #[arg(long, short)]
    yes: bool,
}

/// A command that was left for a lead.
pub(super) struct Left<'a> {
    run: &'a Run,
    seq: u64,
    command: Value,
}

impl<'a> Left<'a> {
    /// Leaves a command for the lead of a run; durable when this returns.
    pub(super) fn new(run: &'a Run, command: &Command) -> Result<Self, Failure> {
        let seq = engine::command(&run.dir, command)?;
        Ok(Self { run, seq, command: json!(command) })
    }

    /// Answers a question, or says what somebody else answered just before; durable, too.
    pub(super) fn answer_to(
        run: &'a Run,
        item: u32,
        text: &str,
    ) -> Result<Result<Self, String>, Failure> {
        let given = engine::Answers::open(&run.dir, &run.lead)?.give(item, text)?;
        let command = json!(Command::Answer { item, text: text.to_owned() });
        Ok(given.map(|seq| Self { run, seq, command }))
    }

    /// Says what was left, and what happens next.
    pub(super) fn answer(&self, context: &Context, said: &str) -> Result<Output, Failure> {
        let lead = self.run.lead_pid()?;
        let go_on = self.run.go_on();
        if context.wants_json() {
            return Ok(Output::json_lines(json!({
                "run": self.run.dir.run(),
                "seq": self.seq,
                "command": self.command,
                "lead": lead,
                "next": if lead.is_some() { None } else { Some(go_on) },
            })));
        }
        let next = match lead {
            Some(pid) => format!("The lead (process {pid}) takes it up."),
            None => format!("No lead is running: `{go_on}` goes on."),
        };
        Ok(Output::Text(format!("{said} {next}\n")))
    }
}

/// Refuses agents: what people are asked is for people to decide.
pub(super) fn must_be_person() -> Result<(), Failure> {
    if std::env::var_os("MOW_ROLE").is_none_or(|role| role != "worker") {
        return Ok(());
    }
    let message = "an agent of a run cannot decide about the run";
    Err(Failure::refused(message)
        .hint("mow message format input_needed --phase P --input-type TYPE --detail TEXT"))
}

/// What is wanted of phases.
#[derive(Clone, Copy)]
enum Wish {
    Pause,
    Resume,
    Cancel,
}

impl Wish {
    fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }

    fn command(self, phase: Option<PhaseNumber>) -> Command {
        match self {
            Self::Pause => Command::Pause { phase },
            Self::Resume => Command::Resume { phase },
            Self::Cancel => Command::Cancel { phase },
        }
    }

    /// Returns whether it would change anything about a phase that is named, or one of all.
    fn concerns(self, track: &Track, is_named: bool) -> bool {
        let status = track.status;
        match self {
            Self::Pause => {
                matches!(status, Status::Waiting | Status::Complete) || status.holds_slot()
            }
            // A worker that was told to end can still be told to go on.
            Self::Resume if is_named => {
                matches!(status, Status::Paused | Status::Failed | Status::Cancelled)
                    || track.awaits_merge()
                    || status.holds_slot() && track.halt.is_some()
            }
            Self::Resume => {
                status == Status::Paused || status.holds_slot() && track.halt == Some(Halt::Paused)
            }
            Self::Cancel => !matches!(status, Status::Merged | Status::Merging | Status::Cancelled),
        }
    }
}

/// `mow pause`.
pub(super) fn pause(context: &Context, args: &Args) -> Result<Output, Failure> {
    wish(context, Wish::Pause, args.phase.as_deref(), true)
}

/// `mow resume`.
pub(super) fn resume(context: &Context, args: &Args) -> Result<Output, Failure> {
    wish(context, Wish::Resume, args.phase.as_deref(), true)
}

/// `mow cancel`.
pub(super) fn cancel(context: &Context, args: &CancelArgs) -> Result<Output, Failure> {
    wish(context, Wish::Cancel, args.phase.as_deref(), args.yes)
}

fn wish(context: &Context, wish: Wish, phase: Option<&str>, sure: bool) -> Result<Output, Failure> {
    must_be_person()?;
    let run = Run::load(context, None)?;
    let phase = phase.map(|word| run.phase(word)).transpose()?;
    if is_over(&run.lead) {
        return Err(nothing_to_do(&run, wish, phase));
    }
    let command = wish.command(phase.map(|track| track.spec.number));
    let pending = run.pending()?;
    if pending.last() == Some(&command) {
        let message = format!("that was asked for already and waits for the lead: {}", wish.word());
        return Err(Failure::refused(message).hint(format!("{} takes it up", run.go_on())));
    }
    // What is pending may change everything, so that only the lead can tell.
    let chosen = run.lead.phases.values().filter(|track| phase.is_none_or(|p| p == *track));
    let concerned: Vec<_> = chosen.filter(|track| wish.concerns(track, phase.is_some())).collect();
    let closes_breaker = matches!(wish, Wish::Resume) && phase.is_none() && run.lead.breaker;
    if concerned.is_empty() && pending.is_empty() && !closes_breaker {
        return Err(nothing_to_do(&run, wish, phase));
    }
    if phase.is_none() && !sure {
        let question = format!(
            "Cancel {} phases? Their workers are ended; what is committed stays.",
            concerned.len()
        );
        if !confirm(&question)? {
            return Err(Failure::refused("nothing was cancelled")
                .hint("mow cancel PHASE for one phase, mow cancel --yes for all"));
        }
    }
    let all = format!("{} phases", concerned.len());
    let whom = phase.map_or(all, |track| format!("phase {}", track.spec.number));
    Left::new(&run, &command)?.answer(context, &format!("To {}: {whom}.", wish.word()))
}

fn nothing_to_do(run: &Run, wish: Wish, phase: Option<&Track>) -> Failure {
    let word = wish.word();
    let message = match phase {
        Some(track) => {
            let (number, status) = (track.spec.number, track.status.name());
            format!("phase {number} is {status}: there is nothing to {word}")
        }
        None => format!("there is nothing to {word}: {}", run.standing()),
    };
    let resumes =
        |status| phase.is_some_and(|t| t.status == status) && matches!(wish, Wish::Resume);
    let hint = if resumes(Status::Parked) {
        "it waits for an answer: mow inbox".to_owned()
    } else if resumes(Status::Cancelled) {
        format!("the run is over: mow run {} begins a new one", phase_word(phase))
    } else {
        "mow ps shows where each phase stands".to_owned()
    };
    Failure::refused(message).hint(hint)
}

fn phase_word(phase: Option<&Track>) -> String {
    phase.map_or_else(|| "--all".to_owned(), |track| track.spec.number.to_string())
}
