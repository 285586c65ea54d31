//! A wish that a solve under way should end, heard on the CPU between two steps of Algorithm 2.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::BackendError;

thread_local! {
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Does work on this thread in which [`super::Backend::solve`] of a single problem ends with [`BackendError::Stopped`] once
/// `stop` is set. A step that is under way is finished first; graphics adapters finish the problem.
pub fn stoppable<T>(stop: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let before = STOP.replace(Some(Arc::clone(stop)));
    let done = work();
    STOP.set(before);
    done
}

/// Refuses to go on where that is wished.
pub(super) fn check() -> Result<(), BackendError> {
    let set = |stop: &Arc<AtomicBool>| stop.load(Ordering::Relaxed);
    match STOP.with_borrow(|stop| stop.as_ref().is_some_and(set)) {
        true => Err(BackendError::Stopped),
        false => Ok(()),
    }
}
