//! Optimistic-DP on the CPU with rayon: the fallback where there is no GPU, and the reference for the GPU. `dense` computes
//! every candidate; the other strategies are exact shortcuts for problems with structure.

mod auction_envelope;
mod choice;
mod chunk;
mod dense;
mod induction;
mod shared_envelope;
mod solver;
mod terms;
mod tiles;

pub use choice::Strategy;
pub use dense::Dense;
pub use solver::Cpu;
