//! What the processor allows: the dense solver's arithmetic without any memory.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// Candidates per second of all cores at once.
#[derive(Debug, Clone, Copy)]
pub struct Roofline {
    /// The solver's own operations: fused multiply-add, max.
    pub fma_max: f64,
    /// The same without fusing: multiply, subtract, max.
    pub mul_sub_max: f64,
}

impl Roofline {
    /// So many cores working together: the best of several widths (the compiler keeps each in registers where it fits)
    /// and many short runs, of which some are undisturbed even on a busy machine.
    pub fn of_cores(cores: usize) -> Self {
        let (gain, lcb) = (black_box(0.3), black_box(0.4));
        Self {
            fma_max: rate(cores, |s| fma_max::<32>(s, gain, lcb))
                .max(rate(cores, |s| fma_max::<48>(s, gain, lcb)))
                .max(rate(cores, |s| fma_max::<96>(s, gain, lcb))),
            mul_sub_max: rate(cores, |s| mul_sub_max::<32>(s, gain, lcb))
                .max(rate(cores, |s| mul_sub_max::<48>(s, gain, lcb)))
                .max(rate(cores, |s| mul_sub_max::<96>(s, gain, lcb))),
        }
    }
}

/// Passes of a loop.
const PASSES: usize = 200_000;

/// Candidates per second of a loop that all cores start together; the slowest of them counts.
fn rate<const WIDTH: usize>(cores: usize, work: impl Fn(&mut [f64; WIDTH]) + Sync) -> f64 {
    let barrier = Barrier::new(cores);
    let one_core = || {
        let mut best = black_box([1.0; WIDTH]);
        barrier.wait();
        let start = Instant::now();
        work(&mut best);
        black_box(best);
        start.elapsed().as_secs_f64()
    };
    let run = |_| {
        let slowest = thread::scope(|scope| {
            let cores: Vec<_> = (0..cores).map(|_| scope.spawn(one_core)).collect();
            let times = cores.into_iter().map(|core| core.join().expect("finished"));
            times.fold(0.0, f64::max)
        });
        (cores * PASSES * WIDTH) as f64 / slowest
    };
    (0..100).map(run).fold(0.0, f64::max)
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
