//! Logs drawn from known worlds: plans come close to the optimum, intervals cover the true uplift, and no uplift is found
//! where there is none.

mod common;
#[path = "common/own_data.rs"]
mod own_data;

use std::sync::Arc;

use cbwk_gpu::dp::cpu::{Cpu, Dense};
use cbwk_gpu::experiment::Evaluator;
use cbwk_gpu::history::evaluate::{Evaluation, PolicyName, Question, Resampling, evaluate};
use cbwk_gpu::history::fit::{FitSettings, Fitted, ModelKind};
use cbwk_gpu::history::plan::{OfferPlan, PlanKind};
use cbwk_gpu::history::{Encoding, Raw};
use cbwk_gpu::oracle::{Known, Truth};
use cbwk_gpu::policy::Plan;
use cbwk_gpu::shop::TaskFolder;
use cbwk_gpu::task::Context;
use cbwk_gpu::world::{Optimum, World};
use common::{rng, say};
use own_data::{logged, shop};
use rand::RngExt;
use tempfile::tempdir;

/// The model of a folder for the contexts of a world, whose features it encodes.
#[derive(Debug)]
struct InWorld<'a> {
    plan: &'a OfferPlan,
    encoding: &'a Encoding,
}

/// The true expected reward of a folder's plan with the world's largest budget.
fn true_reward(world: &World, folder: &TaskFolder, plan: &OfferPlan) -> f64 {
    let rho = InWorld {
        plan,
        encoding: &folder.file.encoding,
    }
    .table(world);
    let evaluator = Evaluator::new(world, false).unwrap();
    let oracle = Known::fitted(Arc::new(rho));
    let found = evaluator.expected_rewards(Plan::Greedy {
        oracle: &oracle,
        u_hat: &plan.tables[0],
    });
    found[world.task().budget_max() as usize]
}

/// The true expected reward of one price.
fn true_fixed(world: &World, action: usize) -> f64 {
    let evaluator = Evaluator::new(world, false).unwrap();
    evaluator.expected_rewards(Plan::Fixed(action))[world.task().budget_max() as usize]
}

/// rho by context type and action.
#[derive(Debug)]
struct Table(Vec<Vec<f64>>);

impl Truth for Table {
    fn rho(&self, context: &Context, action: usize) -> f64 {
        self.0[context.table_row()][action - 1]
    }
}

impl InWorld<'_> {
    fn table(&self, world: &World) -> Table {
        let support = world.contexts().support();
        let row = |point: u32| {
            let theta = support.features(point);
            let values = [Raw::Number(theta[1]), Raw::Number(theta[2])];
            let mut features = Vec::new();
            self.encoding
                .encode_in_order(values, &mut features, None)
                .unwrap();
            self.plan.estimates(&features)
        };
        Table((0..support.len() as u32).map(row).collect())
    }
}

fn plan_of(folder: &TaskFolder, fitted: &Fitted) -> OfferPlan {
    let mut backend = Cpu::default();
    OfferPlan::make(
        &folder.file,
        fitted,
        PlanKind::Estimates,
        None,
        &mut backend,
    )
    .unwrap()
}

fn answer(
    folder: &TaskFolder,
    fitted: &Fitted,
    policy: PolicyName,
    against: f64,
    resampling: Resampling,
) -> Evaluation {
    let question = Question {
        policy,
        against: PolicyName::Fixed(against),
        resampling,
        extrapolate: true,
    };
    evaluate(&folder.file, fitted, &question, &|| {}).unwrap()
}

/// A world with random weights.
fn random_shop(seed: u64) -> Arc<World> {
    let mut rng = rng(seed);
    let mut between = |low: f64, high: f64| rng.random_range(low..high);
    let weights = [between(-1.0, 2.0), between(-1.0, 2.0), between(-1.3, -0.5)];
    shop(3, weights, between(0.5, 1.8))
}

#[test]
fn a_plan_from_twenty_thousand_rows_is_within_two_percent_of_the_optimum() {
    let folder = tempdir().unwrap();
    for (seed, episodes) in [(1, 2250), (2, 2250)] {
        let world = random_shop(seed);
        let task = logged(folder.path(), &world, episodes, seed);
        let fitted = task.fit(FitSettings::default()).unwrap();
        assert!(fitted.file.log.arrivals > 20_000 - 300);
        assert_eq!(fitted.file.model.kind, ModelKind::Logistic);
        let found = true_reward(&world, &task, &plan_of(&task, &fitted));
        let optimum = Optimum::exact(&world, &mut Dense).unwrap().unwrap();
        let opt = optimum.table.start(world.task().budget_max());
        say(&format!(
            "world {seed}: the plan earns {:.3}% of opt",
            100.0 * found / opt
        ));
        assert!(
            found > 0.98 * opt && found < opt * (1.0 + 1e-9),
            "{found} of {opt}"
        );
    }
}

/// How often the interval covers the true uplift of the plan over a fixed price. In 200 worlds with 250 episodes of some 9
/// arrivals each, 200 draws and 5 splits: 187 covered (93.5%), 7 intervals below the truth, 6 above. That is
///
/// ```text
/// OWN_DATA_WORLDS=200 cargo test --release --test own_data_truth -- --nocapture      (23 minutes of a busy machine)
/// ```
///
/// Here are a few worlds with fewer draws: where coverage is 93.5%, 20 of them miss more than 5 times in less than 1 of 500 cases.
#[test]
fn intervals_cover_the_true_uplift() {
    let (worlds, resampling) = effort(20);
    let folder = tempdir().unwrap();
    let (mut low, mut high) = (0, 0);
    for seed in 0..worlds {
        let world = random_shop(100 + seed);
        let task = logged(folder.path(), &world, 250, seed);
        let fitted = task.fit(FitSettings::default()).unwrap();
        let uplift = true_reward(&world, &task, &plan_of(&task, &fitted)) - true_fixed(&world, 2);
        let found = answer(&task, &fitted, PolicyName::Plan, 2.0, resampling).difference;
        low += u64::from(found.upper < uplift);
        high += u64::from(found.lower > uplift);
    }
    let covered = 1.0 - (low + high) as f64 / worlds as f64;
    say(&format!(
        "{worlds} worlds: {:.1}% covered, {low} intervals below, {high} above",
        100.0 * covered
    ));
    assert!(covered >= if worlds >= 100 { 0.90 } else { 0.74 });
}

/// Stock never runs out and taste is the same for all: one price is the best for everybody, and no plan can beat it. The
/// interval may lie above 0 in 2.5% of worlds; of 200 (as above) none did, while the plan's own expectation, which is biased
/// upwards, was above the price's in 155.
#[test]
fn no_uplift_is_found_where_there_is_none() {
    let (worlds, resampling) = effort(20);
    let folder = tempdir().unwrap();
    let (mut false_alarms, mut flattered) = (0, 0);
    for seed in 0..worlds {
        let world = shop(12, [0.0, 0.0, -0.75], 1.6);
        let best = (1..=4).max_by(|a, b| true_fixed(&world, *a).total_cmp(&true_fixed(&world, *b)));
        let task = logged(folder.path(), &world, 150, 900 + seed);
        let fitted = task.fit(FitSettings::default()).unwrap();
        let found = answer(
            &task,
            &fitted,
            PolicyName::Plan,
            best.unwrap() as f64,
            resampling,
        );
        false_alarms += u64::from(found.difference.lower > 0.0);
        flattered += u64::from(found.own_expectation > found.against.reward);
    }
    say(&format!(
        "{worlds} worlds without uplift: {false_alarms} false alarms, {flattered} flattered by their own world"
    ));
    assert!(
        false_alarms as f64
            <= if worlds >= 100 {
                0.05 * worlds as f64
            } else {
                3.0
            }
    );
    assert!(flattered as f64 >= 0.5 * worlds as f64);
}

/// Two prices that earn the same: 2 f(1.6 + 2 w) = 4 f(1.6 + 4 w), for customers who are all alike and a stock that never
/// runs out. An interval of 95% leaves out 0 in 5% of worlds; of 60 other worlds of this kind, with
/// the draws of here, 3 did. At that rate more than 5 of 20 do so in less than 1 of 1,000 cases.
#[test]
fn equal_prices_differ_significantly_at_the_nominal_rate() {
    let (worlds, resampling) = effort(20);
    let folder = tempdir().unwrap();
    let f = |w: f64| 1.0 / (1.0 + f64::exp(-w));
    let (mut low, mut high) = (-2.0, -0.1);
    for _ in 0..60 {
        let w = 0.5 * (low + high);
        let dearer = 4.0 * f(1.6 + 4.0 * w) > 2.0 * f(1.6 + 2.0 * w);
        *if dearer { &mut high } else { &mut low } = w;
    }
    let world = shop(12, [0.0, 0.0, low], 1.6);
    assert!((true_fixed(&world, 2) - true_fixed(&world, 4)).abs() < 1e-9);
    let (mut above, mut below) = (0, 0);
    for seed in 0..worlds {
        let task = logged(folder.path(), &world, 150, 5000 + seed);
        let fitted = task.fit(FitSettings::default()).unwrap();
        let found = answer(&task, &fitted, PolicyName::Fixed(2.0), 4.0, resampling).difference;
        above += u64::from(found.lower > 0.0);
        below += u64::from(found.upper < 0.0);
    }
    say(&format!(
        "{worlds} worlds with prices of equal worth: {above} intervals above 0, {below} below"
    ));
    let allowed = if worlds >= 100 { worlds / 10 } else { 5 };
    assert!(above + below <= allowed);
}

/// Number of worlds and draws: a few, or those requested with all draws.
fn effort(few: u64) -> (u64, Resampling) {
    match std::env::var("OWN_DATA_WORLDS")
        .ok()
        .and_then(|n| n.parse().ok())
    {
        Some(worlds) => (worlds, Resampling::default()),
        None => {
            let resampling = Resampling {
                splits: 2,
                draws: 60,
                seed: 1,
            };
            (few, resampling)
        }
    }
}
