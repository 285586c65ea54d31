//! The posterior that the kernel and the Gaussian-process oracles share (Appendix A.2.4 and A.2.5), phi = (theta, a):
//!
//! ```text
//! mean(phi)        k(phi)' (K + lambda I)^-1 y
//! deviation(phi)   sqrt( k(phi, phi) - k(phi)' (K + lambda I)^-1 k(phi) )
//! ```
//!
//! With K + lambda I = L L', both follow from the column z = L^-1 k(phi): mean = z . (L^-1 y) and
//! deviation^2 = 1 - |z|^2. An observation adds a row to L and an entry to every column, so columns of watched contexts
//! are kept and only grow.
//!
//! Observations of the same pair (context, action) are merged: n of them are equivalent to one with their mean label and
//! noise lambda / n. Those of one fit are merged at once; rows of earlier fits when they exceed the distinct pairs by half,
//! which rebuilds L and the columns. On finite contexts the cost of an observation then stops growing.

use std::collections::HashMap;

use rayon::prelude::*;

use super::eights::EIGHT;
use super::fit_log::FitLog;
use super::posterior_columns::{ColumnGroup, Factor};
use super::{Belief, Bounds, LabeledData};
use crate::error::Invalid;
use crate::task::{Kernel, Support, Task};

/// The data and the kept columns.
#[derive(Debug, Clone)]
pub(super) struct Posterior {
    kernel: Kernel,
    lambda: f64,
    action_values: Vec<f64>,
    /// Number of observations.
    observations: usize,
    /// phi of the distinct pairs.
    pairs: Support,
    /// Observations of every distinct pair.
    totals: Vec<PairLabels>,
    /// The last row of every distinct pair.
    last_row: Vec<Option<usize>>,
    factor: Factor,
    /// ln det(I + K / lambda).
    log_determinant: f64,
    /// Columns of the watched contexts, one per action, next to each other.
    kept: Vec<ColumnGroup>,
    /// The watched contexts.
    watched: Support,
    /// Mean and variance of every distinct pair that was observed, if they are kept.
    observed: Option<Vec<(f64, f64)>>,
    /// Fits since L was last rebuilt.
    fits: FitLog,
}

/// Observations of one pair.
#[derive(Debug, Clone, Copy)]
struct PairLabels {
    pair: usize,
    count: f64,
    converted: f64,
}

/// Groups of columns updated by one task.
const GROUPS: usize = 4;

/// About the bytes of a posterior, with so many contexts watched.
pub(super) fn bytes(task: &Task, observations: usize, watched: usize) -> usize {
    // Repeated pairs are merged.
    let (contexts, rows) = match task.is_finite() {
        true => {
            let support = task.support().len();
            let rows = 2 * support * task.actions();
            (watched.min(support), observations.min(rows))
        }
        false => (watched, observations),
    };
    let columns = contexts.saturating_mul(task.actions());
    let row = (rows / 2).saturating_add(columns);
    row.saturating_mul(8).saturating_mul(rows)
}

impl Posterior {
    /// Without data. `kernel` is made for phi of the task; `lambda` is positive.
    pub fn new(task: &Task, kernel: Kernel, lambda: f64) -> Self {
        Self {
            kernel,
            lambda,
            action_values: task.application().action_values().to_vec(),
            observations: 0,
            pairs: Support::new(task.phi_dimension()),
            totals: Vec::new(),
            last_row: Vec::new(),
            factor: Factor::default(),
            log_determinant: 0.0,
            kept: Vec::new(),
            watched: Support::new(task.dimension()),
            observed: None,
            fits: FitLog::default(),
        }
    }

    /// N.
    pub fn len(&self) -> usize {
        self.observations
    }

    /// Whether there is no data yet.
    fn is_empty(&self) -> bool {
        self.observations == 0
    }

    /// The information gain of the data, 1/2 ln det(I + K / lambda).
    pub fn information_gain(&self) -> f64 {
        0.5 * self.log_determinant
    }

    /// Appends the new observations and updates the kept columns.
    pub fn append(&mut self, data: &LabeledData) {
        let new = self.merged(data);
        let room = 3 * self.totals.len() / 2;
        if self.factor.len() > 0 && self.factor.len() + new.len() > room {
            self.factor = Factor::default();
            self.log_determinant = 0.0;
            self.last_row.fill(None);
            self.observed.iter_mut().for_each(Vec::clear);
            self.kept.iter_mut().for_each(ColumnGroup::reset);
            self.fits.clear();
            let totals = std::mem::take(&mut self.totals);
            self.append_rows(&totals);
            self.totals = totals;
        } else {
            self.append_rows(&new);
        }
        self.fits.push(self.observations, self.watched.len());
        let (factor, kernel) = (&self.factor, &self.kernel);
        self.kept.par_chunks_mut(GROUPS).for_each(|groups| {
            groups
                .iter_mut()
                .for_each(|group| group.extend(factor, kernel));
        });
    }

    /// The new observations, merged by pair in order of appearance; adds them to the totals.
    fn merged(&mut self, data: &LabeledData) -> Vec<PairLabels> {
        let mut new: Vec<PairLabels> = Vec::new();
        let mut place_of: HashMap<usize, usize> = HashMap::new();
        for observation in data.since(self.observations) {
            let value = self.action_values[observation.action - 1];
            let phi = [observation.features, &[value]].concat();
            let pair = self.pairs.insert(&phi) as usize;
            let none = PairLabels {
                pair,
                count: 0.0,
                converted: 0.0,
            };
            if pair == self.totals.len() {
                self.totals.push(none);
                self.last_row.push(None);
            }
            let place = *place_of.entry(pair).or_insert(new.len());
            if place == new.len() {
                new.push(none);
            }
            for labels in [&mut self.totals[pair], &mut new[place]] {
                labels.count += 1.0;
                labels.converted += f64::from(u8::from(observation.converted));
            }
        }
        self.observations = data.len();
        new
    }

    /// Appends a row to L for each pair.
    fn append_rows(&mut self, all: &[PairLabels]) {
        for eight in all.chunks(EIGHT) {
            let phi = |labels: &PairLabels| self.pairs.features(labels.pair as u32);
            let (kept, other): (Vec<PairLabels>, Vec<PairLabels>) =
                eight.iter().partition(|l| self.column(phi(l)).is_some());
            let mut from_kept = ColumnGroup::new(self.kernel.dimension());
            for column in kept.iter().filter_map(|l| self.column(phi(l))) {
                from_kept.push_column(&self.kept[column / EIGHT], column % EIGHT);
            }
            let new = self.columns(other.iter().map(phi));
            for (mut group, members) in [(from_kept, kept), (new, other)] {
                for (lane, labels) in members.into_iter().enumerate() {
                    group.extend(&self.factor, &self.kernel);
                    let noise = self.lambda / labels.count;
                    let label = labels.converted / labels.count;
                    self.update_observed(&group, lane, labels.pair, label, noise);
                    let repeats = self.last_row[labels.pair].replace(self.factor.len());
                    let unexplained = self.factor.append(&group, lane, label, noise, repeats);
                    self.log_determinant += (unexplained / noise).ln();
                }
            }
        }
    }

    /// Updates the moments of the observed pairs for a row that is about to be appended, with the column of its pair. With
    /// c = k(phi_i, phi) - z_i . z, the posterior covariance of pair i and the new one,
    ///
    /// ```text
    /// mean_i += c (label - mean) / (variance + noise),    variance_i -= c^2 / (variance + noise)
    /// ```
    ///
    /// and c = noise_i [L'^-1 z]_i, as k_i (K + noise)^-1 k = k_i - noise_i [(K + noise)^-1 k]_i. The cost is that of the column.
    fn update_observed(
        &mut self,
        group: &ColumnGroup,
        lane: usize,
        pair: usize,
        label: f64,
        noise: f64,
    ) {
        let Some(moments) = &mut self.observed else {
            return;
        };
        let (mean, deviation) = group.moments(lane);
        let unexplained = noise + deviation * deviation;
        let weights = self.factor.solve_transposed(group.entries(lane));
        moments.resize(self.last_row.len(), (0.0, 1.0));
        for (known, row) in self.last_row.iter().enumerate() {
            let covariance = match row {
                Some(row) if known != pair => self.factor.noise(*row) * weights[*row],
                _ if known == pair => deviation * deviation,
                _ => continue,
            };
            let moments = &mut moments[known];
            moments.0 += covariance * (label - mean) / unexplained;
            moments.1 -= covariance * covariance / unexplained;
        }
        if self.last_row[pair].is_none() {
            let variance = deviation * deviation;
            moments[pair] = (
                mean + variance * (label - mean) / unexplained,
                variance * noise / unexplained,
            );
        }
    }

    /// The number of a kept column.
    fn column(&self, phi: &[f64]) -> Option<usize> {
        let (value, features) = phi.split_last()?;
        let context = self.watched.find(features)? as usize;
        let action = self.action_values.iter().position(|a| a == value)?;
        Some(context * self.action_values.len() + action)
    }

    /// New columns of up to eight pairs.
    fn columns<'p>(&self, pairs: impl Iterator<Item = &'p [f64]>) -> ColumnGroup {
        let mut group = ColumnGroup::new(self.kernel.dimension());
        pairs.for_each(|phi| group.push(phi));
        group.extend(&self.factor, &self.kernel);
        group
    }

    /// New columns of all actions of a context.
    fn columns_of(&self, features: &[f64]) -> Vec<ColumnGroup> {
        let eights = self.action_values.chunks(EIGHT);
        let phi = |value: &f64| [features, &[*value]].concat();
        eights
            .map(|values| {
                let pairs: Vec<Vec<f64>> = values.iter().map(phi).collect();
                self.columns(pairs.iter().map(Vec::as_slice))
            })
            .collect()
    }

    /// Keeps the columns of a context from now on.
    pub fn watch(&mut self, features: &[f64]) {
        if self.watched.find(features).is_some() {
            return;
        }
        self.watched.insert(features);
        for group in self.columns_of(features) {
            for lane in 0..group.pairs() {
                if self.kept.last().is_none_or(ColumnGroup::is_full) {
                    self.kept.push(ColumnGroup::new(self.kernel.dimension()));
                }
                if let Some(last) = self.kept.last_mut() {
                    last.push_column(&group, lane);
                }
            }
        }
    }

    /// For [`super::Oracle::save`].
    pub fn save(&self) -> Vec<f64> {
        self.fits.save()
    }

    /// Repeats the saved fits, and in between the watching of contexts, all of which are already watched. If L was rebuilt,
    /// all data before that count as one fit.
    pub fn restore(&mut self, data: &LabeledData, saved: &[f64]) -> Result<(), Invalid> {
        let fits = FitLog::read(saved, data.len(), self.watched.len())?;
        let all = std::mem::replace(&mut self.watched, Support::new(self.kernel.dimension() - 1));
        self.kept.clear();
        for fit in fits {
            self.watch_up_to(fit.watched, &all);
            self.append(&data.first(fit.observations));
        }
        self.watch_up_to(all.len(), &all);
        Ok(())
    }

    fn watch_up_to(&mut self, count: usize, all: &Support) {
        for context in self.watched.len()..count {
            self.watch(all.features(context as u32));
        }
    }

    /// Mean and mean +- `radius` * deviation of all actions in one context; unknown without data.
    pub fn beliefs(&self, features: &[f64], radius: f64, out: &mut [Belief]) {
        if self.is_empty() {
            return out.fill(Belief::UNKNOWN);
        }
        self.for_each_action(features, |action, (mean, deviation)| {
            out[action] = belief(mean, radius * deviation);
        });
    }

    /// Keeps the moments of the observed pairs from now on.
    pub fn keep_observed(&mut self) {
        self.observed = Some(Vec::new());
    }

    /// Observations, estimate and ucb of every distinct pair that was observed.
    pub fn each_observed(&self, radius: f64, see: &mut dyn FnMut(f64, f64, f64)) {
        let kept = self.observed.iter().flatten();
        for (labels, &(mean, variance)) in self.totals.iter().zip(kept) {
            let belief = belief(mean, radius * variance.max(0.0).sqrt());
            see(labels.count, belief.estimate, belief.bounds.ucb);
        }
    }

    /// Means, clipped into [0, 1]; 1/2 without data.
    pub fn estimate(&self, features: &[f64], out: &mut [f64]) {
        if self.is_empty() {
            return out.fill(0.5);
        }
        self.for_each_action(features, |action, (mean, _)| {
            out[action] = mean.clamp(0.0, 1.0);
        });
    }

    /// Mean (not clipped) and deviation of all actions in one context.
    pub fn moments(&self, features: &[f64]) -> Vec<(f64, f64)> {
        let mut all = Vec::new();
        self.for_each_action(features, |_, moments| all.push(moments));
        all
    }

    fn for_each_action(&self, features: &[f64], mut see: impl FnMut(usize, (f64, f64))) {
        let actions = 0..self.action_values.len();
        match self.watched.find(features) {
            Some(context) => actions.for_each(|action| {
                let column = context as usize * self.action_values.len() + action;
                see(action, self.kept[column / EIGHT].moments(column % EIGHT));
            }),
            None => {
                let groups = self.columns_of(features);
                actions.for_each(|a| see(a, groups[a / EIGHT].moments(a % EIGHT)));
            }
        }
    }
}

fn belief(mean: f64, radius: f64) -> Belief {
    Belief::new(mean.clamp(0.0, 1.0), Bounds::around(mean, radius))
}

#[cfg(test)]
mod tests;
