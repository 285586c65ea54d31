//! Which strategy solves a problem: the choice by size, the refusal without structure, the command line, and the same bits
//! on any number of threads.

mod common;
#[path = "common/structured_problems.rs"]
mod structured_problems;

use cbwk_gpu::dp::cpu::{Cpu, Strategy};
use cbwk_gpu::dp::{
    Backend, BoundSource, ContextSample, PlanRequest, Precision, Problem, ValueTable,
};
use cbwk_gpu::task::ApplicationSpec;
use cbwk_gpu::world::{LawSpec, World};
use common::{cbwk, cbwk_ok, random_bounds, rng};
use rand::rngs::ChaCha8Rng;
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

/// The choice is made for the problem's size, and a strategy without its structure is refused.
#[test]
fn the_likely_fastest_strategy_is_chosen() {
    let mut rng = rng(68);
    let law = |points| LawSpec::Grid {
        low: vec![0.0],
        high: vec![9.0],
        points: vec![points],
    };
    let auction = |points| {
        let bids = (1..=8).collect();
        instance(6, 40, ApplicationSpec::Auction { bids }, law(points))
    };
    let pricing = |points, budget| {
        let prices = vec![1.0, 2.0, 3.0];
        let pricing = ApplicationSpec::Pricing { prices };
        instance(budget as usize, budget, pricing, law(points))
    };
    let solve = |cpu: &mut Cpu, rng: &mut ChaCha8Rng, instance: &World, rows: usize| {
        let sample = match rows {
            0 => instance.law_sample(false).unwrap(),
            _ => {
                let rows = instance.contexts().draw_rows(rng, rows);
                ContextSample::of_rows(instance.task(), &rows, false)
            }
        };
        let actions = instance.task().actions();
        let source = ActionBounds::random(rng, actions, instance.task().horizon(), false);
        let request = PlanRequest {
            sample: &sample,
            source: &source,
            budget_max: instance.task().budget_max(),
            reward_max: instance.task().reward_max(),
        };
        cpu.plan(&[request]).map(|_| cpu.report().strategies)
    };
    for (instance, rows, expected) in [
        (auction(10), 0, "dense"),
        (auction(5000), 0, "auction-envelope"),
        (auction(100_000), 3000, "auction-envelope"),
        (pricing(10, 5), 0, "dense"),
        (pricing(500, 5), 40, "dense"),
        (pricing(500, 300), 0, "shared-envelope"),
        (pricing(100_000, 600), 300, "gap-envelope"),
    ] {
        let mut cpu = Cpu::default();
        let chosen = solve(&mut cpu, &mut rng, &instance, rows).unwrap();
        assert_eq!(chosen, [(expected.to_string(), 1)]);
    }
    for (strategy, instance, rows) in [
        (Strategy::AuctionEnvelope, pricing(10, 5), 0),
        (Strategy::GapEnvelope, auction(10), 0),
        (Strategy::SharedEnvelope, auction(10), 0),
        (Strategy::SharedEnvelope, pricing(10, 5), 7),
    ] {
        let refused = solve(&mut forced(strategy), &mut rng, &instance, rows);
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
        ("paper-auction", "auto", "dense"),
        ("paper-auction", "dense", "dense"),
        ("paper-auction", "auction-envelope", "auction-envelope"),
        ("paper-pricing", "gap-envelope", "gap-envelope"),
    ] {
        let out = format!("{preset}-{strategy}");
        let args = simulate(preset, &["--strategy", strategy, "--out", &out]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let run: serde_json::Value = serde_json::from_str(&cbwk_ok(folder.path(), &args)).unwrap();
        // 20 episodes of which every other one is reserved, 2 replications.
        assert_eq!(
            run["strategies"],
            serde_json::json!({ expected: 20 }),
            "{args:?}"
        );
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
                &["--strategy", "gap-envelope", "--out", "x"],
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
            simulate("paper-pricing", &["--strategy", "fast"]),
            "possible values",
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
