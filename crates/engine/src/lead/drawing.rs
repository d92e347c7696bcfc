//! Has the planning files drawn beside the loop, so that nobody who reports waits for a picture.
//!
//! One drawing is under way at a time; what happens meanwhile goes into the next one. Nothing depends
//! on the picture: one that fails is said, and drawn again after a while. Nothing is drawn behind the
//! back of whoever needs the files as they are: [`Drawing::draw_rest`] waits first.

use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use mow_core::lead::{Event, Lead};
use mow_core::phase::PhaseNumber;
use mow_store::dashboard;

use super::feed;
use super::merge;
use super::projection::{Projection, Row};
use super::world::Wake;
use crate::EngineError;
use crate::site::Site;

/// The shortest time between two drawings.
const DRAW_EVERY_MS: u64 = 200;

/// The time after which a drawing that failed is tried again.
const DRAW_AGAIN_MS: u64 = 10_000;

/// Planning files by their names, as they are committed at the end of a run.
type Files = Vec<(String, Vec<u8>)>;

/// What is to be drawn.
struct Sheet {
    target: String,
    rows: Vec<Row>,
    news: Vec<dashboard::Event>,
}

impl Sheet {
    fn draw(&self, projection: &Mutex<Projection>) -> Result<(), EngineError> {
        let mut projection = projection.lock().unwrap_or_else(PoisonError::into_inner);
        projection.write(&self.target, &self.rows)?;
        projection.feed(&self.news)
    }
}

/// The drawing that is under way.
struct UnderWay {
    thread: JoinHandle<Result<(), EngineError>>,
    phases: BTreeSet<PhaseNumber>,
}

/// What draws, and what it has not drawn yet.
pub(super) struct Drawing {
    site: Arc<Site>,
    sender: Sender<Wake>,
    projection: Arc<Mutex<Projection>>,
    under_way: Option<UnderWay>,
    /// When the next drawing may begin.
    next_at: u64,
    dirty: BTreeSet<PhaseNumber>,
    /// What is to be added to the dashboard's events: as many as it keeps.
    news: VecDeque<dashboard::Event>,
    /// Whether the dashboard shows milestones only.
    lean: bool,
}

impl Drawing {
    pub(super) fn new(site: Arc<Site>, sender: Sender<Wake>) -> Self {
        Self {
            projection: Arc::new(Mutex::new(Projection::new(Arc::clone(&site)))),
            site,
            sender,
            under_way: None,
            next_at: 0,
            dirty: BTreeSet::new(),
            news: VecDeque::new(),
            lean: false,
        }
    }

    /// Begins with a run: all of it may have to be drawn.
    pub(super) fn take_up(&mut self, lead: &Lead) -> Result<(), EngineError> {
        let events = self.site.config()?.lookup("messages.events");
        self.lean = events.is_some_and(|events| events == "lean");
        self.dirty.extend(lead.phases.keys());
        super::projection::hide_feed(&self.site)
    }

    /// Notes what happened, to be drawn later.
    pub(super) fn note(&mut self, events: &[Event]) {
        self.dirty.extend(events.iter().filter_map(Event::phase));
        self.news.extend(events.iter().filter_map(|event| feed::entry(event, self.lean)));
        let surplus = self.news.len().saturating_sub(dashboard::EVENTS_KEPT);
        self.news.drain(..surplus);
    }

    /// Returns when there is something to begin; the end of what is under way arrives by itself.
    pub(super) fn deadline(&self) -> Option<u64> {
        (self.under_way.is_none() && !self.dirty.is_empty()).then_some(self.next_at)
    }

    /// Begins a drawing when it is time for one.
    pub(super) fn begin(&mut self, lead: &Lead, now: u64) {
        if self.deadline().is_none_or(|at| now < at) {
            return;
        }
        self.next_at = now + DRAW_EVERY_MS;
        let (phases, sheet) = self.sheet(lead);
        let (projection, sender) = (Arc::clone(&self.projection), self.sender.clone());
        let act = move || {
            let drawn = sheet.draw(&projection);
            sender.send(Wake::Drawn).ok();
            drawn
        };
        match thread::Builder::new().name("mow-draw".to_owned()).spawn(act) {
            Ok(thread) => self.under_way = Some(UnderWay { thread, phases }),
            // There will be a thread later on.
            Err(_) => self.dirty.extend(phases),
        }
    }

    /// Takes what is to be drawn.
    fn sheet(&mut self, lead: &Lead) -> (BTreeSet<PhaseNumber>, Sheet) {
        let phases = std::mem::take(&mut self.dirty);
        let tracks = phases.iter().filter_map(|number| lead.phases.get(number));
        let rows = tracks.map(|track| Row::of(lead, track)).collect();
        let news = self.news.drain(..).collect();
        (phases, Sheet { target: lead.target.clone(), rows, news })
    }

    /// Waits for the end of the drawing that is under way; returns what went wrong.
    pub(super) fn end(&mut self, now: u64) -> Result<(), EngineError> {
        let Some(UnderWay { thread, phases }) = self.under_way.take() else { return Ok(()) };
        // One that came to no end is drawn again like one that failed.
        let drawn = thread.join().unwrap_or_else(|_| {
            Err(EngineError::refused("drawing them was broken off", "report this as a bug"))
        });
        if drawn.is_err() {
            self.next_at = now + DRAW_AGAIN_MS;
            self.dirty.extend(phases);
        }
        drawn
    }

    /// Draws all that is left, here and now.
    pub(super) fn draw_rest(&mut self, lead: &Lead, now: u64) -> Result<(), EngineError> {
        // What failed is drawn once more here, and fails again if the reason is still there.
        self.end(now).ok();
        self.sheet(lead).1.draw(&self.projection)
    }

    /// Draws the end of a run; returns the files that are committed with it, and what could not be
    /// drawn.
    pub(super) fn draw_end(
        &mut self,
        lead: &Lead,
        (target, commit): (&str, &str),
        now: u64,
    ) -> Result<(Files, Result<(), EngineError>), EngineError> {
        if merge::is_live(&self.site, target)? {
            self.dirty.extend(lead.phases.keys());
            let drawn = self.draw_rest(lead, now);
            let drawn = drawn.and_then(|()| self.projection().write_progress(lead));
            failpoint::reach("close.drawn");
            return Ok((merge::shared(&self.site, None)?, drawn));
        }
        let drawn = self.end(now);
        let mut files = merge::shared(&self.site, Some(commit))?;
        self.projection().paint(lead, &mut files);
        Ok((files, drawn))
    }

    fn projection(&self) -> std::sync::MutexGuard<'_, Projection> {
        self.projection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
