//! Studies: episodes x replications x policies on common random numbers, the optimum for comparison, and the regret. A sink
//! receives the records of finished replications and the state of running ones. This module touches no files.

mod budget_use;
mod coverage;
mod environment;
mod estimation;
mod expected;
mod knowledge;
mod latencies;
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
pub use latencies::Latencies;
pub use need::optimum_memory;
pub use offers::{MeanOffer, OfferMap, OfferSurvey, OfferTally};
pub use outcome::{Outcome, Phases, PolicyOutcome, Tally};
pub use prepared::{Prepared, RunList};
pub use record::{Record, Sink, SinkError, Yardstick};
pub use regret::{RegretSummary, RegretTally, cumulative_regret};
pub use replay::{Mismatch, Replay, Step, TracedArrival};
pub use run::{RunError, run};
pub use sample_log::{LoggedArrival, sample_log};
pub use shard::Shard;
pub use streams::{Purpose, Streams};
pub use study::{NamedPolicy, Study};
pub use wave::WaveState;
pub use work::Work;
