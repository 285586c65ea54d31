//! Studies: episodes x replications x policies on common random numbers, the optimum they are measured against, and
//! the regret that comes out.

mod budget_use;
mod coverage;
mod estimation;
mod expected;
mod influence;
mod offers;
mod optimum;
mod regret;
mod run;
mod slope;
mod streams;
mod world;

pub use budget_use::BudgetUse;
pub use coverage::{Coverage, CoverageSetting, coverage, growing_sizes};
pub use estimation::{EstimationStudy, SampleSize, study_estimates};
pub use expected::Evaluator;
pub use influence::standard_errors;
pub use offers::{Offer, OfferMap, OfferSurvey};
pub use optimum::{Estimate, Optimum};
pub use regret::{RegretSummary, cumulative_regret};
pub use run::{FinishedWave, Observer, Outcome, Phases, PolicyOutcome, RunError, run};
pub use slope::{log_log_slope, slope};
pub use streams::{Purpose, Streams};
pub use world::{EpisodeOutcome, World};
