//! Tables in 32 and 64 bits lead to the same decisions. Random studies run on the CPU. For every plan the adapter makes a
//! second table in 32 bits, and both tables decide at every arrival. If they differ, the values of the two offers must agree
//! within the tie margin.
//!
//! The long run takes some minutes on each driver:
//!
//! ```text
//! STUDIES=2000 cargo test --release --test decisions -- --nocapture
//! ```

mod common;

use std::sync::{Arc, Mutex};

use cbwk_gpu::config::{Document, Study};
use cbwk_gpu::dp::cpu::{Cpu, Dense};
use cbwk_gpu::dp::gpu::Gpu;
use cbwk_gpu::dp::{
    Backend, BoundSource, Coefficients, PlanRequest, Precision, RawTable, ValueTable,
};
use cbwk_gpu::experiment::{self, NamedPolicy};
use cbwk_gpu::oracle::{Bounds, Known};
use cbwk_gpu::policy::{
    Candidate, Decider, Greedy, Plan, Policy, PolicySetting, Rule, Start, TIE_SHARE,
};
use cbwk_gpu::task::{Context, EpisodeContexts, Task};
use cbwk_gpu::world::Optimum;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// Statistics of the compared decisions.
#[derive(Debug, Default)]
struct Seen {
    decisions: u64,
    /// Decisions that differ.
    different: u64,
    /// The largest difference of an offer's value between the two tables, as a share of r_max.
    worst_error: f64,
    unexplained: Vec<String>,
}

/// A learner with a second table for every plan.
#[derive(Debug)]
struct Twin {
    learner: Box<dyn Policy>,
    task: Arc<Task>,
    second: Option<ValueTable>,
    backend: Arc<Mutex<Gpu>>,
    seen: Arc<Mutex<Seen>>,
    /// Added to the second table's values: 0, or more in the negative control.
    shift: f64,
}

impl Twin {
    fn compare(&self, context: &Context, budget: u32, chosen: usize) {
        let (Some(second), Some(Plan::Greedy { oracle, u_hat })) =
            (&self.second, self.learner.plan())
        else {
            return;
        };
        let task = &self.task;
        let other = Decider::new(task.actions()).choose(task, oracle, second, context, budget);
        let mut bounds = vec![Bounds::UNKNOWN; task.actions()];
        oracle.bounds(context, &mut bounds);
        let values = |table: &ValueTable| -> Vec<f64> {
            let next = table.row(context.step + 1);
            let value = |a: usize| {
                let (reward, cost) = (task.reward(context, a), task.cost(context, a));
                let c = Candidate::new(bounds[a - 1], reward, cost);
                let feasible = reward >= 0.0 && cost <= budget;
                let gap = || next[budget as usize] - next[(budget - cost) as usize];
                if feasible {
                    c.gain - c.lcb * gap()
                } else {
                    0.0
                }
            };
            std::iter::once(0.0)
                .chain((1..=task.actions()).map(value))
                .collect()
        };
        let (wide, narrow) = (values(u_hat), values(second));
        let r_max = task.reward_max();
        let errors = wide.iter().zip(&narrow).map(|(x, y)| (x - y).abs() / r_max);
        let error = errors.fold(0.0, f64::max);
        let mut seen = self.seen.lock().unwrap();
        seen.decisions += 1;
        seen.worst_error = seen.worst_error.max(error);
        if other != chosen {
            seen.different += 1;
            let apart = (wide[chosen] - wide[other]).abs() / r_max;
            // At the edge of a tie, rounding decides.
            if apart > TIE_SHARE + 2.0 * error || error > TIE_SHARE {
                let case = format!("{chosen} and {other}, {apart:e} apart, tables {error:e} apart");
                seen.unexplained.push(case);
            }
        }
    }
}

impl Policy for Twin {
    fn prepare(&mut self) -> bool {
        self.learner.prepare()
    }

    fn start_episode(&mut self, episode: usize, b_t: u32) {
        self.learner.start_episode(episode, b_t);
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let chosen = self.learner.choose(context, budget);
        self.compare(context, budget, chosen);
        chosen
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        self.learner.observe(context, action, converted);
    }

    fn learn(&mut self, contexts: &EpisodeContexts) -> bool {
        self.learner.learn(contexts)
    }

    fn fit(&mut self, t: usize) {
        self.learner.fit(t);
    }

    fn plan_request(&self) -> Option<PlanRequest<'_>> {
        self.learner.plan_request()
    }

    fn install(&mut self, u_hat: ValueTable) {
        let request = self.learner.plan_request().unwrap();
        let plans = self.backend.lock().unwrap().plan(&[request]).unwrap();
        let table = &plans.tables[0];
        let (horizon, r_max) = (table.horizon(), self.task.reward_max());
        let mut shifted = RawTable::zeros(horizon, table.budget_max(), Precision::F32, r_max);
        for h in 0..horizon {
            for (b, slot) in shifted.row_mut(h).iter_mut().enumerate() {
                *slot = table.row(h)[b] + self.shift * b as f64;
            }
        }
        self.second = Some(ValueTable::checked(shifted).unwrap());
        self.learner.install(u_hat);
    }

    fn plan(&self) -> Option<Plan<'_>> {
        self.learner.plan()
    }
}

/// A study of the paper's learner and the tight learner in a random world.
fn random_study(rng: &mut ChaCha8Rng, seed: u64) -> Study {
    let horizon = rng.random_range(2..=16);
    let budget = rng.random_range(1..=10);
    let actions = rng.random_range(1..=6);
    let numbers: Vec<String> = (1..=actions).map(|a| a.to_string()).collect();
    let numbers = numbers.join(", ");
    let mut share = || rng.random_range(1..=19) as f64 / 20.0;
    let armed: Vec<String> = (0..actions).map(|_| share().to_string()).collect();
    let armed = format!("kind = \"armed\"\nprobabilities = [{}]", armed.join(", "));
    let weights = [2.0 * share() - 0.5, share(), share()];
    let no_arrival = 0.4 * share();
    let logistic = |sign: f64| {
        let [bias, taste, price] = weights;
        format!(
            "kind = \"logistic\"\nweights = [{bias}, {taste}, {}]",
            sign * price
        )
    };
    let arms = |kind: &str| format!("oracle = {{ kind = \"armed\"{kind} }}");
    let regression = |kind: &str| format!("oracle = {{ kind = \"logistic\"{kind} }}");
    let features = match rng.random_range(0..3) {
        0 => "kind = \"grid\"\nlow = [0.0, 0.0]\nhigh = [1.0, 1.0]\npoints = [3, 4]",
        1 => "kind = \"box\"\nlow = [0.0, 0.0]\nhigh = [1.0, 1.0]",
        _ => "kind = \"finite\"\nvalues = [[1.0, 0.2], [1.0, 0.9]]",
    };
    let is_auction = rng.random_range(0..3) == 0;
    let values: Vec<String> = (1..=actions + 2).map(|v| format!("[{v}]")).collect();
    let values = format!("kind = \"finite\"\nvalues = [{}]", values.join(", "));
    let by_arms = rng.random::<bool>();
    let hiring = rng.random::<bool>();
    let (application, contexts, conversion, paper, tight) = match (is_auction, hiring) {
        (true, _) => (
            format!("kind = \"auction\"\nbids = [{numbers}]"),
            values.as_str(),
            armed.clone(),
            arms(""),
            arms(", bounds = \"beta-binomial\""),
        ),
        (false, hiring) => (
            match hiring {
                true => format!("kind = \"procurement\"\nwages = [{numbers}]"),
                false => format!("kind = \"pricing\"\nprices = [{numbers}]"),
            },
            features,
            match by_arms {
                true => armed.clone(),
                false => logistic(if hiring { 1.0 } else { -1.0 }),
            },
            match by_arms {
                true => arms(""),
                false => regression(", gamma = 0.5, kappa = 8.0"),
            },
            match by_arms {
                true => arms(", bounds = \"beta-binomial\""),
                false => regression(", bounds = \"mixture\""),
            },
        ),
    };
    let text = format!(
        "[study]\nepisodes = 45\nhorizon = {horizon}\nreplications = 1\nseed = {seed}\ndelta = 0.1\n\
         [budget]\nkind = \"constant\"\nvalue = {budget}\n\
         [application]\n{application}\n[contexts]\n{contexts}\nno_arrival = {no_arrival}\n[conversion]\n{conversion}\n\
         [[policies]]\nkind = \"mimic-opt-dp\"\n{paper}\n\
         [[policies]]\nkind = \"tight-opt-dp\"\n{tight}\n\
         [[policies]]\nkind = \"tight-opt-dp\"\nname = \"coupled\"\noptimism = \"coupled\"\n{tight}\n"
    );
    let document = Document::parse("random.toml".as_ref(), &text).unwrap();
    Study::from_document(&document).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs random studies with twins.
fn run(gpu: &Arc<Mutex<Gpu>>, studies: u64, shift: f64) -> Seen {
    let mut rng = common::rng(71);
    let seen = Arc::new(Mutex::new(Seen::default()));
    for seed in 1..=studies {
        let mut study = random_study(&mut rng, seed);
        let twin = |policy: &NamedPolicy| {
            let (maker, gpu, seen) = (policy.maker.clone(), gpu.clone(), seen.clone());
            let make = move |setting: &PolicySetting, start: Start| -> Box<dyn Policy> {
                Box::new(Twin {
                    learner: maker.make(setting, start),
                    task: setting.task.clone(),
                    second: None,
                    backend: gpu.clone(),
                    seen: seen.clone(),
                    shift: shift * setting.task.reward_max(),
                })
            };
            NamedPolicy::new(policy.name.clone(), make)
        };
        study.policies = study.policies.iter().map(twin).collect();
        experiment::run(&study, &mut Cpu::default(), &mut ()).unwrap();
    }
    Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
}

#[test]
fn tables_in_32_and_64_bits_make_the_same_decisions() {
    let Some(gpu) = common::gpu(false) else {
        return;
    };
    let gpu = Arc::new(Mutex::new(gpu));
    let studies = std::env::var("STUDIES").map_or(30, |n| n.parse().unwrap());
    let seen = run(&gpu, studies, 0.0);
    common::say(&format!(
        "{studies} studies, {} decisions, {} differ, {} unexplained; values differ by {:.1e} r_max at most",
        seen.decisions,
        seen.different,
        seen.unexplained.len(),
        seen.worst_error
    ));
    assert!(seen.decisions > 500 * studies);
    assert!(seen.unexplained.is_empty(), "{:#?}", seen.unexplained);
    assert!(seen.worst_error < TIE_SHARE / 2.0);
    // Negative control: an error a little larger than a tie is detected.
    let off = run(&gpu, 10, 4.0 * TIE_SHARE);
    assert!(!off.unexplained.is_empty(), "{off:?}");
}

/// Scarce units: 2,000 customers a day and 20 units. Early in the day every offer is worth as much as waiting, and every
/// customer still gets an offer. If only a quarter of the customers come, the units are sold.
#[test]
fn every_customer_gets_an_offer_while_units_are_left() {
    let text = "[study]\nepisodes = 1\nhorizon = 2000\n[budget]\nkind = \"constant\"\nvalue = 20\n\
        [application]\nkind = \"pricing\"\nprices = [1, 2, 3, 4, 5]\n\
        [contexts]\nkind = \"finite\"\nvalues = [[0.2], [0.9]]\n\
        [conversion]\nkind = \"logistic\"\nweights = [1.0, -0.5]\n[[policies]]\nkind = \"clairvoyant\"\n";
    let study =
        Study::from_document(&Document::parse("shop.toml".as_ref(), text).unwrap()).unwrap();
    let world = &study.world;
    let optimum = Optimum::exact(world, &mut Dense).unwrap().unwrap();
    let law = world.law_sample(false).unwrap();
    let mut coefficients = Coefficients::default();
    Known::fitted(world.clone()).fill(&law, &mut coefficients);
    let mut greedy = Greedy {
        sample: &law,
        coefficients: &coefficients,
        u_hat: &optimum.table,
        reward_max: world.task().reward_max(),
        rule: Rule::default(),
    };
    for step in 0..2000 {
        for (entry, _) in law.step(step).iter() {
            let actions = greedy.actions(step, entry, 1..=20);
            assert!(actions.iter().all(|a| *a > 0), "step {}", step + 1);
        }
    }
    // Only the first quarter of the customers arrive.
    let mut left = 20;
    for step in 0..500 {
        let (entry, _) = law.step(step).iter().nth(step % 2).unwrap();
        let action = greedy.actions(step, entry, left..=left)[0] as usize;
        // Every tenth customer buys.
        left -= u32::from(left > 0 && action > 0 && step % 10 == 0);
    }
    assert_eq!(left, 0);
}
