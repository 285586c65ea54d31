//! Does acceptance change over the calendar? Two tests must agree: a score test of four calendar blocks with days as
//! clusters, and forward chaining that prefers to forget. Days are taken in the order of the log.

use nalgebra::{Cholesky, DMatrix, DVector};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::history::fit::{Fitted, Fitter, ModelKind};
use crate::statistics::MeanAndError;

/// Blocks of the calendar.
const BLOCKS: usize = 4;

/// The score test's level.
const LEVEL: f64 = 0.001;

/// Shares of the days after which a block of 10% is predicted.
const ORIGINS: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];

/// Half-lives to try besides none: the number of days divided by these.
const DIVISORS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

/// Accuracy of the fits.
const GAP: f64 = 1e-9;

/// The result of both tests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// p of the score test.
    pub p: f64,
    /// Days after which an offer counts half; `None` if acceptance does not change.
    pub half_life: Option<f64>,
}

impl Drift {
    /// Tests a fitted log; `None` if it is too short.
    pub fn test(fitted: &Fitted) -> Option<Self> {
        let days = fitted.log.episodes().len();
        if days < 10 * BLOCKS {
            return None;
        }
        let p = score_test(fitted)?;
        let half_life = match p < LEVEL {
            true => chained(fitted),
            false => None,
        };
        Some(Self { p, half_life })
    }
}

/// The weight of each of so many days seen from the day `now`, with a half-life in days.
pub fn ageing(days: usize, now: usize, half_life: Option<f64>) -> Vec<f64> {
    let weight = |day: usize| match half_life {
        Some(half_life) => f64::exp2(-(now.saturating_sub(day) as f64) / half_life),
        None => 1.0,
    };
    (0..days).map(weight).collect()
}

/// p of the scores of (1, action) in the calendar's blocks, given a logistic fit of all days.
fn score_test(fitted: &Fitted) -> Option<f64> {
    let data = &fitted.data;
    let fitter = Fitter::new(ModelKind::Logistic, data);
    let fit = fitter.fit(1.0, None, None, GAP);
    let (columns, width) = (fitter.columns(), fitter.columns().len());
    let own = if data.action_count() > 1 { 2 } else { 1 };
    let scores = own * (BLOCKS - 1);
    let days = fitted.log.episodes().len();
    let mut row = Vec::new();
    // The new columns of an offer: zero outside its block, and the last block follows from the others.
    let mut offer = |i: usize| {
        let action = data.actions[i] as usize;
        let scaled = data.scaled[action - 1];
        columns.fill(data.theta(i), action, scaled, &mut row);
        let x = DVector::from_column_slice(&row);
        let block = data.episodes[i] as usize * BLOCKS / days;
        let mut new = DVector::zeros(scores);
        if block < BLOCKS - 1 {
            new[own * block] = 1.0;
            if own > 1 {
                new[own * block + 1] = scaled;
            }
        }
        let rho = fit.model.rho(data.theta(i), action);
        (x, new, data.labels[i] - rho, rho * (1.0 - rho))
    };
    let mut inner = DMatrix::<f64>::identity(width, width) * 1e-6;
    let mut cross = DMatrix::<f64>::zeros(width, scores);
    for i in 0..data.len() {
        let (x, new, _, v) = offer(i);
        inner.ger(v, &x, &x, 1.0);
        cross.ger(v, &x, &new, 1.0);
    }
    let projection = Cholesky::new(inner)?.solve(&cross);
    let mut total = DVector::<f64>::zeros(scores);
    let mut variance = DMatrix::<f64>::zeros(scores, scores);
    let mut of_day = DVector::<f64>::zeros(scores);
    for i in 0..data.len() {
        let (x, new, residual, _) = offer(i);
        of_day += residual * (new - projection.tr_mul(&x));
        if i + 1 == data.len() || data.episodes[i] != data.episodes[i + 1] {
            total += &of_day;
            variance.ger(1.0, &of_day, &of_day, 1.0);
            of_day.fill(0.0);
        }
    }
    let statistic = total.dot(&Cholesky::new(variance)?.solve(&total));
    Some(upper_tail(statistic, scores))
}

/// The probability that chi squared with 3 or 6 degrees of freedom is larger.
fn upper_tail(x: f64, degrees: usize) -> f64 {
    let half = x / 2.0;
    match degrees {
        3 => libm::erfc(half.sqrt()) + (4.0 * half / std::f64::consts::PI).sqrt() * (-half).exp(),
        _ => (-half).exp() * (1.0 + half + half * half / 2.0),
    }
}

/// The longest half-life within one standard error of the best, where it is finite.
fn chained(fitted: &Fitted) -> Option<f64> {
    let data = &fitted.data;
    let days = fitted.log.episodes().len();
    let lambda = fitted.file.model.lambda;
    let fitter = Fitter::new(fitted.file.model.kind, data);
    let half_lives: Vec<Option<f64>> = std::iter::once(None)
        .chain(DIVISORS.map(|divisor| Some(days as f64 / divisor)))
        .collect();
    // By half-life: the log loss of every predicted day.
    let losses = |half_life: &Option<f64>| -> Vec<f64> {
        let mut losses = Vec::new();
        for origin in ORIGINS.map(|share| (share * days as f64) as usize) {
            let end = (origin + days.div_ceil(10)).min(days);
            let ages = ageing(days, origin, *half_life);
            let weights = data.weights(|day| if day < origin { ages[day] } else { 0.0 });
            let start = Some(&fitted.fit.coefficients[..]);
            let model = fitter.fit(lambda, Some(&weights), start, GAP).model;
            let mut by_day = vec![0.0; end - origin];
            for i in 0..data.len() {
                let day = data.episodes[i] as usize;
                if (origin..end).contains(&day) {
                    let rho = model.rho(data.theta(i), data.actions[i] as usize);
                    let p = if data.labels[i] > 0.5 { rho } else { 1.0 - rho };
                    by_day[day - origin] -= p.max(1e-4).ln();
                }
            }
            losses.extend(by_day);
        }
        losses
    };
    let losses: Vec<Vec<f64>> = half_lives.par_iter().map(losses).collect();
    let sum = |list: &Vec<f64>| list.iter().sum::<f64>();
    let best = losses.iter().min_by(|a, b| sum(a).total_cmp(&sum(b)))?;
    let close = |list: &Vec<f64>| {
        let behind = MeanAndError::of_differences(list, best);
        behind.mean <= behind.standard_error || list == best
    };
    half_lives[losses.iter().position(close)?]
}

#[cfg(test)]
mod tests {
    use super::upper_tail;

    /// From scipy.stats.chi2.sf.
    #[test]
    fn tails_are_those_of_scipy() {
        for (x, degrees, wanted) in [
            (22.457_744_484_825_323, 6, 0.001),
            (16.266_236_196_238_13, 3, 0.001),
            (5.348_120_627_447_121, 6, 0.5),
        ] {
            let found = upper_tail(x, degrees);
            assert!((found - wanted).abs() < 1e-9, "{x}: {found}");
        }
    }
}
