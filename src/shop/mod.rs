//! A shop's folder: task, log, model, learner settings and journal. Import, fit, plan, evaluate and serve share it.

mod fitted_study;
mod folder;
mod learner_file;
mod live;

pub use folder::{LOG_FILE, MODEL_FILE, TASK_FILE, TaskFolder};
pub use learner_file::{LEARNER_FILE, LiveLearning};
pub use live::{JOURNAL_FILE, ServeError};
