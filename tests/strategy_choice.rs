//! Which strategy solves a problem: the choice by size, the refusal without structure, the command line, and the same bits
//! on any number of threads.

mod common;
#[path = "common/structured_problems.rs"]
mod structured_problems;

use std::sync::Arc;

use cbwk_gpu::dp::cpu::{Cpu, Strategy};
use cbwk_gpu::dp::{
    Backend, BackendError, BoundSource, ContextSample, PlanRequest, Precision, Problem, ValueTable,
};
use cbwk_gpu::task::ApplicationSpec;
use cbwk_gpu::world::{LawSpec, World};
use common::{cbwk, cbwk_ok, random_bounds, rng};
use structured_problems::{ActionBounds, instance};

fn forced(strategy: Strategy) -> Cpu {
    Cpu::new(Some(strategy), Precision::F64)
}

#[test]
fn every_strategy_gives_the_same_bits_on_any_number_of_threads() {
    let law = LawSpec::Grid {
        low: vec![0.0],
        high: vec![9.0],
        points: vec![5000],
    };
    let prices = vec![1.0, 2.0, 3.0];
    let pricing = instance(90, 90, ApplicationSpec::Pricing { prices }, law.clone());
    let bids = (1..=8).collect();
    let auction = instance(30, 200, ApplicationSpec::Auction { bids }, law);
    let mut tables = Vec::new();
    for threads in [1, 2, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let all: Vec<ValueTable> = pool.build().unwrap().install(|| {
            let mut rng = rng(67);
            let mut all = Vec::new();
            for strategy in Strategy::ALL {
                let instance = match strategy {
                    Strategy::AuctionEnvelope => &auction,
                    _ => &pricing,
                };
                let sample = instance.law_sample(false).unwrap();
                let mut coefficients = random_bounds(&mut rng, instance, &sample);
                if strategy == Strategy::AuctionEnvelope {
                    let source = ActionBounds::random(&mut rng, 8, 30, false);
                    source.fill(&sample, &mut coefficients);
                }
                let problem = Problem {
                    sample: &sample,
                    coefficients: &coefficients,
                    budget_max: instance.task().budget_max(),
                    cap: Some(instance.task().reward_max()),
                };
                for terms in [Precision::F64, Precision::F32] {
                    let mut cpu = Cpu::new(Some(strategy), terms);
                    all.extend(cpu.solve(&[problem, problem]).unwrap());
                }
            }
            all
        });
        tables.push(all);
    }
    assert!(tables[0] == tables[1] && tables[0] == tables[2]);
    // The comparison sees single bits: 32-bit terms differ.
    assert!(tables[0][0] == tables[0][1] && tables[0][0] != tables[0][2]);
}

/// Points on a line, as contexts.
fn grid(points: usize) -> LawSpec {
    LawSpec::Grid {
        low: vec![0.0],
        high: vec![9.0],
        points: vec![points],
    }
}

fn auction(points: usize) -> Arc<World> {
    let bids = (1..=8).collect();
    instance(6, 40, ApplicationSpec::Auction { bids }, grid(points))
}

fn pricing(points: usize, budget: u32) -> Arc<World> {
    let prices = vec![1.0, 2.0, 3.0];
    let pricing = ApplicationSpec::Pricing { prices };
    instance(budget as usize, budget, pricing, grid(points))
}

/// Plans once, over the law or over rows of it; returns the strategy that did.
fn strategy_for(
    cpu: &mut Cpu,
    instance: &World,
    rows: Option<usize>,
    seed: u64,
) -> Result<String, BackendError> {
    let mut rng = rng(seed);
    let sample = match rows {
        None => instance.law_sample(false).unwrap(),
        Some(rows) => {
            let rows = instance.contexts().draw_rows(&mut rng, rows);
            ContextSample::of_rows(instance.task(), &rows, false)
        }
    };
    let source = ActionBounds::random(
        &mut rng,
        instance.task().actions(),
        instance.task().horizon(),
        false,
    );
    let request = PlanRequest {
        sample: &sample,
        source: &source,
        budget_max: instance.task().budget_max(),
        reward_max: instance.task().reward_max(),
    };
    cpu.plan(&[request])?;
    let report = cpu.report().strategies;
    assert_eq!((report.len(), report[0].1), (1, 1));
    Ok(report[0].0.clone())
}

/// Whatever the constants of the cost model are: the smallest problems are solved densely, from some size on the shortcut
/// for the structure is taken, and never again the dense solver beyond.
#[test]
fn shortcuts_are_taken_from_some_size_on() {
    let sizes = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000];
    let by_contexts = sizes.map(|points| (auction(points.max(2)), None));
    let by_budget = [2, 6, 20, 60, 200, 600].map(|budget| (pricing(500, budget), None));
    for (cases, shortcut) in [
        (by_contexts.to_vec(), "auction-envelope"),
        (by_budget.to_vec(), "shared-envelope"),
    ] {
        let chosen: Vec<String> = cases
            .iter()
            .map(|(instance, rows)| strategy_for(&mut Cpu::default(), instance, *rows, 68).unwrap())
            .collect();
        let dense = chosen.iter().take_while(|name| *name == "dense").count();
        let rest_is_shortcut = chosen[dense..].iter().all(|name| name == shortcut);
        assert!(
            dense > 0 && dense < chosen.len() && rest_is_shortcut,
            "{chosen:?}"
        );
    }
}

/// The choice, and so the bits of a plan, depends on sizes alone, not on bounds, threads or earlier solves.
#[test]
fn the_choice_depends_on_sizes_alone() {
    let cases = [
        auction(50),
        auction(300),
        auction(5000),
        pricing(500, 60),
        pricing(500, 300),
    ];
    let choices = |threads: usize, seed: u64| -> Vec<String> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let choose = |instance: &Arc<World>| {
                let mut cpu = Cpu::default();
                strategy_for(&mut cpu, instance, None, seed).unwrap()
            };
            cases.iter().map(choose).collect()
        })
    };
    let first = choices(1, 1);
    assert_eq!(first, choices(4, 1));
    assert_eq!(first, choices(2, 9));
    // The cases are not all alike.
    assert!(first.iter().any(|name| name != "dense"), "{first:?}");
    assert!(first.iter().any(|name| *name != first[0]), "{first:?}");
}

/// A strategy without its structure is refused.
#[test]
fn strategies_without_their_structure_are_refused() {
    for (strategy, instance, rows) in [
        (Strategy::AuctionEnvelope, pricing(10, 5), None),
        (Strategy::SharedEnvelope, auction(10), None),
        (Strategy::SharedEnvelope, pricing(10, 5), Some(7)),
    ] {
        let refused = strategy_for(&mut forced(strategy), &instance, rows, 68);
        assert_eq!(refused.unwrap_err(), strategy.refused());
    }
}

/// `--strategy` on both commands: what ran is in the JSON, and a wrong one is refused with exit code 2 before anything
/// is written.
#[test]
fn strategies_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let small = [
        "--episodes",
        "20",
        "--replications",
        "2",
        "--policy",
        "mimic-opt-dp",
    ];
    let simulate = |preset: &str, more: &[&str]| -> Vec<String> {
        let args = ["simulate", "--preset", preset, "--format", "json"];
        let all = args.iter().chain(&small).chain(more);
        all.map(|arg| (*arg).to_string()).collect()
    };
    for (preset, strategy, expected) in [
        ("paper-auction", "auto", None),
        ("paper-auction", "dense", Some("dense")),
        (
            "paper-auction",
            "auction-envelope",
            Some("auction-envelope"),
        ),
        ("paper-pricing", "auto", Some("dense")),
    ] {
        let out = format!("{preset}-{strategy}");
        let args = simulate(preset, &["--strategy", strategy, "--out", &out]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let run: serde_json::Value = serde_json::from_str(&cbwk_ok(folder.path(), &args)).unwrap();
        // 20 episodes of which every other one is reserved, 2 replications.
        let used = run["strategies"].as_object().unwrap();
        let plans: u64 = used.values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(plans, 20, "{args:?}");
        if let Some(expected) = expected {
            assert!(used.len() == 1 && used.contains_key(expected), "{used:?}");
        }
    }
    // The same regrets to rounding: strategies take the same decisions.
    let regrets = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(
        regrets("paper-auction-dense/episodes.csv"),
        regrets("paper-auction-auction-envelope/episodes.csv")
    );
    let solve = [
        "solve",
        "--preset",
        "paper-pricing",
        "--format",
        "json",
        "--strategy",
    ];
    let solved = cbwk_ok(folder.path(), &[&solve[..], &["shared-envelope"]].concat());
    let solved: serde_json::Value = serde_json::from_str(&solved).unwrap();
    assert_eq!(
        solved["strategies"],
        serde_json::json!({"shared-envelope": 1})
    );
    for (args, message) in [
        (
            simulate(
                "paper-pricing",
                &["--strategy", "auction-envelope", "--out", "x"],
            ),
            "an auction",
        ),
        (
            simulate(
                "paper-auction",
                &["--strategy", "shared-envelope", "--out", "x"],
            ),
            "all cost 1",
        ),
        (
            simulate(
                "paper-pricing",
                &["--strategy", "shared-envelope", "--out", "x"],
            ),
            "several steps",
        ),
        (
            simulate(
                "paper-pricing",
                &["--strategy", "dense", "--backend", "gpu"],
            ),
            "the CPU's",
        ),
        (
            simulate("paper-pricing", &["--strategy", "gap-envelope"]),
            "[possible values: auto, dense, auction-envelope, shared-envelope]",
        ),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = cbwk(folder.path(), &args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(message), "{error}");
    }
    assert!(!folder.path().join("x").exists());
}
