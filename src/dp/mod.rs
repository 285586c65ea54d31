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

pub use auto::{Auto, CostLine};
pub use backend::{Backend, BackendError, Plans, Report};
pub use problem::{BoundParameters, BoundSource, Coefficients, Link, PlanRequest, Problem};
pub use sample::{ContextSample, RowEntry, WeightedEntries};
pub use sorted_thetas::{Above, SortedThetas};
pub use table::ValueTable;
