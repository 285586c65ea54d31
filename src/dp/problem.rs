//! One Optimistic-DP problem: a sample of contexts, and for each (context, action) the two numbers the backward
//! induction needs. All arrays are flat, `actions` numbers per entry of the sample.

use super::ContextSample;

/// Coefficients of every (entry, action) of a sample.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Coefficients {
    /// ucb * r, 0 where the reward is negative (the null action is then as good).
    pub gain: Vec<f64>,
    /// lcb, 0 where the reward is negative.
    pub lcb: Vec<f64>,
}

impl Coefficients {
    /// (ucb * r, lcb) of a pair.
    #[inline]
    pub fn of(ucb: f64, lcb: f64, reward: f64) -> (f64, f64) {
        if reward >= 0.0 {
            (ucb * reward, lcb)
        } else {
            (0.0, 0.0)
        }
    }

    /// Makes room for the pairs of a sample.
    pub fn resize_for(&mut self, sample: &ContextSample) {
        let pairs = sample.len() * sample.actions();
        self.gain.resize(pairs, 0.0);
        self.lcb.resize(pairs, 0.0);
    }
}

/// A problem for a [`super::Backend`]: plan for budgets 0..=`budget_max` over the contexts of `sample`.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// Contexts, weights and costs.
    pub sample: &'a ContextSample,
    /// ucb * r and lcb.
    pub coefficients: &'a Coefficients,
    /// Largest budget of the table.
    pub budget_max: u32,
    /// r_max where values are capped at min(b, H-h+1) * r_max (Algorithm 2, line 4); `None` for exact optima.
    pub cap: Option<f64>,
}

impl Problem<'_> {
    /// Number of candidates (h, budget, context, action), the unit of work.
    pub fn candidates(&self) -> u64 {
        let contexts: usize = (0..self.sample.horizon())
            .map(|step| self.sample.step(step).entries.len())
            .sum();
        contexts as u64 * self.sample.actions() as u64 * u64::from(self.budget_max)
    }
}
