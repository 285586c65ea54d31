//! A shop's folder: task, log, model, learner settings and journal. Import, fit, plan, evaluate and serve share it.

mod backup;
mod fitted_study;
mod folder;
mod learner_file;
mod live;
mod reprice;

use folder::{LOG_FILE, MODEL_FILE};
use live::{JOURNAL_FILE, SNAPSHOT_FILE};

pub use backup::{Backup, BackupError};
pub use folder::TaskFolder;
pub use learner_file::LiveLearning;
pub use live::ServeError;
pub use reprice::Reprice;
