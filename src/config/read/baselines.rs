//! The published baselines of a study file.

use super::oracles::{DefaultBounds, oracle};
use crate::config::{Read, Section};
use crate::policy::{Baseline, BaselineSpec, DualSettings, PidSettings, SquareSettings};
use crate::world::ConversionSpec;

/// The kinds of baselines.
pub(super) const BASELINES: [&str; 11] = [
    "square-cbwk",
    "logistic-ucb1",
    "ts-fixed",
    "ts-update",
    "lin-cbwk",
    "primal-dual",
    "resolve",
    "explore-then-commit",
    "epsilon-greedy",
    "dual-pacing",
    "pid-pacing",
];

/// A baseline with its oracle; `truth` decides the default oracle. The paper's two keep the paper's bounds by default.
pub(super) fn baseline(s: &mut Section, kind: &str, truth: &ConversionSpec) -> Read<BaselineSpec> {
    let (baseline, bounds) = (settings(s, kind)?, DefaultBounds::Tight);
    let bounds = match kind {
        "square-cbwk" | "logistic-ucb1" => DefaultBounds::Paper,
        _ => bounds,
    };
    let oracle = oracle(s, truth, bounds)?;
    Ok(BaselineSpec { baseline, oracle })
}

fn settings(s: &mut Section, kind: &str) -> Read<Baseline> {
    Ok(match kind {
        "square-cbwk" => Baseline::SquareCbwk(SquareSettings {
            eta: s.optional_number("eta")?,
            gamma: s.optional_number("gamma")?,
            reset_dual: s.flag_or("reset_dual", true)?,
        }),
        "logistic-ucb1" => Baseline::LogisticUcb1 {
            budget_correction: s.number_or("budget_correction", 0.0)?,
        },
        "ts-fixed" => Baseline::Thompson { updates: false },
        "ts-update" => Baseline::Thompson { updates: true },
        "lin-cbwk" => Baseline::LinCbwk(DualSettings {
            z: s.optional_number("z")?,
            ..dual(s, true)?
        }),
        "primal-dual" => Baseline::PrimalDual(dual(s, true)?),
        "resolve" => Baseline::Resolve,
        "dual-pacing" => Baseline::DualPacing(dual(s, false)?),
        "pid-pacing" => Baseline::PidPacing(PidSettings {
            proportional: s.optional_number("proportional")?,
            integral: s.optional_number("integral")?,
            derivative: s.optional_number("derivative")?,
            reset_dual: s.flag_or("reset_dual", false)?,
        }),
        "explore-then-commit" => Baseline::ExploreThenCommit {
            episodes: s
                .optional_whole("episodes", 1..=1_000_000_000)?
                .map(|n| n as usize),
        },
        _ => Baseline::EpsilonGreedy {
            epsilon: s.optional_number("epsilon")?,
        },
    })
}

fn dual(s: &mut Section, reset_dual: bool) -> Read<DualSettings> {
    Ok(DualSettings {
        eta: s.optional_number("eta")?,
        z: None,
        reset_dual: s.flag_or("reset_dual", reset_dual)?,
    })
}
