//! The logistic function of many numbers at once, in vector registers, the same bits on every instruction set.

/// 1.5 * 2^52: adding it rounds to a whole number, which the sum's lowest bits then hold.
const ROUNDING: f64 = 6_755_399_441_055_744.0;

/// ln 2 in two parts; the first has zeros at its end, so that small multiples of it are exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// 1/13!, ..., 1/2!: the series of exp to 4e-18 on |r| <= ln 2 / 2.
const SERIES: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    1.0 / 2.0,
];

/// Replaces every w by f(w) = 1 / (1 + exp(-w)), to a few units in the last place.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq",
    "x86_64+avx2",
    "aarch64+neon"
))]
pub(super) fn sigmoids(values: &mut [f64]) {
    for w in values {
        let e = exp_of_negative(-w.abs());
        let numerator = if *w >= 0.0 { 1.0 } else { e };
        *w = numerator / (1.0 + e);
    }
}

/// exp(x) for x <= 0: 2^n exp(r) with x = n ln 2 + r. What would be below the smallest normal numbers is 3e-308.
#[inline(always)]
fn exp_of_negative(x: f64) -> f64 {
    let x = if x > -708.0 { x } else { -708.0 };
    let shifted = x * std::f64::consts::LOG2_E + ROUNDING;
    let n = shifted - ROUNDING;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let mut tail = SERIES[0];
    for coefficient in &SERIES[1..] {
        tail = tail * r + coefficient;
    }
    let exp_r = 1.0 + (r + r * r * tail);
    // n goes straight into the exponent.
    f64::from_bits(exp_r.to_bits().wrapping_add(shifted.to_bits() << 52))
}

#[cfg(test)]
mod tests {
    use super::sigmoids;
    use crate::model::sigmoid;

    #[test]
    fn equals_the_plain_function_to_rounding() {
        let mut worst: f64 = 0.0;
        let points: Vec<f64> = (-80_000..80_000).map(|i| f64::from(i) * 1.234e-3).collect();
        let mut values = points.clone();
        sigmoids(&mut values);
        for (w, value) in points.iter().zip(values) {
            worst = worst.max((value / sigmoid(*w) - 1.0).abs());
        }
        assert!(worst < 1e-15, "{worst:e}");
    }

    #[test]
    fn stays_within_the_unit_interval() {
        let mut values = [
            0.0,
            -0.0,
            1e-300,
            40.0,
            1e6,
            f64::MAX,
            -40.0,
            -1e6,
            f64::MIN,
        ];
        sigmoids(&mut values);
        assert_eq!(values[..3], [0.5; 3]);
        assert!(values[3..6].iter().all(|f| *f > 1.0 - 1e-16 && *f <= 1.0));
        assert!(values[6..].iter().all(|f| *f >= 0.0 && *f < 1e-17));
    }
}
