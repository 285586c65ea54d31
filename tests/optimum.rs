//! Optima: solved by hand, by brute force over all policies, by others' software, and by simulation.

mod common;

use std::sync::Arc;

use approx::assert_abs_diff_eq;
use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::experiment::{self, Purpose, Streams};
use cbwk_gpu::world::{Optimum, World};
use common::{Shape, random_instance, rng, study, table_instance};

fn exact(instance: World) -> Optimum {
    Optimum::exact(&Arc::new(instance), &mut Dense)
        .unwrap()
        .unwrap()
}

/// One step, one context, prices 2 (sells with 1/2) and 3 (sells with 1/4): 2 * 1/2 = 1 beats 3 * 1/4.
#[test]
fn one_step_by_hand() {
    let optimum = exact(table_instance(
        &[&[2.0, 3.0]],
        &[&[1, 1]],
        &[&[0.5, 0.25]],
        &[&[1.0]],
        1,
    ));
    assert_eq!(optimum.table.start(0), 0.0);
    assert_abs_diff_eq!(optimum.table.start(1), 1.0, epsilon = 1e-15);
}

/// Two steps, one unit, the same prices.
///
/// Last step: 1, at price 2. First step: price 2 gives 1/2 * 2 + 1/2 * 1 = 3/2; price 3 gives 1/4 * 3 + 3/4 * 1 = 3/2;
/// waiting gives 1. So opt(1) = 3/2, and opt(2) = 2 * 1 = 2 because two units never run short.
#[test]
fn two_steps_by_hand() {
    let optimum = exact(table_instance(
        &[&[2.0, 3.0]],
        &[&[1, 1]],
        &[&[0.5, 0.25]],
        &[&[1.0], &[1.0]],
        2,
    ));
    assert_abs_diff_eq!(optimum.table.start(1), 1.5, epsilon = 1e-15);
    assert_abs_diff_eq!(optimum.table.start(2), 2.0, epsilon = 1e-15);
}

/// Three steps, two context types of equal weight, one sure action each: the poor type pays 1 for a unit, the rich type
/// 3 for two units.
///
/// h = 3: u(1) = 1/2 (poor only), u(2) = 1/2 + 3/2 = 2.
/// h = 2, b = 1: poor sells, 1 > u3(1) = 1/2; rich waits, 1/2: u(1) = 1/2 (1 + 1/2) = 3/4.
/// h = 2, b = 2: poor sells, 1 + 1/2 < u3(2) = 2, so it waits: 2; rich sells: 3: u(2) = 5/2.
/// h = 1, b = 1: poor 1, rich waits 3/4: 7/8. b = 2: poor sells 1 + 3/4 < 5/2, waits: 5/2; rich 3: u(2) = 11/4.
#[test]
fn three_steps_by_hand() {
    let half: &[f64] = &[0.5, 0.5];
    let optimum = exact(table_instance(
        &[&[1.0], &[3.0]],
        &[&[1], &[2]],
        &[&[1.0], &[1.0]],
        &[half, half, half],
        2,
    ));
    let expected = [[0.0, 0.875, 2.75], [0.0, 0.75, 2.5], [0.0, 0.5, 2.0]];
    for (h, row) in expected.iter().enumerate() {
        assert_eq!(optimum.table.row(h), row, "step {}", h + 1);
    }
}

/// The best of all deterministic policies: every map from (step, budget, context) to a feasible action, each evaluated
/// by its own expectation. Budgets that cannot be reached are left out.
fn best_of_all_policies(instance: &World, budget: u32) -> (f64, u64) {
    let laws = instance.contexts();
    // A policy is a list of choices, one per (step, reachable budget, type), in a fixed order.
    let horizon = instance.task().horizon();
    let types = laws.support().len() as u32;
    let context = |step: usize, point: u32| cbwk_gpu::task::Context {
        step,
        features: laws.support().features(point),
        point: Some(point),
    };
    let mut places = Vec::new();
    for step in 0..horizon {
        for b in 0..=budget {
            for point in 0..types {
                let choices: Vec<usize> = std::iter::once(0)
                    .chain(
                        (1..=instance.task().actions())
                            .filter(|&a| instance.task().feasible(&context(step, point), a, b)),
                    )
                    .collect();
                places.push(choices);
            }
        }
    }
    let total: u64 = places.iter().map(|c| c.len() as u64).product();
    assert!(total <= 3_000_000, "{total} policies are too many to try");
    let mut best = f64::NEG_INFINITY;
    for number in 0..total {
        let mut rest = number;
        let policy: Vec<usize> = places
            .iter()
            .map(|choices| {
                let choice = choices[(rest % choices.len() as u64) as usize];
                rest /= choices.len() as u64;
                choice
            })
            .collect();
        let mut later = vec![0.0; budget as usize + 1];
        for step in (0..horizon).rev() {
            let (points, weights) = laws.days()[0].finite(step).unwrap();
            let arrival = 1.0 - laws.days()[0].no_arrival(step);
            let mut now = later.clone();
            for b in 0..=budget as usize {
                for (&point, weight) in points.iter().zip(weights) {
                    let place =
                        (step * (budget as usize + 1) + b) * types as usize + point as usize;
                    let action = policy[place];
                    if action > 0 {
                        let theta = context(step, point);
                        let gain = instance.task().reward(&theta, action)
                            + later[b - instance.task().cost(&theta, action) as usize]
                            - later[b];
                        now[b] += arrival * weight * instance.rho(&theta, action) * gain;
                    }
                }
            }
            later = now;
        }
        best = best.max(later[budget as usize]);
    }
    (best, total)
}

#[test]
fn brute_force_over_all_policies_agrees() {
    let mut rng = rng(11);
    let shapes = [
        (2, 2, 2, 2, 2),
        (3, 2, 1, 2, 2),
        (2, 1, 3, 3, 3),
        (1, 3, 2, 2, 2),
        (4, 1, 2, 1, 2),
    ];
    for round in 0..5 {
        for (horizon, types, actions, cost_max, budget) in shapes {
            let shape = Shape {
                horizon,
                types,
                actions,
                cost_max,
                budget,
            };
            let instance = random_instance(&mut rng, shape);
            // Costs drawn small may make less than the budget spendable.
            let budget = instance.task().budget_max();
            let (best, policies) = best_of_all_policies(&instance, budget);
            let optimum = Optimum::exact(&instance, &mut Dense).unwrap().unwrap();
            assert_abs_diff_eq!(optimum.table.start(budget), best, epsilon = 1e-12);
            assert!(policies > 1 || best == 0.0, "round {round}: {shape:?}");
        }
    }
}

/// Values published with the definition of the two experiments, six decimals, budgets 0 to 5.
#[test]
fn known_values_of_the_papers_experiments() {
    let known = [
        (
            "paper-auction",
            [0.0, 3.096432, 5.438661, 7.151783, 8.350458, 9.214368],
        ),
        (
            "paper-pricing",
            [0.0, 3.929430, 7.559875, 10.589666, 12.863936, 14.481368],
        ),
    ];
    for (name, values) in known {
        let optimum = Optimum::exact(&study(name, |_| {}).world, &mut Dense)
            .unwrap()
            .unwrap();
        for (b, value) in values.iter().enumerate() {
            assert_abs_diff_eq!(optimum.table.start(b as u32), value, epsilon = 1e-6);
        }
    }
}

/// Optima and fluid bounds of small instances against SciPy.
///
/// Recipe: UB is `scipy.optimize.linprog(method="highs")` on the linear program over x[h, type, action] (action 0 is
/// null) with one budget row and one simplex row per (h, type); opt is the Bellman recursion in NumPy.
#[test]
fn optima_and_fluid_bounds_agree_with_scipy() {
    let one = table_instance(
        &[&[2.8, 4.78], &[1.15, 4.77]],
        &[&[1, 1], &[3, 2]],
        &[&[0.8, 0.45], &[0.57, 0.12]],
        &[&[0.53, 0.47], &[0.62, 0.38], &[0.73, 0.27]],
        4,
    );
    let two = table_instance(
        &[&[1.68, 1.84], &[4.16, 0.91], &[3.2, 3.78]],
        &[&[3, 1], &[3, 1], &[2, 1]],
        &[&[0.66, 0.58], &[0.23, 0.47], &[0.67, 0.46]],
        &[
            &[0.12, 0.35, 0.53],
            &[0.38, 0.33, 0.29],
            &[0.44, 0.44, 0.12],
        ],
        4,
    );
    let three = table_instance(
        &[
            &[0.89, -0.7, 4.11],
            &[3.12, 0.92, 2.45],
            &[2.66, 1.22, 3.81],
        ],
        &[&[1, 1, 2], &[2, 3, 2], &[2, 2, 2]],
        &[&[0.73, 0.91, 0.34], &[0.65, 0.69, 0.35], &[0.1, 0.93, 0.35]],
        &[
            &[0.55, 0.18, 0.27],
            &[0.06, 0.56, 0.38],
            &[0.43, 0.21, 0.36],
        ],
        4,
    );
    // (budget, UB, opt)
    let figures = [
        [
            (1, 4.411170000000, 3.053374290800),
            (2, 4.865131755102, 4.291279825024),
            (4, 4.945360000000, 4.855861113607),
        ],
        [
            (1, 2.668701333333, 2.063340672535),
            (2, 3.824185454545, 2.918417088322),
            (4, 4.129248000000, 3.774163286580),
        ],
        [
            (1, 2.011080000000, 0.540545755295),
            (2, 3.713979000000, 2.969402947766),
            (4, 4.726731000000, 4.416048563434),
        ],
    ];
    for (instance, figures) in [one, two, three].into_iter().zip(figures) {
        let optimum = exact(instance);
        for (budget, fluid, opt) in figures {
            assert_abs_diff_eq!(optimum.fluid[budget], fluid, epsilon = 1e-11);
            assert_abs_diff_eq!(optimum.table.start(budget as u32), opt, epsilon = 1e-11);
        }
    }
}

#[test]
fn the_fluid_bound_is_never_below_the_optimum() {
    let mut rng = rng(12);
    for _ in 0..300 {
        let shape = common::random_shape(&mut rng);
        let instance = random_instance(&mut rng, shape);
        let optimum = Optimum::exact(&instance, &mut Dense).unwrap().unwrap();
        for (b, fluid) in optimum.fluid.iter().enumerate() {
            let opt = optimum.table.start(b as u32);
            assert!(
                *fluid >= opt - 1e-12 * opt.max(1.0),
                "{fluid} < {opt} at {b}, {shape:?}"
            );
        }
    }
}

/// 100 replications of 100 episodes: the clairvoyant's mean reward is opt within 4 standard errors (false alarm 6e-5 per
/// preset), on every preset; on the continuous one, within the estimate's own error too.
#[test]
fn monte_carlo_reward_of_the_clairvoyant_is_opt() {
    for preset in cbwk_gpu::config::PRESETS {
        let study = study(preset.name, |document| {
            document.set_whole("study", "episodes", 100, "test");
            document.set_whole("study", "replications", 100, "test");
            document.choose_policies(&["clairvoyant".into()], "test");
        });
        let outcome = experiment::run(&study, &mut Dense, &mut ()).unwrap();
        let last = outcome.policies[0].regret.cumulative[99];
        let estimate_error = outcome.optimum.estimate.as_ref().map_or(0.0, |estimate| {
            let budgets = &outcome.yardstick.budgets;
            budgets
                .iter()
                .map(|&b| estimate.standard_error[b as usize])
                .sum()
        });
        let error = last.standard_error.hypot(estimate_error);
        assert!(
            last.mean.abs() < 4.0 * error,
            "{}: {} +- {error}",
            preset.name,
            last.mean
        );
    }
}

/// 60 independent samples of 400 rows: the standard error reported for the estimate of opt matches the spread of the
/// estimates (chi-square with 59 degrees of freedom: a ratio outside 0.65..1.35 has probability below 1e-4), and their
/// mean is the exact optimum up to the sample's small optimism.
#[test]
fn standard_error_of_the_estimated_optimum_is_honest() {
    let study = study("paper-pricing", |_| {});
    let exact = Optimum::exact(&study.world, &mut Dense).unwrap().unwrap();
    let streams = Streams::new(5);
    let estimates: Vec<(f64, f64)> = (0..60)
        .map(|i| {
            let rows = study
                .world
                .contexts()
                .draw_rows(&mut streams.of(i, Purpose::Optimum), 400);
            let found = Optimum::from_rows(&study.world, rows, &mut Dense).unwrap();
            (
                found.table.start(5),
                found.estimate.unwrap().standard_error[5],
            )
        })
        .collect();
    let n = estimates.len() as f64;
    let mean = estimates.iter().map(|e| e.0).sum::<f64>() / n;
    let spread = (estimates.iter().map(|e| (e.0 - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let reported = estimates.iter().map(|e| e.1).sum::<f64>() / n;
    assert!(
        (0.65..1.35).contains(&(spread / reported)),
        "spread {spread}, reported {reported}"
    );
    assert!((mean - exact.table.start(5)).abs() < 4.0 * reported / n.sqrt() + 0.003);
}
