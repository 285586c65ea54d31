//! Section 2 of the paper, the unknown part: context laws Lambda_h, conversion rho, starting budgets B_t, and the optimum that
//! follows from them. Only a simulation knows it; no learner sees it.

mod budget;
mod conversion;
mod conversion_check;
mod law;
mod law_sample;
mod law_spec;
mod laws;
mod optimum;
mod own;
#[allow(
    clippy::module_inception,
    reason = "the file of the struct that names the room"
)]
mod world;

pub use budget::{BudgetSpec, Budgets};
pub use conversion::{Conversion, ConversionSpec};
pub use law_spec::{ComponentSpec, ContextsSpec, DayTypeSpec, LawSpec, SegmentSpec};
pub use laws::{ContextLaws, DayLaws};
pub use optimum::{Estimate, Optimum};
pub use own::{OwnConversion, OwnLaw};
pub use world::{World, WorldSpec};
