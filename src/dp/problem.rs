//! One Optimistic-DP problem: a sample of contexts, and for each (context, action) the two numbers the backward
//! induction needs. All arrays are flat, `actions` numbers per entry of the sample.

use rayon::prelude::*;

use super::{BackendError, ContextSample};

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

    /// Refuses what is not a finite number.
    pub fn check(&self, actions: usize) -> Result<(), BackendError> {
        let wrong = |(gain, lcb): (&f64, &f64)| !gain.is_finite() || !lcb.is_finite();
        match self.gain.iter().zip(&self.lcb).position(wrong) {
            None => Ok(()),
            Some(pair) => Err(BackendError::NotFinite {
                entry: pair / actions,
                action: pair % actions + 1,
                gain: self.gain[pair],
                lcb: self.lcb[pair],
            }),
        }
    }

    /// Makes room for the pairs of a sample.
    pub fn resize_for(&mut self, sample: &ContextSample) {
        let pairs = sample.len() * sample.actions();
        self.gain.resize(pairs, 0.0);
        self.lcb.resize(pairs, 0.0);
    }
}

/// What a backend needs of a fitted oracle.
pub trait BoundSource: std::fmt::Debug + Send + Sync {
    /// The coefficients of every (context, action) of a sample.
    fn fill(&self, sample: &ContextSample, coefficients: &mut Coefficients);

    /// The fitted parameters, where bounds are a simple function of them that an adapter can evaluate.
    fn parameters(&self) -> Option<BoundParameters>;
}

/// The function between phi.mu and a conversion probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// f(w) = w.
    Linear,
    /// f(w) = 1 / (1 + exp(-w)).
    Logistic,
}

/// Fitted parameters that determine all bounds.
#[derive(Debug, Clone, PartialEq)]
pub enum BoundParameters {
    /// (ucb, lcb) per action, or per step and action.
    Armed {
        /// Pairs, actions of a step together.
        bounds: Vec<[f64; 2]>,
        /// Whether they differ by step.
        by_step: bool,
    },
    /// From an ellipsoid around a parameter.
    Ellipsoid(EllipsoidParameters),
}

/// With phi = (theta, action value): f(phi.mu) +- scale |factor phi|, clipped into [0, 1]; or, with limits, the bonus inside
/// f: f(clamp(phi.mu +- scale |factor phi|, -+ |limits phi|)).
#[derive(Debug, Clone, PartialEq)]
pub struct EllipsoidParameters {
    /// f.
    pub link: Link,
    /// The last entry of phi, by action.
    pub action_values: Vec<f64>,
    /// mu.
    pub mu: Vec<f64>,
    /// The lower triangle of the inverse Cholesky factor of V, row by row.
    pub factor: Vec<f64>,
    /// Multiplies the norm.
    pub scale: f64,
    /// The largest size of mu's entries times those of phi, entry by entry, where the bonus goes inside f.
    pub limits: Option<Vec<f64>>,
    /// Whether lcb := ucb.
    pub coupled: bool,
}

impl BoundParameters {
    /// The same upper bounds with lcb := ucb.
    pub fn coupled(self) -> Self {
        match self {
            Self::Armed { bounds, by_step } => Self::Armed {
                bounds: bounds.into_iter().map(|[ucb, _]| [ucb, ucb]).collect(),
                by_step,
            },
            Self::Ellipsoid(parameters) => Self::Ellipsoid(EllipsoidParameters {
                coupled: true,
                ..parameters
            }),
        }
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

/// A plan that is asked for: a problem whose bounds a fitted oracle still has to evaluate, wherever the backend likes.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// Contexts, weights and costs.
    pub sample: &'a ContextSample,
    /// The fitted oracle.
    pub source: &'a dyn BoundSource,
    /// Largest budget of the table.
    pub budget_max: u32,
    /// r_max, which caps values at min(b, H-h+1) * r_max.
    pub reward_max: f64,
}

impl PlanRequest<'_> {
    /// The problem, once its coefficients are known.
    pub fn with<'c>(&'c self, coefficients: &'c Coefficients) -> Problem<'c> {
        Problem {
            sample: self.sample,
            coefficients,
            budget_max: self.budget_max,
            cap: Some(self.reward_max),
        }
    }
}

/// Evaluates the bounds of all requests on the CPU, in parallel; `coefficients` may hold those of earlier ones, because
/// fresh memory costs more than filling it.
pub(super) fn evaluate_bounds(requests: &[PlanRequest], coefficients: &mut Vec<Coefficients>) {
    coefficients.resize_with(requests.len(), Coefficients::default);
    let fills = requests.par_iter().zip(coefficients);
    fills.for_each(|(request, into)| request.source.fill(request.sample, into));
}
