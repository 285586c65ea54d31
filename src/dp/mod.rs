//! Optimistic-DP (Algorithm 2): the problem as flat arrays, the value table, and the backends that fill it.

mod auto;
mod backend;
mod calibration;
pub mod cpu;
pub mod gpu;
mod problem;
mod sample;
mod sorted_thetas;
mod table;
mod weighted_entries;

pub use auto::{Auto, CostLine};
pub use backend::{Backend, BackendError, Plans, Report};
pub use problem::{BoundParameters, BoundSource, Coefficients, Link, PlanRequest, Problem};
pub use sample::{ContextSample, RowEntry};
pub use sorted_thetas::{Above, SortedThetas};
pub use table::ValueTable;
pub use weighted_entries::WeightedEntries;
