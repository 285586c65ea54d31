//! Logs drawn from known worlds, as task folders.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cbwk_gpu::experiment::sample_log;
use cbwk_gpu::history::{BudgetSource, Import, ImportSpec, OfferKind, StepSource};
use cbwk_gpu::shop::TaskFolder;
use cbwk_gpu::task::ApplicationSpec;
use cbwk_gpu::world::{BudgetSpec, ContextsSpec, ConversionSpec, LawSpec, World, WorldSpec};

/// A shop with prices 1, 2, 3, 4, twelve steps, customers on a 4 x 4 grid of two features, logistic acceptance.
pub fn shop(budget: u32, weights: [f64; 3], intercept: f64) -> Arc<World> {
    let ticks = [0.0, 0.4, 0.7, 1.0];
    let values = ticks
        .iter()
        .flat_map(|x| ticks.iter().map(|y| vec![1.0, *x, *y]));
    let spec = WorldSpec {
        horizon: 12,
        budget: BudgetSpec::Constant { value: budget },
        application: ApplicationSpec::Pricing {
            prices: vec![1.0, 2.0, 3.0, 4.0],
        },
        reward_max: None,
        contexts: ContextsSpec {
            law: LawSpec::Finite {
                values: values.collect(),
                weights: None,
            },
            no_arrival: vec![0.25],
            types: None,
            features: Some(vec!["one".into(), "x".into(), "y".into()]),
        },
        conversion: ConversionSpec::Logistic {
            weights: [&[intercept][..], &weights].concat(),
        },
    };
    Arc::new(spec.check().unwrap())
}

/// The raw file of a world's log, without the shop's constant.
pub fn raw_log(world: &World, episodes: usize, seed: u64) -> String {
    let mut text = String::from("day,hour,x,y,price,bought,stock\n");
    for arrival in sample_log(world, episodes, seed) {
        let price = match arrival.action {
            0 => String::new(),
            a => world.task().application().action_value(a).to_string(),
        };
        let (x, y) = (arrival.features[1], arrival.features[2]);
        text += &format!(
            "{},{},{x},{y},{price},{},{}\n",
            arrival.episode,
            arrival.step,
            u8::from(arrival.accepted),
            arrival.budget
        );
    }
    text
}

/// How to read the file.
pub fn spec(horizon: usize) -> ImportSpec {
    ImportSpec {
        episode: "day".into(),
        step: StepSource::Column {
            name: "hour".into(),
            steps: Some(horizon),
        },
        action: "price".into(),
        accepted: "bought".into(),
        features: None,
        categories: vec![],
        budget: BudgetSource::Column("stock".into()),
        zone: None,
        probability: None,
        kind: OfferKind::Pricing,
        round: None,
        quantity: None,
        relative_to: None,
        units: 1,
        drop_wrong: false,
    }
}

/// A task folder from a raw file.
pub fn task_folder(folder: &Path, raw: &str, spec: &ImportSpec) -> TaskFolder {
    let file = folder.join("raw.csv");
    fs::write(&file, raw).unwrap();
    let import = Import::survey(&file, spec).unwrap();
    TaskFolder::create(&folder.join("task"), import, true).unwrap();
    TaskFolder::open(&folder.join("task")).unwrap()
}

/// A task folder from a world's log.
pub fn logged(folder: &Path, world: &World, episodes: usize, seed: u64) -> TaskFolder {
    let raw = raw_log(world, episodes, seed);
    task_folder(folder, &raw, &spec(world.task().horizon()))
}
