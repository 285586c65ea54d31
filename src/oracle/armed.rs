//! Oracles for conversion that does not depend on the context (Appendix A.2.1).
//!
//! ```text
//! stationary:  mu_hat(a)   +- sqrt( ln(2 N |A| / delta)   / max(m(a), 1) )
//! by step:     mu_hat_h(a) +- sqrt( ln(2 N H |A| / delta) / max(m_h(a), 1) )
//! ```
//!
//! |A| counts the null action and N all observations. An action without data keeps the bounds (0, 1).
//!
//! Beyond the paper, `bounds = "beta-binomial"` takes the set of [`super::beta_binomial_interval`] at alpha = delta / K over
//! the K non-null actions (by step: delta / (K H)), which is tighter and holds at all times at once.

use rand::rngs::ChaCha8Rng;
use rand_distr::{Beta, Distribution};

use super::drawn::DrawnArms;
use super::{
    Bounds, Diagnosis, LabeledData, Oracle, Sides, beta_binomial_interval, beta_binomial_upper,
};
use crate::dp::BoundParameters;
use crate::task::Context;

/// Counts and bounds per action, or per (step, action).
#[derive(Debug, Clone)]
pub struct Armed {
    actions: usize,
    /// 1 for the stationary oracle, H for the one by step.
    groups: usize,
    radius_scale: f64,
    /// The sides of beta-binomial bounds; the paper's radius where there are none.
    beta_binomial: Option<Sides>,
    consumed: usize,
    tried: Vec<u64>,
    converted: Vec<u64>,
    bounds: Vec<Bounds>,
    /// The level of every arm's bounds, and how often it had been tried: they are as good as new where neither changes.
    alpha: f64,
    evaluated: Vec<u64>,
}

impl Armed {
    /// The oracle of the stationary model, mu(a).
    pub fn stationary(actions: usize, radius_scale: f64) -> Self {
        Self::with_groups(actions, 1, radius_scale)
    }

    /// The oracle of the non-stationary model, mu_h(a).
    pub fn by_step(actions: usize, horizon: usize, radius_scale: f64) -> Self {
        Self::with_groups(actions, horizon, radius_scale)
    }

    /// The same with beta-binomial bounds in place of the paper's radius.
    pub fn with_beta_binomial(self, sides: Sides) -> Self {
        Self {
            beta_binomial: Some(sides),
            ..self
        }
    }

    fn with_groups(actions: usize, groups: usize, radius_scale: f64) -> Self {
        Self {
            actions,
            groups,
            radius_scale,
            beta_binomial: None,
            consumed: 0,
            tried: vec![0; groups * actions],
            converted: vec![0; groups * actions],
            bounds: vec![Bounds::UNKNOWN; groups * actions],
            alpha: 1.0,
            evaluated: vec![0; groups * actions],
        }
    }

    /// The paper's bounds.
    fn evaluate_radius(&mut self, delta: f64) {
        let all_actions = (self.actions + 1) as f64;
        let observations = self.consumed as f64;
        let log_term = (2.0 * observations * self.groups as f64 * all_actions / delta).ln();
        for (bounds, (&tried, &converted)) in self
            .bounds
            .iter_mut()
            .zip(self.tried.iter().zip(&self.converted))
        {
            if tried > 0 {
                let mean = converted as f64 / tried as f64;
                let radius = self.radius_scale * (log_term / tried as f64).sqrt();
                *bounds = Bounds::around(mean, radius);
            }
        }
    }

    /// Beta-binomial bounds of the arms whose data have grown; of all where the level is another one.
    fn evaluate_beta_binomial(&mut self, sides: Sides, delta: f64) {
        let alpha = delta / self.bounds.len() as f64;
        if alpha != self.alpha {
            self.alpha = alpha;
            self.evaluated.fill(0);
        }
        for (arm, bounds) in self.bounds.iter_mut().enumerate() {
            let (tried, converted) = (self.tried[arm], self.converted[arm]);
            if tried == self.evaluated[arm] {
                continue;
            }
            self.evaluated[arm] = tried;
            let set = match sides {
                Sides::Both => beta_binomial_interval(converted, tried, alpha),
                Sides::Upper => Bounds {
                    lcb: 0.0,
                    ucb: beta_binomial_upper(converted, tried, alpha),
                },
            };
            *bounds = scaled(set, converted as f64 / tried as f64, self.radius_scale);
        }
    }

    fn group(&self, step: usize) -> usize {
        if self.groups == 1 { 0 } else { step }
    }
}

/// `set` with its ends `scale` times as far from `mean`; an end that says nothing stays.
fn scaled(set: Bounds, mean: f64, scale: f64) -> Bounds {
    let stretch = |end: f64| (mean + scale * (end - mean)).clamp(0.0, 1.0);
    match scale {
        1.0 => set,
        _ => Bounds {
            lcb: if set.lcb > 0.0 { stretch(set.lcb) } else { 0.0 },
            ucb: if set.ucb < 1.0 { stretch(set.ucb) } else { 1.0 },
        },
    }
}

impl Oracle for Armed {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        for observation in data.since(self.consumed) {
            let arm = self.group(observation.step) * self.actions + observation.action - 1;
            self.tried[arm] += 1;
            self.converted[arm] += u64::from(observation.converted);
        }
        self.consumed = data.len();
        match self.beta_binomial {
            None => self.evaluate_radius(delta),
            Some(sides) => self.evaluate_beta_binomial(sides, delta),
        }
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        let start = self.group(context.step) * self.actions;
        out.copy_from_slice(&self.bounds[start..start + self.actions]);
    }

    /// Both sides, also where a planner needs the upper one alone.
    fn interval(&self, context: &Context, out: &mut [Bounds]) {
        self.bounds(context, out);
        if self.beta_binomial != Some(Sides::Upper) {
            return;
        }
        let start = self.group(context.step) * self.actions;
        for (arm, bounds) in (start..).zip(out) {
            let (tried, converted) = (self.tried[arm], self.converted[arm]);
            if tried > 0 {
                let set = beta_binomial_interval(converted, tried, self.alpha);
                *bounds = scaled(set, converted as f64 / tried as f64, self.radius_scale);
            }
        }
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        let start = self.group(context.step) * self.actions;
        for (arm, estimate) in (start..).zip(out) {
            let (tried, converted) = (self.tried[arm], self.converted[arm]);
            *estimate = if tried > 0 {
                converted as f64 / tried as f64
            } else {
                0.5
            };
        }
    }

    fn depends_on_step(&self) -> bool {
        self.groups > 1
    }

    fn bound_parameters(&self) -> Option<BoundParameters> {
        Some(BoundParameters::Armed {
            bounds: self.bounds.iter().map(|b| [b.ucb, b.lcb]).collect(),
            by_step: self.depends_on_step(),
        })
    }

    fn anytime(&self) -> bool {
        self.beta_binomial.is_some()
    }

    /// Beta(1/2 + s, 1/2 + n - s) for every arm.
    fn draw(&self, rng: &mut ChaCha8Rng) -> Option<Box<dyn Oracle>> {
        let counts = self.tried.iter().zip(&self.converted);
        let rho = counts.map(|(&tried, &converted)| {
            let (s, rest) = (converted as f64, (tried - converted) as f64);
            let law = Beta::new(0.5 + s, 0.5 + rest).expect("both are positive");
            law.sample(rng).clamp(0.0, 1.0)
        });
        Some(Box::new(DrawnArms::new(self.actions, rho.collect())))
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self.consumed)
    }
}
