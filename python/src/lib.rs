//! The engine of the Python package `cbwk`: arrays in, arrays out, with the interpreter released during computation. Users see
//! the modules in `cbwk/`.

mod arrays;
mod backend;
mod batch;
mod calibrate;
mod changes;
mod columns;
mod errors;
mod evaluate;
mod inputs;
mod learner;
mod own;
mod pool;
mod results;
mod run;
mod shards;
mod simulation;
mod solve;
mod study;
mod tables;
mod task;

use pyo3::prelude::*;

/// The engine of `cbwk`.
#[pymodule]
fn _native(module: &Bound<PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(solve::value_table, module)?)?;
    module.add_function(wrap_pyfunction!(batch::value_tables, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::expected_rewards, module)?)?;
    module.add_function(wrap_pyfunction!(backend::adapters, module)?)?;
    module.add_function(wrap_pyfunction!(calibrate::calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(run::run_study, module)?)?;
    module.add_function(wrap_pyfunction!(shards::run_shard, module)?)?;
    module.add_function(wrap_pyfunction!(shards::merge_shards, module)?)?;
    module.add_function(wrap_pyfunction!(shards::keep_shards, module)?)?;
    module.add_function(wrap_pyfunction!(shards::check_folder, module)?)?;
    module.add_class::<learner::LiveLearner>()?;
    module.add_class::<results::RunResults>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<study::StudySource>()?;
    module.add_class::<task::TaskHandle>()?;
    Ok(())
}
