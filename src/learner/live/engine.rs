//! One thread serves the learner and its journal. Waiting requests are answered together, with one sync for all. Without
//! syncs, the calling thread answers decisions and outcomes itself and need not wait for another thread.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Code, Live, Refusal, Reply, Request};

/// Most requests that are answered together.
const BATCH: usize = 512;

/// How often plans and holds are checked while no request arrives.
const PAUSE: Duration = Duration::from_millis(20);

/// A request and where its answer goes.
pub struct Job {
    /// The request.
    pub request: Request,
    /// Called with the answer; it must not block.
    pub reply: Box<dyn FnOnce(Reply) + Send>,
}

/// A live learner that serves requests.
#[derive(Debug)]
pub struct Engine {
    queue: RequestQueue,
    thread: JoinHandle<()>,
}

/// A handle to send requests. When the last one is dropped, the engine ends.
#[derive(Debug, Clone)]
pub struct RequestQueue {
    jobs: SyncSender<Job>,
    live: Arc<Mutex<Live>>,
    /// Whether a request gains nothing by waiting for others and leaves no hold to check.
    at_once: bool,
}

impl RequestQueue {
    /// Sends a request; waits while the queue is full. Returns whether the engine runs.
    pub fn send(&self, job: Job) -> bool {
        self.jobs.send(job).is_ok()
    }

    /// Sends a request unless the queue is full; returns whether it was sent.
    pub fn try_send(&self, job: Job) -> bool {
        let fast = matches!(job.request, Request::Decide(_) | Request::Observe(_));
        if self.at_once && fast {
            // The lock may be held by a thread that waits for a plan.
            if let Ok(mut live) = self.live.try_lock() {
                answer(&mut live, job, now_ms(), || None);
                return true;
            }
        }
        self.jobs.try_send(job).is_ok()
    }
}

impl Engine {
    /// Starts to serve; up to `capacity` requests wait.
    pub fn start(live: Live, capacity: usize) -> Self {
        let (jobs, receiver) = sync_channel(capacity);
        let at_once = !live.settings.sync && live.settings.hold_ms.is_none();
        let live = Arc::new(Mutex::new(live));
        let served = Arc::clone(&live);
        Self {
            queue: RequestQueue {
                jobs,
                live,
                at_once,
            },
            thread: std::thread::spawn(move || serve(&served, &receiver)),
        }
    }

    /// A handle to send requests.
    pub fn queue(&self) -> RequestQueue {
        self.queue.clone()
    }

    /// Whether it ended unexpectedly.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Answers all requests, syncs, and writes a snapshot for the next start. Blocks until every other handle is dropped.
    pub fn stop(self) -> Result<(), Refusal> {
        let RequestQueue { jobs, live, .. } = self.queue;
        drop(jobs);
        self.thread.join().map_err(|_| {
            let message = "the learner ended unexpectedly; its journal is intact";
            Refusal::new(Code::Storage, message)
        })?;
        let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
        live.finish()
    }
}

impl Live {
    fn finish(&mut self) -> Result<(), Refusal> {
        self.wait_for_planner();
        self.commit()?;
        let synced = self.journal.sync();
        synced.map_err(|error| Refusal::new(Code::Storage, error.to_string()))?;
        self.write_snapshot();
        Ok(())
    }
}

/// Milliseconds since 1970 that never go back or jump: holds end by this clock. It is set by the machine's clock at the
/// start, and again whenever no hold is open.
#[derive(Debug, Clone, Copy)]
struct Clock {
    set: Instant,
    set_ms: u64,
}

impl Clock {
    fn start() -> Self {
        Self {
            set: Instant::now(),
            set_ms: now_ms(),
        }
    }

    fn now_ms(&self) -> u64 {
        self.set_ms + self.set.elapsed().as_millis() as u64
    }
}

fn serve(live: &Mutex<Live>, jobs: &Receiver<Job>) {
    let mut clock = Clock::start();
    let lock = || live.lock().expect("lock poisoned");
    loop {
        let idle = {
            let live = lock();
            !live.is_planning() && live.book.holds.is_empty()
        };
        let first = match idle {
            true => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => jobs.recv_timeout(PAUSE),
        };
        let mut live = lock();
        if live.book.holds.is_empty() {
            clock = Clock::start();
        }
        live.poll(clock.now_ms());
        match first {
            Ok(first) => answer(&mut live, first, clock.now_ms(), || jobs.try_recv().ok()),
            Err(RecvTimeoutError::Timeout) => drop(live.commit()),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Answers a request and those that `more` returns, with one commit.
fn answer(live: &mut Live, first: Job, now: u64, more: impl Fn() -> Option<Job>) {
    // Lines that could not be written before come first; while they cannot be, only reads are answered.
    let writable = match live.journal.is_written() {
        true => Ok(()),
        false => live.commit(),
    };
    let mut replies = Vec::new();
    let mut next = Some(first);
    while let Some(Job { request, reply }) = next {
        let reads = request.only_reads();
        let answer = match (&writable, reads) {
            (Err(refusal), false) => Err(refusal.clone()),
            _ => live.handle(&request, now),
        };
        replies.push((reads, answer, reply));
        next = match replies.len() < BATCH {
            true => more(),
            false => None,
        };
    }
    let committed = match writable {
        Ok(()) => live.commit(),
        Err(_) => Ok(()),
    };
    for (reads, answer, reply) in replies {
        reply(match (&committed, reads) {
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
