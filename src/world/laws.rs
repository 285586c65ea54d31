//! Context laws Lambda_1, ..., Lambda_H (Section 2): independent over steps, possibly different at each.

use std::sync::Arc;

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use super::OwnLaw;
use super::law_spec::{ContextsSpec, LawSpec};
use crate::error::Invalid;
use crate::task::{ContextRows, EpisodeContexts, Own, Support, finite_numbers};

/// The checked laws of all steps.
#[derive(Debug, Clone)]
pub struct ContextLaws {
    dimension: usize,
    support: Arc<Support>,
    laws: Vec<Law>,
    step_law: Vec<usize>,
    no_arrival: Vec<f64>,
}

/// The law of an arriving context at one or more steps.
#[derive(Debug, Clone)]
pub(super) enum Law {
    /// Points of the support with probabilities that sum to one. `cumulative` is empty where all are equal.
    Finite {
        points: Vec<u32>,
        weights: Vec<f64>,
        cumulative: Vec<f64>,
    },
    Box {
        low: Vec<f64>,
        high: Vec<f64>,
    },
    Mixture {
        cumulative: Vec<f64>,
        means: Vec<Vec<f64>>,
        deviations: Vec<Vec<f64>>,
        low: Vec<f64>,
        high: Vec<f64>,
    },
    /// Depends on the step; the law of all steps.
    Own {
        low: Vec<f64>,
        high: Vec<f64>,
        own: Own<dyn OwnLaw>,
    },
}

/// Rows that an own law draws at once.
const OWN_ROWS: usize = 512;

impl ContextLaws {
    /// Checks a specification for a horizon of `horizon` steps.
    pub fn check(spec: &ContextsSpec, horizon: usize) -> Result<Self, Invalid> {
        let dimension = spec.law.dimension("contexts")?;
        let mut laws = LawsBuilder {
            support: Support::new(dimension),
            laws: Vec::new(),
            step_law: vec![0; horizon],
            no_arrival: spec.no_arrival_by_step(horizon)?,
        };
        for (i, value) in spec.types.iter().flatten().enumerate() {
            let field = format!("contexts.types[{}]", i + 1);
            if value.len() != dimension {
                let accepted = format!("{dimension} features, as in the contexts");
                return Err(Invalid::new(
                    field,
                    format!("{} features", value.len()),
                    accepted,
                ));
            }
            finite_numbers(&field, value)?;
            laws.support.insert(value);
        }
        match &spec.law {
            LawSpec::ByStep { segments } => {
                let mut next = 1;
                for (i, segment) in segments.iter().enumerate() {
                    let field = format!("contexts.segments[{}]", i + 1);
                    if segment.first != next || segment.last < next || segment.last > horizon {
                        return Err(Invalid::new(
                            field,
                            format!("first = {}, last = {}", segment.first, segment.last),
                            format!(
                                "segments that cover steps 1 to {horizon} in order (here first = {next})"
                            ),
                        ));
                    }
                    laws.add(&segment.law, &field, segment.first - 1..segment.last)?;
                    next = segment.last + 1;
                }
                if next != horizon + 1 {
                    return Err(Invalid::new(
                        "contexts.segments",
                        format!("no segment for step {next}"),
                        format!("segments that cover steps 1 to {horizon}"),
                    ));
                }
            }
            law => laws.add(law, "contexts", 0..horizon)?,
        }
        Ok(Self {
            dimension,
            support: Arc::new(laws.support),
            laws: laws.laws,
            step_law: laws.step_law,
            no_arrival: laws.no_arrival,
        })
    }

    /// Number of features of a context.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Whether every step's law is finite, so that optima are exact.
    pub fn is_finite(&self) -> bool {
        self.laws
            .iter()
            .all(|law| matches!(law, Law::Finite { .. }))
    }

    /// The points of the finite laws.
    pub fn support(&self) -> &Arc<Support> {
        &self.support
    }

    /// The points that can arrive.
    pub(crate) fn drawn_points(&self) -> impl Iterator<Item = u32> {
        let finite = self.laws.iter().filter_map(|law| match law {
            Law::Finite {
                points, weights, ..
            } => Some(points.iter().zip(weights)),
            _ => None,
        });
        let drawn = finite.flatten().filter(|(_, weight)| **weight > 0.0);
        drawn.map(|(point, _)| *point)
    }

    /// The own code that the law is, if it is any.
    pub fn own(&self) -> Option<&Own<dyn OwnLaw>> {
        match &self.laws[..] {
            [Law::Own { own, .. }] => Some(own),
            _ => None,
        }
    }

    /// Steps and features of the arrivals in `count` rows of the own law, row after row.
    fn draw_own(&self, rng: &mut impl Rng, count: usize) -> (Vec<usize>, Vec<f64>) {
        let horizon = self.step_law.len();
        let mut steps = Vec::with_capacity(count * horizon);
        for step in (0..count).flat_map(|_| 0..horizon) {
            let p = self.no_arrival[step];
            if !(p > 0.0 && rng.random::<f64>() < p) {
                steps.push(step);
            }
        }
        let mut features = vec![0.0; steps.len() * self.dimension];
        self.laws[0].draw_own(rng, &steps, &mut features);
        (steps, features)
    }

    /// Probability of no arrival at `step` (0-based).
    pub fn no_arrival(&self, step: usize) -> f64 {
        self.no_arrival[step]
    }

    /// Points and probabilities (given an arrival) of the law of `step`, where it is finite.
    pub fn finite(&self, step: usize) -> Option<(&[u32], &[f64])> {
        match &self.laws[self.step_law[step]] {
            Law::Finite {
                points, weights, ..
            } => Some((points, weights)),
            _ => None,
        }
    }

    /// Number of the law in force at `step`; steps with the same number share one law.
    pub(crate) fn law_of(&self, step: usize) -> usize {
        if self.own().is_some() {
            return step;
        }
        self.step_law[step]
    }

    /// Corners (low, high) of the boxes of continuous laws.
    pub(super) fn boxes(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        self.laws.iter().filter_map(|law| match law {
            Law::Finite { .. } => None,
            Law::Box { low, high } | Law::Mixture { low, high, .. } | Law::Own { low, high, .. } => {
                Some((&low[..], &high[..]))
            }
        })
    }

    /// Replaces the contexts of an episode by new draws.
    pub fn draw(&self, rng: &mut impl Rng, episode: &mut EpisodeContexts) {
        episode.clear();
        if self.own().is_some() {
            let (steps, features) = self.draw_own(rng, 1);
            let features = features.chunks_exact(self.dimension);
            for (step, features) in steps.into_iter().zip(features) {
                episode.arrive(step, |slot| {
                    slot.copy_from_slice(features);
                    None
                });
            }
            return;
        }
        for (step, &law) in self.step_law.iter().enumerate() {
            let p = self.no_arrival[step];
            if p > 0.0 && rng.random::<f64>() < p {
                continue;
            }
            let law = &self.laws[law];
            episode.arrive(step, |slot| law.draw(rng, &self.support, slot, step));
        }
    }

    /// Whether an arrival is possible at `step` (0-based): rows from a file may have none there.
    pub(crate) fn has_contexts(&self, step: usize) -> bool {
        !matches!(&self.laws[self.step_law[step]], Law::Finite { points, .. } if points.is_empty())
    }

    /// Draws the context of an arrival at `step` (0-based) into `slot`; returns its point of a finite law.
    pub(crate) fn draw_arrival(
        &self,
        rng: &mut impl Rng,
        step: usize,
        slot: &mut [f64],
    ) -> Option<u32> {
        let law = &self.laws[self.step_law[step]];
        law.draw(rng, &self.support, slot, step)
    }

    /// Draws `count` independent rows.
    pub fn draw_rows(&self, rng: &mut impl Rng, count: usize) -> ContextRows {
        let horizon = self.step_law.len();
        let mut rows = ContextRows::new(horizon, self.dimension);
        rows.reserve(count);
        if self.own().is_some() {
            for first in (0..count).step_by(OWN_ROWS) {
                let (steps, features) = self.draw_own(rng, OWN_ROWS.min(count - first));
                let features = features.chunks_exact(self.dimension);
                let mut arrivals = steps.into_iter().zip(features).peekable();
                for index in 0..OWN_ROWS.min(count - first) * horizon {
                    let arrival = arrivals.next_if(|(step, _)| *step == index % horizon);
                    rows.push(arrival.map(|(_, features)| features));
                }
            }
            return rows;
        }
        let mut episode = EpisodeContexts::new(self.dimension);
        for _ in 0..count {
            self.draw(rng, &mut episode);
            let mut arrivals = episode.iter().peekable();
            for step in 0..horizon {
                let arrival = arrivals.next_if(|context| context.step == step);
                rows.push(arrival.map(|context| context.features));
            }
        }
        rows
    }
}

/// Laws under construction.
struct LawsBuilder {
    support: Support,
    laws: Vec<Law>,
    step_law: Vec<usize>,
    no_arrival: Vec<f64>,
}

impl LawsBuilder {
    /// Adds the law of a range of steps; rows from a file give each step its own.
    fn add(
        &mut self,
        spec: &LawSpec,
        field: &str,
        steps: std::ops::Range<usize>,
    ) -> Result<(), Invalid> {
        if let LawSpec::Rows(rows) = spec {
            for step in steps {
                let law = self.empirical(rows, step)?;
                self.step_law[step] = self.laws.len();
                self.laws.push(law);
            }
            return Ok(());
        }
        let law = spec.check(field, &mut self.support)?;
        self.step_law[steps].fill(self.laws.len());
        self.laws.push(law);
        Ok(())
    }

    /// The empirical law of one step of the rows; rows without an arrival add to the no-arrival probability.
    fn empirical(&mut self, rows: &ContextRows, step: usize) -> Result<Law, Invalid> {
        let seen: Vec<u32> = (0..rows.len())
            .filter_map(|row| rows.get(row, step))
            .map(|features| self.support.insert(features))
            .collect();
        let arrived = seen.len() as f64 / rows.len() as f64;
        self.no_arrival[step] = 1.0 - (1.0 - self.no_arrival[step]) * arrived;
        let mut counts: Vec<(u32, f64)> = Vec::new();
        let mut place = std::collections::HashMap::new();
        for point in &seen {
            let slot = *place.entry(*point).or_insert_with(|| {
                counts.push((*point, 0.0));
                counts.len() - 1
            });
            counts[slot].1 += 1.0;
        }
        let (points, weights) = counts
            .into_iter()
            .map(|(point, count)| (point, count / seen.len() as f64))
            .unzip();
        Ok(Law::finite(points, weights))
    }
}

impl Law {
    /// A finite law; `weights` sum to one.
    pub(super) fn finite(points: Vec<u32>, weights: Vec<f64>) -> Self {
        let equal = weights.windows(2).all(|pair| pair[0] == pair[1]);
        let cumulative = if equal {
            Vec::new()
        } else {
            running_sum(&weights)
        };
        Self::Finite {
            points,
            weights,
            cumulative,
        }
    }

    /// Draws contexts at some steps from an own law with a new seed.
    fn draw_own(&self, rng: &mut impl Rng, steps: &[usize], features: &mut [f64]) {
        let seed = rng.random();
        if let Self::Own { low, high, own } = self
            && let Some(own) = &own.runs
        {
            own.draw(seed, steps, (low, high), features);
        }
    }

    fn draw(
        &self,
        rng: &mut impl Rng,
        support: &Support,
        slot: &mut [f64],
        step: usize,
    ) -> Option<u32> {
        match self {
            Self::Finite {
                points, cumulative, ..
            } => {
                let i = if cumulative.is_empty() {
                    rng.random_range(0..points.len())
                } else {
                    pick(cumulative, rng)
                };
                slot.copy_from_slice(support.features(points[i]));
                Some(points[i])
            }
            Self::Box { low, high } => {
                for (x, (low, high)) in slot.iter_mut().zip(low.iter().zip(high)) {
                    *x = low + (high - low) * rng.random::<f64>();
                }
                None
            }
            Self::Mixture {
                cumulative,
                means,
                deviations,
                low,
                high,
            } => {
                let k = pick(cumulative, rng);
                for (i, x) in slot.iter_mut().enumerate() {
                    let normal: f64 = rng.sample(StandardNormal);
                    *x = (means[k][i] + deviations[k][i] * normal).clamp(low[i], high[i]);
                }
                None
            }
            Self::Own { .. } => {
                self.draw_own(rng, &[step], slot);
                None
            }
        }
    }
}

/// Partial sums of probabilities, the last one exactly 1, so that no uniform draw lies beyond them.
pub(super) fn running_sum(weights: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums: Vec<f64> = weights
        .iter()
        .map(|w| {
            sum += w;
            sum
        })
        .collect();
    let last_positive = weights.iter().rposition(|w| *w > 0.0).unwrap_or(0);
    sums[last_positive..].fill(1.0);
    sums
}

fn pick(cumulative: &[f64], rng: &mut impl Rng) -> usize {
    let u: f64 = rng.random();
    cumulative.partition_point(|sum| *sum <= u)
}
