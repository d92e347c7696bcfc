//! What is done for the lead and for the workers in the simulated world, and what is seen there.

use mow_core::item::ItemKind;
use mow_core::lead::{Clash, Command, Effect, Input, Outcome, Status};
use mow_core::phase::PhaseNumber;
use mow_core::report::{Halt, Note};
use mow_core::stage::Stage;
use mow_core::touch;
use mow_core::worker;

use super::fleet::{Cut, Key, Process};
use super::world::{Happening, Sim};

impl Sim {
    /// Does what the lead wants, after a look whether it is done already.
    pub(crate) fn perform(&mut self, effect: &Effect) -> Outcome {
        match effect {
            Effect::Prepare { phase, base, .. } => self.prepare(*phase, base),
            Effect::Start { brief } => self.start(brief),
            Effect::Tell { phase, attempt, note, .. } => {
                for _ in 0..1 + self.dice.below(6) / 5 {
                    let after = self.until_heard(3_000);
                    let (key, note) = ((*phase, *attempt), note.clone());
                    self.after(after, Happening::Told { key, note });
                }
                Outcome::Done
            }
            Effect::End { phase, attempt } => self.end((*phase, *attempt)),
            Effect::Gather { phase, through, .. } => {
                self.script.disks.get_mut(phase).unwrap().gather(*through);
                // Reading all of a large roadmap again and again takes the time of the whole run.
                if self.script.specs.len() < 500 || self.dice.below(50) == 0 {
                    let (generation, input) = (self.generation, self.roadmap());
                    self.after(1, Happening::Deliver { generation, input });
                }
                if self.stumbles() {
                    return Outcome::Failed { reason: "no space".to_owned() };
                }
                Outcome::Done
            }
            Effect::Merge { phase, attempt, commit, onto, .. } => {
                self.merge((*phase, *attempt), commit, onto)
            }
            Effect::Follow { .. } if self.dice.below(6) == 0 => Outcome::Refused {
                reason: "somebody works there".to_owned(),
                command: "git pull".to_owned(),
            },
            Effect::Follow { .. } => Outcome::Done,
            Effect::Close { .. } => {
                self.closings += 1;
                let commit = format!("{}.{}", self.tip(), self.closings);
                Outcome::Merged { commit, note: String::new() }
            }
        }
    }

    fn tip(&self) -> String {
        format!("m{}", self.merges.len())
    }

    fn stumbles(&mut self) -> bool {
        let stumbles = self.script.faults.effects > 0 && self.dice.below(10) == 0;
        self.script.faults.effects -= u64::from(stumbles);
        stumbles
    }

    fn prepare(&mut self, phase: PhaseNumber, base: &str) -> Outcome {
        let contains = merges_in(base);
        let spec = self.script.spec(phase).expect("the run knows only phases of the script");
        let looks_ahead = self.ledger.lead.phases[&phase].looks_ahead();
        for dependency in spec.depends_on.iter().filter(|_| !looks_ahead) {
            let is_done = self.script.spec(*dependency).is_some_and(|spec| spec.done);
            if !is_done && !self.merges[..contains].contains(dependency) {
                self.broken = Some(format!("phase {phase} starts at {base} without {dependency}"));
            }
        }
        let mut live = self.processes.range((phase, 0)..=(phase, u32::MAX));
        if let Some((_, process)) = live.find(|(_, process)| process.alive) {
            if !process.zombie {
                self.broken = Some(format!("phase {phase} is prepared while a worker of it lives"));
            }
            return Outcome::Failed { reason: "an earlier worker is still alive".to_owned() };
        }
        if self.stumbles() {
            return Outcome::Failed { reason: "no space".to_owned() };
        }
        Outcome::Prepared { base: base.to_owned() }
    }

    fn start(&mut self, brief: &mow_core::report::Brief) -> Outcome {
        let key = (brief.phase, brief.attempt);
        if self.processes.contains_key(&key) {
            return Outcome::Done;
        }
        if self.stumbles() {
            return Outcome::Failed { reason: "no such program".to_owned() };
        }
        if self.processes.range((key.0, 0)..key).any(|(_, process)| process.alive) {
            self.broken = Some(format!("phase {} has two live attempts", key.0));
        }
        if brief.through.is_some() {
            self.script.disks.get_mut(&brief.phase).unwrap().look_ahead();
        }
        self.check_brief(brief);
        let trouble = self.script.faults.worker > 0;
        let (deaf, hangs) = (self.dice.below(8) == 0, self.dice.below(8) == 0);
        let clock = self.set_clock(0);
        self.processes.insert(key, Process::new(trouble && deaf, trouble && hangs, clock));
        self.at_work.insert(key);
        self.feed(key, vec![worker::Input::Begin { brief: brief.clone(), pid: 1 }]);
        Outcome::Done
    }

    fn merge(&mut self, (phase, attempt): Key, commit: &str, onto: &str) -> Outcome {
        if !self.merges.contains(&phase) {
            if merges_in(onto) != self.merges.len() {
                self.broken = Some(format!("phase {phase} is merged onto {onto}, which is old"));
            }
            let disk = &self.script.disks[&phase];
            if let Err(problem) = disk.check_complete() {
                self.broken = Some(format!("phase {phase} is merged: {problem}"));
            }
            if disk.head() != commit {
                self.broken = Some(format!("phase {phase}-{attempt} is merged at an old commit"));
            }
            if self.stumbles() {
                let (path, kind) = ("src/a".to_owned(), "both changed".to_owned());
                let settle = "git merge".to_owned();
                return Outcome::Conflict { files: vec![Clash { path, kind }], settle };
            }
            if self.stumbles() {
                return Outcome::Refuted { reason: "a liar".to_owned() };
            }
            self.merges.push(phase);
        }
        Outcome::Merged { commit: self.tip(), note: String::new() }
    }

    /// Gives a worker inputs; it may crash over them.
    pub(crate) fn feed(&mut self, key: Key, inputs: Vec<worker::Input>) {
        // What is seldom said is to be lost as often as what is said all the time.
        let is_seldom = |input: &worker::Input| {
            let worker::Input::Finished { outcome, .. } = input else { return false };
            matches!(outcome, worker::Outcome::Hopeless { .. } | worker::Outcome::Later { .. })
        };
        let odds = if inputs.iter().any(is_seldom) { 3 } else { 40 };
        let crashes = self.script.faults.worker > 0 && self.dice.below(odds) == 0;
        let cut = match self.dice.below(2) {
            _ if !crashes => Cut::None,
            0 => Cut::Recording(self.dice.below(8)),
            _ => Cut::Releasing,
        };
        let now = self.now;
        let Some(process) = self.processes.get_mut(&key).filter(|process| process.alive) else {
            return;
        };
        let batch = process.feed(inputs, now, cut);
        let (ended, hangs) = (process.worker.ended, process.hangs);
        if batch.reported {
            let (generation, after) = (self.generation, self.until_heard(1_000));
            self.after(after, Happening::Tail { generation, key });
        }
        if batch.crashed {
            self.script.faults.worker -= 1;
            return self.mourn(key);
        }
        if let Some(at) = batch.wake {
            self.after(at.saturating_sub(now), Happening::Wake { key });
        }
        for (id, effect) in batch.effects {
            self.begin_for(key, id, effect);
        }
        if ended && !hangs {
            let after = self.delay(2_000);
            self.after(after, Happening::Exit { key });
        }
    }

    fn begin_for(&mut self, key: Key, id: u64, effect: worker::Effect) {
        use worker::Effect;
        match &effect {
            Effect::Interrupt { of } => {
                let busy: Vec<_> = self.processes[&key].worker.busy.keys().copied().collect();
                for id in busy.into_iter().filter(|id| of.is_none_or(|of| of == *id)) {
                    let after = self.delay(500);
                    self.after(after, Happening::CutOff { key, id });
                }
            }
            Effect::NoteStatus { .. } => {}
            _ => {
                let intended = self.processes[&key].check_intended(id);
                if let Err(problem) = intended.and_then(|()| self.check_beside(key, id, &effect)) {
                    self.broken = Some(format!("phase {}-{}: {problem}", key.0, key.1));
                }
                self.employ(key, id, &effect);
                if matches!(effect, Effect::RunTask { .. }) && !self.processes[&key].zombie {
                    self.check_apart(key.0);
                }
                let mut after = self.delay(if effect.is_long() { 20_000 } else { 1_000 });
                after = self.script.times.map_or(after, |time| time(&effect));
                if effect.is_long() && self.stalls() {
                    after = self.stall(key, id, after);
                }
                self.after(after, Happening::Done { key, id, effect });
            }
        }
    }

    /// Checks that no phase that is at work or not merged yet changes the files of one that executes.
    fn check_apart(&mut self, phase: PhaseNumber) {
        if self.script.settings.force {
            return;
        }
        self.at_work.retain(|key| self.processes[key].alive);
        // What a zombie does is for its own worktree; its phase was given up.
        let executes = |key: &&Key| {
            let process = &self.processes[*key];
            !process.zombie && process.worker.stage >= Some(Stage::Execute)
        };
        let items = &self.ledger.lead.items;
        // While its merge waited for a person it held nobody back.
        let was_parked = |number: PhaseNumber| {
            let mut items = items.values();
            items.any(|it| it.phase == Some(number) && it.ask.kind == ItemKind::Conflict)
        };
        let own = self.script.disks[&phase].files();
        let touches = |number: PhaseNumber| {
            let files = self.script.disks[&number].files();
            number != phase && touch::common(&files, &own).is_some()
        };
        let unmerged = self.ledger.unmerged.iter().copied();
        let mut others = unmerged.filter(|n| touches(*n) && !was_parked(*n)).chain(
            self.at_work.iter().filter(executes).map(|(number, _)| *number).filter(|n| touches(*n)),
        );
        if let Some(other) = others.next() {
            self.broken = Some(format!("phase {phase} executes beside {other}: {own:?}"));
        }
    }

    /// Ends what a worker was doing; it may crash before it learns that.
    pub(crate) fn finish(&mut self, key: Key, id: u64, effect: &worker::Effect) {
        let process = &self.processes[&key];
        let is_busy = process.worker.busy.contains_key(&id);
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
        let trouble = self.dismiss(key, effect);
        let disk = self.script.disks.get_mut(&key.0).expect("each phase has a disk");
        let outcome = trouble.unwrap_or_else(|| disk.perform(effect, &mut self.dice));
        if let Err(problem) = disk.check_once() {
            self.broken = Some(format!("phase {}-{}: {problem}", key.0, key.1));
        }
        if self.script.faults.worker > 0 && self.dice.below(30) == 0 {
            self.script.faults.worker -= 1;
            return self.die(key);
        }
        self.hand_over(key, id, effect, outcome);
        if self.dice.below(30) == 0 {
            self.feed(key, vec![worker::Input::Unheard { text: "no lead".to_owned() }]);
        }
    }

    pub(crate) fn cut_off(&mut self, key: Key, id: u64) {
        let outcome = worker::Outcome::Interrupted;
        self.feed(key, vec![worker::Input::Finished { id, outcome }]);
    }

    pub(crate) fn tell(&mut self, key: Key, note: Note) {
        let listens = self.processes.get(&key).is_some_and(|process| !process.deaf);
        if listens {
            self.feed(key, vec![worker::Input::Told(note)]);
        }
    }

    /// Lets a worker leave in order.
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
            self.mourn(key);
        }
    }

    fn mourn(&mut self, key: Key) {
        if let Err(problem) = self.processes[&key].check_denial() {
            self.broken = Some(format!("phase {}-{}: {problem}", key.0, key.1));
        }
        let (generation, after) = (self.generation, self.delay(6_000));
        self.after(after, Happening::Watch { generation, key });
    }

    /// Reads what a worker wrote, now and then once more, or that of an attempt long gone.
    pub(crate) fn tail(&mut self, key: Key) {
        let cursor = self.cursors.entry(key).or_default();
        let rewind = if self.dice.below(8) == 0 { self.dice.below(6) } else { 0 };
        *cursor = cursor.saturating_sub(rewind);
        self.read_on(key);
        if key.1 > 1 && self.dice.below(6) == 0 {
            let old = (key.0, 1 + u32::try_from(self.dice.below(u64::from(key.1) - 1)).unwrap());
            self.cursors.remove(&old);
            self.read_on(old);
            let (phase, attempt) = old;
            let signs = "it is of yesterday".to_owned();
            self.inbox.push(Input::Hung { phase, attempt, signs });
            self.inbox.push(Input::Awake { phase, attempt });
            self.inbox.push(Input::Gone { phase, attempt });
        }
    }

    fn read_on(&mut self, key: Key) {
        let Some(process) = self.processes.get(&key) else { return };
        let cursor = self.cursors.entry(key).or_default();
        let (phase, attempt) = key;
        for (seq, report) in process.reports(*cursor) {
            let report = report.clone();
            self.inbox.push(Input::Report { phase, attempt, seq, report });
        }
        *cursor = process.last_seq();
    }

    /// Looks whether a worker is gone, for as long as the lead counts on it.
    pub(crate) fn watch(&mut self, key: Key) {
        let is_gone = self.processes.get(&key).is_some_and(|process| !process.alive);
        if !is_gone || !self.ledger.is_live(key) {
            return;
        }
        self.read_on(key);
        self.inbox.push(Input::Gone { phase: key.0, attempt: key.1 });
        let generation = self.generation;
        self.after(5_000, Happening::Watch { generation, key });
    }

    /// Checks a phase that has a new status against what is true.
    pub(crate) fn check_phase(&self, phase: PhaseNumber) -> Result<(), String> {
        let track = &self.ledger.lead.phases[&phase];
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
        // One that was wanted again may be asked about before its next attempt begins.
        let is_asked = track.spec.done && track.status == Status::Parked;
        let cancelled = track.halt == Some(Halt::Cancelled) && !is_asked;
        if cancelled && matches!(track.status, Status::Complete | Status::Parked | Status::Failed) {
            return Err(format!(
                "phase {phase} was cancelled and is {:?}: {}",
                track.status, track.why
            ));
        }
        match process.reports(0).find(|(seq, _)| !self.ledger.has_heard(key, *seq)) {
            Some((seq, report)) => Err(format!("phase {phase}: record {seq} is lost: {report:?}")),
            None => Ok(()),
        }
    }

    /// Answers everything that is still open, for a run that came to rest.
    pub(crate) fn answer_open(&mut self) -> bool {
        let open: Vec<_> = self.ledger.lead.open_items().map(|item| item.id).collect();
        let wanted = open.into_iter().filter(|id| {
            let phase = self.ledger.lead.items[id].phase;
            phase.is_some_and(|phase| !self.given_up.contains(&phase))
        });
        let wanted: Vec<_> = wanted.collect();
        for id in &wanted {
            let ask = &self.ledger.lead.items[id].ask;
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
