//! From the outcome of an experiment to the files of a results folder.

use std::collections::BTreeMap;
use std::path::Path;

use super::folder::ASKED_FILES;
use super::offers::action_rows;
use super::overview::PointResult;
use super::read::{PolicyResults, Results};
use super::records::{CoverageRow, StepRow, SummaryRow, ValueRow};
use super::run_json::{
    AdapterTraffic, BoundsRun, ByBudget, DecisionSeconds, OwnRun, PlayedRun, PolicyRun, Run,
    Seconds,
};
use super::study_toml::StudyText;
use super::{RESULT_FILES, ResultsFolder};
use crate::dp::{Report, ValueTable};
use crate::error::OutputError;
use crate::experiment::{Coverage, Outcome, PolicyOutcome, Study};
use crate::files::sha256_of_file;
use crate::task::OwnPart;
use crate::world::Optimum;

/// How a study was run, for `run.json`.
#[derive(Debug, Clone)]
pub struct RunSetup {
    /// The command line.
    pub command: String,
    /// The backend's report.
    pub report: Report,
    /// The CPU strategy: `auto`, or the name of one.
    pub strategy: String,
    /// Worker threads.
    pub threads: usize,
}

impl Results {
    /// The results of a study that has run, without the time of writing.
    pub fn of_outcome(
        folder: &Path,
        study: &Study,
        text: StudyText,
        outcome: Outcome,
        setup: RunSetup,
    ) -> Self {
        let mut run = run(study, &outcome, setup);
        let reference = outcome.reference(study);
        let differences = reference.map(|reference| outcome.excess_over(reference));
        let opt = outcome.yardstick.opt;
        let policies = outcome.policies.into_iter().map(policy_results);
        let mut policies: Vec<PolicyResults> = policies.collect();
        for (policy, difference) in policies.iter_mut().zip(differences.into_iter().flatten()) {
            policy.run.paired_difference = known(difference.mean);
            policy.run.paired_standard_error = known(difference.standard_error);
        }
        run.policies = policies.iter().map(|policy| policy.run.clone()).collect();
        Self {
            folder: folder.to_path_buf(),
            study: text,
            run,
            opt,
            policies,
        }
    }

    /// Writes the CSV files other than `episodes.csv`.
    pub fn write_tables(&self, folder: &ResultsFolder) -> Result<(), OutputError> {
        let summary = self.policies.iter().flat_map(|policy| {
            let points = (1..).zip(&policy.cumulative);
            points.map(|(t, point)| SummaryRow::new(policy.name(), t, point))
        });
        folder.write_rows("summary.csv", summary)?;
        let steps = self.policies.iter().flat_map(|policy| {
            let steps = (1..).zip(&policy.left);
            steps.map(|(step, left)| StepRow {
                policy: policy.name().into(),
                step,
                budget_left: left.mean,
                standard_error: left.standard_error,
            })
        });
        folder.write_rows("steps.csv", steps)?;
        folder.write_rows("policies.csv", PointResult::all(&self.run))?;
        let maps = self.policies.iter();
        let maps = maps.filter_map(|p| Some((p.name(), p.offers.as_ref()?)));
        folder.write_rows(
            "actions.csv",
            maps.flat_map(|(name, map)| action_rows(name, map)),
        )
    }

    /// Writes `run.json` with the checksums of the other files. It comes last: a folder that has it is complete.
    pub fn write_run(&mut self, folder: &ResultsFolder) -> Result<(), OutputError> {
        let names = RESULT_FILES.iter().chain(&ASKED_FILES);
        for name in names.filter(|name| **name != "run.json") {
            let file = folder.path().join(name);
            if file.is_file() {
                let checksum = sha256_of_file(&file);
                let checksum = checksum.map_err(|error| OutputError::unwritable(&file, error))?;
                self.run.files.insert((*name).into(), checksum);
            }
        }
        self.run.seal();
        folder.write("run.json", self.run.text().as_bytes())
    }
}

fn policy_results(policy: PolicyOutcome) -> PolicyResults {
    let regret = policy.regret;
    let last = regret.cumulative.last();
    PolicyResults {
        run: PolicyRun {
            name: policy.name,
            mean_reward: known(regret.mean_reward),
            share_of_opt: known(regret.share_of_opt),
            final_regret: last.and_then(|x| known(x.mean)),
            standard_error: last.and_then(|x| known(x.standard_error)),
            final_regrets: Some(regret.finals)
                .filter(|finals| finals.iter().all(|x| x.is_finite()))
                .unwrap_or_default(),
            expected_regret: regret.expected.and_then(|x| known(x.mean)),
            expected_standard_error: regret.expected.and_then(|x| known(x.standard_error)),
            slope: regret.slope.and_then(|x| known(x.mean)),
            slope_standard_error: regret.slope.and_then(|x| known(x.standard_error)),
            paired_difference: None,
            paired_standard_error: None,
            bounds: policy.knowledge.map(|knowledge| BoundsRun {
                observations: knowledge.observations,
                mean_width: knowledge.width,
                vacuous_share: knowledge.vacuous,
                at_norm_bound: knowledge.at_norm_bound,
            }),
            played: regret.played.map(|played| PlayedRun {
                widths: played.widths,
                tolerance: played.tolerance,
            }),
            warnings: policy.warnings.clone(),
            seconds: policy.elapsed.as_secs_f64(),
            decision_seconds: match policy.latencies.quantile(0.5) {
                Some(p50) => Some(DecisionSeconds {
                    p50,
                    p99: policy.latencies.quantile(0.99).unwrap_or(p50),
                }),
                None => None,
            },
        },
        cumulative: regret.cumulative,
        left: policy.budget_use.left(),
        offers: policy.offers,
    }
}

/// `run.json` without the policies.
fn run(study: &Study, outcome: &Outcome, setup: RunSetup) -> Run {
    let RunSetup {
        command,
        report,
        strategy,
        threads,
    } = setup;
    let (phases, optimum) = (&outcome.phases, &outcome.optimum);
    let estimate = optimum.estimate.as_ref();
    let per_episode = |by_budget: &[f64]| {
        let budgets = outcome.yardstick.budgets.iter();
        let count = budgets.len() as f64;
        budgets.map(|b| by_budget[*b as usize]).sum::<f64>() / count
    };
    let mut budgets = outcome.yardstick.budgets.clone();
    budgets.sort_unstable();
    budgets.dedup();
    let optima = OptimumByBudget::new(optimum, budgets);
    Run {
        version: env!("CARGO_PKG_VERSION").into(),
        command,
        seed: study.seed,
        backend: report.backend,
        adapter: report.adapter,
        driver: report.driver,
        precision: report.precision,
        strategy,
        strategies: report.strategies.into_iter().collect(),
        threads,
        episodes: study.episodes,
        horizon: study.world.task().horizon(),
        replications: study.replications,
        delta: study.delta,
        seconds: Seconds {
            optimum: phases.optimum.as_secs_f64(),
            simulation: phases.simulation.as_secs_f64(),
            fit: phases.fit.as_secs_f64(),
            bounds: phases.bounds.as_secs_f64(),
            dp: phases.dp.as_secs_f64(),
            expected: phases.expected.as_secs_f64(),
            ..Seconds::default()
        },
        gpu: report.traffic.map(|traffic| AdapterTraffic {
            dispatches: traffic.dispatches,
            bytes_up: traffic.bytes_up,
            bytes_down: traffic.bytes_down,
            bounds_on_cpu: report.bounds_on_cpu,
        }),
        peak_memory_bytes: None,
        reference: outcome
            .reference(study)
            .map(|reference| outcome.policies[reference].name.clone()),
        own: own(study),
        policies: Vec::new(),
        opt_per_episode: known(per_episode(optimum.table.row(0))),
        opt_per_episode_standard_error: estimate.map(|e| per_episode(&e.standard_error)),
        fluid_bound_per_episode: known(per_episode(&optimum.fluid)),
        opt: optima.opt,
        opt_rows: optima.opt_rows,
        opt_standard_error: optima.opt_standard_error,
        fluid_bound: optima.fluid_bound,
        files: BTreeMap::new(),
        checksum: String::new(),
    }
}

/// The own code of a study.
fn own(study: &Study) -> Vec<OwnRun> {
    let parts = study.own().into_iter();
    let run = |(place, part): (String, OwnPart)| OwnRun {
        place,
        code: part.code.clone(),
    };
    parts.map(run).collect()
}

/// opt and the fluid bound per budget, with standard errors if opt is an estimate.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct OptimumByBudget {
    /// opt.
    pub opt: ByBudget,
    /// Rows that it was estimated from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opt_rows: Option<usize>,
    /// Standard error of that estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opt_standard_error: Option<ByBudget>,
    /// UB.
    pub fluid_bound: ByBudget,
}

impl OptimumByBudget {
    /// The values at some budgets.
    pub fn new(optimum: &Optimum, budgets: impl IntoIterator<Item = u32>) -> Self {
        let budgets: Vec<u32> = budgets.into_iter().collect();
        let of = |values: &[f64]| -> ByBudget {
            let budgets = budgets.iter();
            budgets.map(|b| (*b, values[*b as usize])).collect()
        };
        let estimate = optimum.estimate.as_ref();
        Self {
            opt: of(optimum.table.row(0)),
            opt_rows: estimate.map(|e| e.rows),
            opt_standard_error: estimate.map(|e| of(&e.standard_error)),
            fluid_bound: of(&optimum.fluid),
        }
    }
}

/// `values.csv`: the value table, steps 1..=H.
pub fn value_rows(table: &ValueTable) -> impl Iterator<Item = ValueRow> + '_ {
    (0..table.horizon()).flat_map(|h| {
        let values = table.row(h).iter().enumerate();
        values.map(move |(budget, value)| ValueRow {
            step: h + 1,
            budget,
            value: *value,
        })
    })
}

impl CoverageRow {
    /// The line of an oracle's coverage.
    pub fn new(oracle: &str, found: &Coverage) -> Self {
        Self {
            oracle: oracle.into(),
            observations: found.observations,
            pairs_covered: found.pairs,
            all_covered: found.all,
            always_covered: found.always,
            width: found.width,
            error: found.error,
            factor: found.factor,
        }
    }
}

/// `None` for NaN.
fn known(x: f64) -> Option<f64> {
    (!x.is_nan()).then_some(x)
}
