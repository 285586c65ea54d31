//! Helpers shared by the test files: random instances, literal solvers, and the program itself.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use cbwk_gpu::config::{Document, Study, preset};
use cbwk_gpu::dp::gpu::Gpu;
use cbwk_gpu::dp::{Coefficients, ContextSample, ValueTable};
use cbwk_gpu::oracle::{Oracle, OracleConfig, Sides, Truth};
use cbwk_gpu::task::ApplicationSpec;
use cbwk_gpu::world::{BudgetSpec, ContextsSpec, ConversionSpec, LawSpec, World, WorldSpec};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A preset as a checked study.
pub fn study(name: &str, change: impl FnOnce(&mut Document)) -> Study {
    let text = preset(name).expect("a preset of this name").text;
    let mut document = Document::parse(Path::new(name), text).unwrap();
    change(&mut document);
    Study::from_document(&document).unwrap()
}

/// An instance whose context types have the given rewards, costs and conversion probabilities (rows: types, columns:
/// non-null actions), with weights per step (rows: steps).
pub fn table_instance(
    rewards: &[&[f64]],
    costs: &[&[u32]],
    rho: &[&[f64]],
    weights: &[&[f64]],
    budget: u32,
) -> World {
    let values: Vec<Vec<f64>> = (0..rewards.len()).map(|i| vec![i as f64]).collect();
    let segments = weights
        .iter()
        .enumerate()
        .map(|(step, weights)| cbwk_gpu::world::SegmentSpec {
            first: step + 1,
            last: step + 1,
            law: LawSpec::Finite {
                values: values.clone(),
                weights: Some(weights.to_vec()),
            },
        })
        .collect();
    WorldSpec {
        horizon: weights.len(),
        budget: BudgetSpec::Constant { value: budget },
        application: ApplicationSpec::Table {
            rewards: rewards.iter().map(|r| r.to_vec()).collect(),
            costs: costs.iter().map(|c| c.to_vec()).collect(),
        },
        reward_max: None,
        contexts: ContextsSpec {
            law: LawSpec::ByStep { segments },
            no_arrival: vec![],
            types: None,
            features: None,
        },
        conversion: ConversionSpec::Table {
            probabilities: rho.iter().map(|r| r.to_vec()).collect(),
        },
    }
    .check()
    .unwrap()
}

/// An oracle without data, of a study of `episodes` episodes.
pub fn build(
    config: &OracleConfig,
    world: &Arc<World>,
    episodes: usize,
    start: ChaCha8Rng,
) -> Box<dyn Oracle> {
    let truth: Arc<dyn Truth> = Arc::<World>::clone(world);
    let oracle = config.build(world.task(), episodes, start, Some(&truth), Sides::Both);
    oracle.unwrap()
}

/// The size of a random instance.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub horizon: usize,
    pub types: usize,
    pub actions: usize,
    pub cost_max: u32,
    pub budget: u32,
}

/// A random instance: some rewards negative, some probabilities 0 or 1, laws that differ by step, no-arrivals.
pub fn random_instance(rng: &mut ChaCha8Rng, shape: Shape) -> Arc<World> {
    let Shape {
        horizon,
        types,
        actions,
        cost_max,
        budget,
    } = shape;
    let mut matrix = |rows: usize, draw: &mut dyn FnMut(&mut ChaCha8Rng) -> f64| -> Vec<Vec<f64>> {
        (0..rows)
            .map(|_| (0..actions).map(|_| draw(rng)).collect())
            .collect()
    };
    let rewards = matrix(types, &mut |rng| rng.random_range(-0.5..5.0));
    let costs = matrix(types, &mut |rng| f64::from(rng.random_range(1..=cost_max)));
    let rho = matrix(types, &mut |rng| match rng.random_range(0..8) {
        0 => 0.0,
        1 => 1.0,
        _ => rng.random(),
    });
    let segments = (1..=horizon)
        .map(|step| {
            let raw: Vec<f64> = (0..types).map(|_| rng.random::<f64>() + 0.01).collect();
            let sum: f64 = raw.iter().sum();
            cbwk_gpu::world::SegmentSpec {
                first: step,
                last: step,
                law: LawSpec::Finite {
                    values: (0..types).map(|i| vec![i as f64]).collect(),
                    weights: Some(raw.iter().map(|w| w / sum).collect()),
                },
            }
        })
        .collect();
    let no_arrival = (0..horizon)
        .map(|_| {
            if rng.random::<f64>() < 0.5 {
                0.0
            } else {
                rng.random()
            }
        })
        .collect();
    let spec = WorldSpec {
        horizon,
        budget: BudgetSpec::Constant { value: budget },
        application: ApplicationSpec::Table {
            rewards,
            costs: costs
                .iter()
                .map(|row| row.iter().map(|c| *c as u32).collect())
                .collect(),
        },
        reward_max: None,
        contexts: ContextsSpec {
            law: LawSpec::ByStep { segments },
            no_arrival,
            types: None,
            features: None,
        },
        conversion: ConversionSpec::Table { probabilities: rho },
    };
    Arc::new(spec.check().unwrap())
}

/// A random shape, small enough for literal solvers.
pub fn random_shape(rng: &mut ChaCha8Rng) -> Shape {
    Shape {
        horizon: rng.random_range(1..=9),
        types: rng.random_range(1..=6),
        actions: rng.random_range(1..=4),
        cost_max: rng.random_range(1..=5),
        budget: rng.random_range(0..=30),
    }
}

/// Random bounds around rho for every pair of a sample; a share of them is wide, tight, or one-sided.
pub fn random_bounds(
    rng: &mut ChaCha8Rng,
    instance: &World,
    sample: &ContextSample,
) -> Coefficients {
    let mut coefficients = Coefficients::default();
    coefficients.resize_for(sample);
    let actions = sample.actions();
    for pair in 0..sample.len() * actions {
        let rho = instance.rho(&sample.context(pair / actions), pair % actions + 1);
        let lcb = rho * rng.random::<f64>();
        let ucb = rho + (1.0 - rho) * rng.random::<f64>();
        let (ucb, lcb) = match rng.random_range(0..4) {
            0 => (1.0, 0.0),
            1 => (rho, rho),
            _ => (ucb, lcb),
        };
        (coefficients.gain[pair], coefficients.lcb[pair]) =
            Coefficients::of(ucb, lcb, sample.reward(pair / actions, pair % actions + 1));
    }
    coefficients
}

/// The largest difference of a table from a literal one.
pub fn worst_difference(table: &ValueTable, literal: &[Vec<f64>]) -> f64 {
    let rows = (0..literal.len()).map(|h| table.row(h).iter().zip(&literal[h]));
    rows.flatten()
        .map(|(x, y)| (x - y).abs())
        .fold(0.0, f64::max)
}

/// A graphics adapter for tests. Without one a test is skipped with the reason, but in CI it fails.
pub fn gpu(f64: bool) -> Option<Gpu> {
    match Gpu::open(None, f64) {
        Ok(gpu) => Some(gpu.with_poison()),
        Err(error) => {
            let required = std::env::var_os("CI").is_some();
            assert!(!required, "GPU tests must run in CI: {error}");
            say(&format!("skipped: {error}"));
            None
        }
    }
}

/// Prints past the test runner's capture.
pub fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The largest difference of two tables, relative to r_max * min(b, H): the scale of the values.
pub fn relative_difference(mine: &ValueTable, other: &ValueTable, r_max: f64) -> f64 {
    let horizon = mine.horizon();
    let mut worst: f64 = 0.0;
    for h in 0..horizon {
        for (b, (x, y)) in mine.row(h).iter().zip(other.row(h)).enumerate() {
            let scale = r_max.max(f64::MIN_POSITIVE) * b.clamp(1, horizon) as f64;
            let difference = (x - y).abs() / scale;
            // NaN must not hide.
            worst = if difference <= worst {
                worst
            } else {
                difference
            };
        }
    }
    worst
}

/// Runs the program in a folder.
pub fn cbwk(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cbwk-gpu"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

/// Standard output of a run that must succeed.
pub fn cbwk_ok(folder: &Path, args: &[&str]) -> String {
    let output = cbwk(folder, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?} failed: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}
