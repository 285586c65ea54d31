//! The CPU backend: every problem by the strategy that is asked for, or by the one that is likely the fastest.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::auction_envelope::{self, ActionBounds};
use super::choice::{Strategy, fastest};
use super::chunk::{BoundTimer, ChunkBounds};
use super::{dense, shared_envelope};
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
    /// Kept from plan to plan: allocating costs more than filling.
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
            coefficients: Vec::new(),
        }
    }

    /// How many problems each strategy has solved.
    pub fn used(&self) -> &BTreeMap<Strategy, u64> {
        &self.used
    }

    /// The strategy for a problem; `context_free` says whether an auction's bounds are free of contexts.
    fn choose(&self, problem: &Problem, context_free: bool) -> Result<Strategy, BackendError> {
        match self.forced {
            None => Ok(fastest(problem, context_free, self.terms)),
            Some(Strategy::AuctionEnvelope) if !context_free => {
                Err(Strategy::AuctionEnvelope.refused())
            }
            Some(strategy) if strategy.suits(problem.sample) => Ok(strategy),
            Some(strategy) => Err(strategy.refused()),
        }
    }

    fn solve_one(
        &self,
        problem: &Problem,
        bounds: Option<&ChunkBounds>,
    ) -> Result<(Strategy, RawTable), BackendError> {
        // Only a whole table can show that its bounds are free of contexts.
        let mut strategy = self.choose(problem, bounds.is_none())?;
        if strategy == Strategy::AuctionEnvelope {
            match auction_envelope::action_bounds(problem) {
                Some(bounds) => return Ok((strategy, auction_envelope::solve(problem, &bounds)?)),
                None => strategy = self.choose(problem, false)?,
            }
        }
        let table = match strategy {
            Strategy::SharedEnvelope => shared_envelope::solve(problem),
            _ => dense::solve(problem, bounds, self.terms),
        };
        Ok((strategy, table?))
    }

    /// Solves a batch; `bounds` has what evaluates the single contexts of each problem.
    fn solve_all<'b>(
        &mut self,
        batch: &[Problem],
        bounds: impl Fn(usize) -> Option<ChunkBounds<'b>> + Sync,
    ) -> Result<Vec<RawTable>, BackendError> {
        let solve = |(i, problem)| self.solve_one(problem, bounds(i).as_ref());
        let solved: Vec<(Strategy, RawTable)> = batch
            .par_iter()
            .enumerate()
            .map(solve)
            .collect::<Result<_, _>>()?;
        let tables = solved.into_iter().map(|(strategy, table)| {
            *self.used.entry(strategy).or_default() += 1;
            table
        });
        Ok(tables.collect())
    }

    /// The bounds of a request that is best solved without evaluating them context by context.
    fn context_free_bounds(&self, request: &PlanRequest) -> Option<ActionBounds> {
        request.sample.bids()?;
        let strategy = self.choose(&request.without_bounds(), true).ok()?;
        if strategy != Strategy::AuctionEnvelope {
            return None;
        }
        match request.source.parameters()? {
            BoundParameters::Armed {
                bounds, by_step, ..
            } => {
                let finite = bounds.iter().flatten().all(|x| x.is_finite());
                finite.then_some(ActionBounds { bounds, by_step })
            }
            BoundParameters::Ellipsoid(_) => None,
        }
    }

    /// The table of such a request.
    fn plan_context_free(&self, request: &PlanRequest) -> Result<Option<RawTable>, BackendError> {
        let bounds = self.context_free_bounds(request);
        let solve = |bounds| auction_envelope::solve(&request.without_bounds(), &bounds);
        bounds.map(solve).transpose()
    }
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError> {
        self.solve_all(batch, |_| None)
    }

    fn plan_raw(&mut self, requests: &[PlanRequest]) -> Result<Plans<RawTable>, BackendError> {
        let direct = requests.par_iter().map(|r| self.plan_context_free(r));
        let direct: Vec<Option<RawTable>> = direct.collect::<Result<_, _>>()?;
        let others = requests.iter().zip(&direct);
        let others = others.filter(|(_, done)| done.is_none());
        let others: Vec<PlanRequest> = others.map(|(request, _)| *request).collect();
        let envelopes = (requests.len() - others.len()) as u64;
        if envelopes > 0 {
            *self.used.entry(Strategy::AuctionEnvelope).or_default() += envelopes;
        }
        let start = Stopwatch::start();
        // 32-bit terms are scaled by the largest gain, and an auction shows its structure only in the coefficients of all
        // contexts.
        let whole = self.terms == Precision::F32 || self.forced == Some(Strategy::AuctionEnvelope);
        let mut coefficients = std::mem::take(&mut self.coefficients);
        evaluate_bounds(&others, !whole, &mut coefficients)?;
        let bounds = start.elapsed();
        let (start, timer) = (Stopwatch::start(), BoundTimer::default());
        let problems = others.iter().zip(&coefficients);
        let problems: Vec<Problem> = problems.map(|(r, c)| r.with(c)).collect();
        let by_chunk = |i: usize| ChunkBounds {
            source: others[i].source,
            unchecked: !others[i].has_finite_bounds(),
            timer: &timer,
        };
        let tables = self.solve_all(&problems, |i| (!whole).then(|| by_chunk(i)))?;
        let mut tables = tables.into_iter();
        self.coefficients = coefficients;
        Ok(Plans {
            tables: direct
                .into_iter()
                .filter_map(|done| done.or_else(|| tables.next()))
                .collect(),
            bounds: bounds + timer.bounds_of(start.elapsed()),
        })
    }

    fn has_shortcut(&mut self, requests: &[PlanRequest]) -> bool {
        let mut all = requests.iter();
        all.all(|request| self.context_free_bounds(request).is_some())
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
