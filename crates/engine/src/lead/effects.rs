//! Does what a lead wants, each thing in a thread of its own; whatever goes wrong is an outcome.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mow_core::lead::{Effect, Outcome};
use mow_core::phase::PhaseNumber;
use mow_host::process;

use super::foresight::{Waiting, foresee};
use super::world::Wake;
use crate::EngineError;
use crate::site::Site;

/// How long processes may take to end when they are asked to.
pub(super) const END_GRACE: Duration = Duration::from_secs(5);

/// What does the work.
pub(super) struct Hands {
    site: Arc<Site>,
    sender: Sender<Wake>,
    /// Taken by whatever changes the repository itself, one at a time.
    repository: Arc<Mutex<()>>,
}

impl Hands {
    pub(super) fn new(site: Arc<Site>, sender: Sender<Wake>) -> Self {
        Self { site, sender, repository: Arc::default() }
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
            // A merge takes it by itself, and not while it waits for an agent or for a check.
            let changes_repository =
                !matches!(effect, Effect::Start { .. } | Effect::End { .. } | Effect::Merge { .. });
            let guard = changes_repository
                .then(|| repository.lock().unwrap_or_else(PoisonError::into_inner));
            let outcome = perform(&site, &effect, &picture, &repository)
                .unwrap_or_else(|error| Outcome::Failed { reason: error.sentence() });
            drop(guard);
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
                let _guard = repository.lock().unwrap_or_else(PoisonError::into_inner);
                super::prepare::make_ahead(&site, &phase, &base).ok();
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

fn perform(
    site: &Site,
    effect: &Effect,
    picture: &[(String, Vec<u8>)],
    repository: &Mutex<()>,
) -> Result<Outcome, EngineError> {
    match effect {
        Effect::Prepare { phase, attempt, base } => {
            super::prepare::prepare(site, phase, *attempt, base)
        }
        Effect::Start { brief } => super::start::start(site, brief),
        Effect::Tell { .. } => Ok(Outcome::Done),
        Effect::End { phase, attempt } => {
            let token = site.token(phase, *attempt);
            process::end_token(&token, END_GRACE).map_err(|e| EngineError::Host(e.into()))?;
            Ok(Outcome::Done)
        }
        Effect::Merge { phase, attempt, commit, onto } => {
            super::merge::merge(site, phase, *attempt, [commit, onto], repository)
        }
        Effect::Follow { target, commit } => super::merge::follow(site, target, commit),
        Effect::Close { commit, .. } => super::merge::close(site, commit, picture),
    }
}
