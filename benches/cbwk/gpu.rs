//! The same problems on the adapter that `--backend gpu` would take (WGPU_ADAPTER_NAME chooses another); left out, with
//! the reason, where there is none.

use std::hint::black_box;

use cbwk_gpu::dp::gpu::Gpu;
use cbwk_gpu::dp::{Backend, BoundSource, ContextSample, PlanRequest};
use cbwk_gpu::oracle::Oracle;
use criterion::Criterion;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use crate::Group;
use crate::bounds::{SIZE, oracle_and_data};
use crate::dense::LARGE;
use crate::problems::{coefficients, problem};

pub fn run(c: &mut Criterion, lines: &mut Vec<String>) {
    let mut gpu = match Gpu::open(None, false) {
        Ok(gpu) => gpu,
        Err(error) => {
            lines.push(format!("gpu: left out, {error}"));
            return;
        }
    };
    let name = gpu.adapter().name.clone();
    let mut group = Group::new(c, "gpu");
    let threads = rayon::current_num_threads();
    let instance = LARGE.table();
    let sample = instance.law_sample(false).expect("a finite law");
    let coefficients = coefficients(&sample);
    let large = problem(&instance, &sample, &coefficients);
    let best = group.best(&LARGE.id(), threads, || {
        black_box(gpu.solve(&[large]).expect("solved"));
    });
    if let Some(seconds) = best {
        lines.push(format!("gpu ({name}) large f32: {seconds:.3} s"));
    }

    // 50 replications of the paper's size, bounds of a fitted oracle included.
    let instance = SIZE.continuous_pricing(2);
    let (mut oracle, data) = oracle_and_data(&instance, 50);
    oracle.fit(&data, 0.01);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let samples: Vec<ContextSample> = (0..50)
        .map(|_| {
            let rows = instance.contexts().draw_rows(&mut rng, 100);
            ContextSample::of_rows(instance.task(), &rows, false)
        })
        .collect();
    let requests: Vec<PlanRequest> = samples
        .iter()
        .map(|sample| PlanRequest {
            sample,
            source: &oracle as &dyn BoundSource,
            budget_max: 5,
            reward_max: 4.0,
        })
        .collect();
    let on_gpu = group.best("R50-H24-B5-S100-A4-with-bounds", threads, || {
        black_box(gpu.plan(&requests).expect("planned"));
    });
    let mut cpu = cbwk_gpu::dp::cpu::Cpu::default();
    let on_cpu = group.best("R50-H24-B5-S100-A4-with-bounds-on-cpu", threads, || {
        black_box(cpu.plan(&requests).expect("planned"));
    });
    if let (Some(on_gpu), Some(on_cpu)) = (on_gpu, on_cpu) {
        lines.push(format!(
            "small batch with bounds: gpu ({name}) {:.1} ms, cpu {:.1} ms",
            1e3 * on_gpu,
            1e3 * on_cpu
        ));
    }
}
