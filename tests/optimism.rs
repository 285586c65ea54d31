//! Coupled optimism lies between the truth and the paper's: true <= coupled <= separate, on every backend, whatever the
//! bounds, as long as they hold.

mod common;

use cbwk_gpu::dp::cpu::{Cpu, Dense};
use cbwk_gpu::dp::{Backend, Coefficients, ContextSample, Problem, ValueTable};
use cbwk_gpu::world::World;
use common::{random_instance, random_shape, rng};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// Tables of one problem with rho itself, with ucb in place of both bounds, and with both bounds.
struct Tables {
    truth: ValueTable,
    coupled: ValueTable,
    separate: ValueTable,
}

/// Bounds that hold rho, as the three kinds of coefficients; with `broken` some upper bounds lie below rho.
fn three_kinds(
    rng: &mut ChaCha8Rng,
    world: &World,
    sample: &ContextSample,
    broken: bool,
) -> [Coefficients; 3] {
    let actions = sample.actions();
    let mut kinds: [Coefficients; 3] = std::array::from_fn(|_| {
        let mut coefficients = Coefficients::default();
        coefficients.resize_for(sample);
        coefficients
    });
    for pair in 0..sample.len() * actions {
        let rho = world.rho(&sample.context(pair / actions), pair % actions + 1);
        let lcb = rho * rng.random::<f64>();
        let ucb = match broken {
            true => rho * 0.5,
            false => rho + (1.0 - rho) * rng.random::<f64>(),
        };
        let reward = sample.reward(pair / actions, pair % actions + 1);
        for (kind, (ucb, lcb)) in kinds.iter_mut().zip([(rho, rho), (ucb, ucb), (ucb, lcb)]) {
            (kind.gain[pair], kind.lcb[pair]) = Coefficients::of(ucb, lcb, reward);
        }
    }
    kinds
}

fn tables(backend: &mut dyn Backend, world: &World, kinds: &[Coefficients; 3]) -> Tables {
    let sample = world.law_sample(false).unwrap();
    let problem = |coefficients, cap| Problem {
        sample: &sample,
        coefficients,
        budget_max: world.task().budget_max(),
        cap,
    };
    let cap = Some(world.task().reward_max());
    // The coupled table needs no cap: it is the value of a true decision process.
    let batch = [
        problem(&kinds[0], None),
        problem(&kinds[1], None),
        problem(&kinds[2], cap),
    ];
    let mut solved = backend.solve(&batch).unwrap().into_iter();
    let mut next = || solved.next().unwrap();
    Tables {
        truth: next(),
        coupled: next(),
        separate: next(),
    }
}

/// The largest amount by which the order is violated, relative to r_max * min(b, H), and by which the coupled table
/// passes the cap.
fn violation(tables: &Tables, r_max: f64) -> f64 {
    let horizon = tables.truth.horizon();
    let mut worst: f64 = 0.0;
    for h in 0..horizon {
        let rows = tables.truth.row(h).iter().zip(tables.coupled.row(h));
        for (b, ((truth, coupled), separate)) in rows.zip(tables.separate.row(h)).enumerate() {
            let scale = r_max.max(f64::MIN_POSITIVE) * b.clamp(1, horizon) as f64;
            let cap = b.min(horizon - h) as f64 * r_max;
            let excess = (truth - coupled).max(coupled - separate).max(coupled - cap);
            worst = worst.max(excess / scale);
        }
    }
    worst
}

/// Whether a table is larger than another anywhere.
fn exceeds(table: &ValueTable, other: &ValueTable) -> bool {
    let rows = (0..table.horizon()).flat_map(|h| table.row(h).iter().zip(other.row(h)));
    rows.into_iter().any(|(x, y)| *x > y + 1e-3)
}

fn check(backend: &mut dyn Backend, problems: usize, tolerance: f64) {
    let mut rng = rng(81);
    let mut gaps = [0, 0];
    for _ in 0..problems {
        let shape = random_shape(&mut rng);
        let world = random_instance(&mut rng, shape);
        let sample = world.law_sample(false).unwrap();
        let kinds = three_kinds(&mut rng, &world, &sample, false);
        let found = tables(backend, &world, &kinds);
        let worst = violation(&found, world.task().reward_max());
        assert!(worst <= tolerance, "{shape:?}: {worst}");
        gaps[0] += usize::from(exceeds(&found.coupled, &found.truth));
        gaps[1] += usize::from(exceeds(&found.separate, &found.coupled));
        // The control: upper bounds that miss are caught, unless there is nothing to earn.
        let kinds = three_kinds(&mut rng, &world, &sample, true);
        let found = tables(backend, &world, &kinds);
        if found.truth.start(world.task().budget_max()) > 1e-3 {
            assert!(
                violation(&found, world.task().reward_max()) > 1e-6,
                "{shape:?}"
            );
        }
    }
    // The three differ on most problems, or nothing was tested.
    assert!(gaps.iter().all(|gap| *gap > problems / 2), "{gaps:?}");
}

#[test]
fn on_the_cpu() {
    check(&mut Dense, 400, 1e-14);
    check(&mut Cpu::default(), 400, 1e-13);
}

#[test]
fn on_the_gpu() {
    if let Some(mut gpu) = common::gpu(false) {
        check(&mut gpu, 200, 2e-6);
    }
}
