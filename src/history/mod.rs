//! Own data: logs of real episodes. [`Import`] turns a raw file into a task and a labeled log. The task stores how raw
//! columns become features ([`Encoding`]).

mod calendar;
mod clock;
mod days;
mod encoding;
pub mod evaluate;
pub mod fit;
mod import;
mod intake;
mod journal_log;
mod law;
mod log;
mod log_laws;
mod pilot;
pub mod plan;
mod raw;
mod task_file;
mod zone;

pub use clock::{OpeningHours, parse_time};
pub use days::{DayTree, Days, DaysFile, Drift, Moods, Part, Z_LIMIT};
pub use encoding::{Column, Encoding, Missing};
pub use import::{
    BudgetSource, COUNT_IN_CENTS, Import, ImportError, ImportSpec, OfferCount, OfferKind,
    StepSource, Summary, count,
};
pub use journal_log::{JournalLog, JournalSummary};
pub use law::{EmpiricalLaw, Exposure, LawSegment, POOLED_BELOW};
pub use log::{FeatureColumns, LabeledLog, LogArrival, LogEpisode, LogForm};
pub use pilot::{PilotResult, PilotSummary};
pub use raw::Raw;
pub use task_file::{ActionScale, Columns, Offers, Sizes, TaskFile};
pub use zone::Zone;
