//! Pointwise 95% intervals: of a share, and of a fitted model's rho in one context.

use nalgebra::{Cholesky, DVector, Dyn};

use super::data::OfferData;
use super::design::{DesignColumns, ModelKind};
use super::model::{Expansion, Fitter, Model, ModelFit};
use crate::oracle::sigmoid;

/// Half the width of a 95% interval, in standard deviations of a Gaussian.
pub const Z: f64 = 1.959_963_984_540_054;

/// Wilson's interval of a share: `accepted` of `offers`.
pub fn wilson(accepted: f64, offers: f64) -> (f64, f64) {
    if offers <= 0.0 {
        return (0.0, 1.0);
    }
    let (p, z2) = (accepted / offers, Z * Z);
    let centre = (p + 0.5 * z2 / offers) / (1.0 + z2 / offers);
    let spread = (p * (1.0 - p) / offers + 0.25 * z2 / (offers * offers)).sqrt();
    let half = Z * spread / (1.0 + z2 / offers);
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// How well a fitted model is known.
#[derive(Debug)]
pub enum Uncertainty {
    /// Offers and acceptances of each action.
    Rates(Vec<(f64, f64)>),
    /// The information of the coefficients.
    Logistic {
        /// What they belong to.
        columns: DesignColumns,
        /// The coefficients.
        coefficients: Vec<f64>,
        /// The factor of the Hessian; `None` if it could not be factored.
        precision: Option<Cholesky<f64, Dyn>>,
        /// Scaled values of the actions.
        scaled: Vec<f64>,
    },
    /// The posterior of the kernel regression.
    Kernel {
        /// Its mean.
        mean: Expansion,
        /// The factor of K + lambda.
        factor: Cholesky<f64, Dyn>,
        /// Variance of an outcome, divided by the penalty.
        scale: f64,
    },
    /// The model could not be fitted.
    Unknown,
}

impl Uncertainty {
    /// Of a model fitted to all offers with these weights.
    pub fn new(
        fitter: &Fitter,
        data: &OfferData,
        fit: &ModelFit,
        lambda: f64,
        weights: Option<&[f64]>,
    ) -> Self {
        match fitter.kind() {
            ModelKind::Rates => Self::Rates(data.counts(weights)),
            ModelKind::Kernel => {
                let rate = data.labels.iter().sum::<f64>() / data.len().max(1) as f64;
                match (&fit.model, fitter.kernel_fit(lambda, weights)) {
                    (Model::Kernel(mean), Some((_, kernel_fit))) => Self::Kernel {
                        mean: mean.clone(),
                        factor: kernel_fit.factor,
                        scale: rate * (1.0 - rate) / lambda,
                    },
                    _ => Self::Unknown,
                }
            }
            _ => Self::Logistic {
                columns: *fitter.columns(),
                precision: fitter.precision(lambda, &fit.coefficients, weights),
                coefficients: fit.coefficients.clone(),
                scaled: data.scaled.clone(),
            },
        }
    }

    /// The interval of rho(theta, a).
    pub fn interval(&self, theta: &[f64], action: usize) -> (f64, f64) {
        match self {
            Self::Rates(counts) => {
                let (offers, accepted) = counts[action - 1];
                wilson(accepted, offers)
            }
            Self::Logistic {
                columns,
                coefficients,
                precision,
                scaled,
            } => {
                let mut row = Vec::new();
                columns.fill(theta, action, scaled[action - 1], &mut row);
                let row = DVector::from_vec(row);
                let eta = row.dot(&DVector::from_column_slice(coefficients));
                let Some(precision) = precision else {
                    return (0.0, 1.0);
                };
                let half = Z * row.dot(&precision.solve(&row)).max(0.0).sqrt();
                (sigmoid(eta - half), sigmoid(eta + half))
            }
            Self::Kernel {
                mean,
                factor,
                scale,
            } => {
                let k = DVector::from_iterator(mean.centers.len(), mean.kernels(theta, action));
                let centre = mean.at(theta, action);
                let left = (1.0 - k.dot(&factor.solve(&k))).max(0.0);
                let half = Z * (scale * left).sqrt();
                (
                    (centre - half).clamp(0.0, 1.0),
                    (centre + half).clamp(0.0, 1.0),
                )
            }
            Self::Unknown => (0.0, 1.0),
        }
    }

    /// Standard errors of the coefficients of a logistic kind.
    pub fn standard_errors(&self) -> Option<Vec<f64>> {
        let Self::Logistic { precision, .. } = self else {
            return None;
        };
        let inverse = precision.as_ref()?.inverse();
        Some(
            inverse
                .diagonal()
                .iter()
                .map(|v| v.max(0.0).sqrt())
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::wilson;

    /// From scipy.stats.binomtest(k, n).proportion_ci(0.95, "wilson") of SciPy 1.17.
    #[test]
    fn wilson_is_that_of_scipy() {
        for (k, n, low, high) in [
            (0.0, 10.0, 0.0, 0.277_532_799_862_9),
            (3.0, 10.0, 0.107_791_267_406, 0.603_221_852_539),
            (480.0, 600.0, 0.766_130_348_074, 0.830_052_631_318),
        ] {
            let (l, h) = wilson(k, n);
            assert!(
                (l - low).abs() < 1e-11 && (h - high).abs() < 1e-11,
                "{k} of {n}: {l}, {h}"
            );
        }
    }
}
