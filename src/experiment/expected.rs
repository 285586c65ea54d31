//! The exact expected reward of a policy's plan, by policy evaluation over a finite law.

use crate::dp::{Choice, Coefficients, ContextSample, KnownLaw};
use crate::fluid::Hull;
use crate::policy::{Greedy, Plan, Policy, Rule};
use crate::world::{DayLaws, World};

/// The law of a type of day.
#[derive(Debug)]
struct Day {
    weight: f64,
    law: ContextSample,
    rho: Vec<f64>,
}

/// Evaluates plans against the truth.
#[derive(Debug)]
pub struct Evaluator {
    days: Vec<Day>,
    reward_max: f64,
    budget_max: u32,
}

impl Evaluator {
    /// For a world with finite laws; `None` for continuous ones. Set `split_by_step` if a plan's bounds depend on the step.
    pub fn new(world: &World, split_by_step: bool) -> Option<Self> {
        let split = split_by_step || world.depends_on_step();
        let actions = world.task().actions();
        let days = world.contexts().days().iter();
        let day = |(day, law): (&DayLaws, ContextSample)| {
            let pairs = 0..law.len() * actions;
            let rho = |pair| world.rho(&law.context(pair / actions), pair % actions + 1);
            Day {
                weight: day.weight(),
                rho: pairs.map(rho).collect(),
                law,
            }
        };
        Some(Self {
            days: days.zip(world.day_samples(split)?).map(day).collect(),
            reward_max: world.task().reward_max(),
            budget_max: world.task().budget_max(),
        })
    }

    /// Expected reward of an episode that starts with budget 0, 1, ..., budget_max, if the plan is the same on all types of
    /// day.
    pub fn expected_rewards(&self, plan: Plan) -> Vec<f64> {
        self.mean(|_| Some(plan)).expect("there is a plan")
    }

    /// Expected reward of an episode under the policy's plans, by starting budget; `None` if it has none.
    pub fn expected_of(&self, policy: &dyn Policy) -> Option<Vec<f64>> {
        self.mean(|day| policy.plan_of(day))
    }

    /// The mean over the types of day.
    fn mean<'p>(&self, plan: impl Fn(usize) -> Option<Plan<'p>>) -> Option<Vec<f64>> {
        let mut mean = vec![0.0; self.budget_max as usize + 1];
        for (number, day) in self.days.iter().enumerate() {
            let rewards = self.on_day(day, plan(number)?);
            let sums = mean.iter_mut().zip(rewards);
            sums.for_each(|(sum, reward)| *sum += day.weight * reward);
        }
        Some(mean)
    }

    fn on_day(&self, day: &Day, plan: Plan) -> Vec<f64> {
        let law = KnownLaw {
            sample: &day.law,
            rho: &day.rho,
            budget_max: self.budget_max,
        };
        if let Plan::Greedy { oracle, u_hat } = plan {
            let mut coefficients = Coefficients::default();
            oracle.fill(&day.law, &mut coefficients);
            return law.expected_rewards(&mut Greedy {
                sample: &day.law,
                coefficients: &coefficients,
                u_hat,
                reward_max: self.reward_max,
                rule: Rule::default(),
            });
        }
        law.expected_rewards(&mut Simple {
            sample: &day.law,
            plan,
        })
    }
}

/// A plan without bounds.
struct Simple<'a> {
    sample: &'a ContextSample,
    plan: Plan<'a>,
}

impl Choice for Simple<'_> {
    fn choose(
        &mut self,
        step: usize,
        entry: usize,
        budget_max: u32,
        mut report: impl FnMut(u32, usize, f64),
    ) {
        let sample = self.sample;
        for b in 0..=budget_max {
            let feasible = |a: usize| sample.reward(entry, a) >= 0.0 && sample.cost(entry, a) <= b;
            let or_null = |a: usize| if a > 0 && feasible(a) { a } else { 0 };
            match self.plan {
                Plan::Greedy { .. } => unreachable!("greedy plans have bounds"),
                Plan::Fixed(a) => report(b, or_null(a), 1.0),
                Plan::Fluid(fluid) => {
                    let context = sample.context(entry);
                    let mix = fluid.mix(&context, step, b, &mut Hull::default());
                    report(b, or_null(mix.upper), mix.share);
                    report(b, or_null(mix.lower), 1.0 - mix.share);
                }
                Plan::Uniform => {
                    report(b, 0, 1.0);
                    let feasible = (1..=sample.actions()).filter(|&a| feasible(a));
                    feasible.for_each(|a| report(b, a, 1.0));
                }
            }
        }
    }
}
