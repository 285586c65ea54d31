//! Conversion probabilities drawn from a posterior, as an oracle whose bounds are both the draw: what posterior sampling
//! plans with. A heuristic beside the bounds: a draw promises nothing.

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::design::Design;
use super::ellipsoid::Ellipsoid;
use super::factor::{cholesky, lower_inverse};
use super::newton::Fit;
use super::newton::psi_and_jacobian;
use super::regression::{FitState, Regression};
use super::{Bounds, Diagnosis, LabeledData, Oracle};
use crate::dp::{BoundParameters, Link};
use crate::task::Context;

/// One probability per action, or per (step, action).
#[derive(Debug, Clone)]
pub(super) struct DrawnArms {
    actions: usize,
    rho: Vec<f64>,
}

impl DrawnArms {
    /// `rho` holds `actions` probabilities, or as many for every step.
    pub fn new(actions: usize, rho: Vec<f64>) -> Self {
        Self { actions, rho }
    }

    fn of(&self, context: &Context) -> &[f64] {
        let first = match self.depends_on_step() {
            true => context.step * self.actions,
            false => 0,
        };
        &self.rho[first..first + self.actions]
    }
}

impl Oracle for DrawnArms {
    /// A draw does not learn.
    fn fit(&mut self, _data: &LabeledData, _delta: f64) {}

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        for (bounds, rho) in out.iter_mut().zip(self.of(context)) {
            *bounds = Bounds::around(*rho, 0.0);
        }
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        out.copy_from_slice(self.of(context));
    }

    fn depends_on_step(&self) -> bool {
        self.rho.len() > self.actions
    }

    fn bound_parameters(&self) -> Option<BoundParameters> {
        Some(BoundParameters::Armed {
            bounds: self.rho.iter().map(|rho| [*rho, *rho]).collect(),
            by_step: self.depends_on_step(),
        })
    }
}

/// f(phi.mu) with mu drawn and f the logistic function.
#[derive(Debug, Clone)]
pub(super) struct DrawnParameter {
    state: FitState,
    /// Of radius 0.
    point: Ellipsoid,
}

impl DrawnParameter {
    pub fn new(mu: DVector<f64>, action_values: &[f64]) -> Self {
        let d = mu.len();
        let point = Ellipsoid::new(Link::Logistic, mu.clone(), DMatrix::identity(d, d), 0.0);
        let state = FitState::concluded(action_values, mu, point.clone());
        Self { state, point }
    }
}

impl Regression for DrawnParameter {
    fn state(&self) -> &FitState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut FitState {
        &mut self.state
    }

    /// A draw does not learn.
    fn solve(&self, _delta: f64) -> (Fit, Ellipsoid) {
        (self.state.fit.clone(), self.point.clone())
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::default()
    }
}

/// N(mu, H^-1) where mu is the penalised logistic estimate and H the Hessian of its objective there.
pub(super) fn draw_around(
    mu: &DVector<f64>,
    design: &Design,
    lambda: f64,
    rng: &mut ChaCha8Rng,
) -> DVector<f64> {
    let normal = DVector::from_fn(mu.len(), |_, _| rng.sample::<f64, _>(StandardNormal));
    let (_, hessian) = psi_and_jacobian(design, lambda, mu);
    // With H = L L', L'^-1 z has the covariance H^-1.
    mu + lower_inverse(&cholesky(hessian)).tr_mul(&normal)
}
