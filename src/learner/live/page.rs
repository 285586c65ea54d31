//! What the live page shows of a plan: its offers, and the units it expects to be left. It is computed beside the answers,
//! from what the plan knows of a few contexts.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::dp::ValueTable;
use crate::learner::Learner;
use crate::oracle::Bounds;
use crate::policy::{Candidate, Rule};
use crate::statistics::evenly_spaced;

/// Most contexts that stand for the sample, steps and budgets of the map, and steps of the expected units.
const CONTEXTS: usize = 24;
const STEPS: usize = 48;
const BUDGETS: usize = 40;
const PATH: usize = 240;

/// The part of a plan that the page needs. It is cheap to take, and independent of the learner.
pub struct PlanPage {
    u_hat: Arc<ValueTable>,
    /// For each step (or for all alike) and context: the actions, and the estimates of their acceptance.
    steps: Vec<Vec<(Vec<Candidate>, Vec<f64>)>>,
    /// Prices, wages or bids.
    values: Vec<f64>,
    reward_max: f64,
}

impl PlanPage {
    /// Of the learner's plan.
    pub fn of(learner: &Learner) -> Self {
        let (task, policy) = (learner.task(), learner.policy());
        let (beliefs, sample) = (policy.beliefs(), policy.contexts());
        let places = evenly_spaced(sample.len(), CONTEXTS);
        let actions = 1..=task.actions();
        let known = |step: usize, entry: &usize| {
            let context = task.context(step, sample.context(*entry).features);
            let mut bounds = vec![Bounds::UNKNOWN; task.actions()];
            let mut estimates = vec![0.0; task.actions()];
            beliefs.bounds(&context, &mut bounds);
            beliefs.estimate(&context, &mut estimates);
            let candidate = |(a, bounds): (usize, &Bounds)| {
                Candidate::new(*bounds, task.reward(&context, a), task.cost(&context, a))
            };
            let candidates = (1..).zip(&bounds).map(candidate).collect();
            (candidates, estimates)
        };
        let steps = match beliefs.facts().by_step {
            true => task.horizon(),
            false => 1,
        };
        let at = |step| places.iter().map(|entry| known(step, entry)).collect();
        Self {
            u_hat: policy.shared_u_hat(),
            steps: (0..steps).map(at).collect(),
            values: actions
                .map(|a| task.application().action_value(a))
                .collect(),
            reward_max: task.reward_max(),
        }
    }

    fn contexts(&self, step: usize) -> &[(Vec<Candidate>, Vec<f64>)] {
        &self.steps[step.min(self.steps.len() - 1)]
    }

    /// The mean offer by step and budget; `null` where nothing is offered.
    pub fn offers(&self) -> Value {
        let steps = evenly_spaced(self.u_hat.horizon(), STEPS);
        let most = self.u_hat.budget_max() as usize;
        let budgets: Vec<u32> = evenly_spaced(most, BUDGETS)
            .iter()
            .map(|b| *b as u32 + 1)
            .collect();
        let mut rule = Rule::default();
        let mut cell = |h: usize, b: u32| {
            let (mut sum, mut count) = (0.0, 0);
            for (candidates, _) in self.contexts(h) {
                let next = self.u_hat.row(h + 1);
                let candidates = candidates.iter().copied();
                if let action @ 1.. = rule.decide_one(candidates, next, b, self.reward_max) {
                    sum += self.values[action - 1];
                    count += 1;
                }
            }
            (count > 0).then(|| sum / f64::from(count))
        };
        let mut row = |b: &u32| steps.iter().map(|h| cell(*h, *b)).collect();
        let rows: Vec<Vec<Option<f64>>> = budgets.iter().map(&mut row).collect();
        let steps: Vec<usize> = steps.iter().map(|h| h + 1).collect();
        json!({ "steps": steps, "budgets": budgets, "mean": rows })
    }

    /// Expected units left under the plan and the learner's estimates, as pairs of a step and the units left after it; the
    /// first is the start.
    pub fn path(&self, budget: u32) -> Vec<(usize, f64)> {
        let horizon = self.u_hat.horizon();
        let budget = budget.min(self.u_hat.budget_max());
        let shown = evenly_spaced(horizon, PATH);
        let mut rule = Rule::default();
        let mut mass = vec![0.0; budget as usize + 1];
        mass[budget as usize] = 1.0;
        let mut path = vec![(0, f64::from(budget))];
        for h in 0..horizon {
            let mut after = vec![0.0; mass.len()];
            let contexts = self.contexts(h);
            let each = 1.0 / contexts.len().max(1) as f64;
            let is_possible = |m: &f64| *m > 1e-9;
            let low = mass.iter().position(is_possible).unwrap_or(0);
            let high = mass.iter().rposition(is_possible).unwrap_or(0);
            for (candidates, estimates) in contexts {
                let (candidates, next) = (candidates.as_slice(), self.u_hat.row(h + 1));
                let (all, range) = (candidates.iter().copied(), low as u32..=high as u32);
                let actions = rule.decide(all, next, range, self.reward_max);
                for (b, action) in (low..).zip(actions) {
                    let share = mass[b] * each;
                    match *action as usize {
                        0 => after[b] += share,
                        action => {
                            let (p, cost) = (estimates[action - 1], candidates[action - 1].cost);
                            after[b - cost as usize] += share * p;
                            after[b] += share * (1.0 - p);
                        }
                    }
                }
            }
            if !contexts.is_empty() {
                mass = after;
            }
            if shown.binary_search(&h).is_ok() {
                let units = mass.iter().zip(0u32..).map(|(m, b)| m * f64::from(b));
                path.push((h + 1, units.sum()));
            }
        }
        path
    }
}
