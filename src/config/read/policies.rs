//! The policies of a study file.

use std::sync::Arc;

use super::context_rows::{self, FeatureNames};
use super::oracles::{Default, oracle};
use super::{Read, WHOLE, sections};
use crate::config::live::{LiveLearner, initial_log_of};
use crate::config::section::Section;
use crate::history::{LabeledLog, LogForm};
use crate::policy::{
    DataUse, InitialLog, InitialRows, LearnerSpec, Optimism, PolicySpec, SquareSettings,
};
use crate::world::{ConversionSpec, WorldSpec};

/// A policy as the study names it, by default after its kind.
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
    sections(root, "policies", |s| {
        let kinds = [
            "mimic-opt-dp",
            "tight-opt-dp",
            "thompson-opt-dp",
            "square-cbwk",
            "logistic-ucb1",
            "clairvoyant",
            "fluid",
            "myopic",
            "random",
            "fixed",
            "fixed:<a>",
        ];
        let mut learner = |s: &mut Section<'_>, settings, bounds| -> Read<PolicySpec> {
            Ok(PolicySpec::Learner {
                settings: learner_settings(s, settings)?,
                initial: initial_rows(s, horizon, names)?,
                log: initial_log(s, spec, names)?,
                oracle: oracle(s, truth, bounds)?,
            })
        };
        let kind = s.kind(&kinds)?;
        let name = s.optional_text("name")?.unwrap_or_else(|| kind.clone());
        let spec = match kind.as_str() {
            "mimic-opt-dp" => learner(s, LearnerSpec::PAPER, Default::Paper)?,
            "tight-opt-dp" => learner(s, LearnerSpec::TIGHT, Default::Tight)?,
            "thompson-opt-dp" => learner(s, LearnerSpec::THOMPSON, Default::Tight)?,
            "square-cbwk" => PolicySpec::SquareCbwk {
                settings: SquareSettings {
                    eta: s.optional_number("eta")?,
                    gamma: s.optional_number("gamma")?,
                    reset_dual: s.flag_or("reset_dual", true)?,
                },
                oracle: oracle(s, truth, Default::Paper)?,
            },
            "logistic-ucb1" => PolicySpec::LogisticUcb1 {
                budget_correction: s.number_or("budget_correction", 0.0)?,
                oracle: oracle(s, truth, Default::Paper)?,
            },
            "clairvoyant" => PolicySpec::Clairvoyant,
            "fluid" => PolicySpec::Fluid {
                resolve: s.flag_or("resolve", true)?,
            },
            "myopic" => PolicySpec::Myopic {
                oracle: oracle(s, truth, Default::Paper)?,
            },
            "random" => PolicySpec::Random,
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

/// The learner of a task folder: the settings of a policy, with those that a study has for all of them.
pub(in crate::config) fn learner(s: &mut Section) -> Read<LiveLearner> {
    let kind = s.kind(&["mimic-opt-dp", "tight-opt-dp", "thompson-opt-dp"])?;
    let (settings, bounds) = match kind.as_str() {
        "mimic-opt-dp" => (LearnerSpec::PAPER, Default::Paper),
        "tight-opt-dp" => (LearnerSpec::TIGHT, Default::Tight),
        _ => (LearnerSpec::THOMPSON, Default::Tight),
    };
    // Nobody knows the truth: an oracle must be named, and its kernel too.
    let truth = ConversionSpec::Table {
        probabilities: Vec::new(),
    };
    Ok(LiveLearner {
        learning: learner_settings(s, settings)?,
        oracle: oracle(s, &truth, bounds)?,
        delta: s.number_or("delta", 0.1)?,
        seed: s.whole_or("seed", 0..=i64::MAX as u64, 1)?,
    })
}

fn learner_settings(s: &mut Section, default: LearnerSpec) -> Read<LearnerSpec> {
    Ok(LearnerSpec {
        optimism: match s.word_or("optimism", &OPTIMISM, optimism_word(default.optimism))? {
            "separate" => Optimism::Separate,
            "coupled" => Optimism::Coupled,
            _ => Optimism::Auto,
        },
        data: match s.word_or("data", &["split", "shared"], "split")? {
            "shared" => DataUse::Shared,
            _ => DataUse::Split,
        },
        alpha: s.number_or("alpha", default.alpha)?,
        replan_growth: s.number_or("replan_growth", default.replan_growth)?,
        sampling: default.sampling,
    })
}

const OPTIMISM: [&str; 3] = ["separate", "coupled", "auto"];

fn optimism_word(optimism: Optimism) -> &'static str {
    match optimism {
        Optimism::Separate => OPTIMISM[0],
        Optimism::Coupled => OPTIMISM[1],
        Optimism::Auto => OPTIMISM[2],
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
