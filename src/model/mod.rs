//! Section 2 of the paper: what the world is. Applications, context laws Lambda_h, conversion truths rho, starting
//! budgets B_t, and the instance that holds them together. Nothing here learns or plans.

mod application;
mod budget;
mod context;
mod conversion;
mod instance;
mod kernel;
mod law_spec;
mod rows;
mod support;

pub use application::{Application, ApplicationSpec, COST_LIMIT};
pub use budget::{BudgetSpec, Budgets};
pub use context::{Context, ContextLaws, EpisodeContexts};
pub use conversion::{Conversion, ConversionSpec, sigmoid};
pub use instance::{HORIZON_LIMIT, Instance, InstanceSpec, NUMBER_LIMIT, TABLE_LIMIT};
pub use kernel::{Kernel, KernelSpec};
pub use law_spec::{ComponentSpec, ContextsSpec, LawSpec, SegmentSpec};
pub use rows::ContextRows;
pub use support::Support;
