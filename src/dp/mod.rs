//! Optimistic-DP (Algorithm 2): the problem as flat arrays, the value table, and the backends that fill it.

mod auto;
mod backend;
pub mod cpu;
mod error;
pub mod gpu;
mod problem;
mod raw_table;
mod report;
mod sample;
mod table;
mod timing;
mod weighted_entries;

pub use auto::{Auto, CostLine};
pub use backend::{Backend, Plans};
pub use error::BackendError;
pub use problem::{BoundParameters, BoundSource, Coefficients, Link, PlanRequest, Problem};
pub use raw_table::{Precision, RawTable};
pub use report::{Report, Traffic};
pub use sample::{ContextSample, RowEntry};
pub use table::{TableError, ValueTable};
pub use weighted_entries::WeightedEntries;
