//! Threads that serve live learners. Waiting requests of a shop are answered together, with one sync for all; shops are served
//! side by side, and one that waits for its plan or its disk keeps no other waiting. Without syncs, the calling thread answers
//! decisions and outcomes itself and need not wait for another thread.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::served::Served;
use super::threads::{Threads, lock};
use super::{Figures, Live, Refusal, Reply, Request};

/// How often holds are checked, and after how many of these checks every journal is.
const PAUSE: Duration = Duration::from_millis(20);
const JOURNALS: u32 = 250;

/// Threads that close shops at the end.
const CLOSERS: usize = 8;

/// A request and where its answer goes.
pub struct Job {
    /// The request.
    pub request: Request,
    /// Called with the answer; it must not block.
    pub reply: Box<dyn FnOnce(Reply) + Send>,
}

/// How important a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something that happened as it should.
    Info,
    /// Something to look at.
    Warning,
    /// Something that keeps requests from being answered.
    Error,
}

/// Gets what the operator should know, with the name of the shop.
pub type Notices = Arc<dyn Fn(Level, &str, &str) + Send + Sync>;

/// Threads that serve live learners.
pub struct Engine {
    pub(super) answers: Threads,
    pub(super) plans: Threads,
    pub(super) notices: Notices,
    started: (Vec<JoinHandle<()>>, Vec<JoinHandle<()>>),
    served: Arc<Mutex<Vec<Arc<Served>>>>,
    ended: Arc<AtomicBool>,
    clock: JoinHandle<()>,
}

/// A handle to send requests to one shop.
#[derive(Clone)]
pub struct RequestQueue(Arc<Served>);

impl RequestQueue {
    /// Sends a request; waits while the queue is full. Returns whether the shop is served.
    pub fn send(&self, job: Job) -> bool {
        self.0.send(job)
    }

    /// Sends a request unless the queue is full; returns whether it was sent.
    pub fn try_send(&self, job: Job) -> bool {
        self.0.try_send(job)
    }

    /// Its numbers after the last answers.
    pub fn figures(&self) -> Figures {
        self.0.figures()
    }

    /// Whether requests are answered.
    pub fn is_running(&self) -> bool {
        self.0.is_running()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }
}

impl Engine {
    /// Starts the threads, for one shop or for any number. Fails where the system allows no more.
    pub fn start(notices: Notices, single: bool) -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        // Threads that answer wait for the disk most of the time; plans use all cores themselves. A shop has one thread at
        // a time, and waking always the same one is faster.
        let count = match single {
            true => 1,
            false => (2 * cores).clamp(4, 16),
        };
        let (answers, first) = Threads::start("answers", count)?;
        let (plans, second) = match Threads::start("plans", cores.clamp(2, 8)) {
            Ok(started) => started,
            Err(error) => {
                answers.stop(first);
                return Err(error);
            }
        };
        let (served, ended) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let clock = {
            let (served, ended) = (Arc::clone(&served), Arc::clone(&ended));
            let clock = Builder::new().name("watch".into());
            clock.spawn(move || watch(&served, &ended))
        };
        let clock = match clock {
            Ok(clock) => clock,
            Err(error) => {
                answers.stop(first);
                plans.stop(second);
                return Err(error);
            }
        };
        Ok(Self {
            answers,
            plans,
            notices,
            started: (first, second),
            served,
            ended,
            clock,
        })
    }

    /// Serves a learner; up to `capacity` requests wait.
    pub fn open(&self, name: &str, live: Live, capacity: usize) -> RequestQueue {
        let served = Served::new(name, live, capacity, self);
        lock(&self.served).push(Arc::clone(&served));
        RequestQueue(served)
    }

    /// Answers the requests of a shop that have been accepted, and takes no more of them; syncs its journal, and writes a
    /// snapshot for the next start.
    pub fn close(&self, queue: &RequestQueue) -> Result<(), Refusal> {
        lock(&self.served).retain(|served| !Arc::ptr_eq(served, &queue.0));
        queue.0.close()
    }

    /// Closes all shops, and ends the threads. Returns what could not be written.
    pub fn stop(self) -> Vec<(String, Refusal)> {
        let served = std::mem::take(&mut *lock(&self.served));
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let close = || {
            while let Some(served) = served.get(next.fetch_add(1, Ordering::Relaxed)) {
                let error = served.close().err();
                lock(&failed).extend(error.map(|error| (served.name.clone(), error)));
            }
        };
        // Most of the time is spent waiting for the disk. Without more threads this one does all.
        std::thread::scope(|scope| {
            for _ in 1..served.len().min(CLOSERS) {
                let _ = Builder::new().spawn_scoped(scope, close);
            }
            close();
        });
        let failed = std::mem::take(&mut *lock(&failed));
        self.ended.store(true, Ordering::Relaxed);
        let _ = self.clock.join();
        self.answers.stop(self.started.0);
        self.plans.stop(self.started.1);
        failed
    }
}

/// Wakes the shops that have a hold to release, and now and then all, to see that their journals are in their places.
fn watch(served: &Mutex<Vec<Arc<Served>>>, ended: &AtomicBool) {
    let mut checks = 0;
    while !ended.load(Ordering::Relaxed) {
        std::thread::sleep(PAUSE);
        checks = (checks + 1) % JOURNALS;
        let due: Vec<Arc<Served>> = {
            let served = lock(served);
            let due = served
                .iter()
                .filter(|served| checks == 0 || served.is_due());
            due.cloned().collect()
        };
        due.iter().for_each(Served::schedule);
    }
}

/// Milliseconds since 1970 that never go back or jump: holds end by this clock. It is set by the machine's clock at the
/// start, and again whenever no hold is open.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    set: Instant,
    set_ms: u64,
}

impl Clock {
    pub fn start() -> Self {
        Self {
            set: Instant::now(),
            set_ms: now_ms(),
        }
    }

    pub fn now_ms(&self) -> u64 {
        self.set_ms + self.set.elapsed().as_millis() as u64
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
