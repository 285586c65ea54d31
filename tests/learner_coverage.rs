//! Tight bounds on the data that a learner collects itself. In all but a share delta of 400 runs, at every episode, all pairs
//! lie within their bounds and the plan is at least the plan made with the true rho on the same contexts.
//!
//! The theory allows delta = 0.1. If the true rate of runs with a miss is at most 0.05, more than 40 misses in 400 have
//! probability 1.4e-5 (binomial tail), the false-alarm rate of each check. Seeds are fixed. The control shrinks the radii
//! until the check fails.

mod common;

use std::path::Path;
use std::sync::Arc;

use cbwk_gpu::config::{Document, Study};
use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::dp::{Backend, PlanRequest};
use cbwk_gpu::experiment::{Environment, Purpose, Streams};
use cbwk_gpu::oracle::{Bounds, Known, Truth};
use cbwk_gpu::policy::{Plan, PolicySetting, Start, advance};
use common::say;
use rayon::prelude::*;

const RUNS: u64 = 400;

/// Number of runs with a pair outside its interval at some episode, and with a plan below the true one at some (h, b).
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Missed {
    bounds: usize,
    optimism: usize,
}

fn study(world: &str, policy: &str) -> Study {
    let text = format!(
        "[study]\nhorizon = 6\nepisodes = 60\n[budget]\nkind = \"constant\"\nvalue = 4\n{world}\n[[policies]]\n{policy}\n"
    );
    let document = Document::parse(Path::new("small"), &text).unwrap();
    Study::from_document(&document).unwrap()
}

fn missed(study: &Study) -> Missed {
    let runs = (0..RUNS).into_par_iter().map(|run| misses(study, run));
    let add = |a: Missed, b: Missed| Missed {
        bounds: a.bounds + b.bounds,
        optimism: a.optimism + b.optimism,
    };
    runs.reduce(Missed::default, add)
}

fn misses(study: &Study, run: u64) -> Missed {
    let world = &study.world;
    let streams = Streams::new(11);
    let truth: Arc<dyn Truth> = world.clone();
    let law = world.law_sample(world.depends_on_step()).unwrap();
    let setting = PolicySetting {
        task: Arc::clone(world.task()),
        truth: Arc::clone(&truth),
        optimum: vec![Arc::new(cbwk_gpu::dp::ValueTable::zeros(6, 4))],
        fluid: Vec::new(),
        delta: study.delta,
        episodes: study.episodes,
    };
    let start = Start {
        drawn_rows: None,
        oracle: streams.of(run, Purpose::Oracle),
        choices: streams.of(run, Purpose::Policy("learner")),
    };
    let mut policy = study.policies[0].maker.make(&setting, start);
    let mut environment = Environment::new(world, &streams, run);
    let known = Known::fitted(truth);
    let mut missed = Missed::default();
    let mut intervals = vec![Bounds::UNKNOWN; world.task().actions()];
    for episode in 1..=study.episodes {
        policy.start_episode(episode, 4);
        environment.play(world, policy.as_mut(), 4);
        if !policy.learn(environment.contexts()) {
            continue;
        }
        advance(&mut [policy.as_mut()], episode + 1, &mut Dense).unwrap();
        let Some(Plan::Greedy { oracle, u_hat }) = policy.plan() else {
            panic!("the learner is greedy");
        };
        for context in (0..law.len()).map(|entry| law.context(entry)) {
            oracle.interval(&context, &mut intervals);
            for (a, interval) in (1..).zip(&intervals) {
                let rho = world.rho(&context, a);
                if rho > interval.ucb || rho < interval.lcb {
                    missed.bounds = 1;
                }
            }
        }
        let request = policy.plan_request().unwrap();
        let on_same_contexts = PlanRequest {
            source: &known,
            ..request
        };
        let plans = Dense.plan(&[on_same_contexts]).unwrap();
        for h in 0..6 {
            let rows = u_hat.row(h).iter().zip(plans.tables[0].row(h));
            if rows.into_iter().any(|(mine, truth)| *mine < truth - 1e-12) {
                missed.optimism = 1;
            }
        }
    }
    missed
}

fn check(name: &str, world: &str, oracle: &str, narrow: f64) {
    for optimism in ["separate", "coupled"] {
        let policy = |scale: f64| {
            format!(
                "kind = \"tight-opt-dp\"\noptimism = \"{optimism}\"\ntolerance = 0.0\noracle = {{ {oracle}, radius_scale = {scale} }}"
            )
        };
        let found = missed(&study(world, &policy(1.0)));
        let control = missed(&study(world, &policy(narrow)));
        say(&format!(
            "{name}, {optimism}: of {RUNS} runs, {} have a pair outside and {} are not optimistic; with {narrow} of the radius, {} and {}",
            found.bounds, found.optimism, control.bounds, control.optimism
        ));
        assert!(
            found.bounds <= 40 && found.optimism <= 40,
            "{name}: {found:?}"
        );
        assert!(
            control.bounds > 40 && control.optimism > 40,
            "{name}: {control:?}"
        );
    }
}

const AUCTION: &str = "[application]\nkind = \"auction\"\nbids = [1, 2, 3]\n\
    [contexts]\nkind = \"finite\"\nvalues = [2, 3, 4]\n";

#[test]
fn beta_binomial_bounds() {
    let world =
        format!("{AUCTION}[conversion]\nkind = \"armed\"\nprobabilities = [0.25, 0.5, 0.75]");
    let oracle = "kind = \"armed\", bounds = \"beta-binomial\"";
    check("armed", &world, oracle, 0.5);
}

#[test]
fn likelihood_mixture() {
    let world = format!("{AUCTION}[conversion]\nkind = \"logistic\"\nweights = [-0.2, 0.5]");
    let oracle = "kind = \"logistic\", bounds = \"mixture\", norm_bound = 3.0";
    check("logistic", &world, oracle, 0.3);
}

#[test]
fn quadratic_mixture() {
    let world = format!("{AUCTION}[conversion]\nkind = \"linear\"\nweights = [0.05, 0.2]");
    let oracle = "kind = \"glm\", link = \"linear\", bounds = \"mixture\", norm_bound = 1.0";
    check("linear", &world, oracle, 0.3);
}

#[test]
fn quadratic_mixture_of_a_kernel() {
    let kernel = "kernel = { kind = \"squared-exponential\", length = 2.0 }";
    let world = format!(
        "{AUCTION}[conversion]\nkind = \"rkhs\"\n{kernel}\ncenters = [[3.0, 2.0]]\nweights = [0.6]"
    );
    let oracle = format!("kind = \"kernel\", bounds = \"mixture\", lambda = 1.0, {kernel}");
    check("kernel", &world, &oracle, 0.25);
}
