//! The CPU backend: every problem by the strategy that is asked for, or the one that is likely the fastest.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::auction_envelope::{self, ActionBounds};
use super::induction::Setting;
use super::singles::{Clock, OracleOf, Posed};
use super::theta_index::{ThetaIndex, ThetaIndices};
use super::{Strategy, cost_model, dense, gap_envelope, packed, shared_envelope};
use crate::dp::problem::{evaluate_bounds, evaluate_shared_bounds};
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

    fn solve_one(&self, posed: &Posed) -> Result<(Strategy, RawTable), BackendError> {
        let problem = &posed.problem;
        let setting = Setting::of_problem(problem);
        let index = self.thetas.of(problem.sample);
        // Only a whole table can show that its bounds are free of contexts.
        let index = index.filter(|_| posed.oracle.is_none());
        let mut strategy = self.choose(setting, index)?;
        if let (Strategy::AuctionEnvelope, Some(index)) = (strategy, index) {
            match auction_envelope::action_bounds(problem) {
                Some(bounds) => {
                    let table = auction_envelope::solve(setting, &bounds, index)?;
                    return Ok((strategy, table));
                }
                None => strategy = self.choose(setting, None)?,
            }
        }
        let table = match strategy {
            Strategy::GapEnvelope => gap_envelope::solve(posed),
            Strategy::SharedEnvelope => shared_envelope::solve(problem),
            Strategy::Dense | Strategy::AuctionEnvelope if self.terms == Precision::F64 => {
                packed::solve(posed)
            }
            Strategy::Dense | Strategy::AuctionEnvelope => dense::solve(problem, self.terms),
        };
        Ok((strategy, table?))
    }

    fn solve_posed(&mut self, batch: &[Posed]) -> Result<Vec<RawTable>, BackendError> {
        let solved: Result<Vec<(Strategy, RawTable)>, BackendError> = batch
            .par_iter()
            .map(|posed| self.solve_one(posed))
            .collect();
        let tables = solved?.into_iter().map(|(strategy, table)| {
            *self.used.entry(strategy).or_default() += 1;
            table
        });
        Ok(tables.collect())
    }

    /// Whether strategies want the coefficients of all contexts at once: 32-bit terms do, which are scaled by the largest
    /// gain, and auctions that are told to have bounds free of contexts.
    fn needs_whole_tables(&self) -> bool {
        self.terms == Precision::F32 || self.forced == Some(Strategy::AuctionEnvelope)
    }

    /// The table of a request that is best solved without evaluating bounds context by context.
    fn plan_one(&self, request: &PlanRequest) -> Option<Result<RawTable, BackendError>> {
        let index = self.thetas.of(request.sample)?;
        let bounds = self.context_free(request, index)?;
        let setting = Setting::of_request(request);
        Some(auction_envelope::solve(setting, &bounds, index))
    }

    /// The bounds of such a request.
    fn context_free(&self, request: &PlanRequest, index: &ThetaIndex) -> Option<ActionBounds> {
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
        let oracle = None;
        let posed = batch.iter().map(|&problem| Posed { problem, oracle });
        let posed: Vec<Posed> = posed.collect();
        self.solve_posed(&posed)
    }

    fn plan_raw(&mut self, requests: &[PlanRequest]) -> Result<Plans<RawTable>, BackendError> {
        self.update_indices(requests.iter().map(Setting::of_request));
        let direct = requests.par_iter().map(|r| self.plan_one(r).transpose());
        let direct: Vec<Option<RawTable>> = direct.collect::<Result<_, _>>()?;
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
        let whole = self.needs_whole_tables();
        match whole {
            true => evaluate_bounds(&others, &mut coefficients)?,
            false => evaluate_shared_bounds(&others, &mut coefficients)?,
        }
        let bounds = start.elapsed();
        let (start, clock) = (Stopwatch::start(), Clock::default());
        let pose = |(request, coefficients)| Posed {
            problem: PlanRequest::with(request, coefficients),
            oracle: (!whole).then(|| OracleOf {
                request,
                doubtful: !request.has_finite_bounds(),
                clock: &clock,
            }),
        };
        let posed: Vec<Posed> = others.iter().zip(&coefficients).map(pose).collect();
        let mut tables = self.solve_posed(&posed)?.into_iter();
        self.coefficients = coefficients;
        Ok(Plans {
            tables: direct
                .into_iter()
                .filter_map(|done| done.or_else(|| tables.next()))
                .collect(),
            bounds: bounds + clock.bounds_of(start.elapsed()),
        })
    }

    fn has_shortcut(&mut self, requests: &[PlanRequest]) -> bool {
        self.update_indices(requests.iter().map(Setting::of_request));
        requests.iter().all(|request| {
            let index = self.thetas.of(request.sample);
            index.is_some_and(|index| self.context_free(request, index).is_some())
        })
    }

    fn takes_rows_at_once(&self) -> bool {
        self.forced.is_some() || self.terms == Precision::F32
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
