//! Stopping a solve that is under way: the CPU checks between two steps of Algorithm 2.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::BackendError;

thread_local! {
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs `work` on this thread. Once `stop` is set, [`super::Backend::solve`] of a single problem in it ends with
/// [`BackendError::Stopped`] after the current step; graphics adapters finish the problem.
pub fn stoppable<T>(stop: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let before = STOP.replace(Some(Arc::clone(stop)));
    let done = work();
    STOP.set(before);
    done
}

/// An error once the caller has asked to stop.
pub(super) fn check() -> Result<(), BackendError> {
    let set = |stop: &Arc<AtomicBool>| stop.load(Ordering::Relaxed);
    match STOP.with_borrow(|stop| stop.as_ref().is_some_and(set)) {
        true => Err(BackendError::Stopped),
        false => Ok(()),
    }
}
