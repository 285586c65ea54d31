//! Square-CBwK: inverse gap weighting, its first steps by hand, and its promises at every step.

use std::sync::Arc;

use approx::assert_abs_diff_eq;
use cbwk_gpu::experiment::{Environment, Streams};
use cbwk_gpu::oracle::{Armed, Known};
use cbwk_gpu::policy::{Policy, SquareCbwk, SquareSettings, inverse_gap_weighting};
use cbwk_gpu::task::Context;
use cbwk_gpu::world::World;
use rand::RngExt;

use crate::common::{self, rng, table_instance};

const DEFAULTS: SquareSettings = SquareSettings {
    eta: None,
    gamma: None,
    reset_dual: true,
};

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
            let mut environment = Environment::new(&instance, &Streams::new(3), 0);
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
