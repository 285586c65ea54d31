//! Tolerant optimism: no bonus where a pair is known as well as the pairs that are played.
//!
//! An optimist pays for the bonus ucb - e of every pair that is planned with, also where more data would change nothing. The
//! bonus is dropped where the pair is known as well as played pairs are on average, and kept where it is known less:
//!
//! ```text
//! e      the estimate, clamped into [lcb, ucb]; of an arm (s + 1/2) / (n + 1)
//! sigma  sqrt(q (1 - q)), q = (e + ucb) / 2, at least 1e-5
//! z      the sum of (ucb - e) / sigma over the labeled data, of the current fit, divided by the number of decisions
//! tau    kappa z sigma of the pair; 0 without data
//! ucb'   max(e, ucb - tau)           lcb'  min(e, lcb + tau)
//! ```
//!
//! A *decision* is a step at which somebody came and some offer was feasible, in an episode that teaches conversion. Those
//! answered by the null action count with 0, so that tau falls for a learner that has given up. tau grows with sigma, because
//! the width of an arm that rarely converts is far below that of an arm at 1/2. The cheapest and the dearest action keep
//! their ucb until each has three observations: play starts at one end, and after refusals a regression thinks little of the
//! other, whose widths are all near 1/2.
//!
//! # What it costs
//!
//! Plan and choice use ucb' for reward and consumption alike ([`super::Coupled`]). Let T_p be its operator for conversion p and
//! V* the value under the truth. On the event rho <= ucb, rho <= ucb' + tau. With p = min(rho, ucb') >= rho - tau,
//! T_rho V* - T_p V* <= tau r_max, because V* does not fall with the budget; T_ucb' V* >= T_p V* as the operator rises with p.
//! By induction V* - u_hat <= H tau_max r_max (with separate optimism (2 cost_max + 1) times that). And u_hat exceeds the value
//! of the policy by at most r_max times the expected widths that are played, as without tolerance, because e <= ucb' <= ucb.
//! So the regret of T episodes is at most that of the paper's proof plus r_max H sum_t tau_t.
//!
//! If the current widths over n data sum to at most C sqrt(n) (arms and ellipsoids do) and the learner has at least eta H t
//! decisions after t episodes, the extra term is at most 2 kappa C r_max sqrt(H T / eta): the rate of the paper's own second
//! term. Assumptions: eta is a fact of the learner's own path (small if days sell out at once), the bound is in units of
//! r_max, and the C of the logistic mixture is large while everybody refuses. With kappa to infinity, the plan with plain
//! estimates ([`Tolerant::plug_in`]), none of this holds.

use std::sync::Arc;

use multiversion::multiversion;

use super::{Belief, Beside, LabeledData, Layout, Oracle, Pairs, Sides, Wrapper, fill_bounds};
use crate::dp::BoundParameters;
use crate::task::Task;

/// Observations of the cheapest and of the dearest action before they lose their bonus.
const TRIED: usize = 3;

/// kappa z of a plan with plain estimates: more than any bonus.
const EVERYTHING: f64 = 1e6;

/// Wraps an oracle: bounds lose what is within the tolerance.
#[derive(Debug)]
pub struct Tolerant {
    inner: Box<dyn Oracle>,
    task: Arc<Task>,
    kappa: f64,
    sides: Sides,
    /// kappa z by action.
    scales: Vec<f64>,
}

impl Tolerant {
    /// Wraps an oracle that was not fitted. With [`Sides::Upper`] the estimate takes the place of lcb.
    pub fn new(mut inner: Box<dyn Oracle>, task: Arc<Task>, kappa: f64, sides: Sides) -> Self {
        inner.keep_observed();
        Self {
            scales: vec![0.0; task.actions()],
            inner,
            task,
            kappa,
            sides,
        }
    }

    /// Plans with plain estimates as soon as there are data: kappa = infinity, for the cheapest and the dearest action too.
    pub fn plug_in(inner: Box<dyn Oracle>, task: Arc<Task>) -> Self {
        Self::new(inner, task, f64::INFINITY, Sides::Upper)
    }

    /// kappa z of the last fit.
    fn scale(&self, data: &LabeledData) -> f64 {
        if self.kappa.is_infinite() {
            return EVERYTHING;
        }
        let mut sum = 0.0;
        self.inner
            .each_observed(&self.task, data, &mut |count, estimate, ucb| {
                sum += count * (ucb - estimate).max(0.0) / sigma(estimate, ucb);
            });
        match data.decisions() {
            0 => 0.0,
            decisions => self.kappa * sum / decisions as f64,
        }
    }

    /// The actions of the smallest and the largest value, from 0.
    fn ends(&self) -> [usize; 2] {
        let values = self.task.application().action_values();
        let order = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let actions = 0..values.len();
        let (first, last) = (actions.clone().min_by(order), actions.max_by(order));
        [first.unwrap_or(0), last.unwrap_or(0)]
    }
}

/// sqrt(q (1 - q)) in the middle of an estimate and its upper bound, at least 1e-5.
#[inline(always)]
fn sigma(estimate: f64, ucb: f64) -> f64 {
    let q = 0.5 * (estimate + ucb);
    (q * (1.0 - q)).max(1e-10).sqrt()
}

impl Wrapper for Tolerant {
    fn inner(&self) -> &dyn Oracle {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Oracle {
        &mut *self.inner
    }

    fn adjust(&self, action: usize, belief: &mut Belief) {
        let e = belief.center();
        let bounds = &mut belief.bounds;
        belief.tolerance = match self.scales[action] {
            // Plain estimates give up the whole bonus.
            EVERYTHING => bounds.ucb - e,
            scale => scale * sigma(e, bounds.ucb),
        };
        bounds.ucb = e.max(bounds.ucb - belief.tolerance);
        bounds.lcb = match self.sides {
            Sides::Both => e.min(bounds.lcb + belief.tolerance),
            Sides::Upper => e,
        };
    }

    fn fill(&self, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]) {
        let estimates = Pairs {
            beside: Beside::Estimate,
            ..pairs.clone()
        };
        if self.sides == Sides::Upper {
            fill_bounds(&*self.inner, &estimates, ucb, lcb);
            return self.lower(pairs, ucb, lcb);
        }
        pairs.one_by_one(self, ucb, lcb);
    }

    fn parameters(&self) -> Option<BoundParameters> {
        let mut parameters = self.inner.bulk()?.parameters()?;
        match &mut parameters {
            BoundParameters::Armed {
                bounds, estimates, ..
            } => {
                let arms = bounds.iter_mut().zip(estimates).enumerate();
                for (arm, ([ucb, lcb], estimate)) in arms {
                    let bounds = super::Bounds {
                        lcb: *lcb,
                        ucb: *ucb,
                    };
                    let mut belief = Belief::new(*estimate, bounds);
                    self.adjust(arm % self.scales.len(), &mut belief);
                    (*ucb, *lcb) = (belief.bounds.ucb, belief.bounds.lcb);
                }
            }
            BoundParameters::Ellipsoid(ellipsoid) => {
                ellipsoid.tolerance.clone_from(&self.scales);
            }
        }
        Some(parameters)
    }

    fn after_fit(&mut self, data: &LabeledData, _saved: Option<f64>) {
        let scale = self.scale(data);
        self.scales.fill(scale);
        if self.kappa.is_finite() {
            for end in self.ends() {
                let seen = data.since(0).filter(|o| o.action == end + 1);
                if seen.take(TRIED).count() < TRIED {
                    self.scales[end] = 0.0;
                }
            }
        }
    }
}

impl Tolerant {
    /// Replaces ucb by ucb', given the estimates.
    fn lower(&self, pairs: &Pairs, ucb: &mut [f64], estimates: &[f64]) {
        let scales = &self.scales[pairs.actions.clone()];
        match pairs.layout {
            _ if scales.windows(2).all(|pair| pair[0] == pair[1]) => {
                lower(scales[0], ucb, estimates);
            }
            Layout::ByEntry => {
                let rows = ucb.chunks_exact_mut(scales.len());
                for (ucb, estimates) in rows.zip(estimates.chunks_exact(scales.len())) {
                    for (a, (ucb, e)) in ucb.iter_mut().zip(estimates).enumerate() {
                        lower(
                            scales[a],
                            std::slice::from_mut(ucb),
                            std::slice::from_ref(e),
                        );
                    }
                }
            }
            Layout::ByAction { apart } => {
                let rows = ucb.chunks_mut(apart).zip(estimates.chunks(apart));
                for ((ucb, estimates), scale) in rows.zip(scales) {
                    lower(*scale, ucb, estimates);
                }
            }
        }
    }
}

/// ucb' = max(e, ucb - scale sigma).
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn lower(scale: f64, ucb: &mut [f64], estimates: &[f64]) {
    for (ucb, estimate) in ucb.iter_mut().zip(estimates) {
        let lowered = *ucb - scale * sigma(*estimate, *ucb);
        *ucb = if lowered > *estimate {
            lowered
        } else {
            *estimate
        };
    }
}
