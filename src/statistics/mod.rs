//! Means with standard errors over replications, bands and comparisons.

mod anytime;
mod comparison;
mod growth;
mod moments;
mod student;

pub use anytime::{interval_at_all_times, values_to_decide};
pub use comparison::{Band, holm, paired_p};
pub use growth::{Growth, slope};
pub use moments::CurveMoments;
pub use student::{tail_fraction, two_sided_p};

/// Half the width of a band, in standard errors.
pub const BAND: f64 = 3.0;

/// A mean over replications and its standard error (NaN for a single replication).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanAndError {
    /// Mean.
    pub mean: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
}

impl MeanAndError {
    /// Of independent values.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        Self {
            mean,
            standard_error: (squares / (n - 1.0) / n).sqrt(),
        }
    }

    /// Of the differences of two lists, pair by pair.
    pub fn of_differences(values: &[f64], others: &[f64]) -> Self {
        let pairs = values.iter().zip(others);
        Self::of(&pairs.map(|(x, y)| x - y).collect::<Vec<_>>())
    }

    /// Lower end of the band.
    pub fn lower(&self) -> f64 {
        self.mean - BAND * self.standard_error
    }

    /// Upper end of the band.
    pub fn upper(&self) -> f64 {
        self.mean + BAND * self.standard_error
    }
}

/// At most `limit` of the numbers 0..count, evenly spaced, including the first and the last.
pub fn evenly_spaced(count: usize, limit: usize) -> Vec<usize> {
    if count <= limit {
        return (0..count).collect();
    }
    (0..limit).map(|i| i * (count - 1) / (limit - 1)).collect()
}

/// The largest of many numbers and 0, several at a time.
pub fn largest(numbers: &[f64]) -> f64 {
    const LANES: usize = 32;
    let larger = |x: f64, y: f64| if y > x { y } else { x };
    let (lanes, rest) = numbers.as_chunks::<LANES>();
    let mut most = [0.0; LANES];
    for numbers in lanes {
        for (most, x) in most.iter_mut().zip(numbers) {
            *most = larger(*most, *x);
        }
    }
    most.iter().chain(rest).copied().fold(0.0, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_standard_error() {
        let found = MeanAndError::of(&[1.0, 2.0, 3.0, 6.0]);
        assert_eq!(found.mean, 3.0);
        // Sample variance 14/3, over 4 values.
        approx::assert_relative_eq!(found.standard_error, (14.0f64 / 12.0).sqrt());
        assert!(MeanAndError::of(&[1.0]).standard_error.is_nan());
    }
}
