//! Conversion truths rho(theta, a): the probability that a context accepts an action. The learner never sees them.

use std::sync::Arc;

use super::conversion_check::{
    kernel_expansion, linear_stays_a_probability, probability_row, probability_rows,
    rows_by_action, weight_vector, win_probabilities,
};
use super::own::OwnRho;
use super::{ContextLaws, OwnConversion};
use crate::error::Invalid;
use crate::oracle::sigmoid;
use crate::task::{Application, Context, Kernel, KernelSpec, Own};

/// A conversion truth as a study file states it, not yet checked. Lists run over the non-null actions.
#[derive(Debug, Clone, PartialEq)]
pub enum ConversionSpec {
    /// mu(a), whatever the context.
    Armed {
        /// One probability per action.
        probabilities: Vec<f64>,
    },
    /// mu(a) = Pr(C <= a) for the highest other bid C of an auction.
    HighestOtherBid {
        /// Values of C.
        values: Vec<f64>,
        /// Their probabilities.
        weights: Vec<f64>,
    },
    /// mu_h(a), one row per step.
    ArmedByStep {
        /// One row per step, one probability per action.
        probabilities: Vec<Vec<f64>>,
    },
    /// mu.phi with phi = (theta, action value).
    Linear {
        /// mu.
        weights: Vec<f64>,
    },
    /// 1 / (1 + exp(-mu.phi)) with phi = (theta, action value).
    Logistic {
        /// mu.
        weights: Vec<f64>,
    },
    /// 1 / (1 + exp(-(intercept_a + weights_a.theta))): a regression with terms by action, or with products of action and
    /// features.
    LogisticByAction {
        /// One per action.
        intercepts: Vec<f64>,
        /// One row per action, one number per feature.
        weights: Vec<Vec<f64>>,
    },
    /// sum_i weights_i k(phi, centers_i), clipped into [0, 1], with phi = (theta, action value): a function of the
    /// kernel's reproducing Hilbert space.
    Rkhs {
        /// k.
        kernel: KernelSpec,
        /// Points phi, the action value last.
        centers: Vec<Vec<f64>>,
        /// One per center.
        weights: Vec<f64>,
    },
    /// One row per context type (in the order of the context values), one probability per action.
    Table {
        /// The rows.
        probabilities: Vec<Vec<f64>>,
    },
    /// Code of the user's own.
    Own {
        /// Whether it depends on the step beyond the context.
        by_step: bool,
        /// The code.
        own: Own<dyn OwnConversion>,
    },
}

/// A checked conversion truth: every rho on the context support is a probability.
#[derive(Debug, Clone)]
pub struct Conversion {
    kind: Kind,
    actions: usize,
}

#[derive(Debug, Clone)]
enum Kind {
    Armed(Vec<f64>),
    ArmedByStep(Vec<f64>),
    Linear(Vec<f64>),
    Logistic(Vec<f64>),
    /// By action: weights of the features, the intercept last.
    LogisticByAction(Vec<Vec<f64>>),
    Rkhs(KernelExpansion),
    Table(Vec<f64>),
    Own(Arc<OwnRho>),
}

/// sum_i weights_i k(phi, centers_i).
#[derive(Debug, Clone)]
pub(super) struct KernelExpansion {
    pub(super) kernel: Kernel,
    pub(super) centers: Vec<Vec<f64>>,
    pub(super) weights: Vec<f64>,
}

impl KernelExpansion {
    fn at(&self, phi: &[f64]) -> f64 {
        let terms = self.centers.iter().zip(&self.weights);
        terms
            .map(|(center, w)| w * self.kernel.at(center, phi))
            .sum()
    }
}

impl Conversion {
    /// Checks a specification against the actions, steps and contexts it must serve.
    pub fn check(
        spec: &ConversionSpec,
        application: &Application,
        contexts: &ContextLaws,
        horizon: usize,
    ) -> Result<Self, Invalid> {
        let actions = application.actions();
        let kind = match spec {
            ConversionSpec::Armed { probabilities } => {
                probability_row("conversion.probabilities", probabilities, actions)?;
                Kind::Armed(probabilities.clone())
            }
            ConversionSpec::HighestOtherBid { values, weights } => {
                Kind::Armed(win_probabilities(values, weights, application)?)
            }
            ConversionSpec::ArmedByStep { probabilities } => {
                probability_rows(probabilities, horizon, "one per step", actions)?;
                Kind::ArmedByStep(probabilities.concat())
            }
            ConversionSpec::Linear { weights } => {
                weight_vector(weights, contexts.dimension() + 1)?;
                linear_stays_a_probability(weights, application, contexts)?;
                Kind::Linear(weights.clone())
            }
            ConversionSpec::Logistic { weights } => {
                weight_vector(weights, contexts.dimension() + 1)?;
                Kind::Logistic(weights.clone())
            }
            ConversionSpec::LogisticByAction {
                intercepts,
                weights,
            } => {
                let dimension = contexts.dimension();
                Kind::LogisticByAction(rows_by_action(intercepts, weights, actions, dimension)?)
            }
            ConversionSpec::Rkhs {
                kernel,
                centers,
                weights,
            } => {
                let dimension = contexts.dimension() + 1;
                let kernel = kernel.check("conversion.kernel", dimension)?;
                Kind::Rkhs(kernel_expansion(kernel, centers, weights)?)
            }
            ConversionSpec::Table { probabilities } => {
                let types = contexts.support().len();
                probability_rows(probabilities, types, "one per context value", actions)?;
                Kind::Table(probabilities.concat())
            }
            ConversionSpec::Own { by_step, own } => {
                let values = application.action_values();
                Kind::Own(Arc::new(OwnRho::new(own.clone(), *by_step, values)))
            }
        };
        Ok(Self { kind, actions })
    }

    /// rho(theta, a) of a non-null action with the given action value.
    pub fn rho(&self, context: &Context, action: usize, action_value: f64) -> f64 {
        match &self.kind {
            Kind::Armed(mu) => mu[action - 1],
            Kind::ArmedByStep(mu) => mu[context.step * self.actions + action - 1],
            Kind::Linear(mu) => inner(mu, context.features, action_value).clamp(0.0, 1.0),
            Kind::Logistic(mu) => sigmoid(inner(mu, context.features, action_value)),
            Kind::LogisticByAction(rows) => {
                sigmoid(inner(&rows[action - 1], context.features, 1.0))
            }
            Kind::Rkhs(expansion) => {
                let phi = [context.features, &[action_value]].concat();
                expansion.at(&phi).clamp(0.0, 1.0)
            }
            Kind::Table(rho) => rho[context.table_row() * self.actions + action - 1],
            Kind::Own(own) => own.at(context, action),
        }
    }

    /// Whether rho depends on the step beyond the context.
    pub fn depends_on_step(&self) -> bool {
        match &self.kind {
            Kind::ArmedByStep(_) => true,
            Kind::Own(own) => own.by_step,
            _ => false,
        }
    }

    /// The own code that it is, if it is any.
    pub fn own(&self) -> Option<&Own<dyn OwnConversion>> {
        match &self.kind {
            Kind::Own(own) => Some(&own.own),
            _ => None,
        }
    }

    /// Called with contexts whose rho will be asked for one by one: own code is asked for all at once.
    pub fn look(&self, contexts: &mut dyn Iterator<Item = Context<'_>>) {
        if let Kind::Own(own) = &self.kind {
            own.look(contexts);
        }
    }

    /// Whether rho is looked up by context type.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.kind, Kind::Table(_))
    }

    /// The norm sqrt(w' K w) of an `rkhs` truth in its Hilbert space: the least C for the kernel oracle where nothing is
    /// clipped.
    pub fn rkhs_norm(&self) -> Option<f64> {
        let Kind::Rkhs(expansion) = &self.kind else {
            return None;
        };
        let values = expansion.centers.iter().map(|center| expansion.at(center));
        let square: f64 = values.zip(&expansion.weights).map(|(f, w)| f * w).sum();
        Some(square.max(0.0).sqrt())
    }

    /// The weight of the action value in mu.phi; `None` without such a weight.
    pub(super) fn action_weight(&self) -> Option<f64> {
        match &self.kind {
            Kind::Linear(mu) | Kind::Logistic(mu) => mu.last().copied(),
            _ => None,
        }
    }

    /// mu.phi of a linear truth without the clamp, to check contexts from outside.
    pub(super) fn unclamped_linear(&self, features: &[f64], action_value: f64) -> Option<f64> {
        match &self.kind {
            Kind::Linear(mu) => Some(inner(mu, features, action_value)),
            _ => None,
        }
    }
}

/// mu.phi for phi = (theta, action value).
pub(super) fn inner(mu: &[f64], features: &[f64], action_value: f64) -> f64 {
    let theta: f64 = mu.iter().zip(features).map(|(m, x)| m * x).sum();
    theta + mu[features.len()] * action_value
}
