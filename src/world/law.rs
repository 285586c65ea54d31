//! The law of an arriving context, and draws from it.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use super::OwnLaw;
use crate::error::Invalid;
use crate::task::{EpisodeContexts, Own, Support};

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
    Own {
        low: Vec<f64>,
        high: Vec<f64>,
        own: Own<dyn OwnLaw>,
    },
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

    /// The own code that it is, if it is any.
    pub(super) fn own(&self) -> Option<&Own<dyn OwnLaw>> {
        match self {
            Self::Own { own, .. } => Some(own),
            _ => None,
        }
    }

    /// Draws the arrivals of an episode from an own law, all at once.
    pub(super) fn draw_episode(
        &self,
        rng: &mut impl Rng,
        no_arrival: &[f64],
        episode: &mut EpisodeContexts,
    ) {
        let Self::Own { low, .. } = self else { return };
        let mut steps = Vec::with_capacity(no_arrival.len());
        for (step, &p) in no_arrival.iter().enumerate() {
            if !(p > 0.0 && rng.random::<f64>() < p) {
                steps.push(step);
            }
        }
        let mut features = vec![0.0; steps.len() * low.len()];
        self.draw_own(rng, &steps, &mut features);
        for (step, features) in steps.into_iter().zip(features.chunks_exact(low.len())) {
            episode.arrive(step, |slot| {
                slot.copy_from_slice(features);
                None
            });
        }
    }

    /// Draws contexts at some steps (0-based) from an own law, with a new seed.
    fn draw_own(&self, rng: &mut impl Rng, steps: &[usize], features: &mut [f64]) {
        let seed = rng.random();
        if let Self::Own { low, high, own } = self
            && let Some(own) = &own.runs
        {
            own.draw(seed, steps, (low, high), features);
        }
    }

    /// Draws the context of an arrival at `step` (0-based).
    pub(super) fn draw(
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

/// The place of a drawn part.
pub(super) fn pick(cumulative: &[f64], rng: &mut impl Rng) -> usize {
    let u: f64 = rng.random();
    cumulative.partition_point(|sum| *sum <= u)
}

/// One no-arrival probability per step.
pub(super) fn no_arrival_by_step(
    field: &str,
    no_arrival: &[f64],
    horizon: usize,
) -> Result<Vec<f64>, Invalid> {
    let field = format!("{field}.no_arrival");
    for (i, p) in no_arrival.iter().enumerate() {
        if !(0.0..=1.0).contains(p) {
            let field = match no_arrival.len() {
                1 => field,
                _ => format!("{field}[{}]", i + 1),
            };
            return Err(Invalid::new(field, p, "a probability from 0 to 1"));
        }
    }
    match no_arrival {
        [] => Ok(vec![0.0; horizon]),
        [p] => Ok(vec![*p; horizon]),
        list if list.len() == horizon => Ok(list.to_vec()),
        list => Err(Invalid::new(
            field,
            format!("{} numbers", list.len()),
            format!("one number, or {horizon} (one per step)"),
        )),
    }
}
