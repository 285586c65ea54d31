//! Optimistic-DP on the CPU with rayon: the fallback where there is no GPU, and the reference for the one there is.

mod dense;

pub use dense::Dense;
