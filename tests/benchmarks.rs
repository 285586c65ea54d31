//! The policies that the learner is compared with: square-cbwk, logistic-ucb1 and fluid. Checked against hand calculations,
//! SciPy, an independent implementation and the properties of their definitions.

mod common;
#[path = "benchmarks/square_cbwk.rs"]
mod square_cbwk;

use std::sync::Arc;

use approx::assert_abs_diff_eq;
use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::experiment;
use cbwk_gpu::fluid::{Hull, Mix, Program};
use cbwk_gpu::oracle::Known;
use cbwk_gpu::policy::{LinearProgram, Policy};
use cbwk_gpu::task::Context;
use common::{rng, study, table_instance};
use rand::RngExt;

/// A program given by formula: instance `s` with `contexts` contexts and `actions` actions; some rewards are negative.
struct Case {
    weights: Vec<f64>,
    /// By action, then context.
    costs: Vec<Vec<f64>>,
    rewards: Vec<Vec<f64>>,
}

impl Case {
    fn new(s: usize, contexts: usize, actions: usize) -> Self {
        let part = |n: usize, x: f64| (n as f64 * x).fract();
        let mut case = Self {
            weights: Vec::new(),
            costs: vec![Vec::new(); actions],
            rewards: vec![Vec::new(); actions],
        };
        for i in 0..contexts {
            let weight = (3.0 * part(s + i, 0.3819660112501051)).floor();
            case.weights.push(1.0 + weight);
            for a in 1..=actions {
                let ucb = part(131 * s + 17 * i + 7 * a, 0.6180339887498949);
                let reward = 5.0 * part(71 * s + 29 * i + 13 * a, 0.7548776662466927) - 0.5;
                let cost = (4.0 * part(37 * s + 11 * i + 5 * a, 0.5698402909980532)).floor();
                case.costs[a - 1].push(ucb * (1.0 + cost));
                let reward = if reward < 0.0 { reward } else { ucb * reward };
                case.rewards[a - 1].push(reward);
            }
        }
        case
    }

    fn program(&self) -> Program<'_> {
        let actions = self.costs.iter().zip(&self.rewards);
        Program {
            weights: &self.weights,
            actions: actions.map(|(c, r)| (&c[..], &r[..])).collect(),
            reward_max: self.rewards.iter().flatten().copied().fold(0.0, f64::max),
        }
    }

    /// The solution: a mix for every context.
    fn solve(&self, budget: f64, shuffle: u64) -> Vec<Mix> {
        let program = self.program();
        let entries = 0..self.weights.len();
        entries
            .map(|entry| program.mix(entry, budget, shuffle))
            .collect()
    }

    /// Objective, spending and number of randomised contexts of a solution.
    fn evaluate(&self, mixes: &[Mix]) -> (f64, f64, usize) {
        let (mut objective, mut spent, mut randomised) = (0.0, 0.0, 0);
        for ((entry, weight), mix) in self.weights.iter().enumerate().zip(mixes) {
            randomised += usize::from(mix.upper != mix.lower);
            for (action, share) in [(mix.lower, 1.0 - mix.share), (mix.upper, mix.share)] {
                if action > 0 {
                    let reward = self.rewards[action - 1][entry];
                    assert!(reward >= 0.0, "an infeasible action");
                    objective += weight * share * reward;
                    spent += weight * share * self.costs[action - 1][entry];
                }
            }
        }
        (objective, spent, randomised)
    }

    /// The optimal value, by buying all edges in the order of their slopes.
    fn value(&self, mut budget: f64) -> f64 {
        let mut edges = Vec::new();
        let mut hull = Hull::default();
        for (entry, weight) in self.weights.iter().enumerate() {
            let points = self.costs.iter().zip(&self.rewards);
            hull.set(points.map(|(costs, rewards)| (costs[entry], rewards[entry])));
            edges.extend(hull.edges().map(|(slope, cost)| (slope, weight * cost)));
        }
        edges.sort_by(|x, y| y.0.total_cmp(&x.0));
        let mut value = 0.0;
        for (slope, cost) in edges {
            let bought = cost.min(budget);
            value += slope * bought;
            budget -= bought;
        }
        value
    }
}

/// Values from `scipy.optimize.linprog(method="highs")` (SciPy 1.17.1) on the program over pi[context, action] with one
/// budget row and one row per context. Actions with negative rewards are fixed at 0; `Case` has the formulas.
#[test]
fn programs_agree_with_scipy() {
    let figures = [
        (1, 1, 1, 0.2, 0.077430991181),
        (2, 5, 4, 3.0, 5.191936195280),
        (3, 12, 3, 20.0, 28.954216705207),
        (4, 40, 4, 15.0, 53.116518038127),
        (5, 70, 2, 8.0, 32.109542479953),
        (6, 120, 4, 60.0, 200.021840347525),
        (7, 150, 5, 1000.0, 760.623297982013),
        (8, 300, 4, 0.0, 0.0),
    ];
    for (s, contexts, actions, budget, best) in figures {
        let case = Case::new(s, contexts, actions);
        assert_abs_diff_eq!(case.value(budget), best, epsilon = 1e-9);
        for shuffle in [0, 99] {
            let (objective, spent, randomised) = case.evaluate(&case.solve(budget, shuffle));
            assert_abs_diff_eq!(objective, best, epsilon = 1e-9);
            assert!(spent <= budget + 1e-9, "{spent} > {budget}");
            assert!(randomised <= 1);
        }
    }
}

/// Solves many programs context by context. Together the answers form one optimal solution within the budget, with at most
/// one randomised context. Includes programs of prices, where all first edges are equal, and of whole numbers, where
/// actions, edges and sums tie in every combination.
#[test]
fn answers_context_by_context_are_one_exact_solution() {
    let mut rng = rng(31);
    let (mut orders, mut solved) = (std::collections::HashSet::new(), 0);
    for kind in ["any", "prices", "whole numbers"] {
        for round in 0..150 {
            let contexts = 1 + round % 83;
            let mut case = Case::new(round, contexts, 1 + round % 5);
            for (a, (costs, rewards)) in case.costs.iter_mut().zip(&mut case.rewards).enumerate() {
                for (cost, reward) in costs.iter_mut().zip(rewards) {
                    match kind {
                        "prices" if *reward >= 0.0 => {
                            *cost = rng.random();
                            *reward = *cost * (a + 1) as f64;
                        }
                        "whole numbers" => {
                            *cost = f64::from(rng.random_range(1..4u8));
                            *reward = f64::from(rng.random_range(-1..5i8));
                        }
                        _ => {}
                    }
                }
            }
            let total = case.weights.iter().sum::<f64>();
            let mut budget = 0.3 * (round % 7) as f64 * total;
            if kind == "whole numbers" {
                budget = budget.round();
            }
            let mixes = case.solve(budget, round as u64);
            let (objective, spent, randomised) = case.evaluate(&mixes);
            assert_abs_diff_eq!(objective, case.value(budget), epsilon = 1e-9);
            assert!(spent <= budget + 1e-9 && randomised <= 1);
            solved += 1;
            if kind == "prices" && contexts == 40 {
                for shuffle in 0..50 {
                    let mixes = case.solve(0.1 * total, shuffle);
                    let served: Vec<usize> = mixes.iter().map(|mix| mix.lower).collect();
                    orders.insert(served);
                }
            }
        }
    }
    assert_eq!(solved, 450);
    // Almost every shuffle number gives a different order of ties.
    assert!(orders.len() > 40, "{} orders", orders.len());
}

/// Logistic-UCB1 on one context and one action with rho known, H = 4, B = 2: the program serves the share
/// (2/4) / rho of the steps if that is below 1. With rho = 0.8 it is 0.625.
#[test]
fn logistic_ucb1_serves_the_share_that_the_budget_allows() {
    let steps: [&[f64]; 4] = [&[1.0]; 4];
    let instance = Arc::new(table_instance(&[&[3.0]], &[&[1]], &[&[0.8]], &steps, 2));
    let oracle = Box::new(Known::new(instance.clone()));
    let mut policy =
        LinearProgram::logistic_ucb1(Arc::clone(instance.task()), oracle, 0.1, 0.0, rng(5));
    let mut served = 0.0;
    for step in 0..4000 {
        if step % 4 == 0 {
            policy.start_episode(step / 4 + 1, 2);
        }
        let context = Context {
            step: step % 4,
            features: &[0.0],
            point: Some(0),
        };
        // The budget left is always large enough, so only the program decides.
        served += policy.choose(&context, 2) as f64;
    }
    // 4 standard deviations of a share of 4,000 draws: false alarm 6e-5.
    assert!((served / 4000.0 - 0.625).abs() < 4.0 * (0.625f64 * 0.375 / 4000.0).sqrt());
    // A correction as large as the budget leaves nothing to spend.
    let oracle = Box::new(Known::new(instance.clone()));
    let mut policy =
        LinearProgram::logistic_ucb1(Arc::clone(instance.task()), oracle, 0.1, 2.0, rng(5));
    policy.start_episode(1, 2);
    let context = Context {
        step: 0,
        features: &[0.0],
        point: Some(0),
    };
    assert_eq!(policy.choose(&context, 2), 0);
}

/// The fluid policy's mean reward matches the evaluation of its plan within 4 standard errors over 10,000 episodes (false
/// alarm 6e-5), and is less than opt. So is that of the fluid policy without re-solving; its plan depends on the starting
/// budget and is not evaluated.
#[test]
fn the_fluid_policy_earns_its_expected_reward() {
    let text = cbwk_gpu::config::preset("paper-auction").unwrap().text;
    let start = text.find("[[policies]]").unwrap();
    let text = format!(
        "{}[[policies]]\nkind = \"fluid\"\n[[policies]]\nkind = \"fluid\"\nname = \"fixed\"\nresolve = false\n",
        &text[..start]
    );
    let document = cbwk_gpu::config::Document::parse("fluid.toml".as_ref(), &text).unwrap();
    let study = cbwk_gpu::config::Study::from_document(&document).unwrap();
    let mut records = Vec::new();
    let outcome = experiment::run(&study, &mut Dense, &mut records).unwrap();
    let first = |policy: &str| records.iter().find(|r| r.policy == policy).unwrap();
    let opt = outcome.optimum.table.start(5);
    let expected = first("fluid").episodes[0].expected.unwrap();
    assert!(
        expected < opt && expected > 0.9 * opt,
        "{expected} of {opt}"
    );
    let last = outcome.policies[0].regret.cumulative[199];
    let difference = last.mean - 200.0 * (opt - expected);
    assert!(difference.abs() < 4.0 * last.standard_error, "{difference}");
    assert!(first("fixed").episodes[0].expected.is_none());
    assert!(last.lower() > 0.0 && outcome.policies[1].regret.cumulative[199].lower() > 0.0);
}

/// Compares 50 replications of the paper's auction with 40 of a NumPy implementation written only from the definitions
/// (other random numbers), within 4 joint standard errors: a false alarm has probability 6e-5 per figure. Policies that
/// change within an episode have no expected regret. `python3 tests/traces.py --studies 200` is such an implementation.
#[test]
fn regrets_match_the_numpy_implementation() {
    let figures = [
        ("square-cbwk", 1464.574, 3.962),
        ("logistic-ucb1", 225.099, 10.168),
    ];
    let names = figures.map(|figure| figure.0.to_string());
    let study = study("paper-auction", |document| {
        document.choose_policies(&names, "test");
    });
    let mut records = Vec::new();
    let outcome = experiment::run(&study, &mut Dense, &mut records).unwrap();
    let mut episodes = records.iter().flat_map(|record| &record.episodes);
    assert!(episodes.all(|e| e.expected.is_none()));
    for (name, mean, error) in figures {
        let policy = outcome.policies.iter().find(|policy| policy.name == name);
        let policy = policy.unwrap();
        let last = policy.regret.cumulative[199];
        let joint = last.standard_error.hypot(error);
        assert!(
            (last.mean - mean).abs() < 4.0 * joint,
            "{name}: {} against {mean}",
            last.mean
        );
    }
}
