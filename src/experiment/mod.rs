//! Studies: episodes x replications x policies on common random numbers, the optimum they are measured against, and
//! the regret that comes out. Records of finished replications stream to a sink, and so does the state of those under way;
//! files are none of its business.

mod budget_use;
mod coverage;
mod environment;
mod estimation;
mod expected;
mod knowledge;
mod need;
mod offers;
mod outcome;
mod prepared;
mod record;
mod regret;
mod replay;
mod run;
mod sample_log;
mod shard;
mod streams;
mod study;
mod wave;
mod work;

pub use budget_use::BudgetUse;
pub use coverage::{Coverage, CoverageSetting, coverage, growing_sizes};
pub use environment::{Environment, EpisodeOutcome};
pub use estimation::{EstimationStudy, SampleSize, study_estimates};
pub use expected::Evaluator;
pub use knowledge::{Knowledge, KnowledgeTally};
pub use need::optimum_memory;
pub use offers::{Offer, OfferMap, OfferSurvey, OfferTally};
pub use outcome::{Outcome, Phases, PolicyOutcome, Tally};
pub use prepared::{Prepared, Todo};
pub use record::{Record, Sink, SinkError, Yardstick};
pub use regret::{RegretSummary, RegretTally, cumulative_regret};
pub use replay::{Arrival, Mismatch, Replay, Step};
pub use run::{RunError, run};
pub use sample_log::{LoggedArrival, sample_log};
pub use shard::Shard;
pub use streams::{Purpose, Streams};
pub use study::{NamedPolicy, Study};
pub use wave::WaveState;
pub use work::Work;
