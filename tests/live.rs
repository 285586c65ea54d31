//! A learner in a user's hands: it decides as the simulation does, refuses what cannot be, and survives a restart.

mod common;

use cbwk_gpu::config::Study;
use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::experiment::{self, Purpose, Streams};
use cbwk_gpu::learner::{Labeled, Learner, LearnerError, LearnerSettings, LearnerState, Offer};
use cbwk_gpu::oracle::{Armed, Logistic, LogisticParameters, Oracle};
use cbwk_gpu::policy::LearnerSpec;
use cbwk_gpu::task::{ApplicationSpec, ContextRows, EpisodeContexts, Task, TaskSpec};
use common::study;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// The settings of the presets' learner.
fn paper(delta: f64) -> LearnerSettings {
    LearnerSettings {
        learning: LearnerSpec::PAPER,
        delta,
        ..LearnerSettings::default()
    }
}

/// One replication of a study, played by hand.
struct Shop {
    study: Study,
    contexts: ChaCha8Rng,
    luck: ChaCha8Rng,
}

impl Shop {
    fn new(study: Study) -> Self {
        let streams = Streams::new(study.seed);
        Self {
            contexts: streams.of(0, Purpose::Contexts),
            luck: streams.of(0, Purpose::Acceptance),
            study,
        }
    }

    /// The arrivals of the next episode, by step, each with its acceptance uniform.
    fn next(&mut self) -> Vec<(Option<Vec<f64>>, f64)> {
        let task = self.study.world.task();
        let mut episode = EpisodeContexts::new(task.dimension());
        self.study
            .world
            .contexts()
            .draw(&mut self.contexts, &mut episode);
        let mut steps: Vec<(Option<Vec<f64>>, f64)> = (0..task.horizon())
            .map(|_| (None, self.luck.random()))
            .collect();
        for context in episode.iter() {
            steps[context.step].0 = Some(context.features.to_vec());
        }
        steps
    }

    fn accepts(&self, step: usize, theta: &[f64], offer: &Offer, uniform: f64) -> bool {
        let context = self.study.world.task().context(step - 1, theta);
        offer.action > 0 && uniform < self.study.world.rho(&context, offer.action)
    }
}

fn oracle_of(task: &Task, name: &str) -> Box<dyn Oracle> {
    match name {
        "paper-pricing" => {
            let parameters = LogisticParameters {
                gamma: Some(0.5),
                kappa: Some(8.0),
                ..LogisticParameters::default()
            };
            Box::new(Logistic::new(task, parameters))
        }
        _ => Box::new(Armed::stationary(task.actions(), 1.0)),
    }
}

fn learner_of(study: &Study, name: &str) -> Learner {
    let task = Task::clone(study.world.task());
    let oracle = oracle_of(&task, name);
    Learner::new(task, oracle, paper(study.delta), Box::new(Cpu::default())).unwrap()
}

/// Plays one episode; with `restart`, the learner is saved and restored at every step.
fn play(learner: &mut Learner, shop: &mut Shop, name: &str, restart: bool) -> (f64, Vec<usize>) {
    let budget = 5;
    learner.begin(budget).unwrap();
    let mut actions = Vec::new();
    for (step, (theta, uniform)) in (1..).zip(shop.next()) {
        let Some(theta) = theta else { continue };
        let offer = learner.decide(step, &theta).unwrap();
        if restart {
            *learner = restarted(learner, &shop.study, name);
        }
        actions.push(offer.action);
        if offer.action > 0 {
            assert!(0.0 <= offer.lower && offer.lower <= offer.upper && offer.upper <= 1.0);
            assert!(offer.opportunity_cost >= 0.0);
            assert_eq!(learner.held(), offer.cost);
            let accepted = shop.accepts(step, &theta, &offer, uniform);
            learner.observe(accepted).unwrap();
        }
        assert_eq!(learner.held(), 0);
    }
    let day = learner.end().unwrap();
    if restart {
        *learner = restarted(learner, &shop.study, name);
    }
    (day.reward, actions)
}

fn restarted(learner: &Learner, study: &Study, name: &str) -> Learner {
    let text = serde_json::to_string(&learner.save()).unwrap();
    let state: LearnerState = serde_json::from_str(&text).unwrap();
    let task = Task::clone(study.world.task());
    let oracle = oracle_of(&task, name);
    let settings = paper(study.delta);
    let learner = Learner::restore(task, oracle, settings, Box::new(Cpu::default()), state);
    learner.unwrap()
}

#[test]
fn a_live_learner_earns_what_a_simulation_earns_despite_restarts_at_every_step() {
    for name in ["paper-auction", "paper-pricing"] {
        let study = study(name, |document| {
            document.choose_policies(&["mimic-opt-dp".into()], "--policy");
            document.set_whole("study", "replications", 1, "--replications");
            document.set_whole("study", "episodes", 30, "--episodes");
        });
        let mut records = Vec::new();
        experiment::run(&study, &mut Cpu::default(), &mut records).unwrap();
        let episodes = records[0].episodes.iter();
        let simulated: Vec<f64> = episodes.map(|episode| episode.reward).collect();
        let mut played = Vec::new();
        for restart in [false, true] {
            let mut shop = Shop::new(study.clone());
            let mut learner = learner_of(&study, name);
            let days = simulated.len();
            let days: Vec<_> = (0..days)
                .map(|_| play(&mut learner, &mut shop, name, restart))
                .collect();
            let rewards: Vec<f64> = days.iter().map(|day| day.0).collect();
            assert_eq!(rewards, simulated, "{name}, restart {restart}");
            played.push((days, serde_json::to_string(&learner.save()).unwrap()));
        }
        assert_eq!(played[0], played[1], "{name}");
    }
}

#[test]
fn a_state_that_lost_a_field_does_not_come_back_the_same() {
    let study = study("paper-pricing", |_| {});
    let mut shop = Shop::new(study.clone());
    let mut learner = learner_of(&study, "paper-pricing");
    for _ in 0..4 {
        play(&mut learner, &mut shop, "paper-pricing", false);
    }
    let mut state = serde_json::to_value(learner.save()).unwrap();
    // Without the start of Newton's iteration the next fit has other bits: the state must hold it.
    let start = state["policy"]["fit"]["oracle"].as_array().unwrap().clone();
    assert!(start.iter().any(|x| x.as_f64() != Some(0.0)));
    state["policy"]["fit"]["oracle"] = serde_json::json!([]);
    let state: LearnerState = serde_json::from_value(state).unwrap();
    let task = Task::clone(study.world.task());
    let oracle = oracle_of(&task, "paper-pricing");
    let backend = Box::new(Cpu::default());
    let refused = Learner::restore(task, oracle, paper(0.1), backend, state).unwrap_err();
    assert!(refused.to_string().starts_with("state: found 0 numbers"));
}

fn shop() -> Learner {
    let prices = vec![1.0, 2.0];
    let task = TaskSpec::new(4, 3, ApplicationSpec::Pricing { prices }, 2);
    let task = task.check().unwrap();
    let oracle = Box::new(Armed::stationary(2, 1.0));
    let settings = LearnerSettings::default();
    Learner::new(task, oracle, settings, Box::new(Cpu::default())).unwrap()
}

#[test]
fn wrong_calls_are_errors_and_change_nothing() {
    let mut learner = shop();
    let said = |result: Result<Offer, LearnerError>| result.unwrap_err().to_string();
    assert_eq!(learner.end().unwrap_err(), LearnerError::NoEpisode);
    assert_eq!(learner.decide(1, &[0.0, 0.0]), Err(LearnerError::NoEpisode));
    assert_eq!(
        learner.observe(true),
        Err(LearnerError::Ambiguous { open: 0 })
    );
    let refused = learner.begin(4).unwrap_err().to_string();
    assert_eq!(refused, "budget: found 4; accepted: units from 0 to 3");
    learner.begin(3).unwrap();
    assert_eq!(learner.begin(3), Err(LearnerError::EpisodeOpen));
    let before = serde_json::to_string(&learner.save()).unwrap();
    for (step, theta, message) in [
        (
            0,
            &[0.0, 0.0][..],
            "step: found 0; accepted: a step from 1 to 4",
        ),
        (
            5,
            &[0.0, 0.0],
            "step: found 5; accepted: a step from 1 to 4",
        ),
        (1, &[0.0], "context: found 1 features; accepted: 2 features"),
        (
            1,
            &[0.0, f64::NAN],
            "context[2]: found NaN; accepted: a number of size up to 1e15",
        ),
        (
            1,
            &[1e300, 0.0],
            "context[1]: found 1e300; accepted: a number of size up to 1e15",
        ),
    ] {
        assert_eq!(said(learner.decide(step, theta)), message);
    }
    let offer = 7;
    assert_eq!(
        learner.observe_offer(offer, true),
        Err(LearnerError::NoOffer { number: offer })
    );
    let row = Labeled {
        step: 1,
        features: &[0.0, 0.0],
        action: 1,
        accepted: true,
    };
    assert!(learner.extend([row, Labeled { action: 3, ..row }]).is_err());
    assert!(learner.extend([row, Labeled { step: 9, ..row }]).is_err());
    assert!(learner.extend_contexts(&ContextRows::new(3, 2)).is_err());
    assert!(learner.extend_contexts(&rows(4, 3)).is_err());
    assert_eq!(serde_json::to_string(&learner.save()).unwrap(), before);
    let settings = LearnerSettings {
        delta: 1.5,
        ..LearnerSettings::default()
    };
    let task = Task::clone(learner.task());
    let oracle = Box::new(Armed::stationary(2, 1.0));
    assert!(Learner::new(task, oracle, settings, Box::new(Cpu::default())).is_err());
}

fn rows(horizon: usize, dimension: usize) -> ContextRows {
    let mut rows = ContextRows::new(horizon, dimension);
    for _ in 0..horizon {
        rows.push(Some(&vec![0.5; dimension]));
    }
    rows
}

#[test]
fn open_offers_hold_their_units_and_late_outcomes_teach() {
    let mut learner = shop();
    learner.begin(2).unwrap();
    let first = learner.decide(1, &[0.1, 0.2]).unwrap();
    let second = learner.decide(1, &[0.3, 0.4]).unwrap();
    assert_eq!((learner.budget(), learner.held()), (Some(2), 2));
    // Both units are held: nothing is left to offer.
    assert_eq!(learner.decide(2, &[0.5, 0.6]).unwrap().action, 0);
    assert_eq!(
        learner.observe(true),
        Err(LearnerError::Ambiguous { open: 2 })
    );
    learner.observe_offer(second.number, false).unwrap();
    assert_eq!((learner.budget(), learner.held()), (Some(2), 1));
    assert!(learner.decide(3, &[0.5, 0.6]).unwrap().action > 0);
    let day = learner.end().unwrap();
    assert_eq!((day.reward, day.spent), (0.0, 0));
    // Episode 1 is reserved for contexts: its outcomes are not data. Those of episode 2 are, however late.
    learner.observe_offer(first.number, true).unwrap();
    assert_eq!(learner.policy().observations().len(), 0);
    learner.begin(3).unwrap();
    let late = learner.decide(1, &[0.1, 0.2]).unwrap();
    assert_eq!(learner.end().unwrap().observations, 0);
    assert_eq!(learner.held(), 0);
    learner.observe_offer(late.number, true).unwrap();
    assert_eq!(learner.policy().observations().len(), 1);
    assert_eq!(
        learner.observe_offer(late.number, true),
        Err(LearnerError::NoOffer {
            number: late.number
        })
    );
}

#[test]
fn a_log_and_rows_make_a_plan_before_the_first_customer() {
    let mut learner = shop();
    assert_eq!(learner.extend_contexts(&rows(4, 2)).unwrap(), 1);
    let log = (0..2000).map(|n| Labeled {
        step: 1 + n % 4,
        features: &[0.5, 0.5],
        action: 1 + n % 2,
        accepted: n % 2 == 0,
    });
    assert_eq!(learner.extend(log).unwrap(), 2000);
    learner.replan().unwrap();
    learner.begin(3).unwrap();
    let offer = learner.decide(4, &[0.5, 0.5]).unwrap();
    // Every customer accepted 1, none accepted 2, and the plan follows.
    assert_eq!((offer.action, offer.upper), (1, 1.0));
    assert!(offer.lower > 0.85, "{offer:?}");
    assert!(learner.policy().u_hat().start(3) > 0.0);
}

/// Every oracle is restored from its state to the bit, and so are later fits.
#[test]
fn every_oracle_survives_a_restart() {
    let cases = [
        (
            "paper-auction",
            "kind = \"armed\", bounds = \"beta-binomial\"",
        ),
        ("paper-auction", "kind = \"logistic\", bounds = \"mixture\""),
        ("paper-auction", "kind = \"glm\", link = \"logistic\""),
        (
            "paper-auction",
            "kind = \"glm\", link = \"linear\", bounds = \"mixture\"",
        ),
        ("paper-auction", "kind = \"neural\", width = 8, steps = 30"),
        (
            "smooth-pricing",
            "kind = \"gp\", kernel = { kind = \"matern\", nu = 1.5, length = 0.5 }",
        ),
        (
            "smooth-pricing",
            "kind = \"kernel\", kernel = { kind = \"squared-exponential\", length = 0.5 }",
        ),
    ];
    for (name, oracle) in cases {
        let preset = cbwk_gpu::config::preset(name).unwrap().text;
        let head = preset.split("[[policies]]").next().unwrap();
        let text =
            format!("{head}\n[[policies]]\nkind = \"mimic-opt-dp\"\noracle = {{ {oracle} }}\n");
        let document = cbwk_gpu::config::Document::parse(name.as_ref(), &text).unwrap();
        let study = Study::from_document(&document).unwrap();
        let (world, config) = (&study.world, study.oracles()[0].1.clone());
        let fresh = || common::build(&config, world, 200, common::rng(1));
        let mut rng = common::rng(9);
        let mut episode = EpisodeContexts::new(world.task().dimension());
        let mut data = cbwk_gpu::oracle::LabeledData::new(world.task().dimension());
        let mut undisturbed = fresh();
        let mut restarted = fresh();
        for round in 1..=6 {
            world.contexts().draw(&mut rng, &mut episode);
            for context in episode.iter() {
                let action = rng.random_range(1..=world.task().actions());
                let accepted = rng.random::<f64>() < world.rho(&context, action);
                data.push(&context, action, accepted);
            }
            undisturbed.fit(&data, 0.1);
            restarted.fit(&data, 0.1);
            let saved = restarted.save();
            restarted = fresh();
            restarted.restore(&data, 0.1, &saved).unwrap();
            for context in episode.iter() {
                let actions = world.task().actions();
                let mut bounds = [(); 2].map(|()| vec![cbwk_gpu::oracle::Bounds::UNKNOWN; actions]);
                undisturbed.bounds(&context, &mut bounds[0]);
                restarted.bounds(&context, &mut bounds[1]);
                assert_eq!(bounds[0], bounds[1], "{oracle}, round {round}");
            }
        }
        // A state that is not this oracle's is refused.
        assert!(fresh().restore(&data, 0.1, &[0.5; 99]).is_err(), "{oracle}");
    }
}
