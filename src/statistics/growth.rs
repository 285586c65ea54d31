//! How fast a regret grows: the slope of its curve in a log-log plot. About 1 is linear growth, about 1/2 that of a square
//! root.

use super::{MeanAndError, evenly_spaced};

/// The most groups of consecutive replications that the jackknife leaves out in turn.
const GROUPS: usize = 64;

/// The most episodes in the regression.
const EPISODES: usize = 1000;

/// The least-squares slope of ln(mean cumulative regret) on ln t over the last half of the episodes, t = T/2 + 1, ..., T
/// (at most 1,000 evenly spaced ones), from curves added one by one.
///
/// The standard error is a jackknife over replications, or over 64 groups of consecutive ones if there are more, because the
/// points of one curve are not independent.
#[derive(Debug, Clone)]
pub struct Growth {
    episodes: Vec<usize>,
    groups: usize,
    replications: usize,
    count: usize,
    sums: Vec<f64>,
    group_sums: Vec<f64>,
}

impl Growth {
    /// For `replications` curves of so many episodes, none of them added yet.
    pub fn new(episodes: usize, replications: usize) -> Self {
        let last_half = if episodes < 4 {
            0
        } else {
            episodes.div_ceil(2)
        };
        let shown = evenly_spaced(last_half, EPISODES);
        let groups = replications.min(GROUPS);
        Self {
            groups,
            replications,
            count: 0,
            sums: vec![0.0; shown.len()],
            group_sums: vec![0.0; shown.len() * groups],
            episodes: shown.into_iter().map(|t| episodes / 2 + t).collect(),
        }
    }

    /// Adds the cumulative regret of the next replication.
    pub fn push(&mut self, curve: &[f64]) {
        assert!(
            self.count < self.replications,
            "more curves than replications"
        );
        let group = self.count * self.groups / self.replications;
        let group = &mut self.group_sums[group * self.episodes.len()..];
        for (i, &t) in self.episodes.iter().enumerate() {
            self.sums[i] += curve[t];
            group[i] += curve[t];
        }
        self.count += 1;
    }

    /// The slope and its error. `None` if the mean is not positive throughout or there are fewer than four episodes; the
    /// error is NaN if that happens without one of the groups.
    pub fn slope(&self) -> Option<MeanAndError> {
        if self.episodes.is_empty() {
            return None;
        }
        let whole = self.slope_of(&mut self.sums.iter().copied())?;
        let n = self.groups as f64;
        let groups = self.group_sums.chunks(self.episodes.len());
        let without: Option<Vec<f64>> = groups
            .map(|group| self.slope_of(&mut self.sums.iter().zip(group).map(|(s, x)| s - x)))
            .collect();
        let standard_error = without.filter(|w| w.len() > 1).map_or(f64::NAN, |slopes| {
            let mean = slopes.iter().sum::<f64>() / n;
            let squares: f64 = slopes.iter().map(|s| (s - mean) * (s - mean)).sum();
            ((n - 1.0) / n * squares).sqrt()
        });
        Some(MeanAndError {
            mean: whole,
            standard_error,
        })
    }

    fn slope_of(&self, sums: &mut dyn Iterator<Item = f64>) -> Option<f64> {
        let logs = sums.zip(&self.episodes).map(|(sum, t)| {
            let positive = sum > 0.0;
            positive.then(|| (((t + 1) as f64).ln(), sum.ln()))
        });
        let points = logs.collect::<Option<Vec<_>>>();
        points.map(|points| slope(&points))
    }
}

/// The least-squares slope through points (x, y).
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
    let products: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let squares: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    products / squares
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn slope_of(curves: &[Vec<f64>]) -> Option<MeanAndError> {
        let mut growth = Growth::new(curves.first()?.len(), curves.len());
        curves.iter().for_each(|curve| growth.push(curve));
        growth.slope()
    }

    fn power(scale: f64, exponent: f64) -> Vec<f64> {
        (1..=100)
            .map(|t| scale * f64::from(t).powf(exponent))
            .collect()
    }

    #[test]
    fn powers_have_their_exponents_as_slopes() {
        let found = slope_of(&[power(1.0, 0.5), power(3.0, 0.5)]).unwrap();
        assert_relative_eq!(found.mean, 0.5, epsilon = 1e-12);
        assert!(found.standard_error < 1e-12);
        let found = slope_of(&[power(2.0, 1.0)]).unwrap();
        assert_relative_eq!(found.mean, 1.0, epsilon = 1e-12);
        assert!(found.standard_error.is_nan());
    }

    /// Two curves: leaving either out gives the other's slope, so the jackknife error is half the difference.
    #[test]
    fn the_jackknife_error_by_hand() {
        let found = slope_of(&[power(1.0, 0.4), power(1.0, 0.6)]).unwrap();
        assert_relative_eq!(found.standard_error, 0.1, epsilon = 1e-12);
    }

    /// 130 replications of 2,600 episodes: 64 groups, 1,000 episodes. The figures are those of Python's standard library,
    /// `statistics.linear_regression` over `ts = [1300 + i * 1299 // 999 + 1 for i in range(1000)]`, leaving out the
    /// replications with `r * 64 // 130 == g` in turn; the error is sqrt(63 / 64 * sum of squared deviations).
    #[test]
    fn many_replications_are_left_out_in_groups() {
        let curve = |r: usize| -> Vec<f64> {
            let scale = 1.0 + (r * 37 % 101) as f64 / 50.0;
            let exponent = 0.4 + (r * 53 % 97) as f64 / 400.0;
            (1..=2600)
                .map(|t| scale * f64::from(t).powf(exponent))
                .collect()
        };
        let found = slope_of(&(0..130).map(curve).collect::<Vec<_>>()).unwrap();
        assert_relative_eq!(found.mean, 0.55506573464795, max_relative = 1e-12);
        let error = 0.0047283256121962314;
        assert_relative_eq!(found.standard_error, error, max_relative = 1e-9);
    }

    #[test]
    fn curves_without_a_logarithm_have_no_slope() {
        assert_eq!(slope_of(&[vec![1.0, 1.0, -1.0, 1.0]]), None);
        assert_eq!(slope_of(&[vec![1.0, 2.0, 3.0]]), None);
        assert_eq!(slope_of(&[]), None);
    }
}
