//! A wave saved as text between any two episodes and resumed gives the same records as an uninterrupted wave, for every kind
//! of policy and oracle. With a part of its state left out it does not.

mod common;
#[path = "common/durable.rs"]
#[allow(dead_code, reason = "each test file uses a part")]
mod durable_study;

use std::path::Path;

use cbwk_gpu::config::{Document, Study};
use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::experiment::{Prepared, Record, RunList, Sink, SinkError, WaveState, Yardstick};
use cbwk_gpu::oracle::{LabeledData, Oracle};
use cbwk_gpu::task::{Context, EpisodeContexts};
use common::{say, study};
use rand::RngExt;
use serde_json::Value;

/// Keeps records, and the text of the state after every `every` episodes.
struct Saving {
    every: usize,
    episodes: usize,
    states: Vec<String>,
    records: Vec<Record>,
}

impl Sink for Saving {
    fn replication(&mut self, _yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        self.records.push(record.clone());
        Ok(())
    }

    fn wants_state(&mut self, _stopping: bool) -> bool {
        self.episodes += 1;
        self.episodes.is_multiple_of(self.every)
    }

    fn state(&mut self, state: &WaveState) -> Result<(), SinkError> {
        self.states.push(serde_json::to_string(state)?);
        Ok(())
    }
}

fn run_and_save(prepared: &Prepared, every: usize) -> Saving {
    let mut sink = Saving {
        every,
        episodes: 0,
        states: Vec::new(),
        records: Vec::new(),
    };
    let runs = RunList::share(prepared.study, None);
    prepared.run(runs, &mut Cpu::default(), &mut sink).unwrap();
    sink
}

fn policy_of(state: &str) -> usize {
    serde_json::from_str::<WaveState>(state).unwrap().policy
}

/// The records of a policy, resumed from a saved wave; `None` if the state is refused.
fn resumed(prepared: &Prepared, state: &str) -> Option<(String, Vec<Record>)> {
    let state: WaveState = serde_json::from_str(state).ok()?;
    let policy = prepared.study.policies.get(state.policy)?.name.clone();
    let runs = RunList {
        replications: vec![Vec::new(); prepared.study.policies.len()],
        unfinished: Some(state),
    };
    let mut records: Vec<Record> = Vec::new();
    prepared.run(runs, &mut Cpu::default(), &mut records).ok()?;
    Some((policy, records))
}

fn small(name: &str, episodes: u64, policies: &[&str]) -> Study {
    study(name, |document| {
        document.set_whole("study", "episodes", episodes, "test");
        document.set_whole("study", "replications", 3, "test");
        if !policies.is_empty() {
            let policies: Vec<String> = policies.iter().map(ToString::to_string).collect();
            document.choose_policies(&policies, "test");
        }
    })
}

/// Published baselines beside those of the presets.
const BASELINES: [&str; 9] = [
    "ts-fixed",
    "ts-update",
    "resolve",
    "lin-cbwk",
    "primal-dual",
    "dual-pacing",
    "pid-pacing",
    "explore-then-commit",
    "epsilon-greedy",
];

fn parsed(text: &str) -> Study {
    Study::from_document(&Document::parse(Path::new("study"), text).unwrap()).unwrap()
}

fn durable() -> Study {
    parsed(&durable_study::STUDY.replace("replications = 12", "replications = 3"))
}

/// Oracles that keep columns of the contexts they watch, in every learning policy. With few contexts their rows are merged
/// often; on a box they only grow.
fn kernels() -> [Study; 2] {
    let kernel = "kernel = { kind = \"matern\", nu = 1.5, length = 0.5 }";
    let policies = [
        ("mimic-opt-dp", "kernel", "initial_rows = 2"),
        ("tight-opt-dp", "kernel", "replan_growth = 0.2"),
        ("square-cbwk", "kernel", ""),
        ("logistic-ucb1", "kernel", ""),
        ("myopic", "kernel", ""),
        ("mimic-opt-dp", "gp", "data = \"shared\""),
        ("logistic-ucb1", "gp", ""),
    ];
    let study = |contexts: &str, oracles: &[&str]| {
        let mut text = format!(
            r#"
            [study]
            name = "kernels"
            episodes = 40
            horizon = 6
            replications = 2
            seed = 3
            [budget]
            kind = "constant"
            value = 3
            [application]
            kind = "pricing"
            prices = [1, 2, 3]
            [contexts]
            {contexts}
            [conversion]
            kind = "logistic"
            weights = [0.6, 0.6, -0.5]
            "#
        );
        for (number, (kind, oracle, more)) in policies.iter().enumerate() {
            if oracles.contains(oracle) {
                text += &format!(
                    "[[policies]]\nname = \"{number}: {kind}, {oracle}\"\nkind = \"{kind}\"\n{more}\noracle = {{ kind = \"{oracle}\", {kernel} }}\n"
                );
            }
        }
        parsed(&text)
    };
    let few = "kind = \"grid\"\nlow = [0.0, 0.0]\nhigh = [1.0, 1.0]\npoints = [4, 4]";
    let many = "kind = \"box\"\nlow = [0.0, 0.0]\nhigh = [1.0, 1.0]";
    [study(few, &["kernel", "gp"]), study(many, &["kernel"])]
}

#[test]
fn a_resumed_wave_gives_the_same_records() {
    let [few_contexts, many_contexts] = kernels();
    let studies = [
        durable(),
        few_contexts,
        many_contexts,
        small("paper-auction", 12, &[]),
        small("paper-pricing", 8, &[]),
        small("linear-pricing", 12, &[]),
        small("smooth-pricing", 8, &[]),
        small("nonlinear-pricing", 6, &[]),
        small("rush-hour-pricing", 6, &[]),
        small("ad-auction-budgets", 8, &[]),
        small("loan-table", 8, &[]),
        small("paper-auction", 12, &BASELINES),
        small("paper-pricing", 6, &BASELINES),
    ];
    let (mut waves, mut policies, mut wrong) = (0, 0, Vec::new());
    for study in &studies {
        let prepared = Prepared::new(study).unwrap();
        let whole = run_and_save(&prepared, 3);
        policies += study.policies.len();
        let saved = |policy: &usize| whole.states.iter().any(|s| policy_of(s) == *policy);
        let unsaved: Vec<usize> = (0..study.policies.len()).filter(|p| !saved(p)).collect();
        assert_eq!(unsaved, [0; 0], "{}: policies without a state", study.name);
        for state in &whole.states {
            let (policy, records) = resumed(&prepared, state).expect("a saved state");
            let own = whole.records.iter().filter(|r| r.policy == policy);
            if !own.eq(&records) {
                wrong.push(format!("{}: {policy}", study.name));
            }
            waves += 1;
        }
    }
    say(&format!(
        "{waves} saved waves of {policies} policies gave the same records"
    ));
    assert!(waves > 100 && wrong.is_empty(), "{wrong:?}");
}

/// Resets a field to a new wave's value wherever it occurs; returns whether anything changed.
fn forget(value: &mut Value, field: &str) -> bool {
    match value {
        Value::Object(entries) => entries.iter_mut().fold(false, |any, (key, value)| {
            if key != field {
                return forget(value, field) || any;
            }
            let empty = match &*value {
                Value::Array(_) => Value::Array(Vec::new()),
                Value::Number(_) => Value::from(0),
                Value::Object(_) | Value::Null => Value::Null,
                other => other.clone(),
            };
            let changed = *value != empty;
            *value = empty;
            changed || any
        }),
        Value::Array(values) => {
            let changed = values
                .iter_mut()
                .filter_map(|v| forget(v, field).then_some(()));
            changed.count() > 0
        }
        _ => false,
    }
}

/// Negative control: a state without one of its fields is refused or gives other records.
#[test]
fn a_state_with_a_missing_field_is_refused_or_gives_other_records() {
    let study = durable();
    let prepared = Prepared::new(&study).unwrap();
    let whole = run_and_save(&prepared, 10);
    let fields = [
        "contexts",
        "acceptance",
        "outcomes",
        "left",
        "rows",
        "data",
        "fitted",
        "u_hat",
        "stream",
        "Stream",
        "episodes",
        "states",
        "policy",
        "replications",
        "actions",
        "converted",
    ];
    for field in fields {
        let (mut noticed, mut tried) = (0, 0);
        for text in &whole.states {
            let mut state: Value = serde_json::from_str(text).unwrap();
            if !forget(&mut state, field) {
                continue;
            }
            tried += 1;
            let name = &study.policies[policy_of(text)].name;
            let own: Vec<&Record> = whole.records.iter().filter(|r| r.policy == *name).collect();
            let same = resumed(&prepared, &state.to_string()).is_some_and(|(_, records)| {
                own.len() == records.len() && own.iter().zip(&records).all(|(a, b)| *a == b)
            });
            noticed += usize::from(!same);
        }
        say(&format!(
            "without `{field}`: detected in {noticed} of {tried} states"
        ));
        assert!(tried > 0 && noticed > 0, "{field}");
    }
}

/// An oracle's columns of watched contexts are restored to the bit. If all contexts had been watched before the first fit, the
/// columns would differ by rounding; the test detects that.
#[test]
fn columns_of_watched_contexts_are_restored_to_the_bit() {
    let (mut compared, mut noticed) = (0, 0);
    for study in kernels() {
        let (world, config) = (&study.world, study.oracles()[0].1.clone());
        let fresh = || common::build(&config, world, 200, common::rng(1));
        let mut rng = common::rng(9);
        let mut data = LabeledData::new(world.task().dimension());
        let mut episodes: Vec<EpisodeContexts> = Vec::new();
        let mut undisturbed = fresh();
        for round in 0..30 {
            let mut episode = EpisodeContexts::new(world.task().dimension());
            world.contexts().draw(&mut rng, &mut episode);
            // Pairs are often observed before their contexts are watched.
            if round % 3 == 2 {
                episode
                    .iter()
                    .for_each(|context| undisturbed.watch(&context));
                episodes.push(episode.clone());
            }
            for context in episode.iter() {
                let action = rng.random_range(1..=world.task().actions());
                data.push(&context, action, rng.random_bool(0.4));
            }
            undisturbed.fit(&data, 0.1);
            let saved = undisturbed.save();
            let mut at_once = saved.clone();
            let watched = at_once[at_once.len() - 1];
            at_once
                .iter_mut()
                .skip(1)
                .step_by(2)
                .for_each(|w| *w = watched);
            let estimates = |oracle: &dyn Oracle| -> Vec<f64> {
                let contexts = episodes.iter().flat_map(EpisodeContexts::iter);
                let estimate = |context: Context| {
                    let mut out = vec![0.0; world.task().actions()];
                    oracle.estimate(&context, &mut out);
                    out
                };
                contexts.flat_map(estimate).collect()
            };
            let restarted = |saved: &[f64]| {
                let mut oracle = fresh();
                let contexts = episodes.iter().flat_map(EpisodeContexts::iter);
                contexts.for_each(|context| oracle.watch(&context));
                oracle.restore(&data, 0.1, saved).unwrap();
                estimates(oracle.as_ref())
            };
            let expected = estimates(undisturbed.as_ref());
            assert_eq!(restarted(&saved), expected);
            compared += expected.len();
            noticed += usize::from(restarted(&at_once) != expected);
        }
    }
    say(&format!(
        "{compared} estimates were restored to the bit; with all contexts watched first, {noticed} of 60 fits differ"
    ));
    assert!(noticed > 0);
}
