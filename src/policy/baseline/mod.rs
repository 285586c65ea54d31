//! Published algorithms that the learner is compared with, one file each; adapted to one resource and episodes as their files
//! say. All of them share oracles, the fluid program, the posterior's draw, Optimistic-DP and the rule of decision with the rest
//! of the library.
//!
//! All learn after every outcome and keep their data from one episode to the next. Only SquareCBwK and Logistic-UCB1 refit
//! after every outcome to the end; the others wait until the data have grown by 2% (up to 50 outcomes that is after every
//! one), which saves most of the time of long studies.

mod dual_pacing;
mod exploration;
mod learnt;
mod lin_cbwk;
mod linear_program;
mod logistic_ucb1;
mod pid_pacing;
mod priced;
mod primal_dual;
mod resolve;
mod seen;
mod spec;
mod square_cbwk;
mod thompson;

use crate::task::Task;

pub use exploration::Exploring;
pub use linear_program::LinearProgram;
pub use priced::Priced;
pub use primal_dual::PrimalDual;
pub(super) use spec::BaselineConfig;
pub use spec::{Baseline, BaselineSpec};
pub use square_cbwk::{SquareCbwk, SquareSettings, inverse_gap_weighting};

/// Settings of policies with a dual price; `Some` values are positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DualSettings {
    /// Overrides eta, the step of the dual.
    pub eta: Option<f64>,
    /// Overrides Z, the largest price of a unit (LinCBwK).
    pub z: Option<f64>,
    /// Whether the dual starts anew in every episode.
    pub reset_dual: bool,
}

/// Gains of the PID pacer; `None` for the default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PidSettings {
    /// k_p.
    pub proportional: Option<f64>,
    /// k_i.
    pub integral: Option<f64>,
    /// k_d.
    pub derivative: Option<f64>,
    /// Whether the price starts anew in every episode.
    pub reset_dual: bool,
}

/// Number of rounds that a dual price lives for.
fn rounds(task: &Task, reset_dual: bool, episodes: usize) -> f64 {
    let lives = if reset_dual { 1 } else { episodes };
    (task.horizon() * lives) as f64
}
