//! The one place that waits: a future of a device is run to its end on this thread. A browser drives its devices itself
//! and awaits the same futures.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wgpu::{PollError, PollType};

use super::device::{Awaited, one_line};
use crate::dp::BackendError;

/// Runs a future to its end; whenever it waits for the device, so does this.
pub fn run<T>(
    (device, awaited): (wgpu::Device, Awaited),
    future: impl Future<Output = Result<T, BackendError>>,
) -> Result<T, BackendError> {
    let mut future = pin!(future);
    // Nobody needs to be woken: the device's callbacks run within `poll`.
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
        let Some((index, patience)) = awaited.take() else {
            return Err(BackendError::Lost {
                reason: "the device fell silent".into(),
            });
        };
        let polled = device.poll(PollType::Wait {
            submission_index: Some(index),
            timeout: Some(patience),
        });
        match polled {
            Ok(_) => {}
            Err(PollError::Timeout) => {
                let seconds = patience.as_secs_f64();
                return Err(BackendError::Timeout { seconds });
            }
            Err(error) => {
                let reason = one_line(&error.to_string());
                return Err(BackendError::Lost { reason });
            }
        }
    }
}
