//! Runs work on threads of this process with the interpreter released, and reacts to Ctrl-C.
//!
//! A pool belongs to the process that made it: after a fork its threads are gone, and the child makes its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use cbwk_gpu::experiment::Study;
use pyo3::exceptions::PyRuntimeError;
use pyo3::{PyResult, Python};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::refused;

/// How often a waiting call checks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

/// How long it then waits for work that can be stopped.
const PATIENCE: Duration = Duration::from_millis(300);

type Pools = Vec<(u32, usize, Arc<ThreadPool>)>;

static POOLS: Mutex<Pools> = Mutex::new(Vec::new());

/// The pool with this number of threads, by default one per core.
pub fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let threads = threads.unwrap_or(0);
    if threads > usize::from(u16::MAX) {
        return Err(refused(
            "threads",
            threads,
            "a whole number from 1 to 65535",
        ));
    }
    let make = || {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let failed = |error| PyRuntimeError::new_err(format!("threads cannot be started: {error}"));
        pool.map(Arc::new).map_err(failed)
    };
    // A lock held by a thread that a fork has left behind would never be released.
    let Ok(mut pools) = POOLS.try_lock() else {
        return make();
    };
    let process = std::process::id();
    let own = |entry: &&(u32, usize, Arc<ThreadPool>)| entry.0 == process && entry.1 == threads;
    if let Some((_, _, pool)) = pools.iter().find(own) {
        return Ok(Arc::clone(pool));
    }
    let made = make()?;
    pools.push((process, threads, Arc::clone(&made)));
    Ok(made)
}

/// A request to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether it was made.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag that it sets.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// Makes it.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What to do with work that was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterStop {
    /// Wait until it has stopped: it uses the interpreter.
    Wait,
    /// Wait briefly, then abandon it: it ends by itself, and its result is dropped.
    Leave,
}

impl AfterStop {
    /// For a study, which may have own code.
    pub fn of_study(study: &Study) -> Self {
        match study.own().is_empty() {
            true => Self::Leave,
            false => Self::Wait,
        }
    }
}

struct Answer<T> {
    slot: Mutex<Option<std::thread::Result<T>>>,
    there: Condvar,
}

impl<T> Answer<T> {
    fn wait(&self, at_most: Duration) -> Option<std::thread::Result<T>> {
        let slot = self.slot.lock().expect("lock poisoned");
        let waited = self
            .there
            .wait_timeout_while(slot, at_most, |slot| slot.is_none());
        waited.expect("lock poisoned").0.take()
    }
}

/// Runs work on a separate thread with the interpreter released, and raises KeyboardInterrupt soon after Ctrl-C.
pub fn interruptible<T: Send + 'static>(
    py: Python,
    stop: &Stop,
    after: AfterStop,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let answer = Arc::new(Answer {
        slot: Mutex::new(None),
        there: Condvar::new(),
    });
    let theirs = Arc::clone(&answer);
    let run = move || {
        let done = catch_unwind(AssertUnwindSafe(work));
        *theirs.slot.lock().expect("lock poisoned") = Some(done);
        theirs.there.notify_one();
    };
    std::thread::Builder::new().name("cbwk".into()).spawn(run)?;
    loop {
        if let Some(done) = py.detach(|| answer.wait(TICK)) {
            return done.map_err(|_| PyRuntimeError::new_err("cbwk failed: this is a bug"));
        }
        if let Err(interrupt) = py.check_signals() {
            stop.set();
            match after {
                AfterStop::Leave => drop(py.detach(|| answer.wait(PATIENCE))),
                AfterStop::Wait => while py.detach(|| answer.wait(TICK)).is_none() {},
            }
            return Err(interrupt);
        }
    }
}
