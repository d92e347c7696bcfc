//! Watches many workers in one thread, and ends the processes that they leave behind.
//!
//! A worker is gone when its process has ended, no process with its token is left, and its life
//! lock is free. A killed worker cannot end the processes it started, so this thread does. It never
//! waits for one worker alone: a process that cannot be ended delays no other worker.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::launch::TOKEN_VARIABLE;
use crate::life_lock;
use crate::process::{EndingProcesses, ProcessError, WatchedProcess};
use crate::stop_signal::poll_until;

/// How often to check whether a started worker has recorded itself in its life lock.
const HOLDER_POLL_EVERY: Duration = Duration::from_millis(20);
/// The longest pause between two searches for processes that keep a life lock.
const LEFTOVER_POLL_MAX: Duration = Duration::from_secs(1);
/// How long to wait after a failure until a worker is looked at again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// A worker to watch.
#[derive(Debug)]
pub struct WatchedWorker<K> {
    /// The name of the worker in events.
    pub key: K,
    /// The life lock of the worker.
    pub life_lock: PathBuf,
    /// The token that all its processes have in their environment.
    pub token: String,
    /// How long its leftover processes may take to end after SIGTERM.
    pub grace: Duration,
    /// The process, if this process has started it. It is waited for, so that no zombie is left.
    pub child: Option<Child>,
}

/// What happened to a watched worker.
#[derive(Debug)]
pub enum LifeEvent<K> {
    /// The worker and all its processes have ended. It is not watched any more.
    Gone(K),
    /// The worker or its processes could not be watched or ended. That is tried again.
    Failed(K, ProcessError),
}

/// A thread that watches workers; it ends when this value is dropped.
#[derive(Debug)]
pub struct LifeWatch<K> {
    added: Arc<Mutex<Vec<WatchedWorker<K>>>>,
    wake: PipeWriter,
}

impl<K: Copy + Send + 'static> LifeWatch<K> {
    /// Starts the thread, which passes events to `report`.
    pub fn start(report: impl FnMut(LifeEvent<K>) + Send + 'static) -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        let added = Arc::<Mutex<Vec<WatchedWorker<K>>>>::default();
        let new = Arc::clone(&added);
        let run = move || WatchLoop { new, woken, workers: Vec::new(), report }.run();
        thread::Builder::new().name("mow-life".to_owned()).spawn(run)?;
        Ok(Self { added, wake })
    }

    /// Watches a worker that was started.
    pub fn add(&self, worker: WatchedWorker<K>) -> io::Result<()> {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        added.push(worker);
        // One byte announces all workers that the thread has not taken, so the pipe is never full.
        if added.len() == 1 { (&self.wake).write_all(&[0]) } else { Ok(()) }
    }
}

/// What the thread does.
struct WatchLoop<K, F> {
    new: Arc<Mutex<Vec<WatchedWorker<K>>>>,
    woken: PipeReader,
    workers: Vec<WorkerLife<K>>,
    report: F,
}

impl<K: Copy, F: FnMut(LifeEvent<K>)> WatchLoop<K, F> {
    /// Runs until the other end of the pipe is closed.
    fn run(mut self) {
        loop {
            let (is_woken, ready) = self.wait();
            let now = Instant::now();
            for (worker, is_ready) in self.workers.iter_mut().zip(ready) {
                worker.advance(is_ready, now, &mut self.report);
            }
            self.workers.retain(|worker| !worker.is_over());
            if is_woken && !self.take_new() {
                return;
            }
        }
    }

    /// Waits until a process ends, the time for a step has come, or workers are added.
    ///
    /// Returns whether the pipe is readable, and for each worker whether one of its processes ended.
    fn wait(&self) -> (bool, Vec<bool>) {
        let mut fds = vec![PollFd::new(&self.woken, PollFlags::IN)];
        let mut owners = Vec::new();
        for (index, worker) in self.workers.iter().enumerate() {
            for fd in worker.descriptors() {
                fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
                owners.push(index);
            }
        }
        let due = self.workers.iter().filter_map(|worker| worker.due).min();
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        let is_polled = poll_until(&mut fds, left).is_ok();
        if !is_polled {
            // The system lacks memory or descriptors. All workers are looked at, after a pause.
            thread::sleep(HOLDER_POLL_EVERY);
        }
        let mut ready = vec![!is_polled; self.workers.len()];
        for (fd, index) in fds[1..].iter().zip(owners) {
            ready[index] |= !fd.revents().is_empty();
        }
        (!fds[0].revents().is_empty(), ready)
    }

    /// Takes the added workers; returns false if no more can come.
    fn take_new(&mut self) -> bool {
        let is_open = self.woken.read(&mut [0]).is_ok_and(|bytes| bytes > 0);
        let added = std::mem::take(&mut *self.new.lock().unwrap_or_else(PoisonError::into_inner));
        self.workers.extend(added.into_iter().map(WorkerLife::new));
        is_open
    }
}

/// A worker and how far its end has come.
struct WorkerLife<K> {
    worker: WatchedWorker<K>,
    stage: LifeStage,
    /// When to look at it again; `None` if only the end of its process matters.
    due: Option<Instant>,
    /// The pause before the next search for processes that keep the life lock.
    pause: Duration,
}

enum LifeStage {
    /// Not looked at, or its process is not recorded yet.
    Unknown,
    /// Its process runs.
    Running(WatchedProcess),
    /// Its process has ended, and its other processes are being ended.
    Ending(EndingProcesses),
    /// Nothing is left of it.
    Gone,
}

impl<K: Copy> WorkerLife<K> {
    fn new(worker: WatchedWorker<K>) -> Self {
        let due = Some(Instant::now());
        Self { worker, stage: LifeStage::Unknown, due, pause: HOLDER_POLL_EVERY }
    }

    /// Returns whether nothing is left to do, not even to wait for a child.
    fn is_over(&self) -> bool {
        matches!(self.stage, LifeStage::Gone) && self.worker.child.is_none()
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        match &self.stage {
            LifeStage::Running(process) => process.descriptor().into_iter().collect(),
            LifeStage::Ending(ending) => ending.descriptors().collect(),
            LifeStage::Unknown | LifeStage::Gone => Vec::new(),
        }
    }

    /// Goes on as far as possible without waiting.
    fn advance(&mut self, is_ready: bool, now: Instant, report: &mut impl FnMut(LifeEvent<K>)) {
        if !is_ready && self.due.is_none_or(|due| now < due) {
            return;
        }
        let was_gone = matches!(self.stage, LifeStage::Gone);
        if let Err(error) = self.try_advance() {
            (self.stage, self.due) = (LifeStage::Unknown, Some(now + RETRY_AFTER));
            report(LifeEvent::Failed(self.worker.key, error));
        }
        if matches!(self.stage, LifeStage::Gone) && !was_gone {
            report(LifeEvent::Gone(self.worker.key));
        }
    }

    fn try_advance(&mut self) -> Result<(), ProcessError> {
        let list_failed = |source| ProcessError::List { source };
        self.reap();
        match &self.stage {
            LifeStage::Unknown => self.find_process().map_err(list_failed)?,
            LifeStage::Running(process) if process.has_ended().map_err(list_failed)? => {
                self.begin_end();
            }
            LifeStage::Running(_) => self.due = after(WatchedProcess::LOOK_EVERY),
            LifeStage::Ending(_) => {}
            // Its lock was free, and it was still about to exit.
            LifeStage::Gone => self.due = after(Some(HOLDER_POLL_EVERY)),
        }
        if let LifeStage::Ending(_) = self.stage {
            self.end_leftovers()?;
        }
        Ok(())
    }

    /// Waits for a child that has ended, which would be a zombie otherwise.
    fn reap(&mut self) {
        let child = &mut self.worker.child;
        if child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None))) {
            *child = None;
        }
    }

    /// Finds the process of the worker.
    fn find_process(&mut self) -> io::Result<()> {
        let lock = &self.worker.life_lock;
        if !life_lock::is_alive(lock)? {
            self.begin_end();
            return Ok(());
        }
        // Without a record, the worker has started and not recorded itself yet.
        let Some(holder) = life_lock::holder(lock)? else {
            self.due = after(Some(HOLDER_POLL_EVERY));
            return Ok(());
        };
        match WatchedProcess::open(holder)? {
            Some(process) => {
                (self.stage, self.due) =
                    (LifeStage::Running(process), after(WatchedProcess::LOOK_EVERY));
            }
            None => self.begin_end(),
        }
        Ok(())
    }

    fn begin_end(&mut self) {
        let WatchedWorker { token, grace, .. } = &self.worker;
        self.stage = LifeStage::Ending(EndingProcesses::new(TOKEN_VARIABLE, token, *grace));
    }

    /// Ends leftover processes. Processes that agents start need not hold the lock: some close all
    /// inherited descriptors.
    fn end_leftovers(&mut self) -> Result<(), ProcessError> {
        let LifeStage::Ending(ending) = &mut self.stage else { return Ok(()) };
        if !ending.step()? {
            self.due = after(Some(ending.pause()));
            return Ok(());
        }
        let is_alive = life_lock::is_alive(&self.worker.life_lock);
        if !is_alive.map_err(|source| ProcessError::List { source })? {
            (self.stage, self.due) = (LifeStage::Gone, after(Some(HOLDER_POLL_EVERY)));
            self.reap();
            return Ok(());
        }
        // A process in the middle of `exec` has no environment, so the search may have missed it.
        self.begin_end();
        self.due = after(Some(self.pause));
        self.pause = (self.pause * 2).min(LEFTOVER_POLL_MAX);
        Ok(())
    }
}

fn after(pause: Option<Duration>) -> Option<Instant> {
    pause.map(|pause| Instant::now() + pause)
}

#[cfg(test)]
mod tests;
