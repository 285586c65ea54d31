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
//! the K non-null actions (by step: delta / (K H)), which is tighter and holds at all times at once. With it, `tabular` has an
//! arm for every pair of a context type and an action (alpha = delta / (K types)): the model of a table of conversion
//! probabilities.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand_distr::{Beta, Distribution};

use super::config::{Build, Parameters, Profile};
use super::{
    Belief, Beside, BoundFacts, Bounds, BulkBounds, Diagnosis, LabeledData, Oracle, OracleSpec,
    Pairs, Sides, beta_binomial_interval, beta_binomial_upper,
};
use crate::dp::BoundParameters;
use crate::error::Invalid;
use crate::task::{Context, Support, Task};

/// What the conversion of an action depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arms {
    /// Nothing else.
    Single,
    /// The step.
    ByStep,
    /// The context, one of finitely many types.
    ByType,
}

/// Parameters of the oracle.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArmedParameters {
    /// What conversion depends on.
    pub arms: Arms,
    /// Whether bounds are beta-binomial instead of the paper's.
    pub beta_binomial: bool,
    /// Multiplies the radius.
    pub radius_scale: f64,
}

impl Parameters for ArmedParameters {
    fn profile(&self) -> Profile {
        let tight = || OracleSpec::BetaBinomial {
            arms: self.arms,
            radius_scale: 1.0,
        };
        Profile {
            kind: match self.arms {
                Arms::Single => "armed",
                Arms::ByStep => "armed-by-step",
                Arms::ByType => "tabular",
            },
            bounds: if self.beta_binomial {
                "beta-binomial"
            } else {
                "paper"
            },
            facts: BoundFacts {
                by_step: self.arms == Arms::ByStep,
                anytime: self.beta_binomial,
            },
            posterior: true,
            tight: (!self.beta_binomial).then(tight),
            numbers: vec![("radius_scale", Some(self.radius_scale), 0.0)],
        }
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        let groups = match self.arms {
            Arms::Single => 1,
            Arms::ByStep => request.task.horizon(),
            Arms::ByType => request.task.support().len(),
        };
        let by_type = self.arms == Arms::ByType;
        Ok(Box::new(Armed {
            types: by_type.then(|| Arc::new(request.task.support().clone())),
            ..Armed::new(*self, request.task.actions(), groups, request.sides)
        }))
    }

    fn check(&self, field: &str, task: &Task) -> Result<(), Invalid> {
        if self.arms == Arms::ByType && !task.is_finite() {
            let accepted = "another oracle, or contexts of finitely many types (finite or grid)";
            return Err(Invalid::new(format!("{field}.kind"), "tabular", accepted));
        }
        Ok(())
    }

    fn stores_data(&self) -> bool {
        false
    }
}

/// Every action is a bandit arm: bounds from its own counts, whatever the features; per step or context type if asked for.
#[derive(Debug, Clone)]
pub struct Armed {
    parameters: ArmedParameters,
    actions: usize,
    /// 1, H by step, or the number of context types.
    groups: usize,
    /// The context types, if arms differ by type.
    types: Option<Arc<Support>>,
    /// The sides of beta-binomial bounds.
    sides: Sides,
    consumed: usize,
    tried: Vec<u64>,
    converted: Vec<u64>,
    estimates: Vec<f64>,
    bounds: Vec<Bounds>,
    /// Both sides, also if a planner needs only the upper one.
    intervals: Vec<Bounds>,
    /// The level of all bounds, and how often each arm had been tried: bounds change only with one of them.
    alpha: f64,
    evaluated: Vec<u64>,
}

impl Armed {
    /// The oracle of the stationary model, mu(a).
    pub fn stationary(actions: usize, radius_scale: f64) -> Self {
        Self::paper(actions, 1, Arms::Single, radius_scale)
    }

    /// The oracle of the non-stationary model, mu_h(a).
    pub fn by_step(actions: usize, horizon: usize, radius_scale: f64) -> Self {
        Self::paper(actions, horizon, Arms::ByStep, radius_scale)
    }

    fn paper(actions: usize, groups: usize, arms: Arms, radius_scale: f64) -> Self {
        let parameters = ArmedParameters {
            arms,
            beta_binomial: false,
            radius_scale,
        };
        Self::new(parameters, actions, groups, Sides::Both)
    }

    fn new(parameters: ArmedParameters, actions: usize, groups: usize, sides: Sides) -> Self {
        let arms = groups * actions;
        Self {
            parameters,
            actions,
            groups,
            types: None,
            sides,
            consumed: 0,
            tried: vec![0; arms],
            converted: vec![0; arms],
            estimates: vec![0.5; arms],
            bounds: vec![Bounds::UNKNOWN; arms],
            intervals: vec![Bounds::UNKNOWN; arms],
            alpha: 1.0,
            evaluated: vec![0; arms],
        }
    }

    /// The first arm of a step (0-based) and context type.
    fn first_arm(&self, step: usize, point: Option<u32>) -> usize {
        let group = match self.parameters.arms {
            Arms::Single => 0,
            Arms::ByStep => step,
            // The task's check guarantees that all contexts have a type.
            Arms::ByType => point.map_or(0, |point| point as usize),
        };
        group * self.actions
    }

    /// The first arm of a context.
    fn first_arm_of(&self, context: &Context) -> usize {
        let point = || context.point.or_else(|| self.type_of(context.features));
        match self.parameters.arms {
            Arms::ByType => self.first_arm(context.step, point()),
            _ => self.first_arm(context.step, None),
        }
    }

    fn type_of(&self, features: &[f64]) -> Option<u32> {
        self.types.as_ref()?.find(features)
    }

    /// The paper's bounds.
    fn evaluate_radius(&mut self, delta: f64) {
        let all_actions = (self.actions + 1) as f64;
        let observations = self.consumed as f64;
        let log_term = (2.0 * observations * self.groups as f64 * all_actions / delta).ln();
        for (arm, bounds) in self.bounds.iter_mut().enumerate() {
            if self.tried[arm] > 0 {
                let root = (log_term / self.tried[arm] as f64).sqrt();
                *bounds = Bounds::around(self.estimates[arm], self.parameters.radius_scale * root);
            }
        }
        self.intervals.clone_from(&self.bounds);
    }

    /// Beta-binomial bounds of the arms with new data; of all arms if the level has changed.
    fn evaluate_beta_binomial(&mut self, delta: f64) {
        let alpha = delta / self.bounds.len() as f64;
        if alpha != self.alpha {
            self.alpha = alpha;
            self.evaluated.fill(0);
        }
        for arm in 0..self.bounds.len() {
            let (tried, converted) = (self.tried[arm], self.converted[arm]);
            if tried == self.evaluated[arm] {
                continue;
            }
            self.evaluated[arm] = tried;
            let scale = self.parameters.radius_scale;
            let two_sided = beta_binomial_interval(converted, tried, alpha);
            self.intervals[arm] = scaled(two_sided, self.estimates[arm], scale);
            self.bounds[arm] = match self.sides {
                Sides::Both => self.intervals[arm],
                Sides::Upper => {
                    let ucb = beta_binomial_upper(converted, tried, alpha);
                    scaled(Bounds { lcb: 0.0, ucb }, self.estimates[arm], scale)
                }
            };
        }
    }

    /// (s + 1/2) / (n + 1).
    fn center(&self, arm: usize) -> f64 {
        (self.converted[arm] as f64 + 0.5) / (self.tried[arm] as f64 + 1.0)
    }
}

/// `set` with its ends `scale` times as far from `mean`; an end at 0 or 1 stays.
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
            let point = self.type_of(observation.features);
            let arm = self.first_arm(observation.step, point) + observation.action - 1;
            self.tried[arm] += 1;
            self.converted[arm] += u64::from(observation.converted);
            self.estimates[arm] = self.converted[arm] as f64 / self.tried[arm] as f64;
        }
        self.consumed = data.len();
        match self.parameters.beta_binomial {
            false => self.evaluate_radius(delta),
            true => self.evaluate_beta_binomial(delta),
        }
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        let first = self.first_arm_of(context);
        out.copy_from_slice(&self.bounds[first..first + self.actions]);
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        let first = self.first_arm_of(context);
        out.copy_from_slice(&self.estimates[first..first + self.actions]);
    }

    fn interval(&self, context: &Context, out: &mut [Bounds]) {
        let first = self.first_arm_of(context);
        out.copy_from_slice(&self.intervals[first..first + self.actions]);
    }

    fn beliefs(&self, context: &Context, out: &mut [Belief]) {
        for (arm, belief) in (self.first_arm_of(context)..).zip(out) {
            *belief = Belief {
                interval: self.intervals[arm],
                ..Belief::new(self.center(arm), self.bounds[arm])
            };
        }
    }

    fn each_observed(&self, _: &Task, _: &LabeledData, see: &mut dyn FnMut(f64, f64, f64)) {
        for (arm, bounds) in self.bounds.iter().enumerate() {
            let belief = Belief::new(self.center(arm), *bounds);
            see(self.tried[arm] as f64, belief.center(), bounds.ucb);
        }
    }

    fn facts(&self) -> BoundFacts {
        BoundFacts {
            by_step: self.parameters.arms == Arms::ByStep && self.groups > 1,
            ..self.parameters.profile().facts
        }
    }

    fn bulk(&self) -> Option<&dyn BulkBounds> {
        Some(self)
    }

    /// Beta(1/2 + s, 1/2 + n - s) for every arm.
    fn draw(&self, rng: &mut ChaCha8Rng) -> Option<Box<dyn Oracle>> {
        let counts = self.tried.iter().zip(&self.converted);
        let draw = |(&tried, &converted): (&u64, &u64)| {
            let (s, rest) = (converted as f64, (tried - converted) as f64);
            let law = Beta::new(0.5 + s, 0.5 + rest).expect("both are positive");
            law.sample(rng).clamp(0.0, 1.0)
        };
        let rho: Vec<f64> = counts.map(draw).collect();
        Some(Box::new(Self {
            bounds: rho.iter().map(|rho| Bounds::around(*rho, 0.0)).collect(),
            intervals: rho.iter().map(|rho| Bounds::around(*rho, 0.0)).collect(),
            estimates: rho,
            ..self.clone()
        }))
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self.consumed)
    }
}

impl BulkBounds for Armed {
    fn fill(&self, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]) {
        for (i, entry) in pairs.entries.clone().enumerate() {
            let first = match self.groups {
                1 => 0,
                _ => self.first_arm_of(&pairs.sample.context(entry)),
            };
            for (a, action) in pairs.actions.clone().enumerate() {
                let (place, bounds) = (pairs.place(i, a), self.bounds[first + action]);
                (ucb[place], lcb[place]) = match pairs.beside {
                    Beside::Lcb => (bounds.ucb, bounds.lcb),
                    Beside::Estimate => {
                        let belief = Belief::new(self.center(first + action), bounds);
                        (bounds.ucb, belief.center())
                    }
                };
            }
        }
    }

    fn parameters(&self) -> Option<BoundParameters> {
        // An adapter knows the step of an entry but not its type: it gets the bounds themselves.
        if self.parameters.arms == Arms::ByType {
            return None;
        }
        Some(BoundParameters::Armed {
            bounds: self.bounds.iter().map(|b| [b.ucb, b.lcb]).collect(),
            estimates: (0..self.bounds.len()).map(|arm| self.center(arm)).collect(),
            by_step: self.groups > 1,
        })
    }
}
