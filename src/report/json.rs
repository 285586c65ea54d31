//! `run.json`: what ran, where, how long, and what came out.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::config::Study;
use crate::dp::Report;
use crate::experiment::{Outcome, RegretSummary};
use crate::world::Optimum;

/// How a study was run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The command line.
    pub command: String,
    /// What did the work.
    pub report: Report,
    /// Worker threads.
    pub threads: usize,
    /// Wall time from start to the writing of this file.
    pub total: Duration,
    /// Wall time of writing the other files.
    pub output: Duration,
}

/// The content of `run.json`.
pub fn run(run: &Run, study: &Study, outcome: &Outcome, regrets: &[RegretSummary]) -> Value {
    let phases = &outcome.phases;
    let policies: Vec<Value> = outcome
        .policies
        .iter()
        .zip(regrets)
        .map(|(policy, regret)| {
            let last = regret.cumulative.last();
            json!({
                "name": policy.name,
                "mean_reward": regret.mean_reward,
                "share_of_opt": regret.share_of_opt,
                "final_regret": last.map(|x| x.mean),
                "standard_error": last.map(|x| x.standard_error),
                "expected_regret": regret.expected.map(|x| x.mean),
                "slope": regret.slope.map(|x| x.mean),
                "slope_standard_error": regret.slope.map(|x| x.standard_error),
                "seconds": policy.elapsed.as_secs_f64(),
            })
        })
        .collect();
    let mut object = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "command": run.command,
        "seed": study.seed,
        "backend": run.report.backend,
        "adapter": run.report.adapter,
        "driver": run.report.driver,
        "precision": run.report.precision,
        "strategies": strategies(&run.report),
        "threads": run.threads,
        "episodes": study.episodes,
        "horizon": study.world.task().horizon(),
        "replications": study.replications,
        "delta": study.delta,
        "seconds": {
            "total": run.total.as_secs_f64(),
            "optimum": phases.optimum.as_secs_f64(),
            "simulation": phases.simulation.as_secs_f64(),
            "fit": phases.fit.as_secs_f64(),
            "bounds": phases.bounds.as_secs_f64(),
            "dp": phases.dp.as_secs_f64(),
            "expected": phases.expected.as_secs_f64(),
            "output": run.output.as_secs_f64(),
        },
        "gpu": run.report.traffic.map(|traffic| json!({
            "dispatches": traffic.dispatches,
            "bytes_up": traffic.bytes_up,
            "bytes_down": traffic.bytes_down,
        })),
        "peak_memory_bytes": peak_memory(),
        "policies": policies,
    });
    let mut budgets = outcome.budgets.clone();
    budgets.sort_unstable();
    budgets.dedup();
    let fields = object.as_object_mut().expect("made as an object");
    fields.extend(optimum(&outcome.optimum, budgets.iter().copied()));
    object
}

/// How many plans the CPU has made by each strategy.
pub fn strategies(report: &Report) -> Value {
    let used = report.strategies.iter();
    used.map(|(name, plans)| (name.clone(), json!(plans)))
        .collect::<Map<_, _>>()
        .into()
}

/// opt and the fluid bound per budget, with standard errors where opt is an estimate.
pub fn optimum(
    optimum: &Optimum,
    budgets: impl Iterator<Item = u32> + Clone,
) -> Map<String, Value> {
    let per_budget = |value: &dyn Fn(usize) -> f64| -> Value {
        budgets
            .clone()
            .map(|b| (b.to_string(), json!(value(b as usize))))
            .collect::<Map<_, _>>()
            .into()
    };
    let mut fields = Map::new();
    fields.insert("opt".into(), per_budget(&|b| optimum.table.row(0)[b]));
    if let Some(estimate) = &optimum.estimate {
        fields.insert("opt_rows".into(), json!(estimate.rows));
        fields.insert(
            "opt_standard_error".into(),
            per_budget(&|b| estimate.standard_error[b]),
        );
    }
    fields.insert("fluid_bound".into(), per_budget(&|b| optimum.fluid[b]));
    fields
}

/// The largest resident size of this process so far, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
