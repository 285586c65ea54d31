//! Which backend did the work, as plain data for run.json.

use serde::{Deserialize, Serialize};

/// Which backend solved the problems, in which precision, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// `cpu` or `gpu`.
    pub backend: String,
    /// `f64` or `f32`.
    pub precision: String,
    /// The CPU's strategies by name, and how many plans each has made.
    pub strategies: Vec<(String, u64)>,
    /// Name of the adapter, where there is one.
    pub adapter: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// What was moved to and from it.
    pub traffic: Option<Traffic>,
    /// Why bounds were evaluated on the CPU and uploaded as tables, at the last plan where they were.
    pub bounds_on_cpu: Option<String>,
}

/// Dispatches on an adapter and bytes moved to and from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Dispatches.
    pub dispatches: u64,
    /// Bytes written to the adapter.
    pub bytes_up: u64,
    /// Bytes read from it.
    pub bytes_down: u64,
}
