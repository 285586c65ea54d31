//! Optimistic-DP: the paper's lemmas as properties of random problems, and agreement with the algorithm word for word.

mod common;
#[path = "common/lemma_1.rs"]
mod lemma_1;

use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::dp::{
    Backend, BoundSource, Coefficients, ContextSample, Problem, ValueTable, optimistic_dp,
};
use cbwk_gpu::oracle::Known;
use cbwk_gpu::world::World;
use common::{random_bounds, random_instance, random_shape, rng, worst_difference};
use lemma_1::{assert_lemma_1_can_fail, lemma_1};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

fn solve(problem: Problem) -> ValueTable {
    Dense.solve(&[problem]).unwrap().remove(0)
}

/// A random problem on the instance's law or on rows drawn from it.
fn random_sample(rng: &mut ChaCha8Rng, instance: &World) -> ContextSample {
    if rng.random() {
        instance.law_sample(rng.random()).unwrap()
    } else {
        let rows = rng.random_range(1..=40);
        let rows = instance.contexts().draw_rows(rng, rows);
        ContextSample::of_rows(instance.task(), &rows, rng.random())
    }
}

#[test]
fn agrees_with_the_algorithm_word_for_word() {
    let mut rng = rng(21);
    for round in 0..400 {
        let shape = random_shape(&mut rng);
        let instance = random_instance(&mut rng, shape);
        let sample = random_sample(&mut rng, &instance);
        let coefficients = random_bounds(&mut rng, &instance, &sample);
        let cap = rng.random::<bool>().then_some(instance.task().reward_max());
        let problem = Problem {
            sample: &sample,
            coefficients: &coefficients,
            budget_max: shape.budget,
            cap,
        };
        let literal = optimistic_dp(&problem);
        let difference = worst_difference(&solve(problem), &literal);
        assert!(
            difference < 1e-12,
            "round {round}: {difference} on {shape:?}"
        );
        // Negative control: a small change of a used gain is detected.
        if literal[0][shape.budget as usize] > 0.0 && cap.is_none() {
            let mut moved = coefficients.clone();
            moved.gain.iter_mut().for_each(|gain| *gain *= 1.0 + 1e-6);
            let problem = Problem {
                coefficients: &moved,
                ..problem
            };
            assert!(worst_difference(&solve(problem), &literal) > 1e-12);
        }
    }
}

/// Lemma 1 and the cap, on tables as computed.
#[test]
fn lemma_1_and_the_cap_hold_on_raw_tables() {
    let mut rng = rng(22);
    for round in 0..400 {
        let shape = random_shape(&mut rng);
        let instance = random_instance(&mut rng, shape);
        let sample = random_sample(&mut rng, &instance);
        let coefficients = random_bounds(&mut rng, &instance, &sample);
        let r_max = instance.task().reward_max();
        let problem = Problem {
            sample: &sample,
            coefficients: &coefficients,
            budget_max: shape.budget,
            cap: Some(r_max),
        };
        let raw = Dense.solve_raw(&[problem]).unwrap().remove(0);
        let cost_max = instance.task().application().cost_max();
        assert_eq!(lemma_1(&raw, r_max, cost_max, true), Ok(()), "{round}");
        for h in 0..shape.horizon {
            for (b, &value) in raw.row(h).iter().enumerate() {
                let cap = b.min(shape.horizon - h) as f64 * r_max;
                assert!((0.0..=cap).contains(&value), "{value} over {cap}");
            }
        }
        if shape.budget > 0 && r_max > 0.0 {
            assert_lemma_1_can_fail(&raw, r_max, cost_max);
        }
    }
}

/// If bounds contain rho and the law is exact, the plan is optimistic: u_hat >= opt for every h and b.
#[test]
fn valid_bounds_make_the_plan_optimistic() {
    let mut rng = rng(23);
    for _ in 0..400 {
        let shape = random_shape(&mut rng);
        let instance = random_instance(&mut rng, shape);
        let law = instance.law_sample(false).unwrap();
        let optimistic = random_bounds(&mut rng, &instance, &law);
        let mut truth = Coefficients::default();
        Known::fitted(instance.clone()).fill(&law, &mut truth);
        let problem = |coefficients, cap| {
            solve(Problem {
                sample: &law,
                coefficients,
                budget_max: shape.budget,
                cap,
            })
        };
        let u_hat = problem(&optimistic, Some(instance.task().reward_max()));
        let opt = problem(&truth, None);
        for h in 0..shape.horizon {
            for (u, opt) in u_hat.row(h).iter().zip(opt.row(h)) {
                assert!(
                    u >= &(opt - 1e-12 * opt.max(1.0)),
                    "{u} < {opt} on {shape:?}"
                );
            }
        }
    }
}

/// The result is the same to the bit on 1, 2 and 4 threads, for a batch and for one problem large enough to be split.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mut rng = rng(24);
    let shape = common::Shape {
        horizon: 6,
        types: 1500,
        actions: 3,
        cost_max: 4,
        budget: 70,
    };
    let large = random_instance(&mut rng, shape);
    let law = large.law_sample(false).unwrap();
    let coefficients = random_bounds(&mut rng, &large, &law);
    let problem = Problem {
        sample: &law,
        coefficients: &coefficients,
        budget_max: shape.budget,
        cap: Some(large.task().reward_max()),
    };
    let batch = [problem; 7];
    let tables: Vec<Vec<ValueTable>> = [1, 2, 4]
        .into_iter()
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| Dense.solve(&batch).unwrap())
        })
        .collect();
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[0], tables[2]);
    assert!(worst_difference(&tables[0][0], &optimistic_dp(&problem)) < 1e-11);
}

/// Merging equal contexts changes only the order of additions.
#[test]
fn merged_contexts_give_the_same_plan() {
    let mut rng = rng(25);
    let shape = common::Shape {
        horizon: 5,
        types: 3,
        actions: 2,
        cost_max: 2,
        budget: 9,
    };
    let instance = random_instance(&mut rng, shape);
    let rows = instance.contexts().draw_rows(&mut rng, 200);
    let plan = |split| {
        let sample = ContextSample::of_rows(instance.task(), &rows, split);
        let mut coefficients = Coefficients::default();
        Known::fitted(instance.clone()).fill(&sample, &mut coefficients);
        let table = solve(Problem {
            sample: &sample,
            coefficients: &coefficients,
            budget_max: shape.budget,
            cap: None,
        });
        (sample.len(), table)
    };
    let ((merged, one), (by_step, other)) = (plan(false), plan(true));
    assert_eq!((merged, by_step), (3, 15));
    for h in 0..shape.horizon {
        for (x, y) in one.row(h).iter().zip(other.row(h)) {
            approx::assert_abs_diff_eq!(x, y, epsilon = 1e-12);
        }
    }
}
