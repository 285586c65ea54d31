//! The policies of a study file.

use std::sync::Arc;

use super::WHOLE;
use super::baselines::{BASELINES, baseline};
use super::context_rows::{self, FeatureNames};
use super::oracles::{DefaultBounds, oracle};
use crate::config::own::own;
use crate::config::{Read, Section};
use crate::history::{LabeledLog, LogForm};
use crate::oracle::OracleSpec;
use crate::policy::{
    DataUse, InitialArrival, InitialLog, InitialRows, LearnerSpec, Optimism, PolicySpec,
};
use crate::world::{ConversionSpec, WorldSpec};

/// A policy with its name in the study, by default its kind.
#[derive(Debug, Clone)]
pub(in crate::config) struct NamedSpec {
    pub name: String,
    pub spec: PolicySpec,
}

/// The policies of the study.
pub(in crate::config) fn policies(
    root: &mut Section,
    spec: &WorldSpec,
    names: &mut FeatureNames,
) -> Read<Vec<NamedSpec>> {
    let (horizon, truth) = (spec.horizon, &spec.conversion);
    root.tables("policies", |s| {
        let others = [
            "clairvoyant",
            "fluid",
            "myopic",
            "random",
            "fixed",
            "fixed:<a>",
            "own",
        ];
        let kind = s.kind(&[&LEARNERS[..], &BASELINES, &others].concat())?;
        let name = s.optional_text("name")?.unwrap_or_else(|| kind.clone());
        let spec = match kind.as_str() {
            learner if LEARNERS.contains(&learner) => {
                let (settings, bounds) = learner_defaults(learner);
                let oracle = oracle(s, truth, bounds)?;
                PolicySpec::Learner {
                    settings: learner_settings(s, settings, &oracle)?,
                    initial: initial_rows(s, horizon, names)?,
                    log: initial_log(s, spec, names)?,
                    oracle,
                }
            }
            published if BASELINES.contains(&published) => {
                PolicySpec::Baseline(baseline(s, published, truth)?)
            }
            "clairvoyant" => PolicySpec::Clairvoyant,
            "fluid" => PolicySpec::Fluid {
                resolve: s.flag_or("resolve", true)?,
            },
            "myopic" => PolicySpec::Myopic {
                oracle: oracle(s, truth, DefaultBounds::Paper)?,
            },
            "random" => PolicySpec::Random,
            "own" => PolicySpec::Own(own(s, |finder, code, object| finder.policy(code, object))?),
            "fixed" => PolicySpec::FixedValue {
                value: s.number("value")?,
            },
            other => match other.strip_prefix("fixed:").map(str::parse) {
                Some(Ok(action)) => PolicySpec::Fixed { action },
                _ => return Err(s.wrong_kind("fixed:<a> with an action index, such as fixed:1")),
            },
        };
        Ok(NamedSpec { name, spec })
    })
}

/// The kinds of learners.
const LEARNERS: [&str; 4] = ["mimic-opt-dp", "tight-opt-dp", "thompson-opt-dp", "plug-in"];

fn learner_defaults(kind: &str) -> (LearnerSpec, DefaultBounds) {
    match kind {
        "mimic-opt-dp" => (LearnerSpec::PAPER, DefaultBounds::Paper),
        "tight-opt-dp" => (LearnerSpec::TIGHT, DefaultBounds::Tight),
        "plug-in" => (LearnerSpec::PLUG_IN, DefaultBounds::Tight),
        _ => (LearnerSpec::THOMPSON, DefaultBounds::Tight),
    }
}

/// A learner without initial data; `truth` decides its default oracle.
pub(crate) fn learner(s: &mut Section, truth: &ConversionSpec) -> Read<(LearnerSpec, OracleSpec)> {
    let (settings, bounds) = learner_defaults(&s.kind(&LEARNERS)?);
    let oracle = oracle(s, truth, bounds)?;
    Ok((learner_settings(s, settings, &oracle)?, oracle))
}

fn learner_settings(
    s: &mut Section,
    default: LearnerSpec,
    oracle: &OracleSpec,
) -> Read<LearnerSpec> {
    Ok(LearnerSpec {
        optimism: match s.word_or("optimism", &OPTIMISM, optimism_word(default.optimism))? {
            "separate" => Optimism::Separate,
            _ => Optimism::Coupled,
        },
        data: match s.word_or("data", &["split", "shared"], "split")? {
            "shared" => DataUse::Shared,
            _ => DataUse::Split,
        },
        alpha: s.number_or("alpha", default.alpha)?,
        replan_growth: s.number_or("replan_growth", default.replan_growth)?,
        tolerance: tolerance(s, default, oracle)?,
        sampling: default.sampling,
    })
}

/// kappa. A default that depends on the oracle stays open: the oracle of a live learner may be the caller's own.
fn tolerance(s: &mut Section, default: LearnerSpec, oracle: &OracleSpec) -> Read<Option<f64>> {
    const KEY: &str = "tolerance";
    if default.sampling || default == LearnerSpec::PLUG_IN {
        return Ok(default.tolerance);
    }
    if oracle.own().is_some() && default.tolerance.is_none() {
        return s.optional_number(KEY);
    }
    let theirs = LearnerSpec::default_tolerance(oracle.facts());
    let value = s.number_or(KEY, default.tolerance.unwrap_or(theirs))?;
    let open = default.tolerance.is_none() && !s.has(KEY);
    Ok((!open).then_some(value))
}

/// `auto` is `coupled`.
const OPTIMISM: [&str; 3] = ["separate", "coupled", "auto"];

fn optimism_word(optimism: Optimism) -> &'static str {
    match optimism {
        Optimism::Separate => OPTIMISM[0],
        Optimism::Coupled => OPTIMISM[2],
    }
}

fn initial_rows(s: &mut Section, horizon: usize, names: &mut FeatureNames) -> Read<InitialRows> {
    if s.has("initial_file") && s.has("initial_rows") {
        return Err(s.conflict("initial_rows", "initial_rows or initial_file, not both"));
    }
    if s.has("initial_file") {
        let rows = context_rows::read(&s.path("initial_file")?, horizon, names)?;
        return Ok(InitialRows::Given(Arc::new(rows)));
    }
    let rows = s.whole_or("initial_rows", WHOLE, 0)?;
    Ok(InitialRows::Drawn(rows as usize))
}

/// A labeled log: a warm start of oracle and contexts.
fn initial_log(
    s: &mut Section,
    spec: &WorldSpec,
    names: &mut FeatureNames,
) -> Read<Option<Arc<InitialLog>>> {
    if !s.has("initial_log") {
        s.ignore("initial_log");
        return Ok(None);
    }
    let file = s.path("initial_log")?;
    let values = spec.application.action_values();
    let form = LogForm {
        horizon: spec.horizon,
        features: names.columns(),
        actions: Some(&values),
    };
    let log = LabeledLog::read(&file, &form)?;
    names.accept(&file, log.features())?;
    Ok(Some(Arc::new(initial_log_of(&log))))
}

/// A log as a learner starts from it.
pub(crate) fn initial_log_of(log: &LabeledLog) -> InitialLog {
    let arrival = |i: usize| InitialArrival {
        step: log.arrivals()[i].step as usize,
        features: log.theta(i).to_vec(),
        action: log.arrivals()[i].action as usize,
        accepted: log.arrivals()[i].accepted,
    };
    let episodes = log.episodes().iter();
    InitialLog {
        episodes: episodes
            .map(|e| e.arrivals.clone().map(arrival).collect())
            .collect(),
    }
}
