//! Writes the bench's large problem for `benches/peers.py`, which times NumPy, Numba and JAX on it, and times this
//! library on the same machine: `cargo run --release --example peers -- FOLDER`.
#![allow(clippy::print_stdout, reason = "the result")]

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

use cbwk_gpu::dp::cpu::{Cpu, Strategy};
use cbwk_gpu::dp::{Backend, Coefficients, Precision, Problem};
use cbwk_gpu::task::ApplicationSpec;
use cbwk_gpu::world::{BudgetSpec, ContextsSpec, ConversionSpec, LawSpec, WorldSpec};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const HORIZON: usize = 50;
const BUDGET: u32 = 199;
const CONTEXTS: usize = 20_000;
const ACTIONS: usize = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("usage: peers FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut draw = |_| (0..ACTIONS).map(|_| rng.random::<f64>()).collect();
    let costs: Vec<u32> = (0..ACTIONS as u32).map(|a| 1 + a % 4).collect();
    let spec = WorldSpec {
        horizon: HORIZON,
        budget: BudgetSpec::Constant { value: BUDGET },
        application: ApplicationSpec::Table {
            rewards: (0..CONTEXTS).map(&mut draw).collect(),
            costs: vec![costs.clone(); CONTEXTS],
        },
        reward_max: Some(1.0),
        contexts: ContextsSpec {
            law: LawSpec::Finite {
                values: (0..CONTEXTS).map(|i| vec![i as f64]).collect(),
                weights: None,
            },
            no_arrival: vec![],
            types: None,
            features: None,
        },
        conversion: ConversionSpec::Armed {
            probabilities: vec![0.5; ACTIONS],
        },
    };
    let instance = spec.check()?;
    let sample = instance.law_sample(false).ok_or("a finite law")?;
    let mut coefficients = Coefficients::default();
    coefficients.resize_for(&sample);
    for pair in 0..coefficients.gain.len() {
        let ucb = rng.random::<f64>();
        coefficients.gain[pair] = ucb * sample.rewards()[pair];
        coefficients.lcb[pair] = ucb * rng.random::<f64>();
    }
    let problem = Problem {
        sample: &sample,
        coefficients: &coefficients,
        budget_max: BUDGET,
        cap: Some(1.0),
    };
    let mut text = format!(
        "{{\"horizon\": {HORIZON}, \"budget\": {BUDGET}, \"contexts\": {CONTEXTS}, \"actions\": {ACTIONS}, \"costs\": {costs:?}"
    );
    for (name, terms) in [("f64", Precision::F64), ("f32", Precision::F32)] {
        let mut cpu = Cpu::new(Some(Strategy::Dense), terms);
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = Instant::now();
            cpu.solve(&[problem])?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("this library, {name}: {best:.4} s");
        write!(text, ", \"seconds_{name}\": {best:e}")?;
    }
    let mut cpu = Cpu::new(Some(Strategy::Dense), Precision::F64);
    let values = cpu.solve(&[problem])?.remove(0).row(0).to_vec();
    write!(text, ", \"values\": {values:?}}}")?;
    std::fs::write(folder.join("problem.json"), text)?;
    let raw = |values: &[f64]| {
        values
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    std::fs::write(folder.join("gain.f64"), raw(&coefficients.gain))?;
    std::fs::write(folder.join("lcb.f64"), raw(&coefficients.lcb))?;
    println!("problem in {}", folder.display());
    Ok(())
}
