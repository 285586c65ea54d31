//! Ctrl-C and polite requests to end: they set a flag, the study finishes its step, says what is kept, and ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use thiserror::Error;

/// Signals within this time of the first are the same request: `timeout` sends two at once, `parallel` three within 300 ms,
/// and a batch system signals a script together with its child.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// How soon the first is noticed.
const POLL: Duration = Duration::from_millis(100);

/// Knows whether the process was asked to end.
#[derive(Debug, Clone)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from now on. The second request ends the process at once.
    pub fn listen() -> std::io::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        let again = Arc::new(AtomicBool::new(false));
        for number in [SIGINT, SIGTERM] {
            let code = 128 + number;
            flag::register_conditional_shutdown(number, code, Arc::clone(&again))?;
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        let first = Arc::clone(&signal);
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                while first.load(Ordering::Relaxed) == 0 {
                    thread::sleep(POLL);
                }
                thread::sleep(ONE_REQUEST);
                again.store(true, Ordering::Relaxed);
            })?;
        Ok(Self { signal })
    }

    /// The signal that came, if one did.
    pub fn signal(&self) -> Option<u8> {
        let signal = self.signal.load(Ordering::Relaxed);
        (signal > 0).then_some(signal as u8)
    }
}

/// A study that was asked to end, and what is kept of it.
#[derive(Debug, Error)]
#[error("stopped by {}: {kept}{}; go on with: {resume}", name(*.signal), .besides.as_deref().unwrap_or(""))]
pub struct Interrupted {
    /// The signal.
    pub signal: u8,
    /// What is kept, and where.
    pub kept: String,
    /// What is kept of other studies of the same command.
    pub besides: Option<String>,
    /// The command that goes on.
    pub resume: String,
}

impl Interrupted {
    /// The exit code that shells give for the signal.
    pub fn exit_code(&self) -> u8 {
        128 + self.signal
    }
}

fn name(signal: u8) -> &'static str {
    match i32::from(signal) {
        SIGINT => "SIGINT",
        _ => "SIGTERM",
    }
}
