//! Means and standard errors of many curves, point by point, without holding the curves.
//!
//! Curves are added one by one and merged in blocks: within a block by two passes, between blocks by the update of Chan,
//! Golub and LeVeque. The order of additions depends only on the order of the curves.

use super::MeanAndError;

/// The most curves in a block: up to this many, the result is that of two passes over all of them.
const BLOCK: usize = 64;

/// The most numbers in a block, unless a single curve has more.
const BLOCK_NUMBERS: usize = BLOCK * 20_000;

/// Running moments of curves of the same length.
#[derive(Debug, Clone)]
pub struct CurveMoments {
    /// Curves that are not merged yet.
    held: Vec<f64>,
    count: usize,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl CurveMoments {
    /// Without curves.
    pub fn new(points: usize) -> Self {
        Self {
            held: Vec::new(),
            count: 0,
            sums: vec![0.0; points],
            squares: vec![0.0; points],
        }
    }

    /// Bytes that the moments of curves of so many points take.
    pub fn bytes(points: usize, curves: usize) -> u64 {
        8 * points as u64 * (2 + block(points).min(curves) as u64)
    }

    /// Adds the next curve.
    pub fn push(&mut self, curve: &[f64]) {
        assert_eq!(curve.len(), self.sums.len(), "curves have the same length");
        self.held.extend_from_slice(curve);
        if self.held.len() >= block(curve.len()) * curve.len() {
            self.fold();
        }
    }

    /// Mean and standard error at every point.
    pub fn finish(mut self) -> Vec<MeanAndError> {
        self.fold();
        let n = self.count as f64;
        let moments = self.sums.iter().zip(&self.squares);
        moments
            .map(|(sum, squares)| MeanAndError {
                mean: sum / n,
                standard_error: (squares / (n - 1.0) / n).sqrt(),
            })
            .collect()
    }

    fn fold(&mut self) {
        let points = self.sums.len();
        let curves = self.held.len() / points.max(1);
        if curves == 0 {
            return;
        }
        let (before, block) = (self.count as f64, curves as f64);
        for t in 0..points {
            let column = || self.held.iter().skip(t).step_by(points);
            let mean = column().sum::<f64>() / block;
            let squares: f64 = column().map(|x| (x - mean) * (x - mean)).sum();
            if self.count == 0 {
                self.squares[t] = squares;
            } else {
                let off = mean - self.sums[t] / before;
                self.squares[t] += squares + off * off * (before * block / (before + block));
            }
            // Curve by curve, so that the sum is that of all curves in their order.
            self.sums[t] = column().fold(self.sums[t], |sum, x| sum + x);
        }
        self.count += curves;
        self.held.clear();
    }
}

fn block(points: usize) -> usize {
    (BLOCK_NUMBERS / points.max(1)).clamp(1, BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Curves far from zero with small deviations, for which naive sums of squares fail.
    fn curves(count: usize, points: usize) -> Vec<Vec<f64>> {
        let value = |r: usize, t: usize| 1e4 + ((r * 7919 + t * 104_729) % 1000) as f64 / 1e3;
        (0..count)
            .map(|r| (0..points).map(|t| value(r, t)).collect())
            .collect()
    }

    fn streamed(curves: &[Vec<f64>]) -> Vec<MeanAndError> {
        let mut moments = CurveMoments::new(curves[0].len());
        curves.iter().for_each(|curve| moments.push(curve));
        moments.finish()
    }

    fn by_two_passes(curves: &[Vec<f64>], t: usize) -> MeanAndError {
        MeanAndError::of(&curves.iter().map(|curve| curve[t]).collect::<Vec<_>>())
    }

    #[test]
    fn up_to_a_block_the_bits_are_those_of_two_passes() {
        for count in [1, 2, 50, 64] {
            let curves = curves(count, 5);
            for (t, found) in streamed(&curves).iter().enumerate() {
                let expected = by_two_passes(&curves, t);
                assert_eq!(found.mean.to_bits(), expected.mean.to_bits());
                let (error, bits) = (found.standard_error, expected.standard_error);
                assert!(error.to_bits() == bits.to_bits() || count == 1 && error.is_nan());
            }
        }
    }

    #[test]
    fn many_blocks_agree_with_two_passes() {
        for (count, points) in [(65, 3), (1000, 3), (70, 700_000)] {
            let curves = curves(count, points);
            for (t, found) in streamed(&curves).iter().enumerate().step_by(points / 3) {
                let expected = by_two_passes(&curves, t);
                assert_eq!(found.mean.to_bits(), expected.mean.to_bits());
                let error = expected.standard_error;
                approx::assert_relative_eq!(found.standard_error, error, max_relative = 1e-9);
            }
        }
        assert_eq!(block(700_000), 1);
        assert_eq!(block(40_000), 32);
    }
}
