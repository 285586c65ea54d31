//! What the processor allows: the dense solver's arithmetic without any memory.

use std::hint::black_box;
use std::time::Instant;

/// Candidates per second.
#[derive(Debug, Clone, Copy)]
pub struct Roofline {
    /// The solver's own operations: multiply, subtract, max.
    pub mul_sub_max: f64,
    /// What a solver with fused multiply-add (and other bits on other machines) would be held against.
    pub fma_max: f64,
}

impl Roofline {
    /// One core: the best of several widths (the compiler keeps each in registers where it fits) and many short runs, of
    /// which some are undisturbed even on a busy machine.
    pub fn of_one_core() -> Self {
        let (gain, lcb) = (black_box(0.3), black_box(0.4));
        Self {
            mul_sub_max: rate(|s| mul_sub_max::<32>(s, gain, lcb))
                .max(rate(|s| mul_sub_max::<48>(s, gain, lcb)))
                .max(rate(|s| mul_sub_max::<96>(s, gain, lcb))),
            fma_max: rate(|s| fma_max::<32>(s, gain, lcb))
                .max(rate(|s| fma_max::<48>(s, gain, lcb)))
                .max(rate(|s| fma_max::<96>(s, gain, lcb))),
        }
    }

    /// So many cores, none in the way of another.
    pub fn times(self, cores: usize) -> Self {
        Self {
            mul_sub_max: self.mul_sub_max * cores as f64,
            fma_max: self.fma_max * cores as f64,
        }
    }
}

/// Passes of a loop.
const PASSES: usize = 40_000;

/// Candidates per second of a loop.
fn rate<const WIDTH: usize>(work: impl Fn(&mut [f64; WIDTH])) -> f64 {
    let run = |_| {
        let mut best = black_box([1.0; WIDTH]);
        let start = Instant::now();
        work(&mut best);
        black_box(best);
        (PASSES * WIDTH) as f64 / start.elapsed().as_secs_f64()
    };
    (0..200).map(run).fold(0.0, f64::max)
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn mul_sub_max<const WIDTH: usize>(best: &mut [f64; WIDTH], gain: f64, lcb: f64) {
    let mut state = *best;
    for _ in 0..PASSES {
        for x in &mut state {
            let value = gain - lcb * *x;
            *x = if value > *x { value } else { *x };
        }
    }
    *best = state;
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
fn fma_max<const WIDTH: usize>(best: &mut [f64; WIDTH], gain: f64, lcb: f64) {
    let mut state = *best;
    for _ in 0..PASSES {
        for x in &mut state {
            let value = (-lcb).mul_add(*x, gain);
            *x = if value > *x { value } else { *x };
        }
    }
    *best = state;
}
