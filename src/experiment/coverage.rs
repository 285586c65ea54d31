//! Coverage of an oracle's bounds: draws random data and compares the bounds with the truth as data grow. Serves to choose
//! radii.

use std::sync::Arc;

use rand::RngExt;
use rayon::prelude::*;

use super::{Purpose, Streams};
use crate::dp::ContextSample;
use crate::oracle::{Bounds, LabeledData, Oracle, OracleConfig, Sides, Truth};
use crate::task::{Context, EpisodeContexts};
use crate::world::World;

/// Maximum number of contexts to compare.
pub(super) const CONTEXTS: usize = 1000;

/// Bounds are checked whenever the data have grown by this factor: often enough to miss little, rarely enough for slow
/// oracles.
const CHECK_GROWTH: f64 = 1.08;

/// Settings of a coverage experiment.
#[derive(Debug, Clone)]
pub struct CoverageSetting {
    /// Confidence parameter of the bounds.
    pub delta: f64,
    /// T; some radii depend on it.
    pub episodes: usize,
    /// Numbers of observations to report, increasing.
    pub sizes: Vec<usize>,
    /// Independent data sets.
    pub repetitions: usize,
}

/// Bounds after some number of observations, over all pairs (context, action) and all repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coverage {
    /// N.
    pub observations: usize,
    /// Share of pairs inside their interval.
    pub pairs: f64,
    /// Share of repetitions with all pairs inside their intervals at once.
    pub all: f64,
    /// Share of repetitions with all pairs inside their intervals at this check and all earlier ones.
    pub always: f64,
    /// Mean width of the intervals.
    pub width: f64,
    /// Mean distance between the point estimate and the truth.
    pub error: f64,
    /// Factor on the radius that would have covered all pairs at once in a share 1 - delta of the repetitions. Radii
    /// come from the clipped intervals, so the factor errs on the large side. Intervals clipped to a point are left out.
    pub factor: f64,
}

/// Coverage on one data set of one size.
#[derive(Debug, Clone, Copy)]
struct CoverageCheck {
    pairs: f64,
    always: bool,
    width: f64,
    error: f64,
    factor: f64,
}

/// Draws data sets with random actions whose reward is not negative, and compares bounds with the truth. Calls `done` after
/// every data set.
pub fn coverage(
    world: &Arc<World>,
    oracle: &OracleConfig,
    setting: &CoverageSetting,
    streams: &Streams,
    done: &(dyn Fn() + Sync),
) -> Vec<Coverage> {
    let contexts = contexts_to_compare(world, streams);
    let repetitions: Vec<Vec<CoverageCheck>> = (0..setting.repetitions as u64)
        .into_par_iter()
        .map(|r| {
            let start = streams.of(r, Purpose::Oracle);
            let truth: Arc<dyn Truth> = Arc::<World>::clone(world);
            let oracle = oracle.build(
                world.task(),
                setting.episodes,
                start,
                Some(&truth),
                Sides::Both,
            );
            let oracle = oracle.expect("the truth is given");
            let checks = repetition(world, oracle, setting, streams, r, &contexts);
            done();
            checks
        })
        .collect();
    let sizes = setting.sizes.iter().enumerate();
    sizes
        .map(|(i, &n)| {
            let checks: Vec<CoverageCheck> = repetitions.iter().map(|checks| checks[i]).collect();
            summary(n, &checks, setting.delta)
        })
        .collect()
}

fn summary(observations: usize, checks: &[CoverageCheck], delta: f64) -> Coverage {
    let count = checks.len() as f64;
    let mean = |of: fn(&CoverageCheck) -> f64| checks.iter().map(of).sum::<f64>() / count;
    let mut factors: Vec<f64> = checks.iter().map(|check| check.factor).collect();
    factors.sort_by(f64::total_cmp);
    let rank = ((1.0 - delta) * count).ceil().max(1.0) as usize;
    Coverage {
        observations,
        pairs: mean(|check| check.pairs),
        all: mean(|check| f64::from(u8::from(check.pairs >= 1.0))),
        always: mean(|check| f64::from(u8::from(check.always))),
        width: mean(|check| check.width),
        error: mean(|check| check.error),
        factor: factors[rank.min(factors.len()) - 1],
    }
}

/// The contexts of the law, split by step if conversion depends on it. Drawn rows for continuous laws and for laws with
/// more than [`CONTEXTS`] contexts.
fn contexts_to_compare(world: &World, streams: &Streams) -> ContextSample {
    let by_step = world.depends_on_step();
    let law = world.law_sample(by_step);
    if let Some(law) = law.filter(|law| law.len() <= CONTEXTS) {
        return law;
    }
    let rows = CONTEXTS.div_ceil(world.task().horizon()).max(1);
    let mut stream = streams.of_study(Purpose::Optimum);
    let rows = world.contexts().draw_rows(&mut stream, rows);
    ContextSample::of_rows(world.task(), &rows, by_step)
}

fn repetition(
    world: &World,
    mut oracle: Box<dyn Oracle>,
    setting: &CoverageSetting,
    streams: &Streams,
    number: u64,
    contexts: &ContextSample,
) -> Vec<CoverageCheck> {
    let mut context_stream = streams.of(number, Purpose::Contexts);
    let mut luck = streams.of(number, Purpose::Acceptance);
    let mut choices = streams.of(number, Purpose::LoggedOffers);
    let compared = contexts.len().min(CONTEXTS);
    (0..compared).for_each(|entry| oracle.watch(&contexts.context(entry)));
    let mut data = LabeledData::new(world.task().dimension());
    let mut episode = EpisodeContexts::new(world.task().dimension());
    let mut checks: Vec<CoverageCheck> = Vec::with_capacity(setting.sizes.len());
    let (mut always, mut next_check) = (true, 1);
    let mut idle = 0;
    while checks.len() < setting.sizes.len() {
        world.contexts().draw(&mut context_stream, &mut episode);
        let before = data.len();
        for context in episode.iter() {
            let offers: Vec<usize> = (1..=world.task().actions())
                .filter(|&a| world.task().reward(&context, a) >= 0.0)
                .collect();
            let uniform: f64 = luck.random();
            if offers.is_empty() {
                continue;
            }
            let action = offers[choices.random_range(0..offers.len())];
            data.push(&context, action, uniform < world.rho(&context, action));
            let is_reported = setting.sizes.get(checks.len()) == Some(&data.len());
            if is_reported || data.len() == next_check {
                oracle.fit(&data, setting.delta);
                let entries = (0..compared).map(|entry| contexts.context(entry));
                let mut check = check(world, oracle.as_ref(), entries);
                always &= check.pairs >= 1.0;
                check.always = always;
                if is_reported {
                    checks.push(check);
                }
                next_check = (data.len() as f64 * CHECK_GROWTH).ceil() as usize + 1;
            }
        }
        // If no context allows a reward, there will be no data: report the unfitted oracle instead of drawing forever.
        idle = if data.len() == before { idle + 1 } else { 0 };
        if idle > 10_000 {
            let entries = || (0..compared).map(|entry| contexts.context(entry));
            while checks.len() < setting.sizes.len() {
                checks.push(check(world, oracle.as_ref(), entries()));
            }
        }
    }
    checks
}

fn check<'c>(
    world: &World,
    oracle: &dyn Oracle,
    contexts: impl Iterator<Item = Context<'c>>,
) -> CoverageCheck {
    let actions = world.task().actions();
    let mut bounds = vec![Bounds::UNKNOWN; actions];
    let mut estimates = vec![0.5; actions];
    let (mut pairs, mut covered, mut width, mut error, mut factor) = (0.0, 0.0, 0.0, 0.0, 0f64);
    for context in contexts {
        oracle.bounds(&context, &mut bounds);
        oracle.estimate(&context, &mut estimates);
        for (a, (bounds, estimate)) in bounds.iter().zip(&estimates).enumerate() {
            let rho = world.rho(&context, a + 1);
            let off = (rho - estimate).abs();
            let radius = (bounds.ucb - estimate).max(estimate - bounds.lcb);
            pairs += 1.0;
            covered += f64::from(u8::from(bounds.lcb <= rho && rho <= bounds.ucb));
            width += bounds.ucb - bounds.lcb;
            error += off;
            if off > 0.0 && radius > 0.0 {
                factor = factor.max(off / radius);
            }
        }
    }
    CoverageCheck {
        pairs: covered / pairs,
        always: covered == pairs,
        width: width / pairs,
        error: error / pairs,
        factor,
    }
}

/// About `count` sizes up to `most`, evenly spaced on a log scale.
pub fn growing_sizes(most: usize, count: usize) -> Vec<usize> {
    let ratio = (most as f64).powf(1.0 / count as f64);
    let mut sizes: Vec<usize> = (1..=count)
        .map(|i| ratio.powi(i as i32).round().max(1.0) as usize)
        .collect();
    if let Some(last) = sizes.last_mut() {
        *last = most;
    }
    sizes.dedup();
    sizes
}
