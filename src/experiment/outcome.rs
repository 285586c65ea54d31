//! What a study found: per policy its regret, its use of the budget and its offers, put together from records.

use std::time::Duration;

use super::{BudgetUse, OfferMap, OfferTally};
use super::{Record, RegretSummary, RegretTally, Study, Yardstick};
use crate::statistics::MeanAndError;
use crate::world::Optimum;

/// Everything a study found, but for the records that went to the sink.
#[derive(Debug)]
pub struct Outcome {
    /// Budgets and optima of the episodes.
    pub yardstick: Yardstick,
    /// opt and UB per budget.
    pub optimum: Optimum,
    /// One entry per policy, in the order of the study.
    pub policies: Vec<PolicyOutcome>,
    /// Wall time by phase.
    pub phases: Phases,
}

/// What one policy did.
#[derive(Debug)]
pub struct PolicyOutcome {
    /// Its name in the study.
    pub name: String,
    /// Its regret.
    pub regret: RegretSummary,
    /// Budget left by step.
    pub budget_use: BudgetUse,
    /// What its last plan offers, where that is a greedy one.
    pub offers: Option<OfferMap>,
    /// Wall time of the policy.
    pub elapsed: Duration,
}

impl Outcome {
    /// Final regret of each policy minus that of the first, replication by replication: all met the same contexts and
    /// luck, so the differences are sharper than the regrets.
    pub fn excess_over_first(&self) -> Vec<MeanAndError> {
        let finals = |policy: &PolicyOutcome| policy.regret.finals.clone();
        let first = self.policies.first().map(finals).unwrap_or_default();
        let excess = |policy| {
            let pairs = finals(policy).into_iter().zip(&first);
            MeanAndError::of(&pairs.map(|(x, y)| x - y).collect::<Vec<_>>())
        };
        self.policies.iter().map(excess).collect()
    }
}

/// Wall time by phase of the work.
#[derive(Debug, Default, Clone, Copy)]
pub struct Phases {
    /// opt and UB.
    pub optimum: Duration,
    /// Playing episodes.
    pub simulation: Duration,
    /// Fitting oracles.
    pub fit: Duration,
    /// Evaluating bounds on samples.
    pub bounds: Duration,
    /// Optimistic-DP.
    pub dp: Duration,
    /// Expected rewards of plans.
    pub expected: Duration,
}

/// What is known of a policy so far, from its records in their order. How they were made, in what waves and on how many
/// threads, does not matter.
#[derive(Debug)]
pub struct Tally<'a> {
    /// Regret.
    pub regret: RegretTally<'a>,
    /// Budget left by step.
    pub budget_use: BudgetUse,
    /// Offers of the last plans.
    pub offers: OfferTally,
}

impl<'a> Tally<'a> {
    /// Of a policy of the study, without records.
    pub fn new(study: &Study, yardstick: &'a Yardstick) -> Self {
        Self {
            regret: RegretTally::new(yardstick, study.replications),
            budget_use: BudgetUse::new(study.episodes, study.world.task().horizon()),
            offers: OfferTally::default(),
        }
    }

    /// Adds the next record.
    pub fn add(&mut self, record: &Record) {
        self.regret.add(&record.episodes);
        self.budget_use.add(&record.left);
        self.offers.add(&record.offers);
    }
}
