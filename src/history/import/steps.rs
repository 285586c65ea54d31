//! How finely a day is divided: plans have at most one customer per step.

use crate::history::clock::OpeningHours;

/// Lengths of steps to choose from, in seconds.
const LENGTHS: [u32; 14] = [
    3600, 1800, 1200, 900, 600, 300, 120, 60, 30, 20, 10, 5, 2, 1,
];

/// The most steps that are chosen without being asked for: plans take time and memory for each.
const STEP_LIMIT: u32 = 2000;

/// The share of arrivals that may share a step of their day with an earlier one.
const SHARED: f64 = 0.01;

/// A division of the day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Division {
    /// H.
    pub steps: usize,
    /// The share of arrivals that share a step of their day with an earlier one.
    pub shared: f64,
    /// Seconds of a step.
    length: u32,
}

impl Division {
    /// The longest round steps at which few arrivals share one, or as few as possible; `moments` has the episode and the
    /// time of day of every arrival.
    pub fn choose(moments: &[(u32, u32)], clock: &OpeningHours) -> Self {
        let since = |(episode, second): &(u32, u32)| (*episode, clock.since_opening(*second));
        let mut sorted: Vec<(u32, u32)> = moments.iter().map(since).collect();
        sorted.sort_unstable();
        let span = clock.span();
        let fits = |length: &u32| span.is_multiple_of(*length) && span / length <= STEP_LIMIT;
        let division = |length: u32| {
            let steps = span / length;
            let step = |since: u32| (since / length).min(steps - 1);
            let same =
                |pair: &&[(u32, u32)]| pair[0].0 == pair[1].0 && step(pair[0].1) == step(pair[1].1);
            Self {
                steps: steps as usize,
                shared: sorted.windows(2).filter(same).count() as f64 / sorted.len().max(1) as f64,
                length,
            }
        };
        let divisions: Vec<Self> = LENGTHS.into_iter().filter(fits).map(division).collect();
        let least = divisions.iter().map(|d| d.shared).fold(1.0, f64::min);
        // Times may be written in minutes: finer steps would not part more customers.
        let enough = SHARED.max(1.02 * least);
        let chosen = divisions.into_iter().find(|d| d.shared <= enough);
        chosen.unwrap_or_else(|| division(span))
    }

    /// The division in words.
    pub fn words(&self) -> String {
        let length = match self.length {
            seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
            seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
            seconds => format!("{seconds} s"),
        };
        let shared = 100.0 * self.shared;
        format!(
            "{} steps of {length}, with {shared:.1}% of arrivals at a step that already has one",
            self.steps
        )
    }
}
