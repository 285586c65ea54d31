//! The state of a fit for an honest report: how much data it has, and whether the parameter reaches the norm that the bounds
//! assume.

/// The state of a fitted oracle, for warnings. An oracle that does not learn has no observations.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Diagnosis {
    /// Number of observations.
    pub observations: usize,
    /// The norm of the fitted parameter, if the bounds assume a limit.
    pub norm: Option<FittedNorm>,
}

/// The norm of a fitted parameter, and the limit on the true one that the confidence bounds assume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedNorm {
    /// |mu| before any projection, on the scale of the bound.
    pub fitted: f64,
    /// S, |mu*| <= S.
    pub bound: f64,
    /// Whether the estimate was projected onto the ball, or nearly touches it. A truth on the boundary
    /// causes that in half of all data sets; a truth outside in almost all, and then bounds promise nothing and the error
    /// stalls.
    pub at_bound: bool,
}

impl Diagnosis {
    /// Of an oracle whose bounds assume no limit.
    pub fn of(observations: usize) -> Self {
        Self {
            observations,
            norm: None,
        }
    }
}
