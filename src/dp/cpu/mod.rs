//! Optimistic-DP on the CPU with rayon: the fallback where there is no GPU, and the reference for the one there is.
//! `dense` computes every candidate; the other strategies are exact shortcuts for problems with structure.

mod auction_envelope;
mod corners;
mod cost_model;
mod dense;
mod exact_sum;
mod gap_envelope;
mod induction;
mod shared_envelope;
mod solver;
mod sorted_thetas;
mod strategy;
mod terms;
mod theta_index;

pub use dense::Dense;
pub use solver::Cpu;
pub use strategy::Strategy;
