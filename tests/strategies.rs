//! The exact shortcuts of the CPU against the dense reference: random problems of every structure, samples that grow,
//! and very large ones.

mod common;
#[path = "common/structured_problems.rs"]
mod structured_problems;

use cbwk_gpu::dp::cpu::{Cpu, Dense, Strategy};
use cbwk_gpu::dp::{
    Backend, BoundSource, Coefficients, ContextSample, PlanRequest, Precision, Problem, ValueTable,
};
use cbwk_gpu::task::{ApplicationSpec, ContextRows, EpisodeContexts};
use cbwk_gpu::world::LawSpec;
use common::{random_bounds, rng, say};
use rand::RngExt;
use structured_problems::{ActionBounds, instance, random_auction, random_pricing};

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

fn dense(problem: Problem) -> ValueTable {
    Dense.solve(&[problem]).unwrap().remove(0)
}

fn forced(strategy: Strategy) -> Cpu {
    Cpu::new(Some(strategy), Precision::F64)
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
        let sample = match instance.law_sample(by_step) {
            Some(law) if rng.random() => law,
            _ => ContextSample::of_rows(instance.task(), &rows, by_step),
        };
        let source = ActionBounds::random(
            &mut rng,
            instance.task().actions(),
            instance.task().horizon(),
            by_step,
        );
        let request = PlanRequest {
            sample: &sample,
            source: &source,
            budget_max: instance.task().budget_max(),
            reward_max: instance.task().reward_max(),
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
fn shared_envelopes_equal_the_dense_solver() {
    let mut rng = rng(62);
    let mut worst: f64 = 0.0;
    for case in 0..150 {
        let instance = random_pricing(&mut rng, 3000);
        let law = instance.law_sample(false).unwrap();
        let coefficients = random_bounds(&mut rng, &instance, &law);
        let problem = Problem {
            sample: &law,
            coefficients: &coefficients,
            budget_max: instance.task().budget_max(),
            cap: rng.random::<bool>().then(|| instance.task().reward_max()),
        };
        let off = difference(Strategy::SharedEnvelope, problem);
        assert!(off <= TOLERANCE, "case {case}: {off:e} off");
        worst = worst.max(off);
    }
    say(&format!("shared-envelope: worst error {worst:.1e}"));
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
        (Strategy::SharedEnvelope, &pricing),
    ] {
        let sample = instance.law_sample(false).unwrap();
        let actions = instance.task().actions();
        let mut source = ActionBounds::random(&mut rng, actions, 3, false);
        source.bounds.fill([0.8, 0.3]);
        let mut coefficients = Coefficients::default();
        source.fill(&sample, &mut coefficients);
        let problem = |coefficients| Problem {
            sample: &sample,
            coefficients,
            budget_max: instance.task().budget_max(),
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
    let sample = auction.law_sample(false).unwrap();
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
    assert_eq!(refused.unwrap_err(), strategy.refused());
}

/// Plans with a sample that was appended row by row equal the dense solver's, and have the bits of plans with a sample that
/// was made at once.
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
    let mut sample = ContextSample::new(instance.task(), false);
    let rows = instance.contexts().draw_rows(&mut rng, 3000);
    let mut cpu = forced(Strategy::AuctionEnvelope);
    for row in 0..rows.len() {
        let episode = EpisodeContexts::of_row(&rows, row, instance.task().support());
        sample.append(instance.task(), episode.iter());
        if row % 250 != 1 {
            continue;
        }
        let request = PlanRequest {
            sample: &sample,
            source: &source,
            budget_max: 15,
            reward_max: instance.task().reward_max(),
        };
        let mine = cpu.plan(&[request]).unwrap();
        let mut seen = ContextRows::new(2, 1);
        (0..=row).for_each(|row| (0..2).for_each(|step| seen.push(rows.get(row, step))));
        let at_once = ContextSample::of_rows(instance.task(), &seen, false);
        let fresh = PlanRequest {
            sample: &at_once,
            ..request
        };
        assert!(
            mine.tables == cpu.plan(&[fresh]).unwrap().tables,
            "{row} rows"
        );
        let reference = Dense.plan(&[request]).unwrap();
        let off = relative(&mine.tables[0], &reference.tables[0]);
        assert!(off <= TOLERANCE, "{row} rows: {off:e} off");
    }
}

/// Contexts that are added with weights of their own between plans are seen as well.
#[test]
fn weights_added_between_plans_are_seen() {
    let mut rng = rng(66);
    let law = LawSpec::Grid {
        low: vec![0.0],
        high: vec![20.0],
        points: vec![300],
    };
    let bids = (1..=10).collect();
    let instance = instance(2, 15, ApplicationSpec::Auction { bids }, law);
    let source = ActionBounds::random(&mut rng, 10, 2, false);
    let mut sample = instance.law_sample(false).unwrap();
    let mut cpu = forced(Strategy::AuctionEnvelope);
    for theta in [0.0, 3.3, 17.5] {
        let context = instance.task().context(0, std::slice::from_ref(&theta));
        sample.add_weighted(instance.task(), [(context, 0.2)].into_iter());
        let request = PlanRequest {
            sample: &sample,
            source: &source,
            budget_max: 15,
            reward_max: instance.task().reward_max(),
        };
        let mine = cpu.plan(&[request]).unwrap();
        let reference = Dense.plan(&[request]).unwrap();
        let off = relative(&mine.tables[0], &reference.tables[0]);
        assert!(off <= TOLERANCE, "{theta}: {off:e} off");
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
    let sample = auction.law_sample(false).unwrap();
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
    let sample = pricing.law_sample(false).unwrap();
    let coefficients = random_bounds(&mut rng, &pricing, &sample);
    let problem = Problem {
        sample: &sample,
        coefficients: &coefficients,
        budget_max: 2,
        cap: None,
    };
    let off = difference(Strategy::SharedEnvelope, problem);
    assert!(off <= TOLERANCE, "pricing: {off:e} off");
}
