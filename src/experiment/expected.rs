//! The exact expected reward of a policy's plan, by policy evaluation over a finite law.

use crate::dp::{Coefficients, ContextSample};
use crate::fluid::Hull;
use crate::policy::{Plan, best_entry_action};
use crate::world::World;

/// Evaluates plans against the truth.
#[derive(Debug)]
pub struct Evaluator {
    law: ContextSample,
    rho: Vec<f64>,
    reward_max: f64,
    budget_max: u32,
}

impl Evaluator {
    /// For an world with finite laws; `None` for continuous ones. `split_by_step` must be set where a plan's
    /// bounds depend on the step.
    pub fn new(world: &World, split_by_step: bool) -> Option<Self> {
        let split = split_by_step || world.depends_on_step();
        let law = world.law_sample(split)?;
        let actions = world.task().actions();
        let rho = (0..law.len() * actions)
            .map(|pair| world.rho(&law.context(pair / actions), pair % actions + 1))
            .collect();
        Some(Self {
            law,
            rho,
            reward_max: world.task().reward_max(),
            budget_max: world.task().budget_max(),
        })
    }

    /// Expected reward of an episode that starts with budget 0, 1, ..., budget_max.
    pub fn expected_rewards(&self, plan: Plan) -> Vec<f64> {
        let mut coefficients = Coefficients::default();
        if let Plan::Greedy { oracle, .. } = plan {
            oracle.fill(&self.law, &mut coefficients);
        }
        let width = self.budget_max as usize + 1;
        let mut later = vec![0.0; width];
        for h in (0..self.law.horizon()).rev() {
            let mut now = later.clone();
            let contexts = self.law.step(h);
            for (entry, weight) in contexts.iter() {
                for (b, value) in now.iter_mut().enumerate() {
                    let gain = self.gain(plan, &coefficients, h, entry, b as u32, &later);
                    *value += weight / self.law.total() * gain;
                }
            }
            later = now;
        }
        later
    }

    /// What the plan's choice adds to the value of waiting.
    fn gain(
        &self,
        plan: Plan,
        coefficients: &Coefficients,
        h: usize,
        entry: usize,
        budget: u32,
        later: &[f64],
    ) -> f64 {
        let actions = self.law.actions();
        let first = entry * actions;
        let offer = |a: usize| (self.law.reward(entry, a), self.law.cost(entry, a));
        let feasible = |a: usize| offer(a).0 >= 0.0 && offer(a).1 <= budget;
        let gain_of = |a: usize| {
            let (reward, cost) = offer(a);
            let b = budget as usize;
            self.rho[first + a - 1] * (reward + later[b - cost as usize] - later[b])
        };
        match plan {
            Plan::Greedy { u_hat, .. } => {
                let (next, r_max) = (u_hat.row(h + 1), self.reward_max);
                match best_entry_action(&self.law, coefficients, entry, next, budget, r_max) {
                    0 => 0.0,
                    a => gain_of(a),
                }
            }
            Plan::Fixed(a) if a > 0 && feasible(a) => gain_of(a),
            Plan::Fixed(_) => 0.0,
            Plan::Fluid(fluid) => {
                let context = self.law.context(entry);
                let mix = fluid.mix(&context, h, budget, &mut Hull::default());
                let gain_or_wait = |a: usize| {
                    if a > 0 && feasible(a) {
                        gain_of(a)
                    } else {
                        0.0
                    }
                };
                mix.share * gain_or_wait(mix.upper) + (1.0 - mix.share) * gain_or_wait(mix.lower)
            }
            Plan::Uniform => {
                let choices = (1..=actions).filter(|&a| feasible(a));
                let (count, sum) = choices.fold((1.0, 0.0), |(n, s), a| (n + 1.0, s + gain_of(a)));
                sum / count
            }
        }
    }
}
