//! What the processor allows: the dense solver's arithmetic without any memory, on one core and on all of them.

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;

/// Candidates per second.
#[derive(Debug, Clone, Copy)]
pub struct Roofline {
    /// The solver's own operations: multiply, subtract, max.
    pub mul_sub_max: f64,
    /// What a solver with fused multiply-add (and other bits on other machines) would be held against.
    pub fma_max: f64,
}

impl Roofline {
    /// The best of several widths (the compiler keeps each in registers where it fits) and several runs.
    pub fn measure(threads: usize) -> Self {
        let best = |run: &dyn Fn(usize, f64, f64) -> f64| {
            let runs = (0..40).map(|_| run(threads, 0.3, 0.4));
            runs.fold(0.0, f64::max)
        };
        let widths: [&dyn Fn(usize, f64, f64) -> f64; 6] = [
            &|n, a, b| rate::<32>(n, |s| mul_sub_max::<32>(s, a, b)),
            &|n, a, b| rate::<48>(n, |s| mul_sub_max::<48>(s, a, b)),
            &|n, a, b| rate::<96>(n, |s| mul_sub_max::<96>(s, a, b)),
            &|n, a, b| rate::<32>(n, |s| fma_max::<32>(s, a, b)),
            &|n, a, b| rate::<48>(n, |s| fma_max::<48>(s, a, b)),
            &|n, a, b| rate::<96>(n, |s| fma_max::<96>(s, a, b)),
        ];
        let rates = widths.map(best);
        Self {
            mul_sub_max: rates[..3].iter().copied().fold(0.0, f64::max),
            fma_max: rates[3..].iter().copied().fold(0.0, f64::max),
        }
    }
}

/// Passes of a loop.
const PASSES: usize = 40_000;

/// Candidates per second of a loop that runs on `threads` threads at once.
fn rate<const WIDTH: usize>(threads: usize, work: impl Fn(&mut [f64; WIDTH]) + Sync) -> f64 {
    let start = Instant::now();
    (0..threads).into_par_iter().with_max_len(1).for_each(|_| {
        let mut best = [1.0; WIDTH];
        work(&mut best);
        black_box(best);
    });
    (threads * PASSES * WIDTH) as f64 / start.elapsed().as_secs_f64()
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
