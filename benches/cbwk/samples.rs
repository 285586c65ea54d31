//! Large samples: rows of real episodes, where every step has contexts of its own. Next to each size stand the lower bound
//! of the machine (arithmetic or memory, whichever is larger) and a plain loop over the same numbers packed by step.

use std::hint::black_box;
use std::time::Instant;

use cbwk_gpu::dp::cpu::{Cpu, Strategy};
use cbwk_gpu::dp::gpu::Gpu;
use cbwk_gpu::dp::{Backend, BoundSource, Coefficients, ContextSample, PlanRequest, Precision};
use cbwk_gpu::oracle::Oracle;
use cbwk_gpu::world::World;
use criterion::Criterion;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use crate::Group;
use crate::bounds::oracle_and_data;
use crate::problems::{Size, candidates_within_reach, problem};
use crate::roofline::Roofline;
use crate::scaling::report;

const ACTIONS: usize = 5;

pub fn run(c: &mut Criterion, lines: &mut Vec<String>) {
    let mut group = Group::new(c, "samples");
    let mut gpu = Gpu::open(None, false).ok();
    let roofline = Roofline::of_cores(1);
    for budget in [5, 10, 50, 200] {
        let mut points = Vec::new();
        for contexts in [10_000, 100_000, 1_000_000, 10_000_000] {
            // The largest once: it takes its time.
            if contexts == 10_000_000 && budget != 5 {
                continue;
            }
            let seconds = one(&mut group, &roofline, gpu.as_mut(), contexts, budget, lines);
            points.extend(seconds.map(|seconds| (contexts as f64, seconds)));
        }
        report(&format!("plan, B{budget}, cpu"), "contexts", &points, lines);
    }
    many(&mut group, gpu.as_mut(), lines);
}

/// Episodes long enough for the budget to be of use.
fn instance(contexts: usize, budget: u32) -> (World, usize) {
    let horizon = if budget > 24 { 240 } else { 24 };
    let size = Size {
        horizon,
        budget,
        contexts,
        actions: ACTIONS,
    };
    (size.continuous_pricing(2), contexts / horizon)
}

fn sample(instance: &World, rows: usize, seed: u64) -> ContextSample {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows = instance.contexts().draw_rows(&mut rng, rows);
    ContextSample::of_rows(instance.task(), &rows, false)
}

fn request<'a>(
    instance: &World,
    sample: &'a ContextSample,
    source: &'a dyn BoundSource,
) -> PlanRequest<'a> {
    PlanRequest {
        sample,
        source,
        budget_max: instance.task().budget_max(),
        reward_max: instance.task().reward_max(),
    }
}

/// One replication: the induction on one thread beside its bounds, and whole plans. Returns seconds of a plan.
fn one(
    group: &mut Group,
    roofline: &Roofline,
    gpu: Option<&mut Gpu>,
    contexts: usize,
    budget: u32,
    lines: &mut Vec<String>,
) -> Option<f64> {
    let (instance, rows) = instance(contexts, budget);
    let (mut oracle, data) = oracle_and_data(&instance, 50);
    oracle.fit(&data, 0.01);
    let sample = sample(&instance, rows, 5);
    let request = request(&instance, &sample, &oracle);
    let id = format!("S{contexts}-B{budget}");
    if contexts <= 1_000_000 {
        let mut coefficients = Coefficients::default();
        oracle.fill(&sample, &mut coefficients);
        let problem = problem(&instance, &sample, &coefficients);
        let mut cpu = Cpu::new(Some(Strategy::Dense), Precision::F64);
        let induction = group.best(&format!("{id}-induction"), 1, || {
            black_box(cpu.solve(&[problem]).expect("solved"));
        });
        let plain = group.best(&format!("{id}-plain-loop"), 1, || {
            black_box(plain_loop(&sample, &coefficients, budget as usize));
        });
        if let (Some(induction), Some(plain)) = (induction, plain) {
            let candidates = candidates_within_reach(&problem);
            let pairs = coefficients.gain.len();
            let bound = (candidates / roofline.fma_max).max(seconds_to_read(pairs));
            lines.push(format!(
                "samples {id}: induction {:.2} ms, {:.2} of the plain loop; lower bound {:.2} ms, share {:.0}%",
                1e3 * induction,
                induction / plain,
                1e3 * bound,
                100.0 * bound / induction
            ));
        }
    }
    let threads = rayon::current_num_threads();
    let mut cpu = Cpu::default();
    let on_cpu = group.best(&format!("{id}-plan"), threads, || {
        black_box(cpu.plan(&[request]).expect("planned"));
    });
    if let Some(seconds) = on_cpu {
        lines.push(format!("samples {id}: plan {:.2} ms, cpu", 1e3 * seconds));
    }
    if let Some(gpu) = gpu {
        on_gpu(group, gpu, &id, &[request], lines);
    }
    on_cpu
}

/// Fifty replications.
fn many(group: &mut Group, mut gpu: Option<&mut Gpu>, lines: &mut Vec<String>) {
    for contexts in [10_000, 100_000] {
        let (instance, rows) = instance(contexts, 10);
        let (mut oracle, data) = oracle_and_data(&instance, 50);
        oracle.fit(&data, 0.01);
        let samples: Vec<ContextSample> =
            (0..50).map(|seed| sample(&instance, rows, seed)).collect();
        let requests: Vec<PlanRequest> = samples
            .iter()
            .map(|sample| request(&instance, sample, &oracle))
            .collect();
        let id = format!("R50-S{contexts}-B10");
        let mut cpu = Cpu::default();
        let best = group.best(&format!("{id}-plan"), rayon::current_num_threads(), || {
            black_box(cpu.plan(&requests).expect("planned"));
        });
        if let Some(seconds) = best {
            lines.push(format!("samples {id}: plans {:.1} ms, cpu", 1e3 * seconds));
        }
        if let Some(gpu) = gpu.as_deref_mut() {
            on_gpu(group, gpu, &id, &requests, lines);
        }
    }
}

fn on_gpu(
    group: &mut Group,
    gpu: &mut Gpu,
    id: &str,
    requests: &[PlanRequest],
    lines: &mut Vec<String>,
) {
    let best = group.best(&format!("{id}-plan-gpu"), 1, || {
        black_box(gpu.plan(requests).expect("planned"));
    });
    if let Some(seconds) = best {
        let before = gpu.traffic().bytes_up;
        gpu.plan(requests).expect("planned");
        let bytes = gpu.traffic().bytes_up - before;
        lines.push(format!(
            "samples {id}: plan {:.1} ms, {bytes} bytes up, {}",
            1e3 * seconds,
            gpu.adapter().name
        ));
    }
}

/// Seconds in which a core reads two tables of this many numbers side by side, from the cache that holds them or from memory.
fn seconds_to_read(numbers: usize) -> f64 {
    let (one, other) = (vec![1.0; numbers], vec![1.0; numbers]);
    let read = |_| {
        let start = Instant::now();
        black_box(sum(black_box(&one), black_box(&other)));
        start.elapsed().as_secs_f64()
    };
    (0..100).map(read).fold(f64::INFINITY, f64::min)
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2", "aarch64+neon"))]
fn sum(one: &[f64], other: &[f64]) -> f64 {
    let mut sums = [0.0; 32];
    let chunks = one.as_chunks::<32>().0.iter();
    for (one, other) in chunks.zip(other.as_chunks::<32>().0) {
        for ((sum, x), y) in sums.iter_mut().zip(one).zip(other) {
            *sum += x + y;
        }
    }
    sums.iter().sum()
}

/// The backward induction at unit cost as one would write it down over coefficients packed by step.
fn plain_loop(sample: &ContextSample, coefficients: &Coefficients, budget: usize) -> Vec<f64> {
    let width = (budget + 1).next_multiple_of(8);
    let mut next = vec![0.0; width];
    for h in (0..sample.horizon()).rev() {
        let mut gaps = vec![f64::INFINITY; width];
        for b in 1..=budget {
            gaps[b] = next[b] - next[b - 1];
        }
        let singles = sample.step(h).singles;
        let pairs = singles.start * ACTIONS..singles.end * ACTIONS;
        let mut sums = vec![0.0; width];
        let (gain, lcb) = (&coefficients.gain[pairs.clone()], &coefficients.lcb[pairs]);
        for first in (0..width).step_by(8) {
            add_plain(gain, lcb, &gaps[first..], &mut sums[first..]);
        }
        for (value, sum) in next.iter_mut().zip(&sums) {
            *value += sum / sample.total();
        }
    }
    next
}

#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
fn add_plain(gain: &[f64], lcb: &[f64], gaps: &[f64], sums: &mut [f64]) {
    let gaps: &[f64; 8] = gaps[..8].try_into().expect("eight budgets");
    let mut total = [0.0; 8];
    for (gain, lcb) in gain.chunks_exact(ACTIONS).zip(lcb.chunks_exact(ACTIONS)) {
        let mut best = [0.0; 8];
        for (gain, lcb) in gain.iter().zip(lcb) {
            for (best, gap) in best.iter_mut().zip(gaps) {
                let value = (-lcb).mul_add(*gap, *gain);
                *best = if value > *best { value } else { *best };
            }
        }
        for (total, best) in total.iter_mut().zip(best) {
            *total += best;
        }
    }
    for (sum, total) in sums.iter_mut().zip(total) {
        *sum += total;
    }
}
