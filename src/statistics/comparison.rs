//! Bands around means, and comparisons of many pairs.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{BAND, MeanAndError, two_sided_p};

/// How a band around a mean is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// 3 standard errors.
    ThreeErrors,
    /// 95% by the normal law: 1.96 standard errors.
    Normal,
    /// 95% by the bootstrap: percentiles of the means of 2,000 resamples. The same values give the same band.
    Bootstrap,
}

/// Resamples of a bootstrap.
const RESAMPLES: usize = 2000;

impl Band {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThreeErrors => "3 s.e.",
            Self::Normal => "95%",
            Self::Bootstrap => "95% bootstrap",
        }
    }

    /// Lower and upper end around the mean of independent values; NaN for a single value.
    pub fn of(self, values: &[f64]) -> (f64, f64) {
        let known = MeanAndError::of(values);
        let around = |half: f64| (known.mean - half, known.mean + half);
        match self {
            Self::ThreeErrors => around(BAND * known.standard_error),
            Self::Normal => around(1.959_963_984_540_054 * known.standard_error),
            Self::Bootstrap if values.len() < 2 => (f64::NAN, f64::NAN),
            Self::Bootstrap => {
                let mut rng = ChaCha8Rng::seed_from_u64(RESAMPLES as u64);
                let n = values.len();
                let mut mean = || {
                    let draws = (0..n).map(|_| values[rng.random_range(0..n)]);
                    draws.sum::<f64>() / n as f64
                };
                let mut means: Vec<f64> = (0..RESAMPLES).map(|_| mean()).collect();
                means.sort_by(f64::total_cmp);
                let cut = RESAMPLES / 40;
                (means[cut], means[RESAMPLES - 1 - cut])
            }
        }
    }
}

/// The p-value of a paired t-test: of a mean difference at least as large if the true one were 0. NaN for a single pair.
pub fn paired_p(differences: &[f64]) -> f64 {
    let MeanAndError {
        mean,
        standard_error,
    } = MeanAndError::of(differences);
    if standard_error.is_nan() {
        return f64::NAN;
    }
    let t = if mean == 0.0 {
        0.0
    } else {
        mean / standard_error
    };
    two_sided_p(t, (differences.len() - 1) as f64)
}

/// Holm's correction: p-values that may be compared with one level for all comparisons together. With the p-values in rising
/// order the i-th of m (from 0) is multiplied by m - i, and made no smaller than those before it. NaN stays NaN.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.retain(|&i| !p_values[i].is_nan());
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    let mut corrected = vec![f64::NAN; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &i) in order.iter().enumerate() {
        largest = largest.max(p_values[i] * (order.len() - rank) as f64);
        corrected[i] = largest.min(1.0);
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `statsmodels.stats.multitest.multipletests([.01, .04, .03, .005], method="holm")` gives .03, .06, .06, .02.
    #[test]
    fn holms_correction_by_hand() {
        let found = holm(&[0.01, 0.04, f64::NAN, 0.03, 0.005]);
        let rounded: Vec<f64> = found.iter().map(|p| (1e9 * p).round() / 1e9).collect();
        assert!(rounded[2].is_nan());
        assert_eq!(
            [rounded[0], rounded[1], rounded[3], rounded[4]],
            [0.03, 0.06, 0.06, 0.02]
        );
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    /// Differences 1, 2, 3, 6: mean 3, standard error sqrt(14/12), t = 2.7775 with 3 degrees of freedom; the closed form of their
    /// tail is 1 - 2/pi (atan(x) + x / (1 + x^2)) with x = t / sqrt(3).
    #[test]
    fn the_paired_test_by_hand() {
        let t = 3.0 / (14.0f64 / 12.0).sqrt();
        let x = t / 3f64.sqrt();
        let exact = 1.0 - 2.0 / std::f64::consts::PI * (x.atan() + x / (1.0 + x * x));
        approx::assert_relative_eq!(paired_p(&[1.0, 2.0, 3.0, 6.0]), exact, max_relative = 1e-9);
        assert_eq!(paired_p(&[2.0, 2.0, 2.0]), 0.0);
        assert_eq!(paired_p(&[0.0, 0.0]), 1.0);
        assert!(paired_p(&[1.0]).is_nan());
    }

    /// 400 sets of 30 exponential values: each band covers the mean 1 as often as it must, within 4 standard errors of a share of
    /// 400 (false alarm 6e-5), where the 95% bands of so few skewed values may miss 3 points more.
    #[test]
    fn bands_cover_the_mean() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let mut covered = [0; 3];
        for _ in 0..400 {
            let values: Vec<f64> = (0..30).map(|_| -(1.0 - rng.random::<f64>()).ln()).collect();
            let bands = [Band::ThreeErrors, Band::Normal, Band::Bootstrap];
            for (count, band) in covered.iter_mut().zip(bands) {
                let (lower, upper) = band.of(&values);
                *count += usize::from(lower <= 1.0 && 1.0 <= upper);
            }
        }
        for (count, least, most) in [
            (covered[0], 0.96, 1.0),
            (covered[1], 0.88, 0.99),
            (covered[2], 0.88, 0.99),
        ] {
            let share = count as f64 / 400.0;
            assert!(share >= least && share <= most, "{covered:?}");
        }
        let values = [1.0, 2.0, 4.0];
        assert_eq!(Band::Bootstrap.of(&values), Band::Bootstrap.of(&values));
        assert!(Band::Bootstrap.of(&[1.0]).0.is_nan());
    }
}
