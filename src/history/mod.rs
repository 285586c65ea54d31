//! Own data: logs of real episodes. A raw file becomes a task and a labeled log ([`Import`]); how raw columns become
//! features is stored with the task ([`Encoding`]), so that whoever meets a customer later describes them alike.

mod calendar;
mod clock;
mod encoding;
pub mod evaluate;
pub mod fit;
mod import;
mod intake;
mod journal_log;
mod law;
mod log;
pub mod plan;
mod raw;
mod task_file;

pub use clock::{Clock, Moment, parse_time, show_time};
pub use encoding::{CONSTANT, Column, Encoded, Encoding, Missing, Note, RESERVED, Value};
pub use import::{
    BudgetSource, Import, ImportError, ImportSpec, Imported, OfferCount, OfferKind, StepSource,
    Summary, count,
};
pub use journal_log::{JournalLog, JournalSummary};
pub use law::{EmpiricalLaw, Exposure, POOLED_BELOW, Segment};
pub use log::{Arrival, Episode, FeatureColumns, LabeledLog, LogForm};
pub use raw::Raw;
pub use task_file::{ActionScale, Columns, Offers, Sizes, TaskFile};
