//! Carries out the effects of the lead and of workers in the simulated world, and checks them.

use mow_core::file_scope;
use mow_core::inbox::QuestionKind;
use mow_core::lead::{Command, ConflictedFile, Effect, Input, Outcome, Status};
use mow_core::phase::PhaseNumber;
use mow_core::report::{HaltReason, LeadMessage, Report};
use mow_core::stage::Stage;
use mow_core::worker;
use mow_engine::EngineError;
use mow_engine::link::WorkerLink as _;

use super::worker_processes::{Cut, Key, Process};
use super::world::{Sim, SimEvent};

impl Sim {
    /// Carries out an effect of the lead, unless it is done already.
    pub(crate) fn run_effect(&mut self, effect: &Effect) -> Outcome {
        if let Some(outcome) = self.run_link_effect(effect) {
            return outcome;
        }
        match effect {
            Effect::CollectLookahead { phase, attempt, through } => {
                let key = (*phase, *attempt).into();
                let files = self.gather(key, *through).expect("the simulated link does not fail");
                self.reset(key, &files).expect("the simulated link does not fail");
                // Rereading a large roadmap each time would dominate the run time of the test.
                if self.scenario.specs.len() < 500 || self.rng.below(50) == 0 {
                    let (generation, input) = (self.generation, self.roadmap());
                    self.after(1, SimEvent::Deliver { generation, input });
                }
                if self.effect_fails() {
                    return Outcome::Failed { reason: "no space".to_owned() };
                }
                Outcome::Done
            }
            Effect::Merge { phase, attempt, commit, onto, .. } => {
                self.merge((*phase, *attempt), commit, onto)
            }
            Effect::FastForward { .. } if self.rng.below(6) == 0 => Outcome::Refused {
                reason: "somebody works there".to_owned(),
                command: "git pull".to_owned(),
            },
            Effect::FastForward { .. } => Outcome::Done,
            Effect::CommitPlanningFiles { .. } => {
                self.closings += 1;
                let commit = format!("{}.{}", self.tip(), self.closings);
                Outcome::Merged { commit, note: String::new() }
            }
            _ => unreachable!("the link carries out {effect:?}"),
        }
    }

    fn tip(&self) -> String {
        format!("m{}", self.merges.len())
    }

    fn effect_fails(&mut self) -> bool {
        let stumbles = self.scenario.faults.effects > 0 && self.rng.below(10) == 0;
        self.scenario.faults.effects -= u64::from(stumbles);
        stumbles
    }

    /// Prepares an attempt; returns the commit that it starts from.
    pub(crate) fn prepare_phase(
        &mut self,
        phase: PhaseNumber,
        base: &str,
    ) -> Result<String, EngineError> {
        let contains = merges_in(base);
        let spec = self.scenario.spec(phase).expect("the run knows only phases of the scenario");
        let looks_ahead = self.invariants.lead.phases[&phase].looks_ahead();
        for dependency in spec.depends_on.iter().filter(|_| !looks_ahead) {
            let is_done = self.scenario.spec(*dependency).is_some_and(|spec| spec.done);
            if !is_done && self.merges.get(dependency).is_none_or(|place| *place > contains) {
                self.broken = Some(format!("phase {phase} starts at {base} without {dependency}"));
            }
        }
        let mut live = self.processes.range((phase, 0)..=(phase, u32::MAX));
        if let Some((_, process)) = live.find(|(_, process)| process.alive) {
            if !process.zombie {
                self.broken = Some(format!("phase {phase} is prepared while a worker of it lives"));
            }
            return Err(EngineError::refused("an earlier worker is still alive", ""));
        }
        if self.effect_fails() {
            return Err(EngineError::refused("no space", ""));
        }
        Ok(base.to_owned())
    }

    /// Starts a worker, unless that attempt was ever started.
    pub(crate) fn start(&mut self, brief: &mow_core::report::Brief) -> Result<(), EngineError> {
        let key = (brief.phase, brief.attempt);
        if self.processes.contains_key(&key) {
            return Ok(());
        }
        if self.effect_fails() {
            return Err(EngineError::refused("no such program", ""));
        }
        if self.processes.range((key.0, 0)..key).any(|(_, process)| process.alive) {
            self.broken = Some(format!("phase {} has two live attempts", key.0));
        }
        if brief.through.is_some() {
            self.scenario.disks.get_mut(&brief.phase).unwrap().look_ahead();
        }
        self.check_brief(brief);
        let has_faults = self.scenario.faults.worker > 0;
        let (ignores_inbox, hangs) = (self.rng.below(8) == 0, self.rng.below(8) == 0);
        let clock = self.set_clock(0);
        self.processes
            .insert(key, Process::new(has_faults && ignores_inbox, has_faults && hangs, clock));
        self.feed(key, vec![worker::Input::Begin { brief: brief.clone(), pid: 1 }]);
        Ok(())
    }

    fn merge(&mut self, (phase, attempt): Key, commit: &str, onto: &str) -> Outcome {
        if !self.merges.contains_key(&phase) {
            if merges_in(onto) != self.merges.len() {
                self.broken = Some(format!("phase {phase} is merged onto {onto}, which is old"));
            }
            let disk = &self.scenario.disks[&phase];
            if let Err(problem) = disk.check_complete() {
                self.broken = Some(format!("phase {phase} is merged: {problem}"));
            }
            if disk.head() != commit {
                self.broken = Some(format!("phase {phase}-{attempt} is merged at an old commit"));
            }
            let reports = self.processes[&(phase, attempt)].reports(0);
            let is_own = |report: &Report| matches!(report, Report::Complete { commit: own } if own == commit);
            if !reports.into_iter().any(|(_, report)| is_own(report)) {
                self.broken = Some(format!("phase {phase}-{attempt} never had {commit}"));
            }
            if self.effect_fails() {
                let (path, kind) = ("src/a".to_owned(), "both changed".to_owned());
                let settle = "git merge".to_owned();
                return Outcome::Conflict { files: vec![ConflictedFile { path, kind }], settle };
            }
            if self.effect_fails() {
                return Outcome::Refuted { reason: "a liar".to_owned() };
            }
            self.merges.insert(phase, self.merges.len() + 1);
        }
        Outcome::Merged { commit: self.tip(), note: String::new() }
    }

    /// Gives inputs to a worker, which may crash while it handles them.
    pub(crate) fn feed(&mut self, key: Key, inputs: Vec<worker::Input>) {
        // Rare reports must be lost as often as frequent ones.
        let is_seldom = |input: &worker::Input| {
            let worker::Input::Finished { outcome, .. } = input else { return false };
            matches!(
                outcome,
                worker::Outcome::PermanentFailure { .. } | worker::Outcome::RetryLater { .. }
            )
        };
        let odds = if inputs.iter().any(is_seldom) { 3 } else { 40 };
        let crashes = self.scenario.faults.worker > 0 && self.rng.below(odds) == 0;
        let cut = match self.rng.below(2) {
            _ if !crashes => Cut::None,
            0 => Cut::Recording(self.rng.below(8)),
            _ => Cut::Releasing,
        };
        let now = self.now;
        let Some(process) = self.processes.get_mut(&key).filter(|process| process.alive) else {
            return;
        };
        let batch = process.feed(inputs, now, cut);
        let (ended, hangs) = (process.worker.has_ended(), process.hangs);
        if process.worker.stage >= Some(Stage::Execute) {
            self.executing.insert(key);
        }
        if batch.reported {
            let (generation, after) = (self.generation, self.read_delay(1_000));
            self.after(after, SimEvent::Tail { generation, key });
        }
        if batch.crashed {
            self.scenario.faults.worker -= 1;
            return self.worker_died(key);
        }
        if let Some(at) = batch.wake {
            self.after(at.saturating_sub(now), SimEvent::Wake { key });
        }
        for (id, effect) in batch.effects {
            self.start_worker_effect(key, id, effect);
        }
        if ended && !hangs {
            let after = self.delay(2_000);
            self.after(after, SimEvent::Exit { key });
        }
    }

    fn start_worker_effect(&mut self, key: Key, id: u64, effect: worker::Effect) {
        use worker::Effect;
        match &effect {
            Effect::Interrupt { of } => {
                let busy: Vec<_> =
                    self.processes[&key].worker.effects.running.keys().copied().collect();
                for id in busy.into_iter().filter(|id| of.is_none_or(|of| of == *id)) {
                    let after = self.delay(500);
                    self.after(after, SimEvent::CutOff { key, id });
                }
            }
            Effect::NoteStatus { .. } => {}
            _ => {
                let intended = self.processes[&key].check_intended(id);
                if let Err(problem) = intended.and_then(|()| self.check_parallel(key, id, &effect))
                {
                    self.broken = Some(format!("phase {}-{}: {problem}", key.0, key.1));
                }
                self.start_agent(key, id, &effect);
                if matches!(effect, Effect::RunTask { .. }) && !self.processes[&key].zombie {
                    self.check_file_scopes(key.0);
                }
                let mut after = self.delay(if effect.is_long() { 20_000 } else { 1_000 });
                after = self.scenario.durations.map_or(after, |time| time(&effect));
                if effect.is_long() && self.stalls() {
                    after = self.stall(key, id, after);
                }
                self.after(after, SimEvent::Done { key, id, effect });
            }
        }
    }

    /// Checks that no other phase that is running or unmerged changes the files of an executing
    /// phase.
    fn check_file_scopes(&mut self, phase: PhaseNumber) {
        if self.scenario.settings.force {
            return;
        }
        // A zombie changes its own worktree only; its phase was given up.
        let executes = |key: &&Key| {
            let process = &self.processes[*key];
            !process.zombie && process.worker.stage >= Some(Stage::Execute)
        };
        // A phase whose merge waited for a person blocked no other phase.
        let was_parked = |number: PhaseNumber| {
            let mut items = self.invariants.questions_about(number);
            items.any(|item| item.ask.kind == QuestionKind::Conflict)
        };
        let own = self.scenario.disks[&phase].files();
        let touches = |number: PhaseNumber| {
            let files = self.scenario.disks[&number].files();
            number != phase && file_scope::common_path(files, own).is_some()
        };
        let unmerged = self.invariants.unmerged.iter().copied();
        let mut others = unmerged.filter(|n| touches(*n) && !was_parked(*n)).chain(
            self.executing
                .iter()
                .filter(executes)
                .map(|(number, _)| *number)
                .filter(|n| touches(*n)),
        );
        if let Some(other) = others.next() {
            self.broken = Some(format!("phase {phase} executes in parallel to {other}: {own:?}"));
        }
    }

    /// Ends an effect of a worker, which may crash before it learns the outcome.
    pub(crate) fn finish(&mut self, key: Key, id: u64, effect: &worker::Effect) {
        let process = &self.processes[&key];
        let is_busy = process.worker.effects.running.contains_key(&id);
        if !process.alive || !is_busy {
            return;
        }
        use worker::Effect::{Checkpoint, ClosePhase, ClosePlan, RunTask};
        let is_work =
            matches!(effect, RunTask { .. } | ClosePlan { .. } | ClosePhase | Checkpoint { .. });
        if is_work && process.worker.brief.as_ref().is_some_and(|brief| brief.through.is_some()) {
            self.broken = Some(format!("phase {} looks ahead and does {effect:?}", key.0));
        }
        if let worker::Effect::WriteContext { answers } = effect {
            self.check_context(key.0, answers);
        }
        let failure = self.end_agent(key, effect);
        let disk = self.scenario.disks.get_mut(&key.0).expect("each phase has a disk");
        let outcome = failure.unwrap_or_else(|| disk.run_effect(effect, &mut self.rng));
        if let Err(problem) = disk.check_once() {
            self.broken = Some(format!("phase {}-{}: {problem}", key.0, key.1));
        }
        if self.scenario.faults.worker > 0 && self.rng.below(30) == 0 {
            self.scenario.faults.worker -= 1;
            return self.die(key);
        }
        self.deliver_outcome(key, id, effect, outcome);
        if self.rng.below(30) == 0 {
            self.feed(key, vec![worker::Input::LeadSilent { text: "no lead".to_owned() }]);
        }
    }

    pub(crate) fn cut_off(&mut self, key: Key, id: u64) {
        let outcome = worker::Outcome::Interrupted;
        self.feed(key, vec![worker::Input::Finished { id, outcome }]);
    }

    /// Gives a worker a message of the lead.
    pub(crate) fn tell_worker(&mut self, key: Key, note: LeadMessage) {
        let listens = self.processes.get(&key).is_some_and(|process| !process.ignores_inbox);
        if listens {
            self.feed(key, vec![worker::Input::FromLead(note)]);
        }
    }

    /// Lets a worker exit without a crash.
    pub(crate) fn exit(&mut self, key: Key) {
        let process = &self.processes[&key];
        if process.alive
            && let Err(problem) = process.check_replay()
        {
            self.broken = Some(format!("phase {}-{}: {problem}", key.0, key.1));
        }
        self.die(key);
    }

    pub(crate) fn die(&mut self, key: Key) {
        if let Some(process) = self.processes.get_mut(&key).filter(|process| process.alive) {
            process.alive = false;
            self.worker_died(key);
        }
    }

    fn worker_died(&mut self, key: Key) {
        if let Err(problem) = self.processes[&key].check_denial() {
            self.broken = Some(format!("phase {}-{}: {problem}", key.0, key.1));
        }
        self.executing.remove(&key);
        self.processes.get_mut(&key).into_iter().for_each(Process::retire);
        let (generation, after) = (self.generation, self.delay(6_000));
        self.after(after, SimEvent::Watch { generation, key });
    }

    /// Reads the reports of a worker; sometimes again, or those of an old attempt.
    pub(crate) fn tail(&mut self, key: Key) {
        let rewind = if self.rng.below(8) == 0 { self.rng.below(6) } else { 0 };
        let sent = self.link.sent.entry(key).or_default();
        *sent = sent.saturating_sub(rewind);
        self.send_new_records(key);
        if key.1 > 1 && self.rng.below(6) == 0 {
            let old = (key.0, 1 + u32::try_from(self.rng.below(u64::from(key.1) - 1)).unwrap());
            self.link.sent.remove(&old);
            self.send_records(old);
            self.receive();
            let (phase, attempt) = old;
            let signs = "it is of yesterday".to_owned();
            self.inbox.push(Input::WorkerHung { phase, attempt, signs });
            self.inbox.push(Input::WorkerActive { phase, attempt });
            if self.processes.contains_key(&old) {
                self.send_gone(old);
            }
        }
    }

    /// Checks whether a worker is gone, as long as the lead waits for it.
    pub(crate) fn watch(&mut self, key: Key) {
        let is_gone = self.processes.get(&key).is_some_and(|process| !process.alive);
        if !is_gone || !self.invariants.is_live(key) {
            return;
        }
        self.send_new_records(key);
        self.send_gone(key);
        if self.link.faults.is_none() {
            let generation = self.generation;
            self.after(5_000, SimEvent::Watch { generation, key });
        }
    }

    /// Checks a phase with a new status against the simulated world.
    pub(crate) fn check_phase(&self, phase: PhaseNumber) -> Result<(), String> {
        let track = &self.invariants.lead.phases[&phase];
        let key = (phase, track.attempt);
        let Some(process) = self.processes.get(&key) else { return Ok(()) };
        if track.status.holds_slot() {
            return Ok(());
        }
        if process.zombie {
            return Ok(());
        }
        if process.alive {
            return Err(format!("phase {phase} is {:?} and its worker lives", track.status));
        }
        // A phase that was resumed may have a question before its next attempt starts.
        let is_asked = track.spec.done && track.status == Status::Parked;
        let cancelled = track.halt_reason() == Some(HaltReason::Cancelled) && !is_asked;
        if cancelled && matches!(track.status, Status::Complete | Status::Parked | Status::Failed) {
            return Err(format!(
                "phase {phase} was cancelled and is {:?}: {}",
                track.status, track.why
            ));
        }
        match process.reports(0).find(|(seq, _)| !self.invariants.has_read(key, *seq)) {
            Some((seq, report)) => Err(format!("phase {phase}: record {seq} is lost: {report:?}")),
            None => Ok(()),
        }
    }

    /// Answers all open questions of a run that rests; returns whether there were any.
    pub(crate) fn answer_open(&mut self) -> bool {
        let open: Vec<_> = self.invariants.lead.inbox.open().map(|item| item.id).collect();
        let wanted = open.into_iter().filter(|id| {
            let phase = self.invariants.lead.inbox.items[id].phase;
            phase.is_some_and(|phase| !self.given_up.contains(&phase))
        });
        let wanted: Vec<_> = wanted.collect();
        for id in &wanted {
            let ask = &self.invariants.lead.inbox.items[id].ask;
            let text = ask.verdict(true).unwrap_or("yes").to_owned();
            self.command(Command::Answer { item: *id, text });
        }
        !wanted.is_empty()
    }
}

/// Returns how many merges a commit of the target contains.
fn merges_in(commit: &str) -> usize {
    let end = commit.find('.').unwrap_or(commit.len());
    commit[1..end].parse().unwrap()
}
