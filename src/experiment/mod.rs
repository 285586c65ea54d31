//! Studies: episodes x replications x policies on common random numbers, the optimum they are measured against, and
//! the regret that comes out.

mod budget_use;
mod coverage;
mod environment;
mod estimation;
mod expected;
mod offers;
mod regret;
mod run;
mod slope;
mod streams;

pub use budget_use::BudgetUse;
pub use coverage::{Coverage, CoverageSetting, coverage, growing_sizes};
pub use environment::{Environment, EpisodeOutcome};
pub use estimation::{EstimationStudy, SampleSize, study_estimates};
pub use expected::Evaluator;
pub use offers::{Offer, OfferMap, OfferSurvey, evenly_spaced};
pub use regret::{BAND, MeanAndError, RegretSummary, cumulative_regret};
pub use run::{FinishedWave, Observer, Outcome, Phases, PolicyOutcome, RunError, run};
pub use slope::{log_log_slope, slope};
pub use streams::{Purpose, Streams};
