//! Section 2 of the paper, the known part: what a decision maker knows before learning anything. Steps, actions with their
//! rewards and costs, what contexts look like, the largest budget. Nothing here knows how contexts arrive or convert.

mod application;
mod context;
mod feature_range;
mod kernel;
mod limits;
mod multiplier;
mod own_code;
mod rows;
mod support;
#[allow(
    clippy::module_inception,
    reason = "the file of the struct that names the room"
)]
mod task;

pub use application::{Application, ApplicationSpec};
pub use context::{Context, EpisodeContexts};
pub use feature_range::FeatureRange;
pub use kernel::{Kernel, KernelSpec};
pub(crate) use limits::finite_numbers;
pub use limits::{COST_LIMIT, HORIZON_LIMIT, NUMBER_LIMIT, TABLE_LIMIT};
pub use multiplier::Multiplier;
pub use own_code::{Own, OwnCode, OwnPart};
pub use rows::ContextRows;
pub use support::Support;
pub use task::{Task, TaskSpec};
pub(crate) use task::{check_horizon, check_table_types};
