//! The logistic function and the exponential of many numbers at once, without calls or branches, so that compilers
//! vectorise them.

/// ln 2 in two parts: products of the first with whole numbers are exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_588e-10;

/// Adding this rounds a small number to a whole one, stored in its lowest bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// exp below this is negligible next to 1.
const SMALLEST: f64 = -700.0;

/// A polynomial in r^2 for (r coth(r / 2) - 2) / r^2 where |r| <= ln 2 / 2: exp(r) comes out to 4e-19.
const COEFFICIENTS: [f64; 5] = [
    1.666_666_666_666_660_2e-1,
    -2.777_777_777_701_559_3e-3,
    6.613_756_321_437_934e-5,
    -1.653_390_220_546_525_2e-6,
    4.138_136_797_057_238_5e-8,
];

/// Replaces every w by 1 / (1 + exp(-w)), to within a few units in the last place.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn sigmoids(values: &mut [f64]) {
    for w in values {
        let (top, bottom) = exp_of_negative(-w.abs());
        *w = if *w >= 0.0 { bottom } else { top } / (top + bottom);
    }
}

/// Replaces every x <= 0 by exp(x), to within a few units in the last place; results are at least 1e-304.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn exps_of_negative(values: &mut [f64]) {
    for x in values {
        let (top, bottom) = exp_of_negative(*x);
        *x = top / bottom;
    }
}

/// exp(x) = 2^k exp(r) with |r| <= ln 2 / 2, for x <= 0, as a fraction: callers divide by something anyway. With
/// R = r coth(r / 2), exp(r) = (R + r) / (R - r).
#[inline(always)]
pub(super) fn exp_of_negative(x: f64) -> (f64, f64) {
    let x = if x > SMALLEST { x } else { SMALLEST };
    let rounded = x * std::f64::consts::LOG2_E + ROUNDER;
    let k = rounded - ROUNDER;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let square = r * r;
    let [c1, c2, c3, c4, c5] = COEFFICIENTS;
    let even = 2.0 + square * (c1 + square * (c2 + square * (c3 + square * (c4 + square * c5))));
    let power = f64::from_bits((rounded.to_bits() << 52).wrapping_add(1023 << 52));
    (power * (even + r), even - r)
}

/// f(w) = 1 / (1 + exp(-w)), without overflow.
pub fn sigmoid(w: f64) -> f64 {
    if w >= 0.0 {
        1.0 / (1.0 + (-w).exp())
    } else {
        let e = w.exp();
        e / (1.0 + e)
    }
}

#[cfg(test)]
mod tests {
    use super::{exps_of_negative, sigmoid, sigmoids};

    #[test]
    fn exponentials_agree_with_the_standard_library() {
        let wanted: Vec<f64> = (0..=70_000).map(|i| f64::from(i) * -9.987e-3).collect();
        let mut found = wanted.clone();
        exps_of_negative(&mut found);
        for (x, e) in wanted.iter().zip(&found) {
            assert!((e / x.exp() - 1.0).abs() < 1e-15, "{x}: {e}");
        }
        let mut ends = [0.0, -1e9, f64::NEG_INFINITY];
        exps_of_negative(&mut ends);
        assert!(ends[0] == 1.0 && ends[1] < 1e-300 && ends[2] < 1e-300);
    }

    #[test]
    fn agrees_with_the_logistic_function() {
        let wanted: Vec<f64> = (-80_000..=80_000)
            .map(|i| f64::from(i) * 4.987e-4)
            .collect();
        let mut found = wanted.clone();
        sigmoids(&mut found);
        for (w, f) in wanted.iter().zip(&found) {
            let exact = sigmoid(*w);
            assert!((f / exact - 1.0).abs() < 1e-15, "{w}: {f} and not {exact}");
        }
        // Far out it saturates.
        let mut far = [800.0, -800.0, 1e300, -1e300, 0.0];
        sigmoids(&mut far);
        assert!(far[0] == 1.0 && far[2] == 1.0 && far[4] == 0.5);
        assert!(far[1] < 1e-300 && far[3] < 1e-300);
    }

    #[test]
    fn sigmoid_neither_overflows_nor_leaves_the_unit_interval() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert_eq!(sigmoid(-1e6), 0.0);
        assert_eq!(sigmoid(1e6), 1.0);
        let (low, high) = (sigmoid(-40.0), sigmoid(40.0));
        assert!(low > 0.0 && low < 1e-17 && high <= 1.0);
        approx::assert_relative_eq!(sigmoid(-1.5) + sigmoid(1.5), 1.0, epsilon = 1e-15);
    }
}
