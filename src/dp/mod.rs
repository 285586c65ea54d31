//! Optimistic-DP (Algorithm 2): the problem as flat arrays, the value table, and the backends that fill it.

mod backend;
pub mod cpu;
mod problem;
mod sample;
mod table;

pub use backend::{Backend, BackendError};
pub use problem::{Coefficients, Problem};
pub use sample::{ContextSample, WeightedEntries};
pub use table::ValueTable;
