//! A fitted model of acceptance: rho(theta, a) for every action of the log.

use super::data::OfferData;
use super::design::{Columns, ModelKind};
use super::kernel::{self, KernelFit, Points, squared_exponential};
use super::logistic::Regression;
use crate::oracle::{Truth, sigmoid};
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
    /// Features that are passed over: the constant.
    pub first: usize,
}

impl Expansion {
    fn at(&self, theta: &[f64], action: usize) -> f64 {
        let point = [&theta[self.first..], &[self.scaled[action - 1]]].concat();
        let terms = self.centers.iter().zip(&self.weights);
        let sum: f64 = terms
            .map(|(c, w)| w * squared_exponential(c, &point, self.length))
            .sum();
        sum.clamp(0.0, 1.0)
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
            Self::Kernel(expansion) => expansion.at(theta, action),
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

/// A kind of model and data to fit it to, again and again with other weights.
#[derive(Debug)]
pub struct Fitter<'d> {
    data: &'d OfferData,
    kind: ModelKind,
    columns: Columns,
    rows: Vec<f64>,
    points: Option<Points>,
}

/// What a fit found.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Coefficients of the columns, rates, or weights of the kernel.
    pub coefficients: Vec<f64>,
    /// The model.
    pub model: Model,
}

/// How close to its minimum a fit gets, where that is reported.
pub const EXACT: f64 = 1e-18;

impl<'d> Fitter<'d> {
    /// A fitter of a kind for these data.
    pub fn new(kind: ModelKind, data: &'d OfferData) -> Self {
        let columns = Columns::new(kind, data);
        let is_logistic = !matches!(kind, ModelKind::Rates | ModelKind::Kernel);
        Self {
            rows: if is_logistic {
                columns.rows(data)
            } else {
                Vec::new()
            },
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
    pub fn columns(&self) -> &Columns {
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
    ) -> Fit {
        match self.kind {
            ModelKind::Rates => {
                let rates = rates(&self.data.counts(weights));
                Fit {
                    coefficients: rates.clone(),
                    model: Model::Rates(rates),
                }
            }
            ModelKind::Kernel => self.fit_kernel(lambda, weights),
            _ => {
                let zeros = vec![0.0; self.columns.len()];
                let start = start.unwrap_or(&zeros);
                let coefficients = self.regression(lambda, weights).fit(start, gap);
                Fit {
                    model: self.logistic(&coefficients),
                    coefficients,
                }
            }
        }
    }

    /// The model of some coefficients of a logistic kind.
    pub fn logistic(&self, coefficients: &[f64]) -> Model {
        let (intercepts, slopes) = self.columns.by_action(coefficients, &self.data.scaled);
        Model::Logistic { intercepts, slopes }
    }

    /// The regression of a logistic kind.
    pub fn regression<'a>(&'a self, lambda: f64, weights: Option<&'a [f64]>) -> Regression<'a> {
        Regression {
            rows: &self.rows,
            columns: self.columns.len(),
            labels: &self.data.labels,
            weights,
            lambda,
        }
    }

    /// The kernel regression, where the kind is one.
    pub fn kernel_fit(&self, lambda: f64, weights: Option<&[f64]>) -> Option<(&Points, KernelFit)> {
        let points = self.points.as_ref()?;
        let fit = kernel::fit(points, &self.data.labels, weights, lambda)?;
        Some((points, fit))
    }

    fn fit_kernel(&self, lambda: f64, weights: Option<&[f64]>) -> Fit {
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
        Fit {
            coefficients: expansion.weights.clone(),
            model: Model::Kernel(expansion),
        }
    }
}

/// (accepted + 1/2) / (offers + 1) of each action; the rate of all where one was never offered.
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
