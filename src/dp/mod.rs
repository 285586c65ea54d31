//! Optimistic-DP (Algorithm 2): the problem as flat arrays, the value table, and the backends that fill it.
//!
//! No file is touched here. Threads are rayon's, which also works without any; time is taken by `stopwatch`, which is always
//! zero on WebAssembly.

mod auto;
mod backend;
pub mod cpu;
mod error;
mod evaluate;
mod exact_sum;
#[cfg(feature = "gpu")]
pub mod gpu;
mod optimistic_dp;
mod problem;
mod raw_table;
mod report;
mod sample;
mod shared_contexts;
mod single_contexts;
mod stop;
mod stopwatch;
mod table;
mod timing;
mod weighted_entries;

pub use auto::Auto;
pub use backend::{Backend, Plans};
pub use error::BackendError;
pub use evaluate::{Choice, ExpectedUse, KnownLaw};
use exact_sum::ExactSum;
pub use optimistic_dp::optimistic_dp;
pub use problem::{
    BoundParameters, BoundSource, Coefficients, EllipsoidParameters, Link, PlanRequest, Problem,
};
pub use raw_table::{Precision, RawTable};
pub use report::{Report, Traffic};
pub use sample::{ArrayList, ContextSample, SampleArrays};
pub use stop::stoppable;
pub(crate) use stopwatch::Stopwatch;
pub use table::{TableError, ValueTable};
pub use timing::CostLine;
pub use weighted_entries::{RowEntry, StepContexts, WeightedEntries};
