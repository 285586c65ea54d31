//! The CPU backend: every problem by the strategy that is asked for, or the one that is likely the fastest.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::auction_envelope::{self, ActionBounds};
use super::induction::Setting;
use super::theta_index::{ThetaIndex, ThetaIndices};
use super::{Strategy, cost_model, dense, gap_envelope, shared_envelope};
use crate::dp::problem::evaluate_bounds;
use crate::dp::stopwatch::Stopwatch;
use crate::dp::{
    Backend, BackendError, BoundParameters, Coefficients, PlanRequest, Plans, Precision, Problem,
    RawTable, Report,
};

/// The CPU backend.
#[derive(Debug, Clone)]
pub struct Cpu {
    forced: Option<Strategy>,
    terms: Precision,
    used: BTreeMap<Strategy, u64>,
    /// What auctions need, kept from plan to plan.
    thetas: ThetaIndices,
    /// Kept from plan to plan: fresh memory costs more than filling it.
    coefficients: Vec<Coefficients>,
}

/// The likely fastest strategy for each problem, in 64 bits.
impl Default for Cpu {
    fn default() -> Self {
        Self::new(None, Precision::F64)
    }
}

impl Cpu {
    /// With a strategy for all problems, or `None` to choose one for each; `terms` is the precision of dense candidates
    /// (the other strategies compute in 64 bits).
    pub fn new(forced: Option<Strategy>, terms: Precision) -> Self {
        Self {
            forced,
            terms,
            used: BTreeMap::new(),
            thetas: ThetaIndices::default(),
            coefficients: Vec::new(),
        }
    }

    /// How many problems each strategy has solved.
    pub fn used(&self) -> &BTreeMap<Strategy, u64> {
        &self.used
    }

    /// Brings up to date what the strategies that may be chosen need to know of samples.
    fn update_indices<'s>(&mut self, settings: impl Iterator<Item = Setting<'s>>) {
        let forced = self.forced;
        let auctions = settings.filter(|setting| {
            setting.sample.bids().is_some()
                && match forced {
                    None => !cost_model::is_small(*setting),
                    Some(strategy) => strategy == Strategy::AuctionEnvelope,
                }
        });
        self.thetas.update(auctions.map(|setting| setting.sample));
    }

    /// The strategy for a sample; `auction` is the index of an auction whose bounds are free of contexts.
    fn choose(
        &self,
        setting: Setting,
        auction: Option<&ThetaIndex>,
    ) -> Result<Strategy, BackendError> {
        let Some(strategy) = self.forced else {
            return Ok(cost_model::fastest(setting, auction, self.terms));
        };
        let suits = strategy.suits(setting.sample);
        if suits && (strategy != Strategy::AuctionEnvelope || auction.is_some()) {
            return Ok(strategy);
        }
        Err(strategy.refused())
    }

    fn solve_one(&self, problem: &Problem) -> Result<(Strategy, RawTable), BackendError> {
        let setting = Setting::of_problem(problem);
        let index = self.thetas.of(problem.sample);
        let mut strategy = self.choose(setting, index)?;
        if let (Strategy::AuctionEnvelope, Some(index)) = (strategy, index) {
            match auction_envelope::action_bounds(problem) {
                Some(bounds) => {
                    let table = auction_envelope::solve(setting, &bounds, index);
                    return Ok((strategy, table));
                }
                None => strategy = self.choose(setting, None)?,
            }
        }
        let table = match strategy {
            Strategy::GapEnvelope => gap_envelope::solve(problem)?,
            Strategy::SharedEnvelope => shared_envelope::solve(problem)?,
            Strategy::Dense | Strategy::AuctionEnvelope => dense::solve(problem, self.terms)?,
        };
        Ok((strategy, table))
    }

    /// The table of a request that is best solved without evaluating bounds context by context.
    fn plan_one(&self, request: &PlanRequest) -> Option<RawTable> {
        let bounds = self.context_free(request)?;
        let index = self.thetas.of(request.sample)?;
        let setting = Setting::of_request(request);
        Some(auction_envelope::solve(setting, &bounds, index))
    }

    /// The bounds of such a request.
    fn context_free(&self, request: &PlanRequest) -> Option<ActionBounds> {
        let index = self.thetas.of(request.sample)?;
        let setting = Setting::of_request(request);
        let strategy = self.choose(setting, Some(index)).ok()?;
        if strategy != Strategy::AuctionEnvelope {
            return None;
        }
        match request.source.parameters()? {
            BoundParameters::Armed { bounds, by_step } => {
                let finite = bounds.iter().flatten().all(|x| x.is_finite());
                finite.then_some(ActionBounds { bounds, by_step })
            }
            BoundParameters::Ellipsoid(_) => None,
        }
    }
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError> {
        self.update_indices(batch.iter().map(Setting::of_problem));
        let solved: Result<Vec<(Strategy, RawTable)>, BackendError> =
            batch.par_iter().map(|p| self.solve_one(p)).collect();
        let tables = solved?.into_iter().map(|(strategy, table)| {
            *self.used.entry(strategy).or_default() += 1;
            table
        });
        Ok(tables.collect())
    }

    fn plan_raw(&mut self, requests: &[PlanRequest]) -> Result<Plans<RawTable>, BackendError> {
        self.update_indices(requests.iter().map(Setting::of_request));
        let direct: Vec<Option<RawTable>> = requests.par_iter().map(|r| self.plan_one(r)).collect();
        let others = requests
            .iter()
            .zip(&direct)
            .filter(|(_, done)| done.is_none());
        let others: Vec<PlanRequest> = others.map(|(request, _)| *request).collect();
        let envelopes = (requests.len() - others.len()) as u64;
        if envelopes > 0 {
            *self.used.entry(Strategy::AuctionEnvelope).or_default() += envelopes;
        }
        let start = Stopwatch::start();
        let mut coefficients = std::mem::take(&mut self.coefficients);
        evaluate_bounds(&others, &mut coefficients);
        let bounds = start.elapsed();
        let with = |(request, coefficients)| PlanRequest::with(request, coefficients);
        let problems: Vec<Problem> = others.iter().zip(&coefficients).map(with).collect();
        let mut tables = self.solve_raw(&problems)?.into_iter();
        self.coefficients = coefficients;
        Ok(Plans {
            tables: direct
                .into_iter()
                .filter_map(|done| done.or_else(|| tables.next()))
                .collect(),
            bounds,
        })
    }

    fn has_shortcut(&mut self, requests: &[PlanRequest]) -> bool {
        self.update_indices(requests.iter().map(Setting::of_request));
        requests.iter().all(|r| self.context_free(r).is_some())
    }

    fn report(&self) -> Report {
        let used = self.used.iter();
        Report {
            backend: self.name().into(),
            precision: self.terms.name().into(),
            strategies: used.map(|(s, n)| (s.name().into(), *n)).collect(),
            ..Report::default()
        }
    }
}
