//! Oracles for conversion that does not depend on the context (Appendix A.2.1).
//!
//! ```text
//! stationary:  mu_hat(a)   +- sqrt( ln(2 N |A| / delta)   / max(m(a), 1) )
//! by step:     mu_hat_h(a) +- sqrt( ln(2 N H |A| / delta) / max(m_h(a), 1) )
//! ```
//!
//! |A| counts the null action and N all observations. An action without data keeps the bounds (0, 1).

use super::{Bounds, LabeledData, Oracle};
use crate::dp::BoundParameters;
use crate::task::Context;

/// Counts and bounds per action, or per (step, action).
#[derive(Debug, Clone)]
pub struct Armed {
    actions: usize,
    /// 1 for the stationary oracle, H for the one by step.
    groups: usize,
    radius_scale: f64,
    consumed: usize,
    tried: Vec<u64>,
    converted: Vec<u64>,
    bounds: Vec<Bounds>,
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

    fn with_groups(actions: usize, groups: usize, radius_scale: f64) -> Self {
        Self {
            actions,
            groups,
            radius_scale,
            consumed: 0,
            tried: vec![0; groups * actions],
            converted: vec![0; groups * actions],
            bounds: vec![Bounds::UNKNOWN; groups * actions],
        }
    }

    fn group(&self, step: usize) -> usize {
        if self.groups == 1 { 0 } else { step }
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
        let all_actions = (self.actions + 1) as f64;
        let log_term = (2.0 * data.len() as f64 * self.groups as f64 * all_actions / delta).ln();
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

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        let start = self.group(context.step) * self.actions;
        out.copy_from_slice(&self.bounds[start..start + self.actions]);
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
}
