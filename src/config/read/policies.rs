//! The policies of a study file.

use std::sync::Arc;

use super::context_rows::{self, FeatureNames};
use super::oracles::oracle;
use super::{Read, WHOLE, sections};
use crate::config::section::Section;
use crate::policy::{DataUse, InitialRows, LearnerSpec, Optimism, PolicySpec, SquareSettings};
use crate::world::ConversionSpec;

/// The policies with their names, by default their kinds.
pub(in crate::config) fn policies(
    root: &mut Section,
    horizon: usize,
    truth: &ConversionSpec,
    names: &mut FeatureNames,
) -> Read<Vec<(String, PolicySpec)>> {
    sections(root, "policies", |s| {
        let kinds = [
            "mimic-opt-dp",
            "tight-opt-dp",
            "square-cbwk",
            "logistic-ucb1",
            "clairvoyant",
            "fluid",
            "myopic",
            "random",
            "fixed:<a>",
        ];
        let kind = s.kind(&kinds)?;
        let name = s.optional_text("name")?.unwrap_or_else(|| kind.clone());
        let spec = match kind.as_str() {
            "mimic-opt-dp" => PolicySpec::Learner {
                settings: learner(s, LearnerSpec::PAPER)?,
                initial: initial_rows(s, horizon, names)?,
                oracle: oracle(s, truth)?,
            },
            "tight-opt-dp" => PolicySpec::Learner {
                settings: learner(s, LearnerSpec::TIGHT)?,
                initial: initial_rows(s, horizon, names)?,
                oracle: oracle(s, truth)?,
            },
            "square-cbwk" => PolicySpec::SquareCbwk {
                settings: SquareSettings {
                    eta: s.optional_number("eta")?,
                    gamma: s.optional_number("gamma")?,
                    reset_dual: s.flag_or("reset_dual", true)?,
                },
                oracle: oracle(s, truth)?,
            },
            "logistic-ucb1" => PolicySpec::LogisticUcb1 {
                budget_correction: s.number_or("budget_correction", 0.0)?,
                oracle: oracle(s, truth)?,
            },
            "clairvoyant" => PolicySpec::Clairvoyant,
            "fluid" => PolicySpec::Fluid {
                resolve: s.flag_or("resolve", true)?,
            },
            "myopic" => PolicySpec::Myopic {
                oracle: oracle(s, truth)?,
            },
            "random" => PolicySpec::Random,
            other => match other.strip_prefix("fixed:").map(str::parse) {
                Some(Ok(action)) => PolicySpec::Fixed { action },
                _ => return Err(s.wrong_kind("fixed:<a> with an action index, such as fixed:1")),
            },
        };
        Ok((name, spec))
    })
}

fn learner(s: &mut Section, default: LearnerSpec) -> Read<LearnerSpec> {
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
