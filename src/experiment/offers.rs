//! A plan's offers at every (step, budget), averaged over arriving contexts, compared with the optimal policy's: shows how
//! close a learner is to the optimum.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Knowledge, Purpose, Streams};
use crate::dp::{BoundSource, Coefficients, ContextSample, ValueTable};
use crate::oracle::Known;
use crate::policy::{Greedy, Plan, Policy, Rule};
use crate::statistics::evenly_spaced;
use crate::world::{Optimum, World};

/// Maximum number of steps, and of budgets, in a map: more could not be told apart.
const SHOWN: usize = 60;

/// Maximum candidates (step, budget, context, action) per plan; laws that need more are sampled.
const CANDIDATES: usize = 50_000;

/// Minimum and maximum number of contexts drawn per law; the bounds of some oracles are slow to evaluate.
const DRAWS: (usize, usize) = (4, 100);

/// The mean offer at one (step, budget), over arriving contexts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "(f64, f64)", into = "(f64, f64)")]
pub struct MeanOffer {
    /// Mean action value (price, wage, bid or action number); the null action counts as 0.
    pub mean_action: f64,
    /// Share of arriving contexts that get an offer.
    pub share: f64,
}

impl From<(f64, f64)> for MeanOffer {
    fn from((mean_action, share): (f64, f64)) -> Self {
        Self { mean_action, share }
    }
}

impl From<MeanOffer> for (f64, f64) {
    fn from(offer: MeanOffer) -> Self {
        (offer.mean_action, offer.share)
    }
}

impl MeanOffer {
    /// A sum divided by its weight; zero if nobody arrives.
    fn over(self, weight: f64) -> Self {
        if weight > 0.0 {
            Self {
                mean_action: self.mean_action / weight,
                share: self.share / weight,
            }
        } else {
            Self::default()
        }
    }
}

/// Offers over (step, budget), step by step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfferMap {
    /// Steps shown, from 1.
    pub steps: Vec<usize>,
    /// Budgets shown, from 1.
    pub budgets: Vec<u32>,
    /// The policy's last plan, averaged over replications: `steps.len() * budgets.len()` offers.
    pub learnt: Vec<MeanOffer>,
    /// The optimal policy on the same contexts, the mean over types of day where there are several.
    pub optimal: Vec<MeanOffer>,
}

/// Evaluates the plans of a policy's replications, all on the same contexts.
#[derive(Debug)]
pub struct OfferSurvey<'a> {
    world: &'a Arc<World>,
    streams: &'a Streams,
    steps: Vec<usize>,
    budgets: Vec<u32>,
    sample: Option<ContextSample>,
}

/// The sum of the offers so far. Replications are added in order, so threads do not change a bit.
#[derive(Debug, Default)]
pub struct OfferTally {
    sums: Vec<MeanOffer>,
    replications: usize,
}

impl OfferTally {
    /// Adds the offers of the next replication; empty for plans that are not greedy.
    pub fn add(&mut self, offers: &[MeanOffer]) {
        if offers.is_empty() {
            return;
        }
        self.replications += 1;
        self.sums.resize(offers.len(), MeanOffer::default());
        for (sum, offer) in self.sums.iter_mut().zip(offers) {
            sum.mean_action += offer.mean_action;
            sum.share += offer.share;
        }
    }
}

impl<'a> OfferSurvey<'a> {
    /// A survey without plans.
    pub fn new(world: &'a Arc<World>, streams: &'a Streams) -> Self {
        let budget_max = world.task().budget_max() as usize;
        let budgets = evenly_spaced(budget_max, SHOWN);
        Self {
            world,
            streams,
            steps: evenly_spaced(world.task().horizon(), SHOWN),
            budgets: budgets.into_iter().map(|b| b as u32 + 1).collect(),
            sample: None,
        }
    }

    /// Chooses the contexts for a policy's plans.
    fn prepare(&mut self, policy: &dyn Policy) {
        if let (None, Some(oracle)) = (&self.sample, policy.oracle()) {
            self.sample = Some(self.contexts(oracle.facts().by_step));
        }
    }

    /// The offers of the policies' plans, and what their oracles know. Plans that are not greedy have no offers to show.
    pub fn look(&mut self, policies: &[&dyn Policy]) -> Vec<(Vec<MeanOffer>, Option<Knowledge>)> {
        policies.iter().for_each(|policy| self.prepare(*policy));
        let survey = &*self;
        policies
            .par_iter()
            .map(|policy| {
                let offers = survey.mean_offers(|day| policy.plan_of(day));
                let sample = survey.sample.as_ref();
                let oracle = policy.oracle().zip(sample);
                let knowledge = oracle.map(|(oracle, sample)| Knowledge::of(oracle, sample));
                (offers, knowledge)
            })
            .collect()
    }

    /// A policy's mean offers, with the optimal policy's; `None` if no plan was greedy.
    pub fn finish(
        mut self,
        tally: OfferTally,
        policy: &dyn Policy,
        optimum: &Optimum,
    ) -> Option<OfferMap> {
        if tally.replications == 0 {
            return None;
        }
        self.prepare(policy);
        let known = Known::fitted(Arc::<World>::clone(self.world));
        let optimal = self.mean_offers(|day| {
            Some(Plan::Greedy {
                oracle: &known,
                u_hat: &optimum.days[day],
            })
        });
        let n = tally.replications as f64;
        Some(OfferMap {
            optimal,
            learnt: tally.sums.into_iter().map(|sum| sum.over(n)).collect(),
            steps: self.steps.iter().map(|h| h + 1).collect(),
            budgets: self.budgets,
        })
    }

    /// The law itself if it is small, else drawn contexts.
    fn contexts(&self, by_step: bool) -> ContextSample {
        let world = self.world;
        let split = by_step || world.depends_on_step();
        let cells = self.steps.len() * self.budgets.len().max(1) * world.task().actions();
        if world.task().support().len() * cells <= CANDIDATES
            && let Some(law) = world.law_sample(split)
        {
            return law;
        }
        let count = (CANDIDATES / cells).clamp(DRAWS.0, DRAWS.1);
        let mut stream = self.streams.of_study(Purpose::Offers);
        world.drawn_sample(split, count, &mut stream)
    }

    /// The offers of greedy plans; on the same contexts, as the mean over the types of day by their shares.
    fn mean_offers<'p>(&self, plan: impl Fn(usize) -> Option<Plan<'p>>) -> Vec<MeanOffer> {
        let mut mean: Vec<MeanOffer> = Vec::new();
        for (number, day) in self.world.contexts().days().iter().enumerate() {
            let Some(Plan::Greedy { oracle, u_hat }) = plan(number) else {
                return Vec::new();
            };
            let offers = self.offers(oracle, u_hat);
            mean.resize(offers.len(), MeanOffer::default());
            for (sum, offer) in mean.iter_mut().zip(offers) {
                sum.mean_action += day.weight() * offer.mean_action;
                sum.share += day.weight() * offer.share;
            }
        }
        mean
    }

    fn offers(&self, oracle: &dyn BoundSource, u_hat: &ValueTable) -> Vec<MeanOffer> {
        let Some(sample) = &self.sample else {
            return Vec::new();
        };
        let mut coefficients = Coefficients::default();
        oracle.fill(sample, &mut coefficients);
        let mut greedy = Greedy {
            sample,
            coefficients: &coefficients,
            u_hat,
            reward_max: self.world.task().reward_max(),
            rule: Rule::default(),
        };
        let values = self.world.task().application().action_values();
        let mut offers = Vec::with_capacity(self.steps.len() * self.budgets.len());
        for &h in &self.steps {
            let contexts = sample.step(h);
            let arrivals: f64 = contexts.iter().map(|(_, weight)| weight).sum();
            let mut sums = vec![MeanOffer::default(); self.budgets.len()];
            for (entry, weight) in contexts.iter() {
                let mut sums = sums.iter_mut();
                for run in self.budgets.chunk_by(|b, next| b + 1 == *next) {
                    let actions = greedy.actions(h, entry, run[0]..=run[run.len() - 1]);
                    for (&a, sum) in actions.iter().zip(sums.by_ref()) {
                        if a > 0 {
                            sum.mean_action += weight * values[a as usize - 1];
                            sum.share += weight;
                        }
                    }
                }
            }
            offers.extend(sums.into_iter().map(|sum| sum.over(arrivals)));
        }
        offers
    }
}
