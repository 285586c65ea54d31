//! A few threads that take work from one queue. However many shops there are, their number stays the same.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Stack of a thread. It is stated, so that the limits of the process's first thread do not matter.
const STACK: usize = 8 << 20;

/// Something to do.
pub type Work = Box<dyn FnOnce() + Send>;

/// Sends work to the threads.
#[derive(Clone)]
pub struct Threads(Arc<Queue>);

#[derive(Default)]
struct Queue {
    waiting: Mutex<(VecDeque<Work>, bool)>,
    changed: Condvar,
}

/// The lock of a value that is whole between any two statements, so that a panic elsewhere does not matter.
pub fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Threads {
    /// Starts threads. Fails where the system allows no more.
    pub fn start(name: &str, count: usize) -> io::Result<(Self, Vec<JoinHandle<()>>)> {
        let threads = Self(Arc::default());
        let mut started = Vec::new();
        for number in 0..count.max(1) {
            let queue = Arc::clone(&threads.0);
            let name = format!("{name}-{number}");
            let thread = Builder::new().name(name).stack_size(STACK);
            match thread.spawn(move || queue.serve()) {
                Ok(thread) => started.push(thread),
                Err(error) => {
                    threads.stop(started);
                    return Err(error);
                }
            }
        }
        Ok((threads, started))
    }

    /// Adds work to the queue.
    pub fn run(&self, work: Work) {
        lock(&self.0.waiting).0.push_back(work);
        self.0.changed.notify_one();
    }

    /// Whether nothing waits for a thread.
    pub fn is_idle(&self) -> bool {
        lock(&self.0.waiting).0.is_empty()
    }

    /// Ends the threads once the queue is empty.
    pub fn stop(&self, threads: Vec<JoinHandle<()>>) {
        lock(&self.0.waiting).1 = true;
        self.0.changed.notify_all();
        for thread in threads {
            // A panic of its work was caught, and said, before.
            let _ = thread.join();
        }
    }
}

impl Queue {
    fn serve(&self) {
        loop {
            let mut waiting = lock(&self.waiting);
            let work = loop {
                match (waiting.0.pop_front(), waiting.1) {
                    (Some(work), _) => break work,
                    (None, true) => return,
                    (None, false) => {
                        let woken = self.changed.wait(waiting);
                        waiting = woken.unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(waiting);
            // Whoever waits for the work sees that it will not come; the other shops go on.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    }
}
