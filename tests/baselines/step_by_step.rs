//! Policies with a price, step by step beside loops written from their definitions.

use std::sync::Arc;

use approx::assert_abs_diff_eq;
use cbwk_gpu::oracle::{Known, Truth};
use cbwk_gpu::policy::{DualSettings, PidSettings, Policy, Priced, PrimalDual};
use cbwk_gpu::task::EpisodeContexts;
use cbwk_gpu::world::World;
use rand::RngExt;

use crate::common::{rng, study};

/// An auction with true rho known, played by hand: steps without an arrival included.
struct Game {
    world: Arc<World>,
    rng: rand::rngs::ChaCha8Rng,
}

impl Game {
    fn new() -> Self {
        let world = Arc::clone(&study("paper-auction", |_| {}).world);
        Self { world, rng: rng(4) }
    }

    fn known(&self) -> Box<Known> {
        let truth: Arc<dyn Truth> = Arc::<World>::clone(&self.world);
        Box::new(Known::new(truth))
    }

    /// Plays 4 episodes. `look` sees (step of all, theta, budget, action) after each choice; `spend` whether a step is the first
    /// of its episode, and its units, until the budget is found empty.
    fn play<P: Policy>(
        &mut self,
        policy: &mut P,
        mut look: impl FnMut(&mut P, usize, f64, u32, usize),
        mut spend: impl FnMut(bool, f64),
    ) {
        let task = Arc::clone(self.world.task());
        for episode in 1..=4 {
            policy.start_episode(episode, 5);
            let (mut budget, mut empty) = (5, false);
            for step in 0..24 {
                let mut spent = 0;
                if self.rng.random::<f64>() < 0.8 {
                    let theta = f64::from(self.rng.random_range(1..=5u8));
                    let features = [theta];
                    let context = task.context(step, &features);
                    let action = policy.choose(&context, budget);
                    look(policy, (episode - 1) * 24 + step, theta, budget, action);
                    empty |= budget == 0;
                    let won = action > 0 && self.rng.random::<f64>() < 0.2 * action as f64;
                    policy.observe(&context, action, won);
                    spent = if won { action as u32 } else { 0 };
                    budget -= spent;
                }
                if !empty {
                    spend(step == 0, f64::from(spent));
                }
            }
            policy.learn(&EpisodeContexts::new(1));
        }
    }
}

/// rho (r - price cost) of a bid, if it is feasible.
fn worth(theta: f64, bid: usize, price: f64, budget: u32) -> Option<f64> {
    let b = bid as f64;
    (theta >= b && bid as u32 <= budget).then_some(0.2 * b * (theta - b - price * b))
}

/// The action is the best at a price, up to the margin of ties, 1e-5 of r_max = 4.
fn check_choice(theta: f64, budget: u32, price: f64, action: usize) {
    let all = (1..=4).filter_map(|a| worth(theta, a, price, budget));
    let best = all.fold(0.0, f64::max);
    let own = match action {
        0 => 0.0,
        a => worth(theta, a, price, budget).expect("a feasible bid"),
    };
    assert!(own >= best - 4.1e-5, "{own} against {best}");
}

/// The price at every arrival is that of a loop written from the definition, and the bid is the best at this price.
fn prices_follow(mut policy: Priced, mut literal: impl FnMut(bool, f64) -> f64, mut price: f64) {
    let prices = std::cell::RefCell::new(vec![price]);
    let mut seen = 0;
    Game::new().play(
        &mut policy,
        |policy, _, theta, budget, action| {
            let expected = *prices.borrow().last().unwrap();
            assert_abs_diff_eq!(policy.price(), expected, epsilon = 1e-9);
            check_choice(theta, budget, expected, action);
            seen += 1;
        },
        |first, spent| {
            price = literal(first, spent);
            prices.borrow_mut().push(price);
        },
    );
    let distinct = prices.borrow().windows(2).filter(|p| p[0] != p[1]).count();
    assert!(
        seen > 60 && distinct > 60,
        "{seen} arrivals, {distinct} changes"
    );
}

const DUAL: DualSettings = DualSettings {
    eta: None,
    z: None,
    reset_dual: false,
};

/// mu = P_[0, 4] (mu - eta (5/24 - z)) with eta = 4 / (4 sqrt(24 * 4)).
#[test]
fn dual_pacing_is_projected_gradient_descent() {
    let game = Game::new();
    let policy = Priced::dual_pacing(Arc::clone(game.world.task()), game.known(), 0.1, DUAL, 4);
    let (mut mu, eta) = (0.0f64, 1.0 / 96f64.sqrt());
    let step = move |_, z: f64| {
        mu = (mu - eta * (5.0 / 24.0 - z)).clamp(0.0, 4.0);
        mu
    };
    prices_follow(policy, step, 0.0);
}

/// The controller in its textbook form: at each step of an episode it adds the changes of three terms.
#[test]
fn pid_pacing_is_an_incremental_controller() {
    let game = Game::new();
    let gains = PidSettings {
        proportional: Some(0.3),
        integral: Some(0.02),
        derivative: Some(0.1),
        reset_dual: false,
    };
    let policy = Priced::pid_pacing(Arc::clone(game.world.task()), game.known(), 0.1, gains, 4);
    let (mut mu, mut errors) = (0.0f64, vec![0.0, 0.0]);
    let step = move |first, z: f64| {
        if first {
            errors = vec![0.0, 0.0];
        }
        errors.push(errors.last().unwrap() + z - 5.0 / 24.0);
        let [e2, e1, e] = errors[errors.len() - 3..] else {
            unreachable!()
        };
        mu = (mu + 0.3 * (e - e1) + 0.02 * e + 0.1 * (e - 2.0 * e1 + e2)).clamp(0.0, 4.0);
        mu
    };
    prices_follow(policy, step, 0.0);
}

/// Weights as products, as Agrawal and Devanur write them: theta = w / (1 + w), Z = 4 * min(24, 5) / 5, L = 4.
#[test]
fn lin_cbwk_multiplies_weights() {
    let game = Game::new();
    let policy = Priced::lin_cbwk(Arc::clone(game.world.task()), game.known(), 0.1, DUAL, 4);
    let (mut w, eta) = (1.0f64, (2f64.ln() / 96.0).sqrt());
    let step = move |_, z: f64| {
        let g = (z - 5.0 / 24.0) / 4.0;
        w *= if g >= 0.0 {
            (1.0 + eta).powf(g)
        } else {
            (1.0 - eta).powf(-g)
        };
        4.0 * w / (1.0 + w)
    };
    prices_follow(policy, step, 2.0);
}

/// Every choice is that of the map with the largest bang per buck among all 3,125 maps from the five values to bids, and the
/// weights are the products of the definition.
#[test]
fn primal_dual_plays_the_best_map() {
    let mut game = Game::new();
    let task = Arc::clone(game.world.task());
    let mut policy = PrimalDual::new(task, game.known(), 0.1, DUAL);
    let (budget_scaled, eta) = (5.0 / 4.0, (2f64.ln() / 1.25f64).sqrt().min(1.0));
    let (mut counts, mut v, mut spending) = ([0.0; 5], [1.0f64, 1.0], 0.0);
    let mut last = 0;
    let mut checked = 0;
    game.play(
        &mut policy,
        |policy, step, theta, budget, action| {
            // The weights move after every step since the last look, at the rate of the last map; an episode ends with a
            // rescaling.
            for s in last..step {
                v[0] *= (1.0 + eta).powf(budget_scaled / 24.0);
                v[1] *= (1.0 + eta).powf(spending);
                if (s + 1) % 24 == 0 {
                    let sum = v[0] + v[1];
                    v = [2.0 * v[0] / sum, 2.0 * v[1] / sum];
                    spending = 0.0;
                }
            }
            last = step;
            counts[theta as usize - 1] += 1.0;
            for (own, expected) in policy.weights().iter().zip(v) {
                assert_abs_diff_eq!(*own, expected, epsilon = 1e-6 * expected);
            }
            if budget == 0 {
                assert_eq!(action, 0);
                return;
            }
            let steps = (step + 1) as f64;
            let (mut best, mut best_spending) = (0.0, 0.0);
            for map in 0..3125usize {
                let (mut u, mut l, mut digits, mut fits) = (0.0, 0.0, map, true);
                for (value, count) in (1..=5usize).zip(counts) {
                    let bid = digits % 5;
                    digits /= 5;
                    fits &= bid <= value;
                    let rho = 0.2 * bid as f64;
                    u += count * rho * (value as f64 - bid as f64) / steps;
                    l += count * rho * bid as f64 / 4.0 / steps;
                }
                let ratio = u / (v[0] * budget_scaled / 24.0 + v[1] * l);
                if fits && ratio > best {
                    (best, best_spending) = (ratio, l);
                }
            }
            spending = best_spending;
            check_choice(theta, budget, best * v[1] / 4.0, action);
            checked += 1;
        },
        |_, _| {},
    );
    assert!(checked > 30, "{checked}");
}
