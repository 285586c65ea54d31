//! Anytime coverage by simulation: on data that a greedy learner collects, the bounds of all pairs hold rho at every time at
//! once in at least 1 - delta of 400 runs, with delta the same at every fit.
//!
//! The theory allows delta = 0.1; mixtures are somewhat conservative. If the true rate of runs with a miss is at most 0.05,
//! more than 40 in 400 have probability 1.4e-5 (binomial tail), which is the false-alarm rate of each check. The control
//! shrinks the radii until the check fails.

mod common;

use std::path::Path;

use cbwk_gpu::config::{Document, Study};
use cbwk_gpu::experiment::{Purpose, Streams};
use cbwk_gpu::oracle::{Bounds, LabeledData, Sides};
use cbwk_gpu::task::EpisodeContexts;
use rand::RngExt;
use rayon::prelude::*;

const DELTA: f64 = 0.1;
const RUNS: u64 = 400;

struct Case {
    contexts: &'static str,
    conversion: &'static str,
    oracle: &'static str,
    sides: Sides,
    /// Observations of a run.
    observations: usize,
    /// The factor on the radius that breaks the promise.
    narrow: f64,
}

impl Case {
    fn study(&self, radius_scale: f64) -> Study {
        let Self {
            contexts,
            conversion,
            oracle,
            ..
        } = self;
        let text = format!(
            "[study]\nhorizon = 4\n[budget]\nkind = \"constant\"\nvalue = 2\n\
             [application]\nkind = \"pricing\"\nprices = [0.5, 1.0, 1.5]\n\
             [contexts]\n{contexts}\n[conversion]\n{conversion}\n\
             [[policies]]\nkind = \"mimic-opt-dp\"\n\
             oracle = {{ {oracle}, radius_scale = {radius_scale} }}\n"
        );
        let document = Document::parse(Path::new("small"), &text).unwrap();
        Study::from_document(&document).unwrap()
    }

    /// Runs in which some pair was outside its bounds after some observation.
    fn missed(&self, radius_scale: f64) -> usize {
        let study = self.study(radius_scale);
        let runs = (0..RUNS).into_par_iter();
        runs.filter(|&run| self.misses(&study, run)).count()
    }

    /// Actions are those of the largest ucb * reward: the data are as adaptive as a learner makes them.
    fn misses(&self, study: &Study, run: u64) -> bool {
        let world = &study.world;
        let task = world.task();
        let streams = Streams::new(7);
        let (_, oracle) = study.oracles()[0];
        let start = streams.of(run, Purpose::Oracle);
        let oracle = oracle.build(task, 100, start, None, self.sides);
        let mut oracle = oracle.unwrap();
        assert!(oracle.facts().anytime);
        let pairs = world.law_sample(oracle.facts().by_step).unwrap();
        (0..pairs.len()).for_each(|entry| oracle.watch(&pairs.context(entry)));
        let mut contexts = streams.of(run, Purpose::Contexts);
        let mut luck = streams.of(run, Purpose::Acceptance);
        let mut episode = EpisodeContexts::new(task.dimension());
        let mut data = LabeledData::new(task.dimension());
        let mut bounds = vec![Bounds::UNKNOWN; task.actions()];
        while data.len() < self.observations {
            world.contexts().draw(&mut contexts, &mut episode);
            for context in episode.iter() {
                oracle.bounds(&context, &mut bounds);
                let value = |a: &usize| bounds[a - 1].ucb * task.reward(&context, *a);
                let best = (1..=task.actions()).max_by(|x, y| value(x).total_cmp(&value(y)));
                let action = best.unwrap();
                let converted = luck.random::<f64>() < world.rho(&context, action);
                data.push(&context, action, converted);
                oracle.fit(&data, DELTA);
                for context in (0..pairs.len()).map(|entry| pairs.context(entry)) {
                    oracle.bounds(&context, &mut bounds);
                    for (a, bounds) in bounds.iter().enumerate() {
                        let rho = world.rho(&context, a + 1);
                        if rho > bounds.ucb || rho < bounds.lcb {
                            return true;
                        }
                    }
                }
            }
        }
        assert_eq!(oracle.diagnosis().observations, data.len());
        false
    }

    fn check(&self) {
        let missed = self.missed(1.0);
        let control = self.missed(self.narrow);
        common::say(&format!(
            "{}: {missed} of {RUNS} runs missed, {control} with {} of the radius",
            self.oracle, self.narrow
        ));
        let allowed = (DELTA * RUNS as f64) as usize;
        assert!(missed <= allowed, "{}: {missed}", self.oracle);
        assert!(control > allowed, "{}: {control}", self.oracle);
    }
}

const TWO_TYPES: &str = "kind = \"finite\"\nvalues = [[0.0], [1.0]]";

#[test]
fn beta_binomial_two_sided() {
    Case {
        contexts: TWO_TYPES,
        conversion: "kind = \"armed\"\nprobabilities = [0.8, 0.55, 0.35]",
        oracle: "kind = \"armed\", bounds = \"beta-binomial\"",
        sides: Sides::Both,
        observations: 1000,
        narrow: 0.7,
    }
    .check();
}

#[test]
fn beta_binomial_one_sided() {
    Case {
        contexts: TWO_TYPES,
        conversion: "kind = \"armed\"\nprobabilities = [0.8, 0.55, 0.35]",
        oracle: "kind = \"armed\", bounds = \"beta-binomial\"",
        sides: Sides::Upper,
        observations: 1000,
        narrow: 0.5,
    }
    .check();
}

#[test]
fn beta_binomial_by_step() {
    Case {
        contexts: TWO_TYPES,
        conversion: "kind = \"armed-by-step\"\nprobabilities = \
             [[0.8, 0.5, 0.2], [0.7, 0.4, 0.1], [0.9, 0.6, 0.3], [0.5, 0.5, 0.5]]",
        oracle: "kind = \"armed-by-step\", bounds = \"beta-binomial\"",
        sides: Sides::Both,
        observations: 2000,
        narrow: 0.7,
    }
    .check();
}

#[test]
fn beta_binomial_by_type() {
    Case {
        contexts: TWO_TYPES,
        conversion: "kind = \"table\"\nprobabilities = [[0.8, 0.5, 0.2], [0.6, 0.5, 0.4]]",
        oracle: "kind = \"tabular\"",
        sides: Sides::Both,
        observations: 2000,
        narrow: 0.7,
    }
    .check();
}

#[test]
fn logistic_mixture() {
    Case {
        contexts: "kind = \"grid\"\nlow = [0.0, 0.0]\nhigh = [1.0, 30.0]\npoints = [3, 3]",
        conversion: "kind = \"logistic\"\nweights = [1.6, 0.05, -1.5]",
        oracle: "kind = \"logistic\", bounds = \"mixture\"",
        sides: Sides::Both,
        observations: 150,
        narrow: 0.35,
    }
    .check();
}

#[test]
fn linear_mixture() {
    Case {
        contexts: "kind = \"grid\"\nlow = [0.0, 1.0]\nhigh = [1.0, 1.0]\npoints = [6, 1]",
        conversion: "kind = \"linear\"\nweights = [0.4, 0.5, -0.3]",
        oracle: "kind = \"glm\", link = \"linear\", bounds = \"mixture\"",
        sides: Sides::Both,
        observations: 1000,
        narrow: 0.4,
    }
    .check();
}

/// The norm of the truth is 0.82, below the bound 1.
#[test]
fn kernel_mixture() {
    Case {
        contexts: "kind = \"grid\"\nlow = [0.0]\nhigh = [1.0]\npoints = [10]",
        conversion: "kind = \"rkhs\"\nkernel = { kind = \"squared-exponential\", length = [0.3, 0.8] }\n\
             centers = [[0.2, 0.5], [0.8, 1.0]]\nweights = [0.6, 0.5]",
        oracle: "kind = \"kernel\", bounds = \"mixture\", lambda = 1.0",
        sides: Sides::Both,
        observations: 120,
        narrow: 0.3,
    }
    .check();
}
