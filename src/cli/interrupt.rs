//! SIGINT and SIGTERM set a flag; the study finishes its step, saves its state and ends.

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

/// How often the flag is read.
const POLL: Duration = Duration::from_millis(100);

/// The flag.
#[derive(Debug, Clone)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Starts to listen. A second request ends the process at once.
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

/// A study that was stopped by a signal.
#[derive(Debug, Error)]
#[error("stopped by {}: {kept}{}; resume with: {resume}", name(*.signal), .besides.as_deref().unwrap_or(""))]
pub struct Interrupted {
    /// The signal.
    pub signal: u8,
    /// The saved state and its folder.
    pub kept: String,
    /// Other finished studies of the same command.
    pub besides: Option<String>,
    /// The command that resumes.
    pub resume: String,
}

impl Interrupted {
    /// The exit code of the signal in shells.
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
