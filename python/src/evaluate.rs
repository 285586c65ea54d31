//! `evaluate`: the exact expected reward of a given policy.

use cbwk_gpu::dp::{Choice, ContextSample, KnownLaw};
use cbwk_gpu::task::HORIZON_LIMIT;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arrays::{Numbers, shape_text};
use crate::errors::refused;
use crate::inputs::{Inputs, Shape, arrivals, lists, sample_of};

/// How far the probabilities of a policy's actions may be from summing to one.
const SUM_TOLERANCE: f64 = 1e-9;

/// Expected rewards of an episode from each budget under a policy: actions of shape (horizon, contexts, budget + 1), or
/// probabilities of all actions, the null action first, along a last axis.
#[pyfunction]
#[pyo3(signature = (policy, rewards, costs, probabilities, *, weights, no_arrival))]
pub fn expected_rewards<'py>(
    py: Python<'py>,
    policy: &Bound<'py, PyAny>,
    rewards: &Bound<'py, PyAny>,
    costs: &Bound<'py, PyAny>,
    probabilities: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    no_arrival: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let policy = Numbers::of("policy", policy)?;
    let horizon = policy.shape().first().copied().unwrap_or(0);
    let inputs = Inputs {
        rewards: Numbers::of("rewards", rewards)?,
        costs: Numbers::of("costs", costs)?,
        ucb: Numbers::of("probabilities", probabilities)?,
        lcb: None,
    };
    let shape = inputs.shape(horizon)?;
    let (contexts, actions) = (shape.contexts, shape.actions);
    let width = match *policy.shape() {
        [_, c, width] if c == contexts => width,
        [_, c, width, a] if (c, a) == (contexts, actions + 1) => width,
        _ => 0,
    };
    if width == 0 || !(1..=HORIZON_LIMIT).contains(&horizon) {
        let accepted = format!(
            "shape (horizon, {contexts}, budget + 1), or (horizon, {contexts}, budget + 1, {}) with probabilities",
            actions + 1
        );
        return Err(refused("policy", shape_text(policy.shape()), accepted));
    }
    inputs.check(py)?;
    let weights = weights.map(|w| Numbers::of("weights", w)).transpose()?;
    let absent = arrivals(no_arrival, horizon)?;
    let lists = lists(shape, weights.as_ref(), &absent, horizon)?;
    let sample = sample_of(
        shape,
        inputs.rewards.values()?,
        inputs.costs.values()?,
        lists,
    )?;
    let rho = inputs.ucb.values()?;
    let repeats = if rho.len() < sample.rewards().len() {
        shape.steps
    } else {
        1
    };
    let rho = rho.repeat(repeats);
    let mut given = Given {
        policy: policy.values()?,
        randomised: policy.shape().len() == 4,
        sample: &sample,
        shape,
        width,
    };
    given.check()?;
    let law = KnownLaw {
        sample: &sample,
        rho: &rho,
        budget_max: width as u32 - 1,
    };
    Ok(PyArray1::from_vec(
        py,
        py.detach(|| law.expected_rewards(&mut given)),
    ))
}

/// A policy as an array.
struct Given<'a> {
    policy: &'a [f64],
    randomised: bool,
    sample: &'a ContextSample,
    shape: Shape,
    width: usize,
}

impl Given<'_> {
    fn entry(&self, step: usize, context: usize) -> usize {
        if self.shape.steps > 1 {
            step * self.shape.contexts + context
        } else {
            context
        }
    }

    /// The place of (step, context, budget) among the decisions.
    fn place(&self, step: usize, context: usize, budget: usize) -> usize {
        (step * self.shape.contexts + context) * self.width + budget
    }

    /// The actions of a decision with their probabilities.
    fn actions(&self, place: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let count = self.shape.actions + 1;
        let shares = match self.randomised {
            true => &self.policy[place * count..(place + 1) * count],
            false => &self.policy[..0],
        };
        let one = (!self.randomised).then(|| (self.policy[place] as usize, 1.0));
        let several = shares
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, share)| *share > 0.0);
        several.chain(one)
    }

    /// Refuses what is no action, no probability, or infeasible.
    fn check(&self) -> PyResult<()> {
        let (actions, contexts) = (self.shape.actions, self.shape.contexts);
        let fits = |x: &f64| match self.randomised {
            true => (0.0..=1.0).contains(x),
            false => x.fract() == 0.0 && (0.0..=actions as f64).contains(x),
        };
        if let Some(x) = self.policy.iter().find(|x| !fits(x)) {
            let accepted = match self.randomised {
                true => "a probability from 0 to 1".into(),
                false => format!("an action from 0 to {actions}"),
            };
            return Err(refused("policy", x, accepted));
        }
        let decisions = self.policy.len() / if self.randomised { actions + 1 } else { 1 };
        for place in 0..decisions {
            let (budget, row) = (place % self.width, place / self.width);
            let (context, step) = (row % contexts, row / contexts);
            let field = format!("policy[{step}, {context}, {budget}]");
            let sum = self.actions(place).fold(0.0, |sum, (_, share)| sum + share);
            if (sum - 1.0).abs() > SUM_TOLERANCE {
                return Err(refused(
                    &field,
                    format!("a sum of {sum}"),
                    "probabilities that sum to 1",
                ));
            }
            let entry = self.entry(step, context);
            let sample = self.sample;
            let feasible = |a: usize| {
                sample.reward(entry, a) >= 0.0 && sample.cost(entry, a) as usize <= budget
            };
            if let Some((a, _)) = self.actions(place).find(|(a, _)| *a > 0 && !feasible(*a)) {
                let found = format!("action {a} with {budget} units left");
                let accepted = "an action whose reward is not negative and whose cost is left";
                return Err(refused(&field, found, accepted));
            }
        }
        Ok(())
    }
}

impl Choice for Given<'_> {
    fn choose(
        &mut self,
        step: usize,
        entry: usize,
        budget_max: u32,
        mut report: impl FnMut(u32, usize, f64),
    ) {
        let context = entry % self.shape.contexts;
        for budget in 0..=budget_max {
            let place = self.place(step, context, budget as usize);
            self.actions(place)
                .for_each(|(action, share)| report(budget, action, share));
        }
    }
}
