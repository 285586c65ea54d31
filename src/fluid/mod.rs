//! Linear programs with one budget constraint: the fluid relaxation of Appendix A.3, and the program that Box B of Li and
//! Stoltz solves at every step.
//!
//! ```text
//! max  sum_s w_s sum_a reward(s, a) x(s, a)   subject to   sum_s w_s sum_a cost(s, a) x(s, a) <= budget,  x(s, .) a mixture
//! ```
//!
//! With a single constraint the program is a fractional knapsack: each context has the edges of the upper concave hull of
//! its points (cost, reward), the null action at (0, 0), and edges are bought in falling order of reward per cost until the
//! budget is spent. This is exact; only the context of the last edge is randomised.

mod cut;
mod hull;
mod plan;
mod program;
mod rows;

pub use cut::{Cut, Mix};
pub use hull::{Hull, HullCorner};
pub use plan::FluidPlan;
pub(crate) use plan::fluid_bounds;
pub use program::{Program, mix};
pub(crate) use rows::{EdgeBuckets, arriving_edges};
