//! A value that a callback will hand over, as a future. No thread and no clock is involved: whoever calls the callback
//! wakes whoever awaits.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// What both sides share.
#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    /// Whether nothing more will come.
    closed: bool,
    waker: Option<Waker>,
}

type Shared<T> = Arc<Mutex<State<T>>>;

fn lock<T>(shared: &Shared<T>) -> MutexGuard<'_, State<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The side that hands the value over.
#[derive(Debug)]
pub struct Keep<T>(Shared<T>);

/// The side that awaits it; `None` where the other side was dropped without a value.
#[derive(Debug)]
pub struct Promise<T>(Shared<T>);

/// Both sides of a promise.
pub fn promise<T>() -> (Keep<T>, Promise<T>) {
    let shared = Arc::new(Mutex::new(State {
        value: None,
        closed: false,
        waker: None,
    }));
    (Keep(Arc::clone(&shared)), Promise(shared))
}

impl<T> Keep<T> {
    /// Hands the value over.
    pub fn keep(self, value: T) {
        lock(&self.0).value = Some(value);
    }
}

impl<T> Drop for Keep<T> {
    fn drop(&mut self) {
        let mut state = lock(&self.0);
        state.closed = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Future for Promise<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<Self::Output> {
        let mut state = lock(&self.0);
        if state.closed {
            return Poll::Ready(state.value.take());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::promise;

    #[test]
    fn promises_are_kept_or_broken_even_across_threads() {
        for value in [Some(7), None] {
            let (keep, promised) = promise();
            let thread = std::thread::spawn(move || {
                if let Some(value) = value {
                    keep.keep(value);
                }
            });
            assert_eq!(pollster::block_on(promised), value);
            thread.join().unwrap();
        }
    }
}
