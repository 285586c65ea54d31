//! The exact shortcuts of the CPU against the dense reference: random problems of every structure, samples that grow,
//! threads, the choice between strategies, and 32-bit terms.

mod common;

use std::sync::Arc;

use cbwk_gpu::dp::cpu::{Cpu, Dense, Strategy, Terms};
use cbwk_gpu::dp::{
    Backend, BackendError, BoundParameters, BoundSource, Coefficients, ContextSample, PlanRequest,
    Problem, ValueTable,
};
use cbwk_gpu::model::{
    ApplicationSpec, BudgetSpec, ContextsSpec, ConversionSpec, Instance, InstanceSpec, LawSpec,
};
use common::{random_bounds, rng, say};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// What strategies may differ from the reference, value by value, relative to it.
const TOLERANCE: f64 = 1e-12;

/// The largest relative difference of two tables.
fn relative(mine: &ValueTable, reference: &ValueTable) -> f64 {
    let rows = (0..=mine.horizon()).map(|h| mine.row(h).iter().zip(reference.row(h)));
    rows.flatten()
        .map(|(x, y)| if x == y { 0.0 } else { (x - y).abs() / y.abs() })
        // NaN must not hide.
        .fold(0.0, |worst: f64, d| if d <= worst { worst } else { d })
}

/// Bounds per action, or per step and action: an oracle without context.
#[derive(Debug)]
struct ActionBounds {
    bounds: Vec<[f64; 2]>,
    by_step: bool,
}

impl ActionBounds {
    fn random(rng: &mut ChaCha8Rng, actions: usize, horizon: usize, by_step: bool) -> Self {
        let groups = if by_step { horizon } else { 1 };
        let bounds = (0..groups * actions).map(|_| {
            let ucb = rng.random::<f64>();
            match rng.random_range(0..8) {
                0 => [1.0, 0.0],
                1 => [0.5, 0.5],
                2 => [0.0, 0.0],
                3 => [ucb, ucb],
                _ => [ucb, ucb * rng.random::<f64>()],
            }
        });
        Self {
            bounds: bounds.collect(),
            by_step,
        }
    }
}

impl BoundSource for ActionBounds {
    fn fill(&self, sample: &ContextSample, coefficients: &mut Coefficients) {
        coefficients.resize_for(sample);
        let actions = sample.actions();
        for pair in 0..sample.len() * actions {
            let step = sample.context(pair / actions).step;
            let group = if self.by_step { step } else { 0 };
            let [ucb, lcb] = self.bounds[group * actions + pair % actions];
            let reward = sample.rewards()[pair];
            (coefficients.gain[pair], coefficients.lcb[pair]) = Coefficients::of(ucb, lcb, reward);
        }
    }

    fn parameters(&self) -> Option<BoundParameters> {
        Some(BoundParameters::Armed {
            bounds: self.bounds.clone(),
            by_step: self.by_step,
        })
    }
}

fn instance(
    horizon: usize,
    budget: u32,
    application: ApplicationSpec,
    law: LawSpec,
) -> Arc<Instance> {
    let actions = match &application {
        ApplicationSpec::Auction { bids } => bids.len(),
        ApplicationSpec::Pricing { prices } => prices.len(),
        _ => unreachable!("not used here"),
    };
    let spec = InstanceSpec {
        horizon,
        budget: BudgetSpec::Constant { value: budget },
        application,
        reward_max: None,
        contexts: ContextsSpec {
            law,
            no_arrival: vec![0.1; horizon],
            types: None,
        },
        conversion: ConversionSpec::Armed {
            probabilities: vec![0.5; actions],
        },
    };
    Arc::new(spec.check().unwrap())
}

/// Thetas near the bids or far above, continuous or on few points; some below every bid.
fn random_auction(rng: &mut ChaCha8Rng) -> Arc<Instance> {
    let offset = [0, 0, 1000][rng.random_range(0..3)];
    let most = rng.random_range(1..=12u32);
    let actions = rng.random_range(1..=9);
    let bids: Vec<u32> = (0..actions)
        .map(|_| offset + rng.random_range(1..=most))
        .collect();
    let low = f64::from(offset) - 1.0;
    let high = f64::from(offset + most) * 1.5;
    let law = match rng.random_range(0..3) {
        0 => LawSpec::Box {
            low: vec![low],
            high: vec![high],
        },
        1 => LawSpec::Grid {
            low: vec![low],
            high: vec![high],
            points: vec![rng.random_range(2..=700)],
        },
        _ => LawSpec::Finite {
            values: (0..rng.random_range(1..6))
                .map(|_| vec![rng.random_range(low..high)])
                .collect(),
            weights: None,
        },
    };
    let horizon = rng.random_range(1..=8);
    let budget = rng.random_range(0..=(offset + most) * horizon as u32);
    let auction = ApplicationSpec::Auction { bids };
    instance(horizon, budget.min(3000), auction, law)
}

fn random_pricing(rng: &mut ChaCha8Rng) -> Arc<Instance> {
    let actions = rng.random_range(1..=9);
    let prices = (0..actions).map(|_| rng.random_range(0.1..5.0)).collect();
    let law = LawSpec::Grid {
        low: vec![0.0],
        high: vec![1.0],
        points: vec![rng.random_range(2..=3000)],
    };
    let horizon = rng.random_range(2..=90);
    let budget = rng.random_range(0..=horizon as u32);
    instance(horizon, budget, ApplicationSpec::Pricing { prices }, law)
}

fn dense(problem: Problem) -> ValueTable {
    Dense.solve(&[problem]).unwrap().remove(0)
}

fn forced(strategy: Strategy) -> Cpu {
    Cpu::new(Some(strategy), Terms::F64)
}

/// Solves by a strategy, checks that it was used, and returns the distance from the reference.
fn difference(strategy: Strategy, problem: Problem) -> f64 {
    let mut cpu = forced(strategy);
    let table = cpu.solve(&[problem]).unwrap().remove(0);
    assert_eq!(cpu.used().get(&strategy), Some(&1));
    relative(&table, &dense(problem))
}

#[test]
fn auction_envelopes_equal_the_dense_solver() {
    let mut rng = rng(61);
    let mut worst: f64 = 0.0;
    for case in 0..150 {
        let instance = random_auction(&mut rng);
        let by_step = rng.random();
        let rows = rng.random_range(0..400);
        let rows = instance.contexts().draw_rows(&mut rng, rows);
        let sample = match ContextSample::of_law(&instance, by_step) {
            Some(law) if rng.random() => law,
            _ => ContextSample::of_rows(&instance, &rows, by_step),
        };
        let source =
            ActionBounds::random(&mut rng, instance.actions(), instance.horizon(), by_step);
        let request = PlanRequest {
            sample: &sample,
            source: &source,
            budget_max: instance.budgets().max(),
            reward_max: instance.reward_max(),
        };
        let reference = Dense.plan(&[request]).unwrap().tables.remove(0);
        let mut cpu = forced(Strategy::AuctionEnvelope);
        let mine = cpu.plan(&[request]).unwrap().tables.remove(0);
        let off = relative(&mine, &reference);
        assert!(off <= TOLERANCE, "case {case}: {off:e} off");
        // The same problem with its coefficients written out, and without a cap.
        let mut coefficients = Coefficients::default();
        source.fill(&sample, &mut coefficients);
        let problem = Problem {
            cap: None,
            ..request.with(&coefficients)
        };
        let off_written = difference(Strategy::AuctionEnvelope, problem);
        assert!(off_written <= TOLERANCE, "case {case}: {off_written:e} off");
        worst = worst.max(off).max(off_written);
    }
    say(&format!("auction-envelope: worst error {worst:.1e}"));
}

#[test]
fn gap_and_shared_envelopes_equal_the_dense_solver() {
    let mut rng = rng(62);
    let mut worst: f64 = 0.0;
    for case in 0..150 {
        let instance = random_pricing(&mut rng);
        let rows = instance.contexts().draw_rows(&mut rng, 60);
        let law = ContextSample::of_law(&instance, false).unwrap();
        let rows = ContextSample::of_rows(&instance, &rows, false);
        for (strategy, sample) in [
            (Strategy::GapEnvelope, &rows),
            (Strategy::GapEnvelope, &law),
            (Strategy::SharedEnvelope, &law),
        ] {
            let coefficients = random_bounds(&mut rng, &instance, sample);
            let problem = Problem {
                sample,
                coefficients: &coefficients,
                budget_max: instance.budgets().max(),
                cap: rng.random::<bool>().then(|| instance.reward_max()),
            };
            let off = difference(strategy, problem);
            assert!(off <= TOLERANCE, "{strategy}, case {case}: {off:e} off");
            worst = worst.max(off);
        }
    }
    say(&format!(
        "gap and shared envelopes: worst error {worst:.1e}"
    ));
}

/// One gain that is off by ten tolerances shows, on every strategy, and an auction whose coefficients depend on the
/// context is not taken for one whose do not.
#[test]
fn the_comparison_can_fail() {
    let mut rng = rng(63);
    let law = LawSpec::Grid {
        low: vec![0.0],
        high: vec![9.0],
        points: vec![3],
    };
    let auction = ApplicationSpec::Auction { bids: vec![1, 2] };
    let auction = instance(3, 4, auction, law.clone());
    let pricing = ApplicationSpec::Pricing { prices: vec![9.0] };
    let pricing = instance(3, 2, pricing, law);
    for (strategy, instance) in [
        (Strategy::AuctionEnvelope, &auction),
        (Strategy::GapEnvelope, &pricing),
        (Strategy::SharedEnvelope, &pricing),
    ] {
        let sample = ContextSample::of_law(instance, false).unwrap();
        let actions = instance.actions();
        let mut source = ActionBounds::random(&mut rng, actions, 3, false);
        source.bounds.fill([0.8, 0.3]);
        let mut coefficients = Coefficients::default();
        source.fill(&sample, &mut coefficients);
        let problem = |coefficients| Problem {
            sample: &sample,
            coefficients,
            budget_max: instance.budgets().max(),
            cap: None,
        };
        let reference = dense(problem(&coefficients));
        source.bounds[0][0] += 30.0 * TOLERANCE;
        let mut moved = Coefficients::default();
        source.fill(&sample, &mut moved);
        let table = forced(strategy)
            .solve(&[problem(&moved)])
            .unwrap()
            .remove(0);
        let off = relative(&table, &reference);
        assert!(off > TOLERANCE, "{strategy}: {off:e} passes as equal");
    }
    let sample = ContextSample::of_law(&auction, false).unwrap();
    let mut coefficients = Coefficients::default();
    let source = ActionBounds {
        bounds: vec![[0.8, 0.3]; 2],
        by_step: false,
    };
    source.fill(&sample, &mut coefficients);
    coefficients.gain[2] *= 1.0 + 1e-13;
    let problem = Problem {
        sample: &sample,
        coefficients: &coefficients,
        budget_max: 4,
        cap: None,
    };
    let refused = forced(Strategy::AuctionEnvelope).solve(&[problem]);
    let strategy = Strategy::AuctionEnvelope;
    assert_eq!(refused.unwrap_err(), BackendError::Structure { strategy });
}

/// A sample appended to row by row plans as one made of all rows at once: the sums are those of the same thetas.
#[test]
fn samples_that_grow_stay_sorted() {
    let mut rng = rng(64);
    let law = LawSpec::Box {
        low: vec![0.0],
        high: vec![20.0],
    };
    let auction = ApplicationSpec::Auction {
        bids: (1..=10).collect(),
    };
    let instance = instance(2, 15, auction, law);
    let source = ActionBounds::random(&mut rng, 10, 2, false);
    let mut sample = ContextSample::new(&instance, false);
    let rows = instance.contexts().draw_rows(&mut rng, 3000);
    for row in 0..rows.len() {
        let episode = instance.contexts().episode_of_row(&rows, row);
        sample.append(&instance, episode.iter());
        if row % 250 != 1 {
            continue;
        }
        let request = PlanRequest {
            sample: &sample,
            source: &source,
            budget_max: 15,
            reward_max: instance.reward_max(),
        };
        let mine = forced(Strategy::AuctionEnvelope).plan(&[request]).unwrap();
        let reference = Dense.plan(&[request]).unwrap();
        let off = relative(&mine.tables[0], &reference.tables[0]);
        assert!(off <= TOLERANCE, "{row} rows: {off:e} off");
    }
}

/// A million thetas far from the origin of numbers: sums must not lose what the tolerance promises.
#[test]
fn a_million_contexts_keep_their_digits() {
    let mut rng = rng(65);
    let law = LawSpec::Grid {
        low: vec![900.0],
        high: vec![1010.0],
        points: vec![1_000_000],
    };
    let bids = vec![990, 995, 1000];
    let auction = instance(2, 1990, ApplicationSpec::Auction { bids }, law.clone());
    let pricing = instance(
        2,
        2,
        ApplicationSpec::Pricing {
            prices: vec![1.0, 2.0],
        },
        law,
    );
    let source = ActionBounds {
        bounds: vec![[0.4, 0.1], [0.7, 0.3], [0.9, 0.5]],
        by_step: false,
    };
    let sample = ContextSample::of_law(&auction, false).unwrap();
    let mut coefficients = Coefficients::default();
    source.fill(&sample, &mut coefficients);
    let problem = Problem {
        sample: &sample,
        coefficients: &coefficients,
        budget_max: 1990,
        cap: None,
    };
    let off = difference(Strategy::AuctionEnvelope, problem);
    assert!(off <= TOLERANCE, "auction: {off:e} off");
    let sample = ContextSample::of_law(&pricing, false).unwrap();
    let coefficients = random_bounds(&mut rng, &pricing, &sample);
    let problem = Problem {
        sample: &sample,
        coefficients: &coefficients,
        budget_max: 2,
        cap: None,
    };
    for strategy in [Strategy::GapEnvelope, Strategy::SharedEnvelope] {
        let off = difference(strategy, problem);
        assert!(off <= TOLERANCE, "{strategy}: {off:e} off");
    }
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
                let sample = ContextSample::of_law(instance, false).unwrap();
                let mut coefficients = random_bounds(&mut rng, instance, &sample);
                if strategy == Strategy::AuctionEnvelope {
                    let source = ActionBounds::random(&mut rng, 8, 30, false);
                    source.fill(&sample, &mut coefficients);
                }
                let problem = Problem {
                    sample: &sample,
                    coefficients: &coefficients,
                    budget_max: instance.budgets().max(),
                    cap: Some(instance.reward_max()),
                };
                for terms in [Terms::F64, Terms::F32] {
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
    let solve = |cpu: &mut Cpu, rng: &mut ChaCha8Rng, instance: &Instance, rows: usize| {
        let sample = match rows {
            0 => ContextSample::of_law(instance, false).unwrap(),
            _ => {
                let rows = instance.contexts().draw_rows(rng, rows);
                ContextSample::of_rows(instance, &rows, false)
            }
        };
        let actions = instance.actions();
        let source = ActionBounds::random(rng, actions, instance.horizon(), false);
        let request = PlanRequest {
            sample: &sample,
            source: &source,
            budget_max: instance.budgets().max(),
            reward_max: instance.reward_max(),
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
        (pricing(100_000, 1200), 50, "gap-envelope"),
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
        assert_eq!(refused.unwrap_err(), BackendError::Structure { strategy });
    }
}

/// 32-bit terms with the 64-bit table: 1e-6 of r_max min(b, H) at most, and not the same numbers by accident.
#[test]
fn thirty_two_bit_terms_are_close() {
    let mut rng = rng(69);
    let mut worst: f64 = 0.0;
    for _ in 0..60 {
        let shape = common::Shape {
            horizon: rng.random_range(1..=60),
            types: rng.random_range(1..=600),
            actions: rng.random_range(1..=9),
            cost_max: rng.random_range(1..=6),
            budget: rng.random_range(0..=150),
        };
        let instance = common::random_instance(&mut rng, shape);
        let sample = ContextSample::of_law(&instance, false).unwrap();
        let coefficients = random_bounds(&mut rng, &instance, &sample);
        let problem = Problem {
            sample: &sample,
            coefficients: &coefficients,
            budget_max: instance.budgets().max(),
            cap: Some(instance.reward_max()),
        };
        let mut cpu = Cpu::new(Some(Strategy::Dense), Terms::F32);
        let table = cpu.solve(&[problem]).unwrap().remove(0);
        let off = common::relative_difference(&table, &dense(problem), instance.reward_max());
        assert!(off <= 1e-6, "{shape:?}: {off:e} off");
        worst = worst.max(off);
    }
    say(&format!(
        "32-bit terms: worst error {worst:.1e} of r_max * min(b, H)"
    ));
    assert!(worst > 1e-10, "the terms are not 32-bit");
}
