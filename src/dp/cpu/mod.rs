//! Optimistic-DP on the CPU with rayon: the fallback where there is no GPU, and the reference for the one there is.
//! `dense` computes every candidate; the other strategies are exact shortcuts for problems with structure.

mod auction_envelope;
mod corners;
mod cost_model;
mod dense;
mod exact_sum;
mod gap_envelope;
mod induction;
mod over_budgets;
mod over_contexts;
mod packed;
mod row_induction;
mod shared_envelope;
mod singles;
mod solver;
mod sorted_thetas;
mod strategy;
mod terms;
mod theta_index;

pub use dense::Dense;
pub(super) use exact_sum::ExactSum;
pub use row_induction::{SolvedRows, solve_rows};
pub use solver::Cpu;
pub use strategy::Strategy;
