//! Baselines as a study file names them: checked once, then built once per replication.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::exploration::Exploration;
use super::{DualSettings, Exploring, LinearProgram, PidSettings, Priced, PrimalDual};
use super::{SquareCbwk, SquareSettings};
use crate::error::{Invalid, shown};
use crate::oracle::{Oracle, OracleConfig, OracleSpec, PlugIn, Sides};
use crate::policy::{DataUse, LearnerConfig, LearnerSpec, MimicOptDp, Policy};
use crate::task::Task;

/// A published algorithm and its settings.
#[derive(Debug, Clone, PartialEq)]
pub enum Baseline {
    /// SquareCBwK (Han et al., 2023): regression, a price for the budget, inverse gap weighting.
    SquareCbwk(SquareSettings),
    /// Box B of Li and Stoltz (2022): an optimistic linear program at every step.
    LogisticUcb1 {
        /// b_T, units of the budget to set aside.
        budget_correction: f64,
    },
    /// Thompson sampling with a linear program (Ferreira, Simchi-Levi and Wang, 2018).
    Thompson {
        /// Whether the program uses the budget left (TS-update) or the starting budget (TS-fixed).
        updates: bool,
    },
    /// The fluid relaxation with learnt rho and law, solved again at every step (Wu et al., 2015).
    Resolve,
    /// LinCBwK (Agrawal and Devanur, 2016).
    LinCbwk(DualSettings),
    /// PrimalDualBwK (Badanidiyuru, Kleinberg and Slivkins, 2013).
    PrimalDual(DualSettings),
    /// Adaptive pacing (Balseiro and Gur, 2019).
    DualPacing(DualSettings),
    /// A PID pacer.
    PidPacing(PidSettings),
    /// Random offers in the first episodes, then a plan with point estimates.
    ExploreThenCommit {
        /// Number of exploring episodes; ceil(T^(2/3)) by default.
        episodes: Option<usize>,
    },
    /// A plan with point estimates, and random offers with a probability.
    EpsilonGreedy {
        /// The probability; by default it falls with time.
        epsilon: Option<f64>,
    },
}

/// A baseline with the oracle it learns from, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineSpec {
    /// The algorithm.
    pub baseline: Baseline,
    /// Its oracle.
    pub oracle: OracleSpec,
}

/// A checked baseline.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::policy) struct BaselineConfig {
    pub baseline: Baseline,
    pub oracle: OracleConfig,
    /// Of those that plan with point estimates.
    pub learner: Option<LearnerConfig>,
}

impl BaselineSpec {
    /// Checks the parameters. Errors name `field`.
    pub(in crate::policy) fn check(
        &self,
        field: &str,
        task: &Task,
    ) -> Result<BaselineConfig, Invalid> {
        let refuse = |key: &str, value: f64, accepted: &str| {
            Err(Invalid::new(
                format!("{field}.{key}"),
                shown(value),
                accepted,
            ))
        };
        for (key, value) in self.baseline.positive() {
            if let Some(value) = value.filter(|x| !(x.is_finite() && *x > 0.0)) {
                return refuse(key, value, "a positive number");
            }
        }
        for (key, value) in self.baseline.at_least_zero() {
            if let Some(value) = value.filter(|x| !(x.is_finite() && *x >= 0.0)) {
                return refuse(key, value, "a number from 0");
            }
        }
        if let Baseline::EpsilonGreedy {
            epsilon: Some(epsilon),
        } = self.baseline
            && !(0.0..=1.0).contains(&epsilon)
        {
            return refuse("epsilon", epsilon, "a probability");
        }
        let oracle = self.oracle.check(&format!("{field}.oracle"), task)?;
        if matches!(self.baseline, Baseline::Thompson { .. }) {
            oracle.check_posterior(&format!("{field}.oracle"))?;
        }
        let settings = LearnerSpec {
            data: DataUse::Shared,
            ..LearnerSpec::PAPER
        };
        Ok(BaselineConfig {
            learner: match self.baseline.plans() {
                true => Some(settings.check(field, oracle.facts(), 0)?),
                false => None,
            },
            baseline: self.baseline.clone(),
            oracle,
        })
    }
}

impl Baseline {
    /// Whether it plans with point estimates.
    fn plans(&self) -> bool {
        matches!(
            self,
            Self::ExploreThenCommit { .. } | Self::EpsilonGreedy { .. }
        )
    }

    /// Whether it stores the contexts it has seen with their expected costs and rewards.
    pub(in crate::policy) fn stores_contexts(&self) -> bool {
        matches!(
            self,
            Self::LogisticUcb1 { .. }
                | Self::Thompson { .. }
                | Self::Resolve
                | Self::PrimalDual(_)
                | Self::ExploreThenCommit { .. }
                | Self::EpsilonGreedy { .. }
        )
    }

    /// Which bounds it needs.
    pub(in crate::policy) fn sides(&self) -> Sides {
        match self {
            Self::Resolve | Self::DualPacing(_) | Self::PidPacing(_) => Sides::Upper,
            _ => Sides::Both,
        }
    }

    /// Settings that must be positive.
    fn positive(&self) -> Vec<(&'static str, Option<f64>)> {
        match self {
            Self::SquareCbwk(own) => vec![("eta", own.eta), ("gamma", own.gamma)],
            Self::LinCbwk(own) | Self::PrimalDual(own) | Self::DualPacing(own) => {
                vec![("eta", own.eta), ("z", own.z)]
            }
            Self::PidPacing(own) => vec![("proportional", own.proportional)],
            _ => Vec::new(),
        }
    }

    /// Settings that may be 0.
    fn at_least_zero(&self) -> Vec<(&'static str, Option<f64>)> {
        match self {
            Self::LogisticUcb1 { budget_correction } => {
                vec![("budget_correction", Some(*budget_correction))]
            }
            Self::PidPacing(own) => {
                vec![("integral", own.integral), ("derivative", own.derivative)]
            }
            _ => Vec::new(),
        }
    }
}

impl BaselineConfig {
    /// The policy of one replication of a study of `episodes` episodes.
    pub fn build(
        &self,
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        episodes: usize,
        rng: ChaCha8Rng,
    ) -> Box<dyn Policy> {
        match &self.baseline {
            Baseline::SquareCbwk(settings) => {
                Box::new(SquareCbwk::new(task, oracle, delta, *settings, rng))
            }
            Baseline::LogisticUcb1 {
                budget_correction: b,
            } => Box::new(LinearProgram::logistic_ucb1(task, oracle, delta, *b, rng)),
            Baseline::Thompson { updates } => {
                Box::new(LinearProgram::thompson(task, oracle, delta, *updates, rng))
            }
            Baseline::Resolve => Box::new(LinearProgram::resolve(task, oracle, delta, rng)),
            Baseline::LinCbwk(settings) => {
                Box::new(Priced::lin_cbwk(task, oracle, delta, *settings, episodes))
            }
            Baseline::PrimalDual(settings) => {
                Box::new(PrimalDual::new(task, oracle, delta, *settings))
            }
            Baseline::DualPacing(settings) => Box::new(Priced::dual_pacing(
                task, oracle, delta, *settings, episodes,
            )),
            Baseline::PidPacing(settings) => {
                Box::new(Priced::pid_pacing(task, oracle, delta, *settings, episodes))
            }
            Baseline::ExploreThenCommit { episodes: own } => {
                let theory = (episodes as f64).powf(2.0 / 3.0).ceil() as usize;
                let episodes = own.unwrap_or(theory);
                self.exploring(task, oracle, delta, Exploration::First { episodes }, rng)
            }
            Baseline::EpsilonGreedy { epsilon } => {
                let epsilon = *epsilon;
                self.exploring(task, oracle, delta, Exploration::Always { epsilon }, rng)
            }
        }
    }

    fn exploring(
        &self,
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        exploration: Exploration,
        rng: ChaCha8Rng,
    ) -> Box<dyn Policy> {
        let config = self.learner.expect("checked with the baseline");
        let oracle = Box::new(PlugIn::new(oracle));
        let learner = MimicOptDp::new(Arc::clone(&task), oracle, delta, config);
        Box::new(Exploring::new(task, learner, exploration, rng))
    }
}
