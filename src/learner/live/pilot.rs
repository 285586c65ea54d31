//! Days of a pilot: each is drawn for the learner or for what was done before.

use serde::{Deserialize, Serialize};

use crate::files::sha256;
use crate::learner::Learner;
use crate::policy::Decider;

/// A pilot, as the operator states it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pilot {
    /// The share of days that are the learner's. With 0 its offers are only logged.
    pub share: f64,
    /// Whose the other days are.
    pub baseline: Baseline,
}

/// What is done on the other days.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Baseline {
    /// Always this offer.
    Fixed(f64),
    /// The caller makes its own offers and tells them with `record`.
    Record,
}

/// A day of a pilot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PilotDay {
    /// Whether it is the learner's.
    pub ours: bool,
    /// The probability of that.
    pub share: f64,
    /// Whose it is else.
    pub baseline: Baseline,
}

impl Pilot {
    /// The draw for a day: it depends on its name and the seed alone, so nobody can choose it and a restart does not change
    /// it.
    pub fn draw(&self, episode: &str, seed: u64) -> PilotDay {
        let digits = sha256(format!("{seed} {episode}").as_bytes());
        let number = u64::from_str_radix(&digits[..13], 16).expect("digits of a checksum");
        PilotDay {
            ours: (number as f64) < self.share * (1_u64 << 52) as f64,
            share: self.share,
            baseline: self.baseline,
        }
    }
}

/// What a day's own arrivals would have earned, according to the plan and the estimates of its morning, which know nothing of
/// the day.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The learner's offers.
    pub ours: f64,
    /// The baseline's; `None` if its offers are not known in advance.
    pub baseline: Option<f64>,
}

/// Most pairs of arrival and budget that a replay takes: `end` waits for it.
const PAIRS: usize = 1 << 20;

impl PilotDay {
    /// The replay of the open episode with `budget` units; `None` if it is too large or none is open.
    pub fn replay(&self, learner: &Learner, budget: u32) -> Option<Expected> {
        let arrivals = learner.arrivals()?;
        let budget = budget.min(learner.policy().u_hat().budget_max());
        if arrivals.len().saturating_mul(budget as usize + 1) > PAIRS {
            return None;
        }
        let fixed = match self.baseline {
            Baseline::Fixed(value) => learner.task().application().action_at(value),
            Baseline::Record => None,
        };
        Some(Expected {
            ours: replayed(learner, budget, None)?,
            baseline: fixed.and_then(|action| replayed(learner, budget, Some(action))),
        })
    }
}

/// Backwards along the arrivals, for every budget b: V(b) += rho(x, a) (r - (V(b) - V(b - c))), with a the plan's offer at
/// (x, b), or a fixed one.
fn replayed(learner: &Learner, budget: u32, fixed: Option<usize>) -> Option<f64> {
    let (task, policy) = (learner.task(), learner.policy());
    let arrivals = learner.arrivals()?;
    let mut value = vec![0.0; budget as usize + 1];
    let mut estimates = vec![0.0; task.actions()];
    let mut decider = Decider::new(task.actions());
    for context in arrivals.iter().collect::<Vec<_>>().into_iter().rev() {
        policy.beliefs().estimate(&context, &mut estimates);
        // Downwards: a smaller budget still has the value after this arrival.
        for b in (0..=budget).rev() {
            let action = match fixed {
                Some(action) if task.feasible(&context, action, b) => action,
                Some(_) => 0,
                None => decider.choose(task, policy.beliefs(), policy.u_hat(), &context, b),
            };
            if action > 0 {
                let after = value[(b - task.cost(&context, action)) as usize];
                let here = value[b as usize];
                let gain = task.reward(&context, action) - (here - after);
                value[b as usize] += estimates[action - 1] * gain;
            }
        }
    }
    value.last().copied()
}
