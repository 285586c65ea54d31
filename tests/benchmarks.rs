//! What the learner is compared with: square-cbwk, logistic-ucb1 and fluid, by hand, by SciPy, by an independent
//! implementation, and by the properties that their definitions promise.

mod common;

use std::sync::Arc;

use approx::assert_abs_diff_eq;
use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::experiment::{self, Environment};
use cbwk_gpu::fluid::{Cut, Program, Search, Ties};
use cbwk_gpu::oracle::{Armed, Known};
use cbwk_gpu::policy::{LogisticUcb1, Policy, SquareCbwk, SquareSettings, inverse_gap_weighting};
use cbwk_gpu::task::Context;
use cbwk_gpu::world::World;
use common::{rng, study, table_instance};
use rand::RngExt;

const DEFAULTS: SquareSettings = SquareSettings {
    eta: None,
    gamma: None,
    reset_dual: true,
};

/// A program by formula: instance `s`, `contexts` contexts, `actions` actions; a part of the rewards is negative.
struct Case {
    actions: usize,
    weights: Vec<f64>,
    costs: Vec<f64>,
    rewards: Vec<f64>,
}

impl Case {
    fn new(s: usize, contexts: usize, actions: usize) -> Self {
        let part = |n: usize, x: f64| (n as f64 * x).fract();
        let mut case = Self {
            actions,
            weights: Vec::new(),
            costs: Vec::new(),
            rewards: Vec::new(),
        };
        for i in 0..contexts {
            let weight = (3.0 * part(s + i, 0.3819660112501051)).floor();
            case.weights.push(1.0 + weight);
            for a in 1..=actions {
                let ucb = part(131 * s + 17 * i + 7 * a, 0.6180339887498949);
                let reward = 5.0 * part(71 * s + 29 * i + 13 * a, 0.7548776662466927) - 0.5;
                let cost = (4.0 * part(37 * s + 11 * i + 5 * a, 0.5698402909980532)).floor();
                case.costs.push(ucb * (1.0 + cost));
                case.rewards
                    .push(if reward < 0.0 { reward } else { ucb * reward });
            }
        }
        case
    }

    fn program(&self) -> Program<'_> {
        Program {
            actions: self.actions,
            weights: &self.weights,
            costs: &self.costs,
            rewards: &self.rewards,
        }
    }

    /// Objective, spending and number of randomised contexts of a solution.
    fn evaluate(&self, cut: &Cut) -> (f64, f64, usize) {
        let (mut objective, mut spent, mut randomised) = (0.0, 0.0, 0);
        for (entry, weight) in self.weights.iter().enumerate() {
            let mix = self.program().mix(cut, entry);
            randomised += usize::from(mix.upper != mix.lower);
            for (action, share) in [(mix.lower, 1.0 - mix.share), (mix.upper, mix.share)] {
                if action > 0 {
                    let pair = entry * self.actions + action - 1;
                    assert!(self.rewards[pair] >= 0.0, "an action that may not be taken");
                    objective += weight * share * self.rewards[pair];
                    spent += weight * share * self.costs[pair];
                }
            }
        }
        (objective, spent, randomised)
    }
}

/// Recipe: `scipy.optimize.linprog(method="highs")` (SciPy 1.17.1) on the program over pi[context, action], one budget
/// row and one row per context, actions with negative rewards fixed at 0; contexts and numbers by the formulas of `Case`.
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
        let mut search = Search::default();
        // The second time from where the first ended, in another order of equals.
        for ties in [Ties::ByEntry, Ties::Shuffled(99)] {
            let cut = case.program().solve(budget, ties, &mut search);
            let (objective, spent, randomised) = case.evaluate(&cut);
            assert_abs_diff_eq!(objective, best, epsilon = 1e-9);
            assert!(spent <= budget + 1e-9, "{spent} > {budget}");
            assert!(randomised <= 1);
        }
    }
}

/// A long series of programs that change as a learner's do, among them many with equal slopes: from where the last one
/// ended and from scratch, the value is the same, the constraint holds, and one context at most is randomised.
#[test]
fn programs_solved_from_where_the_last_ended_are_exact() {
    let mut rng = rng(31);
    for equal_slopes in [false, true] {
        let mut case = Case::new(9, 80, 3);
        let mut warm = Search::default();
        for round in 0..400 {
            for pair in 0..case.costs.len() {
                let change = 1.0 + 0.02 * (rng.random::<f64>() - 0.5);
                if case.rewards[pair] >= 0.0 {
                    case.rewards[pair] *= change;
                    // Prices: the reward of an acceptance is the action's, the cost 1.
                    let price = (pair % 3 + 1) as f64;
                    if equal_slopes {
                        case.costs[pair] = case.rewards[pair] / price;
                    }
                }
            }
            let entry = rng.random_range(0..80);
            case.weights[entry] += 1.0;
            let budget = (0.02 + 0.3 * f64::from(round % 7)) * case.weights.iter().sum::<f64>();
            let ties = Ties::Shuffled(round as u64);
            let found = case.program().solve(budget, ties, &mut warm);
            let cold = case.program().solve(budget, ties, &mut Search::default());
            let (objective, spent, randomised) = case.evaluate(&found);
            let (expected, _, _) = case.evaluate(&cold);
            assert_abs_diff_eq!(objective, expected, epsilon = 1e-9);
            assert!(spent <= budget + 1e-9 && randomised <= 1);
        }
    }
}

/// Inverse gap weighting is a distribution whatever the gaps, and the best action is the likeliest.
#[test]
fn inverse_gap_weighting_is_a_distribution() {
    let mut rng = rng(32);
    let mut probabilities = Vec::new();
    for _ in 0..20_000 {
        let size = 10f64.powf(rng.random_range(-6.0..6.0));
        let k = rng.random_range(1..=12);
        let mut scores: Vec<f64> = (0..k).map(|_| size * (rng.random::<f64>() - 0.5)).collect();
        if rng.random::<f64>() < 0.3 {
            scores[k - 1] = scores[0];
        }
        let gamma = 10f64.powf(rng.random_range(-3.0..6.0));
        inverse_gap_weighting(&scores, gamma, &mut probabilities);
        assert_abs_diff_eq!(probabilities.iter().sum::<f64>(), 1.0, epsilon = 1e-12);
        assert!(probabilities.iter().all(|p| (0.0..=1.0).contains(p)));
        let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let place = scores.iter().position(|s| *s == best).unwrap();
        let most = probabilities.iter().copied().fold(0.0, f64::max);
        assert!(probabilities[place] >= most - 1e-12);
    }
}

/// Two actions, rewards 1.5 and 2, costs 1 and 2, H = 2, B = 2. By hand: r_max = cost_max = 2, rate = 1/2, lambda = 2 w.
/// Without data estimates are 1/2: scores 1/2 (null), 3/8 + 1/4 = 5/8, 1/2 + 0 = 1/2; gamma = 2 sqrt(6 / ln 2) = 5.884274,
/// so p = 1 / (3 + gamma / 8) = 0.267699 for the null action and action 2, 0.464601 for action 1.
#[test]
fn first_steps_of_square_cbwk_by_hand() {
    let instance = Arc::new(table_instance(
        &[&[1.5, 2.0]],
        &[&[1, 2]],
        &[&[0.5, 0.5]],
        &[&[1.0], &[1.0]],
        2,
    ));
    let square = |seed: u64| {
        let oracle = Box::new(Armed::stationary(2, 1.0));
        SquareCbwk::new(
            Arc::clone(instance.task()),
            oracle,
            0.1,
            DEFAULTS,
            rng(seed),
        )
    };
    let context = |step| Context {
        step,
        features: &[0.0],
        point: Some(0),
    };
    let mut counts = [0.0f64; 3];
    for seed in 0..4000 {
        let mut policy = square(seed);
        policy.start_episode(1, 2);
        let action = policy.choose(&context(0), 2);
        counts[action] += 1.0;
        let (feasible, p) = policy.last_choice();
        assert_eq!(feasible, [0, 1, 2]);
        for (p, by_hand) in p.iter().zip([0.267_699, 0.464_601, 0.267_699]) {
            assert_abs_diff_eq!(*p, by_hand, epsilon = 1e-6);
        }
    }
    // Drawn as said: 4 standard deviations of a share of 4,000 draws, false alarm below 2e-4.
    for (count, p) in counts.iter().zip([0.2677, 0.4646, 0.2677]) {
        assert!((count / 4000.0 - p).abs() < 4.0 * (p * (1.0 - p) / 4000.0f64).sqrt());
    }
    // Action 1 is accepted and costs 1/2 of cost_max: exactly the rate, the dual stays. Action 2 costs 1:
    // eta = 2 ln 2 / sqrt 2 = 0.980258, w = exp(eta / 2) / (1 + exp(eta / 2)) = 0.620137; refused, it is 0.379863.
    for (action, converted, w) in [
        (1, true, 0.5),
        (2, true, 0.620_137),
        (2, false, 0.379_863),
        (0, false, 0.379_863),
    ] {
        let mut policy = square(1);
        policy.start_episode(1, 2);
        policy.choose(&context(0), 2);
        policy.observe(&context(0), action, converted);
        assert_abs_diff_eq!(policy.dual().0, w, epsilon = 1e-6);
    }
    // After a refusal of action 2 its estimate is 0 and it scores as the null action does, 2 w rate = 0.379863;
    // action 1 scores 3/8 - 2 w (1/4 - 1/2) = 0.564932. gap = 0.185068: p = 1 / (3 + 5.884274 * 0.185068) = 0.244559.
    let mut policy = square(1);
    policy.start_episode(1, 2);
    policy.choose(&context(0), 2);
    policy.observe(&context(0), 2, false);
    policy.choose(&context(1), 2);
    let (_, p) = policy.last_choice();
    for (p, by_hand) in p.iter().zip([0.244_559, 0.510_882, 0.244_559]) {
        assert_abs_diff_eq!(*p, by_hand, epsilon = 1e-6);
    }
    // A new episode starts the dual anew.
    policy.start_episode(2, 2);
    assert_eq!(policy.dual(), (0.5, 0.5));
}

/// Plays whole studies step by step: what is drawn is a distribution over feasible actions and the dual stays on the
/// simplex, with no-arrivals and with a dual that is never reset.
#[test]
fn square_cbwk_keeps_its_promises_at_every_step() {
    let mut draws = rng(33);
    for reset_dual in [true, false] {
        for _ in 0..20 {
            let shape = common::random_shape(&mut draws);
            let instance = common::random_instance(&mut draws, shape);
            let oracle = Box::new(Known::new(instance.clone()));
            let settings = SquareSettings {
                reset_dual,
                ..DEFAULTS
            };
            let policy =
                SquareCbwk::new(Arc::clone(instance.task()), oracle, 0.1, settings, rng(1));
            let mut policy = Watched {
                policy,
                instance: Arc::clone(&instance),
                steps: 0,
            };
            let mut environment = Environment::new(&instance, &experiment::Streams::new(3), 0);
            for episode in 1..=10 {
                policy.start_episode(episode, shape.budget);
                environment.play(&instance, &mut policy, shape.budget);
                policy.learn(environment.contexts());
            }
        }
    }
}

/// Checks the policy within at every step.
#[derive(Debug)]
struct Watched {
    policy: SquareCbwk,
    instance: Arc<World>,
    steps: usize,
}

impl Policy for Watched {
    fn start_episode(&mut self, episode: usize, b_t: u32) {
        self.policy.start_episode(episode, b_t);
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let action = self.policy.choose(context, budget);
        let (feasible, p) = self.policy.last_choice();
        assert!(feasible.contains(&action) && p.len() == feasible.len());
        assert!(
            feasible[1..]
                .iter()
                .all(|&a| self.instance.task().feasible(context, a, budget))
        );
        assert!(p.iter().all(|p| (0.0..=1.0).contains(p)));
        assert_abs_diff_eq!(p.iter().sum::<f64>(), 1.0, epsilon = 1e-12);
        action
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        self.policy.observe(context, action, converted);
        let (w, rest) = self.policy.dual();
        assert!((0.0..=1.0).contains(&w) && w + rest == 1.0, "{w}");
        self.steps += 1;
    }
}

/// Logistic-UCB1 on one context and one action with rho known, H = 4, B = 2: the program serves the share
/// (2/4) / rho of the steps where that is below 1. With rho = 0.8 it is 0.625.
#[test]
fn logistic_ucb1_serves_the_share_that_the_budget_allows() {
    let steps: [&[f64]; 4] = [&[1.0]; 4];
    let instance = Arc::new(table_instance(&[&[3.0]], &[&[1]], &[&[0.8]], &steps, 2));
    let oracle = Box::new(Known::new(instance.clone()));
    let mut policy = LogisticUcb1::new(Arc::clone(instance.task()), oracle, 0.1, 0.0, rng(5));
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
        // The budget left is always large enough: only the program decides.
        served += policy.choose(&context, 2) as f64;
    }
    // 4 standard deviations of a share of 4,000 draws: false alarm 6e-5.
    assert!((served / 4000.0 - 0.625).abs() < 4.0 * (0.625f64 * 0.375 / 4000.0).sqrt());
    // A correction as large as the budget leaves nothing to spend.
    let oracle = Box::new(Known::new(instance.clone()));
    let mut policy = LogisticUcb1::new(Arc::clone(instance.task()), oracle, 0.1, 2.0, rng(5));
    policy.start_episode(1, 2);
    let context = Context {
        step: 0,
        features: &[0.0],
        point: Some(0),
    };
    assert_eq!(policy.choose(&context, 2), 0);
}

/// The mean reward of the fluid policy is what the evaluation of its plan says, within 4 standard errors over 10,000
/// episodes (false alarm 6e-5), and less than opt; so is that of the first solution followed throughout, whose plan depends
/// on the starting budget and is not evaluated.
#[test]
fn the_fluid_policy_earns_what_its_plan_says() {
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

/// 50 replications of the paper's auction against 40 of a NumPy implementation written from the definitions alone (other
/// random numbers), within 4 joint standard errors: a false alarm has probability 6e-5 per figure. Policies that change
/// within an episode have no expected regret.
#[test]
fn regrets_are_those_of_the_numpy_implementation() {
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
    for (policy, (name, mean, error)) in outcome.policies.iter().zip(figures) {
        assert_eq!(policy.name, name);
        let last = policy.regret.cumulative[199];
        let joint = last.standard_error.hypot(error);
        assert!(
            (last.mean - mean).abs() < 4.0 * joint,
            "{name}: {} against {mean}",
            last.mean
        );
    }
}
