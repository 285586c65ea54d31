//! What an honest report says about a fit beside its bounds: how much it rests on, and whether the parameter pushes against
//! the norm that the bounds assume.

/// The state of a fitted oracle, for warnings. An oracle that does not learn has seen nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Diagnosis {
    /// Observations taken in.
    pub observations: usize,
    /// The norm of the fitted parameter, where the bounds assume one.
    pub norm: Option<FittedNorm>,
}

/// The norm of a fitted parameter beside the bound on the true one that the confidence bounds rest on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedNorm {
    /// |mu| before any projection, on the scale that the bound is meant for.
    pub fitted: f64,
    /// S, |mu*| <= S.
    pub bound: f64,
    /// Whether the estimate was projected onto the ball, or nearly touches it. A truth on the boundary itself does that in
    /// half of all data sets; a truth outside does it in almost all, and then its bounds promise nothing and its error stalls.
    pub at_bound: bool,
}

/// An estimate that is not projected is taken to touch the ball from this share of its radius on.
const NEAR: f64 = 0.9;

impl Diagnosis {
    /// Of an oracle whose bounds assume no norm.
    pub fn of(observations: usize) -> Self {
        Self {
            observations,
            norm: None,
        }
    }

    /// Of an estimate that is projected where its norm exceeds `bound`.
    pub(super) fn projected(observations: usize, fitted: f64, bound: f64) -> Self {
        let at_bound = fitted > bound;
        Self::with_norm(observations, fitted, bound, at_bound)
    }

    /// Of an estimate that is left where it is.
    pub(super) fn free(observations: usize, fitted: f64, bound: f64) -> Self {
        Self::with_norm(observations, fitted, bound, fitted >= NEAR * bound)
    }

    fn with_norm(observations: usize, fitted: f64, bound: f64, at_bound: bool) -> Self {
        Self {
            observations,
            norm: Some(FittedNorm {
                fitted,
                bound,
                at_bound,
            }),
        }
    }
}
