//! One thread serves the learner and its journal. Requests that wait are answered together, so that one sync serves them all;
//! where nothing is synced, who asks may answer decisions and outcomes for itself, without waiting for another thread.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Code, Live, Refusal, Reply, Request};

/// Requests that are answered together at the most.
const BATCH: usize = 512;

/// How often plans and held units are looked after while nothing is asked.
const PAUSE: Duration = Duration::from_millis(20);

/// A request and what to do with its answer.
pub struct Job {
    /// The request.
    pub request: Request,
    /// Takes the answer; it must not block.
    pub reply: Box<dyn FnOnce(Reply) + Send>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Job {{ request: {:?} }}", self.request)
    }
}

/// A live learner at work.
#[derive(Debug)]
pub struct Engine {
    desk: Desk,
    thread: JoinHandle<()>,
}

/// Where requests go. When the last one is dropped, the engine ends.
#[derive(Debug, Clone)]
pub struct Desk {
    jobs: SyncSender<Job>,
    live: Arc<Mutex<Live>>,
    /// Whether a request gains nothing by waiting for others, and leaves nothing to be looked after.
    at_once: bool,
}

impl Desk {
    /// Hands a request over, in the end where too many wait; whether the engine is there to take it.
    pub fn send(&self, job: Job) -> bool {
        self.jobs.send(job).is_ok()
    }

    /// Hands a request over where it need not wait for a place; whether it was taken.
    pub fn try_send(&self, job: Job) -> bool {
        if self.at_once
            && matches!(
                job.request,
                Request::Decide { .. } | Request::Observe { .. }
            )
        {
            // Who has it may be waiting for a plan.
            if let Ok(mut live) = self.live.try_lock() {
                answer(&mut live, job, || None);
                return true;
            }
        }
        self.jobs.try_send(job).is_ok()
    }
}

impl Engine {
    /// Starts to serve; `capacity` requests may wait.
    pub fn start(live: Live, capacity: usize) -> Self {
        let (jobs, receiver) = sync_channel(capacity);
        let at_once = !live.settings.sync && live.settings.hold_ms.is_none();
        let live = Arc::new(Mutex::new(live));
        let served = Arc::clone(&live);
        Self {
            desk: Desk {
                jobs,
                live,
                at_once,
            },
            thread: std::thread::spawn(move || serve(&served, &receiver)),
        }
    }

    /// Where requests go.
    pub fn desk(&self) -> Desk {
        self.desk.clone()
    }

    /// Whether it has ended by itself, which it should not.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Answers what was asked, syncs, and keeps a snapshot for the next start. Every other desk must be gone, or go soon.
    pub fn stop(self) -> Result<(), Refusal> {
        let Desk { jobs, live, .. } = self.desk;
        drop(jobs);
        self.thread.join().map_err(|_| {
            let message = "the learner ended early; its journal is whole";
            Refusal::new(Code::Storage, message)
        })?;
        let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
        live.finish()
    }
}

impl Live {
    fn finish(&mut self) -> Result<(), Refusal> {
        self.home();
        self.commit()?;
        let synced = self.journal.sync();
        synced.map_err(|error| Refusal::new(Code::Storage, error.to_string()))?;
        self.write_snapshot();
        Ok(())
    }
}

fn serve(live: &Mutex<Live>, jobs: &Receiver<Job>) {
    let home = || live.lock().expect("nobody failed at the desk");
    loop {
        let idle = {
            let live = home();
            !live.is_planning() && live.book.holds.is_empty()
        };
        let first = match idle {
            true => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => jobs.recv_timeout(PAUSE),
        };
        let mut live = home();
        live.poll(now_ms());
        match first {
            Ok(first) => answer(&mut live, first, || jobs.try_recv().ok()),
            Err(RecvTimeoutError::Timeout) => drop(live.commit()),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Answers a request, and those that `more` has meanwhile, with one commit.
fn answer(live: &mut Live, first: Job, more: impl Fn() -> Option<Job>) {
    // What could not be written before comes first; while it cannot be, nothing new is begun.
    let writable = match live.journal.is_written() {
        true => Ok(()),
        false => live.commit(),
    };
    let now = now_ms();
    let mut replies = Vec::new();
    let mut next = Some(first);
    while let Some(Job { request, reply }) = next {
        let question = request.is_question();
        let answer = match (&writable, question) {
            (Err(refusal), false) => Err(refusal.clone()),
            _ => live.handle(&request, now),
        };
        replies.push((question, answer, reply));
        next = match replies.len() < BATCH {
            true => more(),
            false => None,
        };
    }
    let committed = match writable {
        Ok(()) => live.commit(),
        Err(_) => Ok(()),
    };
    for (question, answer, reply) in replies {
        reply(match (&committed, question) {
            (Err(refusal), false) => Err(refusal.clone()),
            _ => answer,
        });
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
