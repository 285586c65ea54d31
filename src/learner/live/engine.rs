//! One thread owns the learner and its journal. Requests that wait are answered together, so that one sync serves them all.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
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
    /// Where requests go. When the last copy is dropped, the engine ends.
    pub jobs: SyncSender<Job>,
    thread: JoinHandle<Live>,
}

impl Engine {
    /// Starts to serve; `capacity` requests may wait.
    pub fn start(live: Live, capacity: usize) -> Self {
        let (jobs, receiver) = sync_channel(capacity);
        let thread = std::thread::spawn(move || serve(live, &receiver));
        Self { jobs, thread }
    }

    /// Whether it has ended by itself, which it should not.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Answers what was asked, syncs, and keeps a snapshot for the next start. Every other copy of `jobs` must be gone, or
    /// go soon.
    pub fn stop(self) -> Result<(), Refusal> {
        drop(self.jobs);
        let mut live = self.thread.join().map_err(|_| {
            let message = "the learner ended early; its journal is whole";
            Refusal::new(Code::Storage, message)
        })?;
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

fn serve(mut live: Live, jobs: &Receiver<Job>) -> Live {
    loop {
        let idle = !live.is_planning() && live.book.holds.is_empty();
        let first = match idle {
            true => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => jobs.recv_timeout(PAUSE),
        };
        live.poll(now_ms());
        match first {
            Ok(first) => answer(&mut live, first, jobs),
            Err(RecvTimeoutError::Timeout) => drop(live.commit()),
            Err(RecvTimeoutError::Disconnected) => return live,
        }
    }
}

fn answer(live: &mut Live, first: Job, jobs: &Receiver<Job>) {
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
            true => jobs.try_recv().ok(),
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
