//! Progress on a terminal: bars for work that can be counted, a spinner for other work.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::interrupt::Interrupt;
use super::machine;
use cbwk_gpu::runs::Progress;

/// A spinner appears after this time.
const PATIENCE: Duration = Duration::from_secs(2);

fn is_wanted(quiet: bool) -> bool {
    !quiet && std::io::stderr().is_terminal()
}

/// A bar over `total` things.
pub fn bar(quiet: bool, total: u64, things: &str) -> ProgressBar {
    let template = format!("{{bar:28}} {{percent}}% of {{len}} {things}, {{eta}} left");
    styled(quiet, ProgressBar::new(total), &template)
}

fn styled(quiet: bool, bar: ProgressBar, template: &str) -> ProgressBar {
    if !is_wanted(quiet) {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.expect("the template is valid"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Appears when work takes longer than two seconds, until it is dropped.
pub struct Spinner {
    bar: ProgressBar,
    over: Arc<AtomicBool>,
}

impl Spinner {
    /// Starts; `what` is being done.
    pub fn start(quiet: bool, what: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
        bar.set_style(style.expect("the template is valid"));
        bar.set_message(what.to_string());
        let over = Arc::new(AtomicBool::new(false));
        if is_wanted(quiet) {
            let (bar, over) = (bar.clone(), Arc::clone(&over));
            std::thread::spawn(move || {
                std::thread::sleep(PATIENCE);
                if !over.load(Ordering::Relaxed) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(200));
                }
            });
        }
        Self { bar, over }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.bar.finish_and_clear();
    }
}

/// The progress bar of a study, whose policies run one after another at very different costs.
pub struct StudyProgress {
    bar: ProgressBar,
    quiet: bool,
    left: TimeLeft,
    interrupt: Interrupt,
}

impl StudyProgress {
    /// For this many policies with this many episodes each, over all replications.
    pub fn new(quiet: bool, policies: usize, episodes: u64, interrupt: Interrupt) -> Self {
        let total = policies as u64 * episodes;
        let template = "{bar:28} {percent}% of {len} episodes, {msg}";
        Self {
            bar: styled(quiet, ProgressBar::new(total), template),
            quiet,
            left: TimeLeft::new(policies, episodes),
            interrupt,
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for StudyProgress {
    fn episode(&mut self, replications: usize) -> ControlFlow<()> {
        let episodes = replications as u64;
        self.bar.inc(episodes);
        self.left.advance(episodes, Instant::now());
        if let Some(left) = self.left.estimate() {
            let message = format!("about {} left", in_words(left));
            self.bar.set_message(message);
        }
        match self.interrupt.signal() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    fn note(&mut self, text: &str) {
        machine::note(self.quiet, text);
    }
}

/// Estimates the time left by the measured cost of each policy; one that has not started is expected to cost the mean.
struct TimeLeft {
    episodes: u64,
    policies: usize,
    done: u64,
    last: Instant,
    spent: Vec<Duration>,
}

impl TimeLeft {
    fn new(policies: usize, episodes: u64) -> Self {
        Self {
            episodes: episodes.max(1),
            policies,
            done: 0,
            last: Instant::now(),
            spent: vec![Duration::ZERO; policies],
        }
    }

    fn advance(&mut self, episodes: u64, now: Instant) {
        let policy = (self.done / self.episodes) as usize;
        if let Some(spent) = self.spent.get_mut(policy) {
            *spent += now.saturating_duration_since(self.last);
        }
        self.last = now;
        self.done += episodes;
    }

    fn estimate(&self) -> Option<Duration> {
        let total: f64 = self.spent.iter().map(Duration::as_secs_f64).sum();
        if self.done == 0 || total == 0.0 {
            return None;
        }
        let current = (self.done / self.episodes) as usize;
        let within = self.done % self.episodes;
        let rest = match within {
            0 => 0,
            within => self.episodes - within,
        };
        let own = self.spent.get(current).map_or(0.0, Duration::as_secs_f64);
        let own = own / within.max(1) as f64 * rest as f64;
        let begun = current + usize::from(within > 0);
        let to_come = self.policies.saturating_sub(begun) as u64 * self.episodes;
        let mean = total / self.done as f64;
        Some(Duration::from_secs_f64(own + mean * to_come as f64))
    }
}

/// An approximate time.
fn in_words(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..60 => format!("{} s", s + 1),
        s @ 60..5400 => format!("{} min", s.div_ceil(60)),
        s => format!("{:.1} h", s as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_current_policy() {
        let mut left = TimeLeft::new(3, 100);
        let start = left.last;
        assert_eq!(left.estimate(), None);
        // The first policy takes a second in all, the second one two seconds for its first half.
        left.advance(100, start + Duration::from_secs(1));
        assert_eq!(left.estimate(), Some(Duration::from_secs(2)));
        left.advance(50, start + Duration::from_secs(3));
        // Two more for its other half, and the third as the mean so far: 100 episodes at 3 s / 150.
        assert_eq!(left.estimate(), Some(Duration::from_secs(4)));
        left.advance(50, start + Duration::from_secs(5));
        left.advance(100, start + Duration::from_secs(6));
        assert_eq!(left.estimate(), Some(Duration::ZERO));
    }

    #[test]
    fn times_in_words() {
        let words = |seconds| in_words(Duration::from_secs(seconds));
        assert_eq!(
            [words(3), words(61), words(9000)],
            ["4 s", "2 min", "2.5 h"]
        );
    }
}
