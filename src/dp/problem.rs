//! One Optimistic-DP problem: a sample of contexts, and for each (context, action) the two numbers the backward
//! induction needs. All arrays are flat, `actions` numbers per entry of the sample.

use std::ops::Range;

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
    /// (ucb * r, lcb) of a pair; (0, 0) where the reward is negative.
    #[inline]
    pub fn of(ucb: f64, lcb: f64, reward: f64) -> (f64, f64) {
        if reward >= 0.0 {
            (ucb * reward, lcb)
        } else {
            (0.0, 0.0)
        }
    }

    /// Refuses non-finite numbers, which comparisons would silently drop.
    pub fn check(&self, actions: usize) -> Result<(), BackendError> {
        let place = |pair| (pair / actions, pair % actions + 1);
        check_finite(&self.gain, &self.lcb, place)
    }

    /// Resizes for the pairs of a sample.
    pub fn resize_for(&mut self, sample: &ContextSample) {
        self.resize(sample.len() * sample.actions());
    }

    fn resize(&mut self, pairs: usize) {
        self.gain.resize(pairs, 0.0);
        self.lcb.resize(pairs, 0.0);
    }
}

/// Refuses non-finite numbers; `place` gives the (entry, action) of a pair.
pub(super) fn check_finite(
    gain: &[f64],
    lcb: &[f64],
    place: impl Fn(usize) -> (usize, usize),
) -> Result<(), BackendError> {
    if products_are_finite(gain, lcb) {
        return Ok(());
    }
    let wrong = |(gain, lcb): (&f64, &f64)| !gain.is_finite() || !lcb.is_finite();
    let found = gain.iter().zip(lcb).position(wrong);
    found.map_or(Ok(()), |pair| {
        let (entry, action) = place(pair);
        Err(BackendError::NotFinite {
            entry,
            action,
            gain: gain[pair],
            lcb: lcb[pair],
        })
    })
}

/// Copies numbers that lie entry by entry into rows by action, each `apart` long.
pub fn transpose(by_entry: &[f64], actions: usize, apart: usize, by_action: &mut [f64]) {
    for (action, row) in by_action.chunks_mut(apart).take(actions).enumerate() {
        let numbers = by_entry.iter().skip(action).step_by(actions);
        for (slot, x) in row.iter_mut().zip(numbers) {
            *slot = *x;
        }
    }
}

/// Whether the sum of all gain * lcb is finite, which needs all of them to be finite; in one pass, as fast as memory.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn products_are_finite(gain: &[f64], lcb: &[f64]) -> bool {
    const LANES: usize = 16;
    let (gains, lcbs) = (gain.chunks_exact(LANES), lcb.chunks_exact(LANES));
    let rest = gains.remainder().iter().zip(lcbs.remainder());
    let mut rest_finite = true;
    for (gain, lcb) in rest {
        rest_finite &= (gain * lcb).is_finite();
    }
    let mut sums = [0.0; LANES];
    for (gains, lcbs) in gains.zip(lcbs) {
        for i in 0..LANES {
            sums[i] += gains[i] * lcbs[i];
        }
    }
    rest_finite && sums.iter().all(|sum| sum.is_finite())
}

/// Entries whose bounds one task evaluates.
const BULK_CHUNK: usize = 512;

/// A fitted oracle as a backend needs it.
pub trait BoundSource: std::fmt::Debug + Send + Sync {
    /// (ucb * r, lcb) of neighbouring entries of one of the sample's ranges ([`ContextSample::ranges`]), the actions of
    /// an entry together.
    fn fill_entries(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        gain: &mut [f64],
        lcb: &mut [f64],
    );

    /// The same for single contexts, the entries of an action together: those of action a begin at (a - 1) * `apart`.
    fn fill_by_action(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        apart: usize,
        gain: &mut [f64],
        lcb: &mut [f64],
    ) {
        let pairs = entries.len() * sample.actions();
        let (mut gains, mut lcbs) = (vec![0.0; pairs], vec![0.0; pairs]);
        self.fill_entries(sample, entries, &mut gains, &mut lcbs);
        transpose(&gains, sample.actions(), apart, gain);
        transpose(&lcbs, sample.actions(), apart, lcb);
    }

    /// The coefficients of every (context, action) of a sample, in parallel.
    fn fill(&self, sample: &ContextSample, coefficients: &mut Coefficients) {
        coefficients.resize_for(sample);
        let mut rest = (&mut coefficients.gain[..], &mut coefficients.lcb[..]);
        for range in sample.ranges() {
            let pairs = range.len() * sample.actions();
            let (gain, gain_rest) = rest.0.split_at_mut(pairs);
            let (lcb, lcb_rest) = rest.1.split_at_mut(pairs);
            self.fill_range(sample, range, gain, lcb);
            rest = (gain_rest, lcb_rest);
        }
    }

    /// The coefficients of one of the sample's ranges, in parallel.
    fn fill_range(
        &self,
        sample: &ContextSample,
        range: Range<usize>,
        gain: &mut [f64],
        lcb: &mut [f64],
    ) {
        let size = BULK_CHUNK * sample.actions();
        let chunks = gain.par_chunks_mut(size).zip(lcb.par_chunks_mut(size));
        chunks.enumerate().for_each(|(chunk, (gain, lcb))| {
            let first = range.start + chunk * BULK_CHUNK;
            let entries = first..first + gain.len() / sample.actions();
            self.fill_entries(sample, entries, gain, lcb);
        });
    }

    /// The fitted parameters, where an adapter can evaluate bounds from them.
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
        /// The estimates, in the same order.
        estimates: Vec<f64>,
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
    /// kappa z of [`crate::oracle::Tolerant`] by action: bounds come closer to the estimate by this times sigma.
    pub tolerance: Vec<f64>,
    /// Whether lcb := ucb.
    pub coupled: bool,
}

impl BoundParameters {
    /// The same upper bounds with lcb := ucb.
    pub fn coupled(self) -> Self {
        match self {
            Self::Armed {
                bounds,
                estimates,
                by_step,
            } => Self::Armed {
                bounds: bounds.into_iter().map(|[ucb, _]| [ucb, ucb]).collect(),
                estimates,
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
    /// ucb * r and lcb. They must be finite ([`Coefficients::check`]): solvers do not check.
    pub coefficients: &'a Coefficients,
    /// Largest budget of the table.
    pub budget_max: u32,
    /// r_max where values are capped at min(b, H-h+1) * r_max (Algorithm 2, line 4); `None` for exact optima.
    pub cap: Option<f64>,
}

static NO_COEFFICIENTS: Coefficients = Coefficients {
    gain: Vec::new(),
    lcb: Vec::new(),
};

impl Problem<'_> {
    /// The largest budget that can be spent from step `h` (0-based) on: larger ones have its value.
    pub(super) fn reach(&self, h: usize) -> usize {
        let costs = self.sample.distinct_costs();
        let cost_max = u64::from(costs.iter().copied().max().unwrap_or(0));
        let remaining = (self.sample.horizon() - h) as u64;
        (cost_max * remaining).min(u64::from(self.budget_max)) as usize
    }

    /// Number of candidates (h, budget, context, action), the unit of work.
    pub fn candidates(&self) -> u64 {
        let contexts: usize = (0..self.sample.horizon())
            .map(|step| self.sample.step(step).len())
            .sum();
        contexts as u64 * self.sample.actions() as u64 * u64::from(self.budget_max)
    }
}

/// A problem whose bounds a fitted oracle has yet to evaluate, wherever the backend likes.
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

impl<'a> PlanRequest<'a> {
    /// What rewards are divided by on an adapter.
    #[cfg(feature = "gpu")]
    pub(super) fn reward_scale(&self) -> f64 {
        self.reward_max.max(f64::MIN_POSITIVE)
    }

    /// Whether its bounds are parameters, all of them finite.
    pub(super) fn has_finite_bounds(&self) -> bool {
        match self.source.parameters() {
            Some(BoundParameters::Armed { bounds, .. }) => {
                bounds.iter().flatten().all(|x| x.is_finite())
            }
            _ => false,
        }
    }

    /// Refuses non-finite bounds: checks the parameters where they are the bounds themselves, else the coefficients.
    fn check(&self, coefficients: &Coefficients) -> Result<(), BackendError> {
        if self.has_finite_bounds() {
            return Ok(());
        }
        coefficients.check(self.sample.actions())
    }

    /// The problem, once its coefficients are known.
    pub fn with<'c>(&'c self, coefficients: &'c Coefficients) -> Problem<'c> {
        Problem {
            sample: self.sample,
            coefficients,
            budget_max: self.budget_max,
            cap: Some(self.reward_max),
        }
    }

    /// The problem without coefficients: its size and shape.
    pub(super) fn without_bounds(&self) -> Problem<'a> {
        Problem {
            sample: self.sample,
            coefficients: &NO_COEFFICIENTS,
            budget_max: self.budget_max,
            cap: Some(self.reward_max),
        }
    }
}

/// Evaluates the bounds of all requests on the CPU, in parallel, and checks them; with `shared_only` those of the shared
/// contexts alone. `coefficients` is reused: allocating costs more than filling.
pub(super) fn evaluate_bounds(
    requests: &[PlanRequest],
    shared_only: bool,
    coefficients: &mut Vec<Coefficients>,
) -> Result<(), BackendError> {
    coefficients.resize_with(requests.len(), Coefficients::default);
    let fills = requests.par_iter().zip(coefficients);
    fills.try_for_each(|(request, into)| {
        let PlanRequest { sample, source, .. } = *request;
        if shared_only {
            let shared = 0..sample.shared();
            into.resize(shared.end * sample.actions());
            source.fill_range(sample, shared, &mut into.gain, &mut into.lcb);
        } else {
            source.fill(sample, into);
        }
        request.check(into)
    })
}
