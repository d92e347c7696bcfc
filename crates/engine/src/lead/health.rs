//! Whether the workers themselves show signs of life: somebody may have stopped one, or it hangs.
//!
//! A worker's loop goes round every few seconds, whatever it runs, and shows it by the time of its
//! life lock. Looking costs one call to the system per worker, as often as the lead looks around
//! anyway. Nothing is ended here: a person is asked.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use mow_core::item::ItemKind;
use mow_core::lead::{Input, Lead, Status, Track};
use mow_core::phase::PhaseNumber;
use mow_host::{life, process};

use crate::site::Site;
use crate::watch::LOOK_EVERY;

/// The longest time that a worker may be stopped before somebody is asked.
const STOPPED_MAX: Duration = Duration::from_secs(60);
/// How many times its loop must have failed to go round.
const BEATS: u32 = 12;

/// What is known of the workers' health.
#[derive(Debug)]
pub(super) struct Health {
    stopped_max_ms: u64,
    looked_at: u64,
    workers: BTreeMap<(PhaseNumber, u32), Seen>,
}

#[derive(Debug)]
struct Seen {
    beat: Option<SystemTime>,
    beat_seen_at: u64,
    stopped_since: Option<u64>,
    /// Whether it was told that it hangs.
    told: bool,
}

impl Default for Health {
    fn default() -> Self {
        let stopped_max_ms = millis(STOPPED_MAX);
        Self { stopped_max_ms, looked_at: 0, workers: BTreeMap::new() }
    }
}

impl Health {
    /// Sets after how long a worker that stands still hangs.
    pub(super) fn hung_after(&mut self, after: Option<Duration>) {
        self.stopped_max_ms = millis(after.unwrap_or(STOPPED_MAX).min(STOPPED_MAX));
    }

    /// Looks at all workers that are at work, now and then.
    pub(super) fn look(&mut self, site: &Site, lead: &Lead, now: u64, inputs: &mut Vec<Input>) {
        if now < self.looked_at + millis(LOOK_EVERY) / 2 {
            return;
        }
        self.looked_at = now;
        let at_work = |track: &&Track| track.status == Status::Running;
        let live: Vec<_> = lead.live().filter(at_work).collect();
        let keys: Vec<_> = live.iter().map(|track| (track.spec.number, track.attempt)).collect();
        self.workers.retain(|key, _| keys.contains(key));
        for track in live {
            let phase = track.spec.number;
            let is_hung = |kind| kind == ItemKind::Hung;
            let asked = lead.open_items().any(|i| i.phase == Some(phase) && is_hung(i.ask.kind));
            let lock = site.run.life_lock(&phase, track.attempt);
            inputs.extend(self.feel(track, &lock, asked, now));
        }
    }

    /// Looks at one worker; returns what has changed.
    fn feel(&mut self, track: &Track, lock: &Path, asked: bool, now: u64) -> Option<Input> {
        let (phase, attempt) = (track.spec.number, track.attempt);
        let beat = life::last_beat(lock);
        let fresh = || Seen { beat, beat_seen_at: now, stopped_since: None, told: false };
        let seen = self.workers.entry((phase, attempt)).or_insert_with(fresh);
        if seen.beat != beat {
            (seen.beat, seen.beat_seen_at) = (beat, now);
        }
        let holder = life::holder(lock).ok().flatten();
        let is_stopped = holder.is_some_and(process::is_stopped);
        seen.stopped_since = if is_stopped { seen.stopped_since.or(Some(now)) } else { None };
        let signs = signs(seen, now, self.stopped_max_ms);
        match signs {
            Some(signs) if !seen.told => {
                seen.told = true;
                Some(Input::Hung { phase, attempt, signs })
            }
            None if asked || seen.told => {
                seen.told = false;
                Some(Input::Awake { phase, attempt })
            }
            _ => None,
        }
    }
}

/// Says by which signs a worker hangs; `None` while it does not.
fn signs(seen: &Seen, now: u64, stopped_max_ms: u64) -> Option<String> {
    if let Some(since) = seen.stopped_since.filter(|since| now >= since + stopped_max_ms) {
        let seconds = (now - since) / 1_000;
        return Some(format!("its process has been stopped for {seconds} s"));
    }
    let silent = now.saturating_sub(seen.beat_seen_at);
    let hangs = silent >= millis(LOOK_EVERY * BEATS);
    hangs.then(|| format!("it has shown no sign of life for {} s", silent / 1_000))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
