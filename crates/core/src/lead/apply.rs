//! Makes events part of the state. Nothing here can fail, and nothing decides.

use std::collections::BTreeMap;

use super::ahead;
use super::index::{due, reindex, relist, set_status};
use super::{Effect, Event, Hold, Lead, Outcome, PhaseSpec, Status, Track};
use crate::item::Item;
use crate::money::{Money, Spent};
use crate::phase::PhaseNumber;
use crate::report::{Brief, Halt, Report, THROTTLED_MAX_MS};
use crate::stage::Stage;

/// How long a worker may take to end after its last word.
const EXIT_GRACE_MS: u64 = 10_000;
/// How long a worker may take to end after it was cancelled.
const CANCEL_GRACE_MS: u64 = 30_000;

pub(super) fn apply(lead: &mut Lead, event: &Event, at: u64) {
    let phase = event.phase();
    let before = phase.and_then(|phase| due(lead, phase));
    change(lead, event, at);
    let after = phase.and_then(|phase| due(lead, phase));
    if let Some(phase) = phase.filter(|phase| lead.phases.contains_key(phase)) {
        relist(lead, phase);
    }
    if let Some(phase) = phase.filter(|_| before != after) {
        before.map(|due| lead.dues.remove(&(due, phase)));
        after.map(|due| lead.dues.insert((due, phase)));
    }
}

/// The command that has the branch follow once more.
const AGAIN: &str = "mow run --all";

fn change(lead: &mut Lead, event: &Event, at: u64) {
    match event {
        Event::Begun { run, target, tip } => {
            lead.run.clone_from(run);
            lead.target.clone_from(target);
            lead.tip.clone_from(tip);
            lead.followed = Some(tip.clone());
            lead.stands_at.clone_from(tip);
        }
        Event::TakenUp { settings } => {
            lead.settings.clone_from(settings);
            lead.hold = Hold::None;
        }
        Event::Planned { scope, phases } => {
            lead.scope = *scope;
            plan(lead, phases, at);
        }
        Event::Observed { phases } => {
            for spec in phases {
                if let Some(track) = lead.phases.get_mut(&spec.number) {
                    track.spec.clone_from(spec);
                    relist(lead, spec.number);
                }
            }
        }
        Event::Intended { id, effect } => intend(lead, *id, effect, at),
        Event::Finished { id, outcome } => finish(lead, *id, outcome),
        Event::Reported { phase, seq, report, .. } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                track.read_through = Some(*seq);
                note(track, report, at);
            }
            count(lead, report, at);
        }
        Event::Moved { phase, attempt, to, why, ahead } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                begin_attempt(track, *attempt, *ahead);
                track.why.clone_from(why);
                track.since = at;
                set_status(lead, *phase, *to);
            }
        }
        Event::Halted { phase, how } => halt(lead, *phase, *how, at),
        Event::Unhalted { phase } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                track.halt = None;
                track.due = track.due.filter(|_| track.last.is_some());
            }
        }
        Event::Died { phase } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                track.deaths += 1;
            }
        }
        Event::Told { .. } | Event::Noted { .. } => {}
        Event::Spent { phase, spent } => pay(lead, *phase, spent),
        Event::Asked { item } => ask(lead, item),
        Event::Answered { item, text } => answer(lead, *item, text),
        Event::Withdrawn { item } => withdraw(lead, *item),
        Event::Commanded { seq, .. } => lead.commands_through = Some(*seq),
        Event::Breaker { open } => {
            lead.breaker = *open;
            lead.failures = 0;
        }
        Event::Held { hold } => lead.hold = *hold,
    }
}

fn halt(lead: &mut Lead, phase: PhaseNumber, how: Halt, at: u64) {
    let Some(track) = lead.phases.get_mut(&phase) else { return };
    track.halt = Some(how);
    if how == Halt::Cancelled && track.last.is_none() {
        track.due = Some(at + CANCEL_GRACE_MS);
    }
}

/// Counts what an agent of the lead used.
fn pay(lead: &mut Lead, phase: PhaseNumber, spent: &Spent) {
    lead.spent += spent.money;
    if let Some(track) = lead.phases.get_mut(&phase) {
        track.spent += spent.money;
    }
}

/// Forgets what belonged to an older attempt.
fn begin_attempt(track: &mut Track, attempt: u32, ahead: Option<Stage>) {
    if attempt != track.attempt {
        track.attempt = attempt;
        track.through = ahead;
        track.checked = matches!(track.last, Some(Report::Planned { .. }));
        track.reserved = Vec::new();
        track.last = None;
        track.halt = None;
        track.read_through = None;
        track.told = 0;
        track.due = None;
        track.at = BTreeMap::new();
        track.agents = 0;
        track.asked = 0;
        track.commit = None;
    }
}

/// Takes in what concerns all phases.
fn count(lead: &mut Lead, report: &Report, at: u64) {
    match report {
        Report::Spent(spent) => lead.spent += spent.money,
        Report::Throttled { until, .. } => {
            // The worker's clock may be far from ours, and no wait is longer than this.
            let until = (*until).min(at + THROTTLED_MAX_MS);
            lead.not_before = lead.not_before.max(Some(until));
        }
        _ => {}
    }
}

fn note(track: &mut Track, report: &Report, at: u64) {
    match report {
        Report::Stage { to, .. } => {
            track.stage = Some(*to);
            track.executed |= *to >= Stage::Execute;
        }
        Report::Planned { files, .. } => track.planned = Some(files.clone()),
        Report::Plans { done, total } => track.plans = (*done, *total),
        Report::PlanStarted { plan, tasks } => {
            track.at.insert(plan.clone(), (0, *tasks));
        }
        Report::TaskDone { plan, task, .. } => {
            track.deaths = 0;
            if let Some((done, _)) = track.at.get_mut(plan) {
                *done = *task;
            }
        }
        Report::PlanDone { plan, .. } => {
            track.deaths = 0;
            track.at.remove(plan);
        }
        Report::Blocked { plan, .. } => {
            track.at.remove(plan);
        }
        Report::Spent(spent) => track.spent += spent.money,
        _ => {}
    }
    if report.is_last() {
        track.last = Some(report.clone());
        track.due = Some(at + EXIT_GRACE_MS);
        if let Report::Complete { commit } = report {
            track.commit = Some(commit.clone());
        }
    }
}

fn intend(lead: &mut Lead, id: u64, effect: &Effect, at: u64) {
    lead.next_effect = id + 1;
    lead.open.insert(id, effect.clone());
    match effect {
        Effect::Prepare { phase, .. } => {
            lead.last_start = Some(at);
            let track = lead.phases.get_mut(phase);
            if let Some(track) = track.filter(|track| track.through.is_none()) {
                track.started.get_or_insert(at);
            }
        }
        Effect::Start { brief } => {
            if let Some(track) = lead.phases.get_mut(&brief.phase) {
                track.agents = brief.agents;
                track.reserved.clone_from(&brief.clear);
            }
        }
        Effect::Gather { phase, .. } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                track.gathering = true;
            }
        }
        Effect::Tell { phase, n, .. } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                track.told = *n;
            }
        }
        Effect::Merge { phase, .. } => lead.merging = Some(*phase),
        Effect::Follow { .. } => {
            lead.following = true;
            lead.last_follow = Some(at);
        }
        _ => {}
    }
}

fn finish(lead: &mut Lead, id: u64, outcome: &Outcome) {
    let effect = lead.open.remove(&id);
    lead.following &= !matches!(effect, Some(Effect::Follow { .. }));
    match (effect, outcome) {
        (Some(Effect::Gather { phase, through, .. }), outcome) => {
            if let Some(track) = lead.phases.get_mut(&phase) {
                let is_lost = matches!(outcome, Outcome::Failed { .. });
                track.gathering = false;
                track.dropped |= is_lost || ahead::fell_through(track);
                track.ahead = track.ahead.max(through.filter(|_| !is_lost));
            }
        }
        (
            Some(Effect::Prepare { phase, .. } | Effect::Start { brief: Brief { phase, .. } }),
            Outcome::Failed { .. },
        ) => {
            if let Some(track) = lead.phases.get_mut(&phase) {
                track.dropped |= track.looks_ahead();
            }
        }
        (Some(Effect::Merge { .. }), outcome) => {
            lead.merging = None;
            if let Outcome::Merged { commit, .. } = outcome {
                lead.tip.clone_from(commit);
                lead.follow_refused = None;
                lead.closed = false;
            }
        }
        (Some(Effect::Follow { commit, .. }), Outcome::Refused { reason, command }) => {
            lead.followed = Some(commit);
            lead.follow_refused = Some((reason.clone(), command.clone()));
        }
        (Some(Effect::Follow { commit, .. }), Outcome::Failed { reason }) => {
            lead.followed = Some(commit);
            lead.follow_refused = Some((reason.clone(), AGAIN.to_owned()));
        }
        // The branch had moved by itself, and what it has is part of the run now.
        (Some(Effect::Follow { .. }), Outcome::Merged { commit, .. }) => {
            lead.tip.clone_from(commit);
            lead.stands_at.clone_from(commit);
            lead.followed = Some(commit.clone());
            lead.follow_refused = None;
        }
        (Some(Effect::Follow { commit, .. }), _) => {
            lead.stands_at.clone_from(&commit);
            lead.followed = Some(commit);
            lead.follow_refused = None;
        }
        (Some(Effect::Close { .. }), outcome) => {
            lead.closed = true;
            if let Outcome::Merged { commit, .. } = outcome {
                lead.tip.clone_from(commit);
            }
        }
        _ => {}
    }
}

fn ask(lead: &mut Lead, item: &Item) {
    if let Some(track) = item.phase.and_then(|phase| lead.phases.get_mut(&phase)) {
        track.items.push(item.id);
        track.open_items += 1;
        track.asked += 1;
    }
    lead.asked.insert(item.ask.key.clone(), item.id);
    lead.items.insert(item.id, item.clone());
}

fn answer(lead: &mut Lead, id: u32, text: &str) {
    let Some(item) = lead.items.get_mut(&id).filter(|item| item.answer.is_none()) else { return };
    item.answer = Some(text.to_owned());
    if let Some(track) = item.phase.and_then(|phase| lead.phases.get_mut(&phase)) {
        track.open_items = track.open_items.saturating_sub(1);
    }
}

/// Closes a question so that nobody takes it for answered, and that it can be put again.
fn withdraw(lead: &mut Lead, id: u32) {
    answer(lead, id, "no longer asked");
    if let Some(item) = lead.items.get(&id) {
        lead.asked.remove(&item.ask.key);
    }
}

/// Takes over what the roadmap says about the phases, and builds the lists anew.
fn plan(lead: &mut Lead, specs: &[PhaseSpec], at: u64) {
    for spec in specs {
        let fresh = || Track {
            spec: spec.clone(),
            status: Status::Waiting,
            why: "chosen for this run".to_owned(),
            since: at,
            started: None,
            attempt: 0,
            deaths: 0,
            stage: None,
            plans: (0, 0),
            at: BTreeMap::new(),
            agents: 0,
            spent: Money::default(),
            last: None,
            halt: None,
            commit: None,
            wave: 1,
            read_through: None,
            told: 0,
            through: None,
            ahead: None,
            planned: None,
            reserved: Vec::new(),
            checked: false,
            executed: false,
            dropped: false,
            gathering: false,
            due: None,
            unmet: 0,
            halted_deps: 0,
            items: Vec::new(),
            open_items: 0,
            asked: 0,
        };
        lead.phases.entry(spec.number).or_insert_with(fresh).spec = spec.clone();
    }
    lead.closed = false;
    reindex(lead);
}
