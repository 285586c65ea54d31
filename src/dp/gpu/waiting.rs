//! Waiting for a device: the value of a callback as a future, and the loop that blocks this thread until a future is done.
//! A browser drives its devices itself and awaits the same futures.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use wgpu::SubmissionIndex;

/// Locks a mutex even if another thread panicked while holding it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Channel<T> {
    value: Option<T>,
    /// Whether the sender is gone.
    closed: bool,
    waker: Option<Waker>,
}

/// The side of a callback.
#[derive(Debug)]
pub struct Sender<T>(Arc<Mutex<Channel<T>>>);

impl<T> Sender<T> {
    /// Sends the value.
    pub fn send(self, value: T) {
        lock(&self.0).value = Some(value);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut channel = lock(&self.0);
        channel.closed = true;
        let waker = channel.waker.take();
        drop(channel);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A sender for one value, and a future of it: `None` if the sender is dropped without a value.
pub fn oneshot<T>() -> (Sender<T>, impl Future<Output = Option<T>>) {
    let shared = Arc::new(Mutex::new(Channel {
        value: None,
        closed: false,
        waker: None,
    }));
    let sender = Sender(Arc::clone(&shared));
    let received = poll_fn(move |context| {
        let mut channel = lock(&shared);
        if channel.closed {
            return Poll::Ready(channel.value.take());
        }
        channel.waker = Some(context.waker().clone());
        Poll::Pending
    });
    (sender, received)
}

/// The submission that a future waits for, and its timeout. [`block_on`] polls the device for it.
#[derive(Debug, Clone, Default)]
pub struct Awaited(Arc<Mutex<Option<(SubmissionIndex, Duration)>>>);

impl Awaited {
    /// Notes a submission.
    pub fn set(&self, index: SubmissionIndex, timeout: Duration) {
        *lock(&self.0) = Some((index, timeout));
    }
}

/// Runs a future of a device to its end on this thread.
#[cfg(not(target_family = "wasm"))]
pub fn block_on<T>(
    (device, awaited): (wgpu::Device, Awaited),
    future: impl Future<Output = Result<T, crate::dp::BackendError>>,
) -> Result<T, crate::dp::BackendError> {
    use crate::dp::BackendError;

    let mut future = std::pin::pin!(future);
    // No waker is needed: the device's callbacks run within `poll`.
    let mut context = std::task::Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
        let Some((index, timeout)) = lock(&awaited.0).take() else {
            let reason = "the device stalled".into();
            return Err(BackendError::Lost { reason });
        };
        let polled = device.poll(wgpu::PollType::Wait {
            submission_index: Some(index),
            timeout: Some(timeout),
        });
        match polled {
            Ok(_) => {}
            Err(wgpu::PollError::Timeout) => {
                let seconds = timeout.as_secs_f64();
                return Err(BackendError::Timeout { seconds });
            }
            Err(error) => {
                let reason = super::device::one_line(&error);
                return Err(BackendError::Lost { reason });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::oneshot;

    #[test]
    fn a_value_or_its_absence_arrives_from_another_thread() {
        for value in [Some(7), None] {
            let (sender, received) = oneshot();
            let thread = std::thread::spawn(move || {
                if let Some(value) = value {
                    sender.send(value);
                }
            });
            assert_eq!(pollster::block_on(received), value);
            thread.join().unwrap();
        }
    }
}
