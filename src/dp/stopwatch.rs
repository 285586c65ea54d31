//! Wall time, where there is a clock. WebAssembly has none of its own: there everything takes no time.

use std::time::Duration;
#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

/// A moment from which time is taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch {
    #[cfg(not(target_family = "wasm"))]
    start: Instant,
}

impl Stopwatch {
    /// Now.
    pub fn start() -> Self {
        Self {
            #[cfg(not(target_family = "wasm"))]
            start: Instant::now(),
        }
    }

    /// The time since.
    pub fn elapsed(&self) -> Duration {
        #[cfg(not(target_family = "wasm"))]
        return self.start.elapsed();
        #[cfg(target_family = "wasm")]
        return Duration::ZERO;
    }
}
