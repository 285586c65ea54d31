//! How fast a regret grows: the slope of its curve in a log-log plot. About 1 is linear growth, about 1/2 that of a square
//! root.

use crate::statistics::MeanAndError;

/// The least-squares slope of ln(mean cumulative regret) on ln t over the last half of the episodes, t = T/2 + 1, ..., T.
///
/// `curves` holds the cumulative regret of each replication. The standard error is a jackknife over replications (leave
/// one out), because the points of one curve are anything but independent. `None` where the mean is not positive
/// throughout, or where there are fewer than four episodes; the error is NaN where leaving one out does that.
pub fn log_log_slope(curves: &[Vec<f64>]) -> Option<MeanAndError> {
    let episodes = curves.first()?.len();
    if episodes < 4 {
        return None;
    }
    let last_half = episodes / 2..episodes;
    let sums: Vec<f64> = last_half
        .clone()
        .map(|t| curves.iter().map(|curve| curve[t]).sum())
        .collect();
    let slope_of = |sums: &mut dyn Iterator<Item = f64>| -> Option<f64> {
        let logs = sums.zip(last_half.clone()).map(|(sum, t)| {
            let positive = sum > 0.0;
            positive.then(|| (((t + 1) as f64).ln(), sum.ln()))
        });
        logs.collect::<Option<Vec<_>>>()
            .map(|points| slope(&points))
    };
    let whole = slope_of(&mut sums.iter().copied())?;
    let n = curves.len() as f64;
    let without: Option<Vec<f64>> = curves
        .iter()
        .map(|curve| {
            slope_of(
                &mut sums
                    .iter()
                    .zip(&curve[last_half.clone()])
                    .map(|(s, x)| s - x),
            )
        })
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

    fn power(scale: f64, exponent: f64) -> Vec<f64> {
        (1..=100)
            .map(|t| scale * f64::from(t).powf(exponent))
            .collect()
    }

    #[test]
    fn powers_have_their_exponents_as_slopes() {
        let found = log_log_slope(&[power(1.0, 0.5), power(3.0, 0.5)]).unwrap();
        assert_relative_eq!(found.mean, 0.5, epsilon = 1e-12);
        assert!(found.standard_error < 1e-12);
        let found = log_log_slope(&[power(2.0, 1.0)]).unwrap();
        assert_relative_eq!(found.mean, 1.0, epsilon = 1e-12);
        assert!(found.standard_error.is_nan());
    }

    /// Two curves: leaving either out gives the other's slope, so the jackknife error is half the difference.
    #[test]
    fn the_jackknife_error_by_hand() {
        let found = log_log_slope(&[power(1.0, 0.4), power(1.0, 0.6)]).unwrap();
        assert_relative_eq!(found.standard_error, 0.1, epsilon = 1e-12);
    }

    #[test]
    fn curves_without_a_logarithm_have_no_slope() {
        assert_eq!(log_log_slope(&[vec![1.0, 1.0, -1.0, 1.0]]), None);
        assert_eq!(log_log_slope(&[vec![1.0, 2.0, 3.0]]), None);
        assert_eq!(log_log_slope(&[]), None);
    }
}
