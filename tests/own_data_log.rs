//! The labeled log: how it is read, its arrival rates, and how it starts a learner.

mod common;

use std::path::Path;
use std::sync::Arc;

use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::history::{EmpiricalLaw, Exposure, FeatureColumns, LabeledLog, LogForm};
use cbwk_gpu::learner::{Learner, LearnerSettings};
use cbwk_gpu::oracle::{Arms, OracleSpec};
use cbwk_gpu::policy::{
    InitialArrival, InitialLog, InitialRows, LearnerSpec, PolicySetting, PolicySpec, Start, advance,
};
use cbwk_gpu::task::{ApplicationSpec, EpisodeContexts, Task, TaskSpec};
use common::rng;

fn task(horizon: usize, budget: u32) -> Task {
    let prices = vec![1.0, 2.5];
    TaskSpec::new(horizon, budget, ApplicationSpec::Pricing { prices }, 1)
        .check()
        .unwrap()
}

fn parse(text: &str, horizon: usize) -> LabeledLog {
    let form = LogForm {
        horizon,
        features: FeatureColumns::All,
        actions: Some(&[1.0, 2.5]),
    };
    LabeledLog::parse(Path::new("log.csv"), text.as_bytes(), &form).unwrap()
}

#[test]
fn lines_may_be_in_any_order() {
    let text = "episode,step,x,action,accepted,budget,probability\n\
        b,2,0.5,2.5,1,4,0.25\na,1,,,,3,\nb,1,-1,,0,4,\nc,3,2,1.0,0,,0.5\n";
    let log = parse(text, 3);
    let labels: Vec<&str> = log.episodes().iter().map(|e| e.label.as_str()).collect();
    assert_eq!(labels, ["b", "a", "c"]);
    let budgets: Vec<Option<u32>> = log.episodes().iter().map(|e| e.budget).collect();
    assert_eq!(budgets, [Some(4), Some(3), None]);
    let ranges: Vec<_> = log.episodes().iter().map(|e| e.arrivals.clone()).collect();
    assert_eq!(ranges, [0..2, 2..2, 2..3]);
    assert_eq!((log.theta(0), log.theta(1)), (&[-1.0][..], &[0.5][..]));
    assert_eq!((log.arrivals()[0].action, log.arrivals()[1].action), (0, 2));
    assert_eq!(
        (log.offers(), log.accepted(), log.has_probabilities()),
        (2, 1, true)
    );
    assert_eq!(log.arrivals()[1].probability, 0.25);
    let shuffled = "step,x,accepted,action,episode,probability,budget\n\
        1,-1,0,,b,,4\n3,2,0,1,c,0.5,\n2,0.5,1,2.5,b,0.25,4\n1,,,,a,,3\n";
    assert_eq!(parse(shuffled, 3).thetas_by_label("c"), [2.0]);
    assert_eq!(log.earned(&task(3, 5), &log.episodes()[0]), (2.5, 1));
}

trait ByLabel {
    fn thetas_by_label(&self, label: &str) -> Vec<f64>;
}

impl ByLabel for LabeledLog {
    fn thetas_by_label(&self, label: &str) -> Vec<f64> {
        let episode = self.episodes().iter().find(|e| e.label == label).unwrap();
        episode
            .arrivals
            .clone()
            .flat_map(|i| self.theta(i).to_vec())
            .collect()
    }
}

#[test]
fn steps_with_few_arrivals_use_the_contexts_of_all_steps() {
    let mut text = String::from("episode,step,x,action,accepted\n");
    for e in 0..40 {
        text += &format!("{e},1,{},1,0\n", e % 2);
        if e < 10 {
            text += &format!("{e},3,7,1,0\n");
        }
    }
    let log = parse(&text, 3);
    let law = EmpiricalLaw::new(&log, 3, 20);
    assert_eq!(law.pooled, [false, true, true]);
    assert_eq!(law.arrivals, [40, 0, 10]);
    let segments = law.segments(&log);
    assert_eq!(segments.len(), 2);
    assert_eq!(
        (segments[0].values.clone(), segments[0].weights.clone()),
        (vec![vec![0.0], vec![1.0]], vec![0.5, 0.5])
    );
    assert_eq!(
        (segments[1].steps.clone(), segments[1].weights.clone()),
        (2..=3, vec![0.4, 0.2, 0.4])
    );
}

/// A shop with one unit that records nobody once it is sold: of 30 days with an arrival at every step, 20 end after the
/// first. Naive rates of later steps would be a third; those of the other days are 1.
#[test]
fn arrivals_after_the_stock_is_gone_are_not_counted_as_absent() {
    let mut text = String::from("episode,step,x,action,accepted\n");
    for e in 0..30 {
        text += &format!("{e},1,0,1,{}\n", u8::from(e < 20));
        if e >= 20 {
            text += &format!("{e},2,0,1,0\n{e},3,0,1,0\n");
        }
    }
    let exposure = Exposure::of(&parse(&text, 3), &task(3, 1));
    assert_eq!(exposure.cut_short, 20);
    assert_eq!(
        exposure.rates(&parse(&text, 3), 3, |_| 1.0),
        [1.0, 1.0, 1.0]
    );
    // One line after a sale shows that the shop does record them.
    let careful = parse(&(text + "0,3,0,,0\n"), 3);
    let exposure = Exposure::of(&careful, &task(3, 1));
    assert_eq!(exposure.cut_short, 0);
    assert_eq!(
        exposure.rates(&careful, 3, |_| 1.0),
        [1.0, 10.0 / 30.0, 11.0 / 30.0]
    );
}

/// A study's `initial_log` and a live learner with the same rows make the same first plan.
#[test]
fn a_log_starts_a_policy_and_a_learner_alike() {
    let mut text = String::from("episode,step,x,action,accepted\n");
    for i in 0..300u32 {
        let price = if i % 3 == 0 { 1.0 } else { 2.5 };
        let accepted = u8::from(i * 37 % 100 < if i % 3 == 0 { 70 } else { 35 });
        text += &format!(
            "{},{},{},{price},{accepted}\n",
            i / 3,
            i % 3 + 1,
            f64::from(i % 7) / 7.0
        );
    }
    let log = parse(&text, 3);
    let task = Arc::new(task(3, 2));
    let spec = OracleSpec::BetaBinomial {
        arms: Arms::Single,
        radius_scale: 1.0,
    };
    let arrival = |i: usize| InitialArrival {
        step: log.arrivals()[i].step as usize,
        features: log.theta(i).to_vec(),
        action: log.arrivals()[i].action as usize,
        accepted: log.arrivals()[i].accepted,
    };
    let initial = InitialLog {
        episodes: log
            .episodes()
            .iter()
            .map(|e| e.arrivals.clone().map(arrival).collect())
            .collect(),
    };
    let policy = PolicySpec::Learner {
        settings: LearnerSpec::TIGHT,
        initial: InitialRows::Drawn(0),
        log: Some(Arc::new(initial)),
        oracle: spec.clone(),
    };
    let config = policy.check("policy", &task).unwrap();
    let world = common::study("paper-auction", |_| {}).world;
    let setting = PolicySetting {
        task: Arc::clone(&task),
        truth: world,
        optimum: vec![Arc::new(cbwk_gpu::dp::ValueTable::zeros(3, 2))],
        fluid: Vec::new(),
        delta: 0.1,
        episodes: 10,
    };
    let start = Start {
        drawn_rows: None,
        oracle: rng(1),
        choices: rng(2),
    };
    use cbwk_gpu::policy::{MakePolicy, Plan};
    let mut warm = config.make(&setting, start);
    assert!(warm.prepare());
    advance(&mut [warm.as_mut()], 1, &mut Cpu::default()).unwrap();
    let Some(Plan::Greedy { u_hat: warm, .. }) = warm.plan() else {
        panic!("the learner plans");
    };

    let settings = LearnerSettings::default();
    let config = spec.check("oracle", &task).unwrap();
    let learning = settings.learning.check("learner", config.facts(), 0);
    let sides = learning.unwrap().sides();
    let oracle = config.build(&task, 10, rng(1), None, sides).unwrap();
    let mut learner =
        Learner::new((*task).clone(), oracle, settings, Box::new(Cpu::default())).unwrap();
    assert_eq!(learner.extend(log.labeled()).unwrap(), 300);
    let episodes: Vec<EpisodeContexts> = log
        .episodes()
        .iter()
        .map(|e| log.contexts(&task, e))
        .collect();
    assert_eq!(learner.extend_episodes(&episodes).unwrap(), 100);
    learner.replan().unwrap();
    assert_eq!(warm, learner.policy().u_hat());
    assert!(warm.start(2) > 1.0);
}
