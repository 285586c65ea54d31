//! `episodes.csv` and `summary.csv` as columns.

use cbwk_gpu::results::{EpisodeRow, PolicyResults, Results};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The columns of `episodes.csv`; policies by index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EpisodeColumns {
    names: Vec<String>,
    policy: Vec<u32>,
    replication: Vec<i64>,
    episode: Vec<i64>,
    b_t: Vec<i64>,
    reward: Vec<f64>,
    opt: Vec<f64>,
    regret: Vec<f64>,
    cumulative_regret: Vec<f64>,
    spent: Vec<i64>,
    expected_regret: Vec<f64>,
    played_widths: Vec<f64>,
    played_tolerance: Vec<f64>,
}

impl EpisodeColumns {
    /// Adds a row.
    pub fn push(&mut self, row: EpisodeRow) {
        if self.names.last() != Some(&row.policy) {
            self.names.push(row.policy);
        }
        self.policy.push(self.names.len() as u32 - 1);
        self.replication.push(row.replication as i64);
        self.episode.push(row.episode as i64);
        self.b_t.push(row.b_t.into());
        self.reward.push(row.reward);
        self.opt.push(row.opt);
        self.regret.push(row.regret);
        self.cumulative_regret.push(row.cumulative_regret);
        self.spent.push(row.spent.into());
        for (column, value) in [
            (&mut self.expected_regret, row.expected_regret),
            (&mut self.played_widths, row.played_widths),
            (&mut self.played_tolerance, row.played_tolerance),
        ] {
            column.push(value.unwrap_or(f64::NAN));
        }
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = EpisodeRow> + '_ {
        (0..self.policy.len()).map(|i| {
            let known = |column: &[f64]| Some(column[i]).filter(|x| !x.is_nan());
            EpisodeRow {
                policy: self.names[self.policy[i] as usize].clone(),
                replication: self.replication[i] as usize,
                episode: self.episode[i] as usize,
                b_t: self.b_t[i] as u32,
                reward: self.reward[i],
                opt: self.opt[i],
                regret: self.regret[i],
                cumulative_regret: self.cumulative_regret[i],
                spent: self.spent[i] as u32,
                expected_regret: known(&self.expected_regret),
                played_widths: known(&self.played_widths),
                played_tolerance: known(&self.played_tolerance),
            }
        })
    }

    /// The columns by name; `policy` is (names, index of each row).
    pub fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        let policy = PyArray1::from_slice(py, &self.policy);
        columns.set_item("policy", (&self.names, policy))?;
        let wholes = [
            ("replication", &self.replication),
            ("episode", &self.episode),
            ("b_t", &self.b_t),
        ];
        for (name, column) in wholes {
            columns.set_item(name, PyArray1::from_slice(py, column))?;
        }
        let numbers = [
            ("reward", &self.reward),
            ("opt", &self.opt),
            ("regret", &self.regret),
            ("cumulative_regret", &self.cumulative_regret),
        ];
        for (name, column) in numbers {
            columns.set_item(name, PyArray1::from_slice(py, column))?;
        }
        columns.set_item("spent", PyArray1::from_slice(py, &self.spent))?;
        let optional = [
            ("expected_regret", &self.expected_regret),
            ("played_widths", &self.played_widths),
            ("played_tolerance", &self.played_tolerance),
        ];
        for (name, column) in optional {
            columns.set_item(name, PyArray1::from_slice(py, column))?;
        }
        Ok(columns)
    }
}

/// The columns of `summary.csv`, likewise.
pub fn summary<'py>(py: Python<'py>, results: &Results) -> PyResult<Bound<'py, PyDict>> {
    let names: Vec<&str> = results.policies.iter().map(PolicyResults::name).collect();
    let (mut policy, mut episode) = (Vec::new(), Vec::new());
    let mut numbers: [Vec<f64>; 4] = Default::default();
    for (code, one) in (0u32..).zip(&results.policies) {
        for (t, point) in (1i64..).zip(&one.cumulative) {
            let row = cbwk_gpu::results::SummaryRow::new("", t as usize, point);
            policy.push(code);
            episode.push(t);
            let cells = [row.mean, row.standard_error, row.lower, row.upper];
            numbers
                .iter_mut()
                .zip(cells)
                .for_each(|(column, x)| column.push(x));
        }
    }
    let columns = PyDict::new(py);
    columns.set_item("policy", (names, PyArray1::from_vec(py, policy)))?;
    columns.set_item("episode", PyArray1::from_vec(py, episode))?;
    let named = ["mean", "standard_error", "lower", "upper"];
    for (name, column) in named.into_iter().zip(numbers) {
        columns.set_item(name, PyArray1::from_vec(py, column))?;
    }
    Ok(columns)
}
