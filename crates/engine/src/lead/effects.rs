//! Does what a lead wants, each thing in a thread of its own; whatever goes wrong is an outcome.

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mow_core::lead::{Effect, Outcome};
use mow_core::money::Spent;
use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::process;
use mow_store::disk::Lock;
use mow_store::worktree_home::worktrees_lock;

use super::foresight::{Waiting, foresee};
use super::merge::Phase;
use super::run_ref::RunRef;
use super::world::Wake;
use crate::EngineError;
use crate::site::Site;

/// How long processes may take to end when they are asked to.
pub(super) const END_GRACE: Duration = Duration::from_secs(5);

/// How long another mow may take to change the repository.
pub(super) const CHANGED_WITHIN: Duration = Duration::from_secs(600);

/// What does the work.
pub(super) struct Hands {
    site: Arc<Site>,
    sender: Sender<Wake>,
    repository: Arc<Repository>,
}

impl Hands {
    pub(super) fn new(site: Arc<Site>, sender: Sender<Wake>) -> Self {
        let repository = Arc::new(Repository::new(&site, sender.clone()));
        Self { site, sender, repository }
    }

    /// Begins something; its end arrives as a [`Wake`]. The picture is what closing commits.
    pub(super) fn begin(
        &self,
        id: u64,
        effect: Effect,
        picture: Vec<(String, Vec<u8>)>,
    ) -> Result<(), EngineError> {
        let (site, sender) = (Arc::clone(&self.site), self.sender.clone());
        let repository = Arc::clone(&self.repository);
        let act = move || {
            let act = || perform(&site, &effect, &picture, &repository);
            let done = match effect {
                // A merge takes it by itself, and not while it waits for an agent or for a check;
                // so does who makes a worktree, and not while its files are written.
                Effect::Start { .. }
                | Effect::End { .. }
                | Effect::Merge { .. }
                | Effect::Prepare { .. } => act(),
                _ => repository.alone(act),
            };
            let outcome = done.unwrap_or_else(|error| Outcome::Failed { reason: error.sentence() });
            sender.send(Wake::Finished(id, outcome)).ok();
        };
        let thread = std::thread::Builder::new().name("mow-effect".to_owned()).spawn(act);
        thread.map(drop).map_err(EngineError::io("start a thread"))
    }

    /// Makes worktrees of phases that start later, while nobody needs the repository.
    ///
    /// Best effort: what does not work now is done, and told, when the phase starts.
    pub(super) fn make_ahead(&self, phases: Vec<PhaseNumber>, base: String) {
        let (site, repository) = (Arc::clone(&self.site), Arc::clone(&self.repository));
        let act = move || {
            for phase in phases {
                let act = || super::prepare::make_ahead(&site, &phase, &base);
                repository.alone(act).ok();
            }
        };
        std::thread::Builder::new().name("mow-ahead".to_owned()).spawn(act).ok();
    }

    /// Tries the merges of phases that wait for them; what people should know arrives as a [`Wake`].
    pub(super) fn foresee(&self, waiting: Waiting) {
        let (site, sender) = (Arc::clone(&self.site), self.sender.clone());
        let act = move || {
            for (phase, text) in foresee(&site, waiting).unwrap_or_default() {
                sender.send(Wake::Noted(phase, text)).ok();
            }
        };
        std::thread::Builder::new().name("mow-foresight".to_owned()).spawn(act).ok();
    }
}

/// The repository, which one at a time may change: no other thread, no lead of another project in
/// it, and no command that makes worktrees.
pub(super) struct Repository {
    ours: Mutex<()>,
    all: PathBuf,
    pub(super) run_ref: RunRef,
    /// Who writes down what is found and used meanwhile.
    sender: Sender<Wake>,
}

impl Repository {
    pub(super) fn new(site: &Site, sender: Sender<Wake>) -> Self {
        let (ours, all) = (Mutex::default(), worktrees_lock(&site.project));
        Self { ours, all, run_ref: RunRef::default(), sender }
    }

    /// Makes sure that the run's ref stands where the lead left it.
    pub(super) fn look_at_ref(
        &self,
        site: &Site,
        git: &Git,
        onto: &str,
    ) -> Result<(), EngineError> {
        if let Some(told) = self.run_ref.look(site, git, onto)? {
            self.sender.send(Wake::Told(told)).ok();
        }
        Ok(())
    }

    /// Notes what an agent used.
    pub(super) fn spend(&self, phase: PhaseNumber, spent: Spent) {
        self.sender.send(Wake::Spent(phase, spent)).ok();
    }

    /// Does something while nobody else changes the repository.
    pub(super) fn alone<T>(
        &self,
        act: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let _ours = self.ours.lock().unwrap_or_else(PoisonError::into_inner);
        let _all = Lock::acquire(&self.all, CHANGED_WITHIN)?;
        act()
    }
}

fn perform(
    site: &Site,
    effect: &Effect,
    picture: &[(String, Vec<u8>)],
    repository: &Repository,
) -> Result<Outcome, EngineError> {
    match effect {
        Effect::Prepare { phase, attempt, base, renew } => {
            super::prepare::prepare(site, phase, *attempt, (base, *renew), repository)
        }
        Effect::Gather { phase, through, .. } => super::gather::gather(site, phase, *through),
        Effect::Start { brief } => super::start::start(site, brief, repository),
        Effect::Tell { .. } => Ok(Outcome::Done),
        Effect::End { phase, attempt } => {
            let token = site.token(phase, *attempt);
            process::end_token(&token, END_GRACE).map_err(|e| EngineError::Host(e.into()))?;
            Ok(Outcome::Done)
        }
        Effect::Merge { phase, attempt, commit, onto, spent, alone } => {
            let phase = Phase::new(site, phase, *attempt, *spent)?.alone(*alone);
            super::merge::merge(&phase, [commit, onto], repository)
        }
        Effect::Follow { target, commit, from } => {
            super::merge::follow(site, target, [from, commit], repository)
        }
        Effect::Close { target, commit } => {
            super::merge::close(site, (target, commit), picture, repository)
        }
    }
}
