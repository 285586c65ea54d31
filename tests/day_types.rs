//! Worlds whose days are of several types: optima by brute force, policies against exact expectations, and refusals.

mod common;

use std::fs;
use std::path::Path;

use cbwk_gpu::config::{Document, Study};
use cbwk_gpu::dp::cpu::{Cpu, Dense};
use cbwk_gpu::experiment::{self, Purpose, Streams};
use cbwk_gpu::task::EpisodeContexts;
use cbwk_gpu::world::Optimum;
use tempfile::tempdir;

const HEAD: &str = r#"
[study]
horizon = 3
episodes = 200
replications = 30
[budget]
kind = "constant"
value = 2
[application]
kind = "pricing"
prices = [1.0, 2.5]
[conversion]
kind = "table"
probabilities = [[0.95, 0.3], [0.2, 0.9]]
[[policies]]
kind = "clairvoyant"
[[policies]]
kind = "fluid"
[[policies]]
kind = "tight-opt-dp"
oracle = { kind = "armed", bounds = "beta-binomial" }
[[policies]]
kind = "fixed:1"
"#;

const QUIET: &str =
    "{ kind = \"finite\", values = [[0], [1]], weights = [0.8, 0.2], no_arrival = 0.7 }";
const BUSY: &str = "{ kind = \"finite\", values = [[0], [1]], weights = [0.3, 0.7], no_arrival = [0.0, 0.1, 0.3] }";

fn days(types: &[(f64, &str)]) -> String {
    let mut text = format!("{HEAD}[contexts]\nkind = \"days\"\n");
    for (weight, contexts) in types {
        text += &format!("[[contexts.types]]\nweight = {weight:?}\ncontexts = {contexts}\n");
    }
    text
}

fn study(text: &str) -> Study {
    let document = Document::parse(Path::new("days.toml"), text).unwrap();
    Study::from_document(&document).unwrap()
}

/// The world of the tests once more: shares of contexts 0 and 1 among arrivals, and arrival rates by step.
const TYPES: [(f64, [f64; 2], [f64; 3]); 2] = [
    (0.6, [0.8, 0.2], [0.3; 3]),
    (0.4, [0.3, 0.7], [1.0, 0.9, 0.7]),
];
const PRICES: [f64; 2] = [1.0, 2.5];
const RHO: [[f64; 2]; 2] = [[0.95, 0.3], [0.2, 0.9]];

/// Expected reward from two units on both types of day; `policy` has an action for each of three steps, one or two units,
/// two contexts.
fn worth(policy: &[usize; 12]) -> [f64; 2] {
    TYPES.map(|(_, shares, rates)| {
        // Probability of each number of units left, forwards.
        let mut left = [0.0, 0.0, 1.0];
        let mut earned = 0.0;
        for step in 0..3 {
            let before = left;
            for units in 1..3 {
                for context in 0..2 {
                    let action = policy[(step * 2 + units - 1) * 2 + context];
                    if action > 0 {
                        let sold = before[units]
                            * rates[step]
                            * shares[context]
                            * RHO[context][action - 1];
                        earned += sold * PRICES[action - 1];
                        left[units] -= sold;
                        left[units - 1] += sold;
                    }
                }
            }
        }
        earned
    })
}

/// The best of all policies on each type of day, and of those that do not see the type on all days.
fn best_of_all() -> ([f64; 2], f64) {
    let (mut best, mut blind) = ([0.0f64; 2], 0.0f64);
    for mut number in 0..3usize.pow(12) {
        let policy = [0; 12].map(|_| {
            let action = number % 3;
            number /= 3;
            action
        });
        let worth = worth(&policy);
        best = [best[0].max(worth[0]), best[1].max(worth[1])];
        blind = blind.max(TYPES[0].0 * worth[0] + TYPES[1].0 * worth[1]);
    }
    (best, blind)
}

#[test]
fn optima_and_policies_agree_with_brute_force() {
    let study = study(&days(&[(0.6, QUIET), (0.4, BUSY)]));
    let ([quiet, busy], blind) = best_of_all();
    let opt = 0.6 * quiet + 0.4 * busy;
    assert!(
        opt > blind + 0.01,
        "knowing the type is worth something: {opt} {blind}"
    );
    let outcome = experiment::run(&study, &mut Dense, &mut ()).unwrap();
    let optimum = &outcome.optimum;
    assert!((optimum.table.start(2) - opt).abs() < 1e-12, "{opt}");
    assert!((optimum.days[0].start(2) - quiet).abs() < 1e-12);
    assert!((optimum.days[1].start(2) - busy).abs() < 1e-12);
    assert!(optimum.fluid[2] > opt);
    let episodes = study.episodes as f64;
    let expected = |name: &str| {
        let policy = outcome.policies.iter().find(|p| p.name == name).unwrap();
        policy.regret.expected.unwrap().mean / episodes
    };
    assert!(expected("clairvoyant").abs() < 1e-12);
    assert!(expected("fluid") > 1e-6);
    let fixed = worth(&[1; 12]);
    let fixed = opt - 0.6 * fixed[0] - 0.4 * fixed[1];
    assert!((expected("fixed:1") - fixed).abs() < 1e-12);
    // No learner can beat the best policy that does not see the type.
    let learner = expected("tight-opt-dp");
    assert!(learner >= opt - blind, "{learner}");
    // Realised rewards have the expected ones as their means: 4.5 standard errors, false alarm 7e-6 each.
    for policy in &outcome.policies {
        let (regret, expected) = (
            policy.regret.cumulative.last().unwrap(),
            policy.regret.expected,
        );
        let off = (regret.mean - expected.unwrap().mean).abs();
        assert!(off < 4.5 * regret.standard_error, "{}: {off}", policy.name);
    }
    let offers = outcome.policies[0].offers.as_ref().unwrap();
    // The clairvoyant plays the optimum, to the rounding of means over replications.
    for (own, best) in offers.learnt.iter().zip(&offers.optimal) {
        assert!((own.mean_action - best.mean_action).abs() < 1e-12);
    }
}

/// With one type a study is the same, bit for bit, as without types.
#[test]
fn one_type_is_no_type() {
    let contexts = BUSY.trim_matches(['{', '}', ' ']).replace(", no", "\nno");
    let contexts = contexts
        .replace(", values", "\nvalues")
        .replace(", weights", "\nweights");
    let plain = study(&format!("{HEAD}[contexts]\n{contexts}\n"));
    let days = study(&days(&[(1.0, BUSY)]));
    let run = |study: &Study| {
        let outcome = experiment::run(study, &mut Dense, &mut ()).unwrap();
        let finals = outcome.policies.into_iter().map(|p| p.regret.finals);
        (finals.collect::<Vec<_>>(), outcome.optimum.table)
    };
    assert_eq!(run(&plain), run(&days));
}

#[test]
fn days_are_drawn_as_often_as_their_weights_say() {
    let study = study(&days(&[(0.6, QUIET), (0.4, BUSY)]));
    let laws = study.world.contexts();
    let (mut rng, mut contexts) = (common::rng(5), EpisodeContexts::new(1));
    let (mut busy, mut arrivals) = (0, [0; 2]);
    let draws = 20_000;
    for _ in 0..draws {
        let day = laws.draw(&mut rng, &mut contexts);
        busy += day;
        arrivals[day] += contexts.iter().count();
    }
    // 4.5 standard deviations, false alarm 7e-6 each.
    let near =
        |found: f64, p: f64, n: f64| (found / n - p).abs() < 4.5 * (p * (1.0 - p) / n).sqrt();
    assert!(near(busy as f64, 0.4, f64::from(draws)), "{busy}");
    assert!(near(
        arrivals[0] as f64,
        0.3,
        3.0 * (draws as usize - busy) as f64
    ));
    assert!(near(arrivals[1] as f64, 2.6 / 3.0, 3.0 * busy as f64));
}

/// Continuous laws: conversion does not depend on the context, so that the optimum is known from finite laws.
#[test]
fn estimates_are_means_over_types() {
    let armed = |text: String| {
        let table = "kind = \"table\"\nprobabilities = [[0.95, 0.3], [0.2, 0.9]]";
        study(&text.replace(table, "kind = \"armed\"\nprobabilities = [0.8, 0.4]"))
    };
    let law = |kind: &str, rate: f64| format!("{{ {kind}, no_arrival = {rate:?} }}");
    let worlds = [
        "kind = \"finite\", values = [[0]]",
        "kind = \"box\", low = [0], high = [1]",
    ];
    let [finite, boxes] = worlds.map(|kind| {
        let (quiet, busy) = (law(kind, 0.7), law(kind, 0.1));
        armed(days(&[(0.6, &quiet), (0.4, &busy)])).world
    });
    let exact = Optimum::exact(&finite, &mut Dense).unwrap().unwrap();
    assert!(Optimum::exact(&boxes, &mut Dense).unwrap().is_none());
    let mut stream = Streams::new(1).of_study(Purpose::Optimum);
    let found = Optimum::drawn(&boxes, 4000, &mut stream, &mut Cpu::default()).unwrap();
    let estimate = found.estimate.as_ref().unwrap();
    assert_eq!(estimate.rows, 8000);
    for b in 1..=2 {
        let (off, error) = (
            found.table.start(b) - exact.table.start(b),
            estimate.standard_error[b as usize],
        );
        // 4.5 standard errors, false alarm 7e-6 each; the error itself is right to a third.
        assert!(off.abs() < 4.5 * error && error < 0.02, "{off} {error}");
        for (day, other) in found.days.iter().zip(&exact.days) {
            assert!((day.start(b) - other.start(b)).abs() < 0.1);
        }
    }
    let mut study = armed(days(&[
        (0.6, &law(worlds[1], 0.7)),
        (0.4, &law(worlds[1], 0.1)),
    ]));
    (study.episodes, study.replications) = (20, 2);
    let outcome = experiment::run(&study, &mut Dense, &mut ()).unwrap();
    assert!(
        outcome
            .policies
            .iter()
            .all(|p| p.regret.cumulative.len() == 20)
    );
}

#[test]
fn what_is_wrong_is_named() {
    let folder = tempdir().unwrap();
    let complaint = |text: &str, command: &[&str]| {
        fs::write(folder.path().join("days.toml"), text).unwrap();
        let output = common::cbwk(folder.path(), command);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let good = days(&[(0.6, QUIET), (0.4, BUSY)]);
    let nested = good.replace(BUSY, "{ kind = \"days\" }");
    let top = good.replace("\"days\"", "\"days\"\nno_arrival = 0.5");
    let wide = good.replace(BUSY, "{ kind = \"box\", low = [0, 0], high = [1, 1] }");
    let rate = good.replace("no_arrival = 0.7", "no_arrival = 1.7");
    let twice = good.replace("weight = ", "name = \"a\"\nweight = ");
    #[rustfmt::skip]
    let cases = [
        (good.replace("weight = 0.4", "weight = 0.5"), "contexts.types: found weights that sum to 1.1"),
        (nested, "contexts.types[2].contexts.kind: found `days`; accepted: one of finite, grid, box, mixture, file, by-step, log"),
        (top, "contexts: found unknown key `no_arrival`"),
        (wide, "contexts.types[2].contexts: found 2 features; accepted: the same number of features"),
        (rate, "contexts.types[1].contexts.no_arrival: found 1.7"),
        (twice, "contexts.types[2].name: found a second type called `a`"),
        (days(&[]), "contexts.types: found an empty list"),
    ];
    for (text, wanted) in cases {
        let found = complaint(&text, &["solve", "days.toml"]);
        assert!(found.contains(wanted), "{found}");
    }
    let rows = "episode,step,x\n1,1,0\n1,2,0\n1,3,0\n";
    fs::write(folder.path().join("rows.csv"), rows).unwrap();
    let found = complaint(&good, &["solve", "days.toml", "--contexts", "rows.csv"]);
    assert!(
        found.contains("--contexts: found a world with 2 types of day"),
        "{found}"
    );
    let found = complaint(&good, &["solve", "days.toml", "--sample-sizes", "10"]);
    assert!(
        found.contains("--sample-sizes: found a world with 2 types of day"),
        "{found}"
    );
    let said = common::cbwk_ok(folder.path(), &["solve", "days.toml"]);
    assert!(said.contains("the mean over 2 types"), "{said}");
}
