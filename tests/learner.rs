//! Compares Mimic-Opt-DP, step by step, with an independent NumPy implementation on the same contexts and acceptance
//! uniforms, and whole studies with its statistics. `python3 tests/traces.py`, written only from the paper, prints the
//! figures of the traces; with `--studies 200`, those of the studies (with other random numbers than those recorded here).

mod common;

use std::sync::Arc;

use approx::assert_abs_diff_eq;
use cbwk_gpu::dp::ValueTable;
use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::experiment::{self, Purpose, Streams};
use cbwk_gpu::oracle::{LogisticParameters, OracleSpec};
use cbwk_gpu::policy::{
    InitialRows, MakePolicy, Plan, Policy, PolicySetting, PolicySpec, Start, advance,
};
use cbwk_gpu::task::{ContextRows, EpisodeContexts};
use cbwk_gpu::world::World;
use common::study;

const T: usize = 200;
const H: usize = 24;

/// A policy's actions and plans on contexts and acceptance uniforms given by formula.
struct Trace {
    actions: Vec<usize>,
    rewards: Vec<f64>,
    plans: Vec<Vec<f64>>,
    last: ValueTable,
}

/// An offer at episode t, step h (1-based) is accepted if frac((24 (t-1) + h) 0.6180339887498949) < rho.
fn replay(instance: &Arc<World>, spec: &PolicySpec, theta: fn(u64, u64) -> Vec<f64>) -> Trace {
    let setting = PolicySetting {
        task: Arc::clone(instance.task()),
        truth: instance.clone(),
        optimum: vec![Arc::new(ValueTable::zeros(H, 5))],
        fluid: Vec::new(),
        delta: 0.1,
        episodes: T,
    };
    let streams = Streams::new(1);
    let config = spec.check("policies[1]", instance.task()).unwrap();
    let start = Start {
        drawn_rows: (config.rows_to_draw() > 0).then(|| {
            let mut stream = streams.of(0, Purpose::InitialRows);
            let laws = instance.contexts();
            laws.draw_rows(&mut stream, config.rows_to_draw())
        }),
        oracle: common::rng(0),
        choices: streams.of(0, Purpose::Policy("learner")),
    };
    let mut policy = config.make(&setting, start);
    let mut rows = ContextRows::new(H, instance.contexts().dimension());
    for t in 1..=T as u64 {
        for h in 1..=H as u64 {
            rows.push(Some(&theta(t, h)));
        }
    }
    let mut trace = Trace {
        actions: Vec::new(),
        rewards: Vec::new(),
        plans: Vec::new(),
        last: ValueTable::zeros(H, 5),
    };
    for t in 1..=T {
        let contexts = EpisodeContexts::of_row(&rows, t - 1, instance.task().support());
        policy.start_episode(t, 5);
        trace.plans.push(table_of(policy.as_ref()).row(0).to_vec());
        let (mut budget, mut reward) = (5, 0.0);
        for context in contexts.iter() {
            let x = (24 * (t - 1) + context.step + 1) as f64 * 0.6180339887498949;
            let action = policy.choose(&context, budget);
            let converted = action > 0 && x - x.floor() < instance.rho(&context, action);
            if converted {
                reward += instance.task().reward(&context, action);
                budget -= instance.task().cost(&context, action);
            }
            policy.observe(&context, action, converted);
            trace.actions.push(action);
        }
        trace.rewards.push(reward);
        if policy.learn(&contexts) {
            advance(&mut [policy.as_mut()], t + 1, &mut Dense).unwrap();
        }
    }
    trace.last = table_of(policy.as_ref()).clone();
    trace
}

fn table_of(policy: &dyn Policy) -> &ValueTable {
    match policy.plan() {
        Some(Plan::Greedy { u_hat, .. }) => u_hat,
        other => panic!("{other:?} has no table"),
    }
}

impl Trace {
    fn counts(&self) -> [usize; 5] {
        let mut counts = [0; 5];
        self.actions.iter().for_each(|&a| counts[a] += 1);
        counts
    }

    fn checksum(&self) -> usize {
        self.actions
            .iter()
            .enumerate()
            .map(|(i, a)| a * (i + 1))
            .sum()
    }

    fn episode(&self, t: usize) -> String {
        self.actions[(t - 1) * H..t * H]
            .iter()
            .map(usize::to_string)
            .collect()
    }

    fn earned(&self) -> Vec<f64> {
        [10, 50, 100, 150, 200]
            .iter()
            .map(|&t| self.rewards[..t].iter().sum())
            .collect()
    }
}

fn auction_theta(t: u64, h: u64) -> Vec<f64> {
    vec![((7 * t + 3 * h + t * h) % 5 + 1) as f64]
}

fn pricing_theta(t: u64, h: u64) -> Vec<f64> {
    let on_grid = |n: u64| (n % 100) as f64 / 99.0;
    vec![
        on_grid(17 * t + 31 * h + t * h),
        on_grid(53 * t + 29 * h + 3 * t * h),
    ]
}

fn mimic(oracle: OracleSpec) -> PolicySpec {
    PolicySpec::Learner {
        settings: cbwk_gpu::policy::LearnerSpec::PAPER,
        initial: InitialRows::Drawn(0),
        log: None,
        oracle,
    }
}

fn paper_oracle() -> OracleSpec {
    OracleSpec::Logistic(LogisticParameters {
        gamma: Some(0.5),
        kappa: Some(8.0),
        ..LogisticParameters::default()
    })
}

#[test]
fn auction_decisions_match_the_numpy_implementation() {
    let instance = study("paper-auction", |_| {}).world;
    let trace = replay(
        &instance,
        &mimic(OracleSpec::Armed { radius_scale: 1.0 }),
        auction_theta,
    );
    assert_eq!(trace.episode(1), "101111011110111101111011");
    assert_eq!(trace.episode(11), "102111020000000000000000");
    assert_eq!(trace.episode(200), "113101111011000000000000");
    assert_eq!(trace.counts(), [2695, 1476, 452, 177, 0]);
    assert_eq!(trace.checksum(), 6519802);
    assert_eq!(trace.earned(), [110.0, 436.0, 812.0, 1133.0, 1447.0]);
    let step_12 = [0.0, 4.0, 8.0, 12.0, 15.074670025688722, 15.68700877408554];
    for (mine, theirs) in trace.last.row(11).iter().zip(step_12) {
        assert_abs_diff_eq!(*mine, theirs, epsilon = 1e-12);
    }
}

#[test]
fn pricing_decisions_match_the_numpy_implementation() {
    let instance = study("paper-pricing", |_| {}).world;
    let trace = replay(&instance, &mimic(paper_oracle()), pricing_theta);
    assert_eq!(trace.episode(2), "444444444444444444444440");
    assert_eq!(trace.episode(51), "444444444443444334434433");
    assert_eq!(trace.episode(200), "444433344333443444334433");
    assert_eq!(trace.counts(), [94, 0, 4, 1037, 3665]);
    assert_eq!(trace.checksum(), 42054085);
    assert_eq!(trace.earned(), [152.0, 767.0, 1546.0, 2287.0, 3061.0]);
    let episode_51 = [0.0, 4.0, 8.0, 12.0, 15.124347339, 17.007610265];
    for (mine, theirs) in trace.plans[50].iter().zip(episode_51) {
        assert_abs_diff_eq!(*mine, theirs, epsilon = 2e-9);
    }
    let last = [
        0.0,
        4.0,
        8.0,
        11.503795430707939,
        13.975019955686353,
        15.619724784033162,
    ];
    for (mine, theirs) in trace.last.row(0).iter().zip(last) {
        assert_abs_diff_eq!(*mine, theirs, epsilon = 1e-8);
    }
}

#[test]
fn myopic_decisions_match_the_numpy_implementation() {
    let auction = study("paper-auction", |_| {}).world;
    let oracle = OracleSpec::Armed { radius_scale: 1.0 };
    let trace = replay(&auction, &PolicySpec::Myopic { oracle }, auction_theta);
    assert_eq!(
        (trace.counts(), trace.checksum()),
        ([3051, 1004, 578, 167, 0], 5972075)
    );
    let pricing = study("paper-pricing", |_| {}).world;
    let oracle = paper_oracle();
    let trace = replay(&pricing, &PolicySpec::Myopic { oracle }, pricing_theta);
    assert_eq!(
        (trace.counts(), trace.checksum()),
        ([950, 0, 18, 3558, 274], 27196848)
    );
}

/// Initial rows postpone the reserved episodes, and the first plan uses them: with M = 3 rows and n_alpha = 2, episodes 1
/// to 6 all supply conversion data, so the first plan comes after episode 1 and not after episode 2.
#[test]
fn initial_rows_are_used_at_once() {
    let instance = study("paper-auction", |_| {}).world;
    let spec = |initial| PolicySpec::Learner {
        settings: cbwk_gpu::policy::LearnerSpec::PAPER,
        initial,
        log: None,
        oracle: OracleSpec::Known,
    };
    let with = replay(&instance, &spec(InitialRows::Drawn(3)), auction_theta);
    let without = replay(&instance, &spec(InitialRows::Drawn(0)), auction_theta);
    let first_plan = |trace: &Trace| trace.plans.iter().position(|u| u[5] > 0.0).unwrap() + 1;
    assert_eq!((first_plan(&without), first_plan(&with)), (3, 2));
    // The plans of the first eight episodes depend only on the 3 rows (conversion is known), so they stay the same.
    assert!((2..8).all(|t| with.plans[t] == with.plans[1]));
    assert_ne!(with.plans[8], with.plans[1]);
    // Given rows have the same effect as drawn ones.
    let rows = instance
        .contexts()
        .draw_rows(&mut Streams::new(1).of(0, Purpose::InitialRows), 3);
    let given = replay(
        &instance,
        &spec(InitialRows::Given(Arc::new(rows))),
        auction_theta,
    );
    assert_eq!(given.plans, with.plans);
}

/// Compares 50 replications with 200 to 800 of the NumPy implementation (other random numbers), within 4 joint standard
/// errors: a false alarm has probability 6e-5 per figure.
#[test]
fn studies_match_the_regret_of_the_numpy_implementation() {
    // (preset, policy, mean cumulative regret after 200 episodes, its standard error)
    let figures = [
        ("paper-auction", "mimic-opt-dp", (502.365, 1.327)),
        ("paper-auction", "myopic", (649.485, 1.454)),
        ("paper-auction", "random", (1186.906, 1.140)),
        ("paper-pricing", "mimic-opt-dp", (25.094, 4.304)),
        ("paper-pricing", "myopic", (297.594, 10.607)),
        ("paper-pricing", "random", (1024.625, 1.379)),
    ];
    for name in ["paper-auction", "paper-pricing"] {
        let compared = ["mimic-opt-dp", "myopic", "random"].map(String::from);
        let study = study(name, |document| document.choose_policies(&compared, "test"));
        let outcome = experiment::run(&study, &mut Dense, &mut ()).unwrap();
        for policy in &outcome.policies {
            let Some(figure) = figures.iter().find(|f| (f.0, f.1) == (name, &policy.name)) else {
                continue;
            };
            let last = policy.regret.cumulative[T - 1];
            let (mean, error) = figure.2;
            let joint = last.standard_error.hypot(error);
            assert!(
                (last.mean - mean).abs() < 4.0 * joint,
                "{name} {}: {} against {mean}, joint error {joint}",
                policy.name,
                last.mean
            );
        }
    }
}
