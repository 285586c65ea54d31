//! `cargo bench`: groups dense, structured, bounds, gpu, study, scaling, samples; `cargo bench -- structured` runs one. Sizes are in
//! the ids (H steps, B budgets, S contexts per step, A actions, R replications, T episodes).
//!
//! What criterion measures is also gathered into a table at the end: candidates per second as a share of the roofline
//! measured in the same run, ratios, and exponents fitted to the scaling groups. Figures are the best of a bench's
//! samples, because a shared machine only ever makes them slower; ratios and exponents are of one thread, because two
//! wait for each other where cores are busy.

#![allow(clippy::print_stdout, reason = "the table is the result")]

mod bounds;
mod dense;
mod gpu;
mod problems;
mod roofline;
mod samples;
mod scaling;
mod structured;
mod study;

use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};

/// A group of benches whose best times are kept.
pub struct Group<'a>(BenchmarkGroup<'a, WallTime>);

impl<'a> Group<'a> {
    /// Ten samples in about two seconds each: enough for the best, and the whole run stays within minutes.
    pub fn new(c: &'a mut Criterion, name: &str) -> Self {
        let mut group = c.benchmark_group(name);
        group.sample_size(10);
        group.warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_secs(2));
        Self(group)
    }

    /// Benches some work on this many threads; the best seconds, or `None` where the command line leaves the bench out.
    pub fn best(&mut self, id: &str, threads: usize, mut work: impl FnMut() + Send) -> Option<f64> {
        let mut best = None;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.expect("threads");
        self.0.bench_function(id, |bencher| {
            bencher.iter_custom(|rounds| {
                pool.install(|| {
                    let mut total = Duration::ZERO;
                    for _ in 0..rounds {
                        let start = Instant::now();
                        work();
                        let elapsed = start.elapsed();
                        total += elapsed;
                        let seconds = elapsed.as_secs_f64();
                        best = Some(best.map_or(seconds, |b: f64| b.min(seconds)));
                    }
                    total
                })
            });
        });
        best
    }
}

fn main() {
    let mut c = Criterion::default().configure_from_args();
    let mut lines = vec![format!("threads: {}", rayon::current_num_threads())];
    dense::run(&mut c, &mut lines);
    structured::run(&mut c, &mut lines);
    bounds::run(&mut c, &mut lines);
    gpu::run(&mut c, &mut lines);
    study::run(&mut c, &mut lines);
    scaling::run(&mut c, &mut lines);
    samples::run(&mut c, &mut lines);
    c.final_summary();
    println!("\n{}", lines.join("\n"));
}
