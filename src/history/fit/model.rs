//! A fitted model of acceptance: rho(theta, a) for every action of the log.

use nalgebra::{Cholesky, DVector, Dyn};

use super::data::OfferData;
use super::design::{DesignColumns, ModelKind};
use super::kernel::{self, KernelFit, Points, squared_exponential};
use crate::oracle::{Design, LogisticProblem, Penalty, Truth, sigmoid};
use crate::task::Context;

/// rho(theta, a).
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// One rate per action.
    Rates(Vec<f64>),
    /// f(intercept_a + slopes_a.theta).
    Logistic {
        /// By action.
        intercepts: Vec<f64>,
        /// By action, over all features.
        slopes: Vec<f64>,
    },
    /// A kernel expansion, clipped into [0, 1].
    Kernel(Expansion),
}

/// sum_i weights_i k(point, centers_i), the squared exponential kernel on (x, s).
#[derive(Debug, Clone, PartialEq)]
pub struct Expansion {
    /// Points, the scaled action last.
    pub centers: Vec<Vec<f64>>,
    /// One per center.
    pub weights: Vec<f64>,
    /// The kernel's length.
    pub length: f64,
    /// Scaled values of the actions.
    pub scaled: Vec<f64>,
    /// Features to skip: the constant.
    pub first: usize,
}

impl Expansion {
    /// k between the centers and the point of an action.
    pub(super) fn kernels(&self, theta: &[f64], action: usize) -> impl Iterator<Item = f64> {
        let point = [&theta[self.first..], &[self.scaled[action - 1]]].concat();
        let centers = self.centers.iter();
        centers.map(move |center| squared_exponential(center, &point, self.length))
    }

    /// The sum, not clipped.
    pub(super) fn at(&self, theta: &[f64], action: usize) -> f64 {
        let terms = self.kernels(theta, action).zip(&self.weights);
        terms.map(|(k, w)| w * k).sum()
    }
}

impl Model {
    /// rho of an action (from 1).
    pub fn rho(&self, theta: &[f64], action: usize) -> f64 {
        match self {
            Self::Rates(rates) => rates[action - 1],
            Self::Logistic { intercepts, slopes } => {
                let d = theta.len();
                let slopes = &slopes[(action - 1) * d..action * d];
                let product: f64 = slopes.iter().zip(theta).map(|(w, x)| w * x).sum();
                sigmoid(intercepts[action - 1] + product)
            }
            Self::Kernel(expansion) => expansion.at(theta, action).clamp(0.0, 1.0),
        }
    }

    /// rho of some actions, appended to `out`.
    pub fn append_rho(&self, theta: &[f64], actions: &[usize], out: &mut Vec<f64>) {
        match self {
            Self::Logistic { intercepts, slopes } => {
                let d = theta.len();
                let (mut known, mut product) = (&[][..], 0.0);
                for &a in actions {
                    let own = &slopes[(a - 1) * d..a * d];
                    // Without products of action and features all slopes are the same.
                    if own != known {
                        product = own.iter().zip(theta).map(|(w, x)| w * x).sum();
                        known = own;
                    }
                    out.push(sigmoid(intercepts[a - 1] + product));
                }
            }
            _ => out.extend(actions.iter().map(|&a| self.rho(theta, a))),
        }
    }

    /// Whether it is the same for all contexts.
    pub fn ignores_contexts(&self) -> bool {
        matches!(self, Self::Rates(_))
    }
}

impl Truth for Model {
    fn rho(&self, context: &Context, action: usize) -> f64 {
        self.rho(context.features, action)
    }
}

/// The model of some of a log's actions (numbered from 1 in the log).
#[derive(Debug, Clone)]
pub struct SomeActions {
    /// The whole model.
    pub model: Model,
    /// The actions.
    pub actions: Vec<usize>,
}

impl Truth for SomeActions {
    fn rho(&self, context: &Context, action: usize) -> f64 {
        self.model.rho(context.features, self.actions[action - 1])
    }
}

/// A kind of model and the data, for repeated fits with different weights.
#[derive(Debug)]
pub struct Fitter<'d> {
    data: &'d OfferData,
    kind: ModelKind,
    columns: DesignColumns,
    /// Of a logistic kind, and the weight 1 of each row.
    design: Design,
    ones: Vec<f64>,
    points: Option<Points>,
}

/// A fitted model.
#[derive(Debug, Clone)]
pub struct ModelFit {
    /// Coefficients of the columns, rates, or weights of the kernel.
    pub coefficients: Vec<f64>,
    /// The model.
    pub model: Model,
}

/// The accuracy of the objective in a reported fit.
pub const EXACT: f64 = 1e-18;

/// Keeps the problem strictly convex: the constant is not penalised otherwise, and diverges if all outcomes are equal.
const FLOOR: f64 = 1e-10;

impl<'d> Fitter<'d> {
    /// A fitter of a kind for these data.
    pub fn new(kind: ModelKind, data: &'d OfferData) -> Self {
        let columns = DesignColumns::new(kind, data);
        let is_logistic = !matches!(kind, ModelKind::Rates | ModelKind::Kernel);
        let (rows, labels) = match is_logistic {
            true => (columns.rows(data), &data.labels[..]),
            false => (Vec::new(), &[][..]),
        };
        Self {
            design: Design::of_rows(columns.len(), &rows, labels),
            ones: vec![1.0; labels.len()],
            points: (kind == ModelKind::Kernel).then(|| Points::of(data)),
            data,
            kind,
            columns,
        }
    }

    /// The kind.
    pub fn kind(&self) -> ModelKind {
        self.kind
    }

    /// The columns of a logistic kind.
    pub fn columns(&self) -> &DesignColumns {
        &self.columns
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        match self.kind {
            ModelKind::Rates => self.data.action_count(),
            ModelKind::Kernel => self.data.len(),
            _ => self.columns.len(),
        }
    }

    /// Fits with these weights; `start` is where Newton begins, by default at zero.
    pub fn fit(
        &self,
        lambda: f64,
        weights: Option<&[f64]>,
        start: Option<&[f64]>,
        gap: f64,
    ) -> ModelFit {
        match self.kind {
            ModelKind::Rates => {
                let rates = rates(&self.data.counts(weights));
                ModelFit {
                    coefficients: rates.clone(),
                    model: Model::Rates(rates),
                }
            }
            ModelKind::Kernel => self.fit_kernel(lambda, weights),
            _ => {
                let coefficients = self.fit_logistic(lambda, weights, start, gap);
                ModelFit {
                    model: self.logistic(&coefficients),
                    coefficients,
                }
            }
        }
    }

    fn fit_logistic(
        &self,
        lambda: f64,
        weights: Option<&[f64]>,
        start: Option<&[f64]>,
        gap: f64,
    ) -> Vec<f64> {
        let zeros = vec![0.0; self.columns.len()];
        let start = DVector::from_column_slice(start.unwrap_or(&zeros));
        let weights = weights.unwrap_or(&self.ones);
        let used: Vec<f64> = weights.iter().copied().filter(|w| *w > 0.0).collect();
        let estimate = match 2 * used.len() < weights.len() {
            false => problem(&self.design, weights, lambda).fit(start, Some(gap)),
            // Most rows do not count: leave them out.
            true => {
                let design = self.design.weighted_rows(weights);
                problem(&design, &used, lambda).fit(start, Some(gap))
            }
        };
        estimate.mu.as_slice().to_vec()
    }

    /// The factor of the Hessian of a logistic kind at a point; its inverse is the covariance of the estimate.
    pub(super) fn precision(
        &self,
        lambda: f64,
        coefficients: &[f64],
        weights: Option<&[f64]>,
    ) -> Option<Cholesky<f64, Dyn>> {
        let point = DVector::from_column_slice(coefficients);
        problem(&self.design, weights.unwrap_or(&self.ones), lambda).precision(&point)
    }

    /// The model of some coefficients of a logistic kind.
    pub fn logistic(&self, coefficients: &[f64]) -> Model {
        let (intercepts, slopes) = self.columns.by_action(coefficients, &self.data.scaled);
        Model::Logistic { intercepts, slopes }
    }

    /// The kernel regression, if the kind is one.
    pub(super) fn kernel_fit(
        &self,
        lambda: f64,
        weights: Option<&[f64]>,
    ) -> Option<(&Points, KernelFit)> {
        let points = self.points.as_ref()?;
        let fit = kernel::fit(points, &self.data.labels, weights, lambda)?;
        Some((points, fit))
    }

    fn fit_kernel(&self, lambda: f64, weights: Option<&[f64]>) -> ModelFit {
        let mut expansion = Expansion {
            centers: Vec::new(),
            weights: Vec::new(),
            length: 1.0,
            scaled: self.data.scaled.clone(),
            first: usize::from(self.data.has_constant),
        };
        if let Some((points, fit)) = self.kernel_fit(lambda, weights) {
            expansion.length = points.length();
            expansion.centers = fit.used.iter().map(|&i| points.point(i).to_vec()).collect();
            expansion.weights = fit.weights;
        }
        ModelFit {
            coefficients: expansion.weights.clone(),
            model: Model::Kernel(expansion),
        }
    }
}

/// Ridge logistic regression with weights; the constant, the first column, is not penalised.
fn problem<'a>(design: &'a Design, weights: &'a [f64], lambda: f64) -> LogisticProblem<'a> {
    LogisticProblem {
        design,
        weights: Some(weights),
        penalty: Penalty {
            lambda: lambda.max(FLOOR),
            constant: Some(FLOOR),
        },
    }
}

/// (accepted + 1/2) / (offers + 1) of each action; the overall rate for an action that was never offered.
fn rates(counts: &[(f64, f64)]) -> Vec<f64> {
    let rate = |offers: f64, accepted: f64| (accepted + 0.5) / (offers + 1.0);
    let (offers, accepted) = counts
        .iter()
        .fold((0.0, 0.0), |(n, s), c| (n + c.0, s + c.1));
    let all = rate(offers, accepted);
    counts
        .iter()
        .map(|&(n, s)| if n > 0.0 { rate(n, s) } else { all })
        .collect()
}
