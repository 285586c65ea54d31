//! One live learner and the queue of its requests.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::engine::{Clock, Engine, Level, Notices};
use super::threads::{Threads, lock};
use super::{Code, Figures, Job, Live, Refusal, Request};

/// Most requests that are answered together.
const BATCH: usize = 512;

/// A learner that is served.
pub struct Served {
    pub name: String,
    queue: Mutex<Queue>,
    /// Notified when jobs were taken.
    taken: Condvar,
    live: Mutex<Live>,
    clock: Mutex<Clock>,
    figures: Mutex<Figures>,
    /// Whether a request gains nothing by waiting for others and leaves no hold to check.
    at_once: bool,
    /// When the next hold expires, in milliseconds since 1970.
    due: AtomicU64,
    /// Whether the journal could not be written last time.
    fault: AtomicBool,
    answers: Threads,
    notices: Notices,
}

struct Queue {
    jobs: VecDeque<Job>,
    capacity: usize,
    /// Whether a thread has been asked to serve it, and whether one does.
    scheduled: bool,
    running: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
    /// Its thread panicked. What was answered is in the journal.
    Failed,
}

impl Served {
    pub fn new(name: &str, mut live: Live, capacity: usize, engine: &Engine) -> Arc<Self> {
        let at_once = !live.settings.sync && live.settings.hold_ms.is_none();
        let served = Arc::new(Self {
            name: name.into(),
            queue: Mutex::new(Queue {
                jobs: VecDeque::new(),
                capacity,
                scheduled: false,
                running: false,
                state: State::Open,
            }),
            taken: Condvar::new(),
            figures: Mutex::new(live.figures()),
            live: Mutex::new(live),
            clock: Mutex::new(Clock::start()),
            at_once,
            due: AtomicU64::new(u64::MAX),
            fault: AtomicBool::new(false),
            answers: engine.answers.clone(),
            notices: Arc::clone(&engine.notices),
        });
        let weak = Arc::downgrade(&served);
        let wake = move || {
            if let Some(served) = weak.upgrade() {
                served.schedule();
            }
        };
        lock(&served.live).serve_with(engine.plans.clone(), Arc::new(wake));
        served.schedule();
        served
    }

    pub fn send(self: &Arc<Self>, job: Job) -> bool {
        let mut queue = lock(&self.queue);
        while queue.state == State::Open && queue.jobs.len() >= queue.capacity {
            let woken = self.taken.wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
        }
        if queue.state != State::Open {
            return false;
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.schedule();
        true
    }

    pub fn try_send(self: &Arc<Self>, job: Job) -> bool {
        let fast = matches!(
            job.request,
            Request::Decide { .. } | Request::Observe { .. }
        );
        if self.at_once && fast {
            // The lock may be held by a thread that makes answers.
            if let Ok(mut live) = self.live.try_lock() {
                self.answer(&mut live, Some(job), |_| None);
                return true;
            }
        }
        let mut queue = lock(&self.queue);
        if queue.state != State::Open || queue.jobs.len() >= queue.capacity {
            return false;
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.schedule();
        true
    }

    pub fn figures(&self) -> Figures {
        *lock(&self.figures)
    }

    pub fn is_running(&self) -> bool {
        lock(&self.queue).state == State::Open
    }

    /// Whether a hold has expired.
    pub fn is_due(&self) -> bool {
        self.due.load(Ordering::Relaxed) <= lock(&self.clock).now_ms()
    }

    /// Has a thread look at the queue, the plan and the holds.
    pub fn schedule(self: &Arc<Self>) {
        let mut queue = lock(&self.queue);
        if !std::mem::replace(&mut queue.scheduled, true) && !queue.running {
            self.start();
        }
    }

    fn start(self: &Arc<Self>) {
        let served = Arc::clone(self);
        self.answers.run(Box::new(move || served.run()));
    }

    fn run(self: Arc<Self>) {
        loop {
            {
                let mut queue = lock(&self.queue);
                (queue.scheduled, queue.running) = (false, true);
            }
            let served = catch_unwind(AssertUnwindSafe(|| self.answer_all()));
            let mut queue = lock(&self.queue);
            queue.running = false;
            match served {
                Ok(more) => queue.scheduled |= more,
                Err(_) => {
                    drop(queue);
                    self.fail();
                    break;
                }
            }
            if !queue.scheduled {
                break;
            }
            // Another shop may wait for this thread.
            if !self.answers.is_idle() {
                self.start();
                break;
            }
        }
        self.taken.notify_all();
    }

    /// Refuses what waits and what comes.
    fn fail(&self) {
        let mut queue = lock(&self.queue);
        queue.state = State::Failed;
        let jobs = std::mem::take(&mut queue.jobs);
        drop(queue);
        let text = failed().message;
        (self.notices)(Level::Error, &self.name, &text);
        for job in jobs {
            (job.reply)(Err(failed()));
        }
    }

    /// Answers waiting requests; returns whether more can be answered now.
    fn answer_all(&self) -> bool {
        let mut live = match self.live.lock() {
            Ok(live) => live,
            Err(_) => panic!("a request failed before"),
        };
        if live.next_hold().is_none() {
            *lock(&self.clock) = Clock::start();
        }
        live.poll(lock(&self.clock).now_ms());
        self.answer(&mut live, None, |live| {
            let mut queue = lock(&self.queue);
            // It waits for a plan, and those behind it wait with it: they were sent later.
            let waits = queue
                .jobs
                .front()
                .is_some_and(|job| live.must_wait(&job.request));
            match waits {
                true => None,
                false => queue.jobs.pop_front(),
            }
        });
        let next = live.next_hold().unwrap_or(u64::MAX);
        self.due.store(next, Ordering::Relaxed);
        let queue = lock(&self.queue);
        self.taken.notify_all();
        queue
            .jobs
            .front()
            .is_some_and(|job| !live.must_wait(&job.request))
    }

    /// Answers a request and those that `more` returns, with one commit.
    fn answer(&self, live: &mut Live, first: Option<Job>, more: impl Fn(&Live) -> Option<Job>) {
        // Lines that could not be written before come first. While they cannot be, or the journal is not in its place, only
        // reads are answered.
        let writable = live.commit();
        let now = match self.at_once {
            true => super::engine::now_ms(),
            false => lock(&self.clock).now_ms(),
        };
        let mut replies = Vec::new();
        let mut next = first.or_else(|| more(live));
        while let Some(Job { request, reply }) = next {
            let reads = request.only_reads();
            let answer = match (&writable, reads) {
                (Err(refusal), false) => Err(refusal.clone()),
                _ => live.handle(&request, now),
            };
            replies.push((reads, answer, reply));
            next = match replies.len() < BATCH {
                true => more(live),
                false => None,
            };
        }
        let committed = match &writable {
            Ok(()) => live.commit(),
            Err(refusal) => Err(refusal.clone()),
        };
        self.tell(&committed);
        *lock(&self.figures) = Figures {
            writable: committed.is_ok(),
            ..live.figures()
        };
        for (reads, answer, reply) in replies {
            reply(match (&committed, reads) {
                (Err(refusal), false) => Err(refusal.clone()),
                _ => answer,
            });
        }
    }

    /// Says when the journal can no longer be written, and when it can be again.
    fn tell(&self, committed: &Result<(), Refusal>) {
        let failed = committed.is_err();
        if self.fault.swap(failed, Ordering::Relaxed) == failed {
            return;
        }
        match committed {
            Err(refusal) => (self.notices)(Level::Error, &self.name, &refusal.message),
            Ok(()) => {
                let text = "the journal is written again; no answer was lost";
                (self.notices)(Level::Info, &self.name, text);
            }
        }
    }

    /// Takes no more requests, answers those that wait, and writes all.
    pub fn close(&self) -> Result<(), Refusal> {
        let mut queue = lock(&self.queue);
        queue.capacity = 0;
        while queue.state == State::Open
            && (queue.running || queue.scheduled || !queue.jobs.is_empty())
        {
            let woken = self.taken.wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
        }
        if queue.state != State::Open {
            return Err(failed());
        }
        queue.state = State::Closed;
        drop(queue);
        match self.live.lock() {
            Ok(mut live) => live.finish(),
            Err(_) => Err(failed()),
        }
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

fn failed() -> Refusal {
    let message = "the learner ended unexpectedly; its journal is intact; start the service again";
    Refusal::new(Code::Storage, message)
}
