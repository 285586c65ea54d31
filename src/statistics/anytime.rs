//! An interval for a mean that holds at all times at once, so that one may look every day and stop when one likes.

/// Days before an interval is shown: the normal approximation needs some.
pub const FIRST: usize = 20;

/// The probability of ever missing.
const ALPHA: f64 = 0.05;

/// The mean of values so far and the half width of its interval, from 20 values on:
///
/// ```text
/// s_t sqrt( 2 (t g^2 + 1) / (t^2 g^2) ln( sqrt(t g^2 + 1) / 0.05 ) ),   g^2 = (-2 ln 0.05 + ln(1 - 2 ln 0.05)) / 60
/// ```
///
/// with s_t the standard deviation of the values so far (an asymptotic confidence sequence, narrowest at 60 values).
pub fn interval_at_all_times(values: &[f64]) -> Option<(f64, f64)> {
    let t = values.len() as f64;
    if values.len() < FIRST {
        return None;
    }
    let mean = values.iter().sum::<f64>() / t;
    let squares: f64 = values.iter().map(|z| (z - mean).powi(2)).sum();
    Some((mean, (squares / (t - 1.0)).sqrt() * width(t)))
}

/// The half width for a standard deviation of 1.
fn width(t: f64) -> f64 {
    let g2 = (-2.0 * ALPHA.ln() + (1.0 - 2.0 * ALPHA.ln()).ln()) / 60.0;
    let n = t * g2 + 1.0;
    (2.0 * n / (t * t * g2) * (n.sqrt() / ALPHA).ln()).sqrt()
}

/// How many values it takes in all until the interval excludes 0, if mean and spread stay as they are; `None` if it is
/// more than a hundred thousand.
pub fn values_to_decide(values: &[f64]) -> Option<usize> {
    let (mean, half) = interval_at_all_times(values)?;
    let deviation = half / width(values.len() as f64);
    let decides = |t: &usize| deviation * width(*t as f64) < mean.abs();
    (values.len()..100_000).find(decides)
}
