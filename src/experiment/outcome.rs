//! The results of a study, computed from records: each policy's regret, budget use and offers.

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BudgetUse, Knowledge, KnowledgeTally, Latencies, OfferMap, OfferTally};
use super::{Record, RegretSummary, RegretTally, Study, Yardstick};
use crate::statistics::MeanAndError;
use crate::world::Optimum;

/// All results of a study except the records, which go to the sink.
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

/// The results of one policy.
#[derive(Debug)]
pub struct PolicyOutcome {
    /// Its name in the study.
    pub name: String,
    /// Its regret.
    pub regret: RegretSummary,
    /// Budget left by step.
    pub budget_use: BudgetUse,
    /// The offers of its last plan, if greedy.
    pub offers: Option<OfferMap>,
    /// What its oracle knows at the end, averaged over replications.
    pub knowledge: Option<Knowledge>,
    /// Warnings about its results.
    pub warnings: Vec<String>,
    /// Wall time of the policy.
    pub elapsed: Duration,
    /// Times of its decisions.
    pub latencies: Latencies,
}

impl Outcome {
    /// The policy that others are compared with: the study's choice, else the clairvoyant if present, else the first of
    /// several.
    pub fn reference(&self, study: &Study) -> Option<usize> {
        let place = |name: &str| self.policies.iter().position(|policy| policy.name == name);
        match &study.reference {
            Some(name) => place(name),
            None => place("clairvoyant").or((self.policies.len() > 1).then_some(0)),
        }
    }

    /// Final regret of each policy minus the reference's, paired by replication. All policies share the same random numbers,
    /// so the differences are more precise than the regrets.
    pub fn excess_over(&self, reference: usize) -> Vec<MeanAndError> {
        let reference = &self.policies[reference].regret.finals;
        let finals = self.policies.iter().map(|policy| &policy.regret.finals);
        finals
            .map(|own| MeanAndError::of_differences(own, reference))
            .collect()
    }
}

/// Wall time by phase.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
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

impl AddAssign for Phases {
    fn add_assign(&mut self, other: Self) {
        self.optimum += other.optimum;
        self.simulation += other.simulation;
        self.fit += other.fit;
        self.bounds += other.bounds;
        self.dp += other.dp;
        self.expected += other.expected;
    }
}

/// A policy's results so far, from its records in order. They do not depend on waves or threads.
#[derive(Debug)]
pub struct Tally<'a> {
    /// Regret.
    pub regret: RegretTally<'a>,
    /// Budget left by step.
    pub budget_use: BudgetUse,
    /// Offers of the last plans.
    pub offers: OfferTally,
    /// What oracles know at the end.
    pub knowledge: KnowledgeTally,
}

impl<'a> Tally<'a> {
    /// A tally without records.
    pub fn new(study: &Study, yardstick: &'a Yardstick) -> Self {
        Self {
            regret: RegretTally::new(yardstick, study.replications),
            budget_use: BudgetUse::new(study.episodes, study.world.task().horizon()),
            offers: OfferTally::default(),
            knowledge: KnowledgeTally::default(),
        }
    }

    /// Adds the next record.
    pub fn add(&mut self, record: &Record) {
        self.regret.add(&record.episodes);
        self.budget_use.add(&record.left);
        self.offers.add(&record.offers);
        self.knowledge.add(record.knowledge);
    }
}
