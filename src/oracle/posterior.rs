//! The posterior that the kernel and the Gaussian-process oracles share (Appendix A.2.4 and A.2.5), phi = (theta, a):
//!
//! ```text
//! mean(phi)        k(phi)' (K + lambda I)^-1 y
//! deviation(phi)   sqrt( k(phi, phi) - k(phi)' (K + lambda I)^-1 k(phi) )
//! ```
//!
//! With K + lambda I = L L', both follow from the column z = L^-1 k(phi): mean = z . (L^-1 y) and
//! deviation^2 = 1 - |z|^2. An observation adds a row to L and an entry to every column, so columns of contexts that
//! will be asked for again are kept and only grow.
//!
//! Observations of the same pair (context, action) are merged: n of them say as much as one of their mean label with noise
//! lambda / n, which is exact. Those of one fit are merged as they come; rows of earlier fits once there are half as many more
//! as distinct pairs, when L and the columns are made anew. On finite contexts the cost of an observation so stops growing.

use std::collections::HashMap;

use rayon::prelude::*;

use super::lanes::LANES;
use super::panel::{Factor, Panel};
use super::replay::Fits;
use super::{Bounds, LabeledData};
use crate::error::Invalid;
use crate::task::{Kernel, Task};

/// Data taken in, and columns kept.
#[derive(Debug, Clone)]
pub(super) struct Posterior {
    kernel: Kernel,
    lambda: f64,
    action_values: Vec<f64>,
    /// Observations taken in.
    observations: usize,
    /// Distinct pairs, by the bits of phi.
    pair_of: HashMap<Vec<u64>, usize>,
    /// Observations of every distinct pair.
    totals: Vec<Labels>,
    /// The last row of every distinct pair.
    last_row: Vec<Option<usize>>,
    factor: Factor,
    /// ln det(I + K / lambda).
    log_determinant: f64,
    /// Columns kept, one per action of each context that is watched, next to each other.
    kept: Vec<Panel>,
    /// The first column of a context, by the bits of its features.
    first_of: HashMap<Vec<u64>, usize>,
    /// Fits since L was last made anew.
    fits: Fits,
}

/// Observations of one pair.
#[derive(Debug, Clone)]
struct Labels {
    pair: usize,
    phi: Vec<f64>,
    count: f64,
    converted: f64,
}

/// Panels brought up to date by one task.
const PANELS: usize = 4;

impl Posterior {
    /// No data yet. `kernel` is made for phi of the task; `lambda` is positive.
    pub fn new(task: &Task, kernel: Kernel, lambda: f64) -> Self {
        Self {
            kernel,
            lambda,
            action_values: task.application().action_values().to_vec(),
            observations: 0,
            pair_of: HashMap::new(),
            totals: Vec::new(),
            last_row: Vec::new(),
            factor: Factor::default(),
            log_determinant: 0.0,
            kept: Vec::new(),
            first_of: HashMap::new(),
            fits: Fits::default(),
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

    /// Takes in the observations that are new, then brings the columns kept up to date.
    pub fn take_in(&mut self, data: &LabeledData) {
        let new = self.merged(data);
        let room = 3 * self.totals.len() / 2;
        if self.factor.len() > 0 && self.factor.len() + new.len() > room {
            self.factor = Factor::default();
            self.log_determinant = 0.0;
            self.last_row.fill(None);
            self.kept.iter_mut().for_each(Panel::reset);
            self.fits.clear();
            let totals = std::mem::take(&mut self.totals);
            self.append_rows(&totals);
            self.totals = totals;
        } else {
            self.append_rows(&new);
        }
        self.fits.push(self.observations, self.first_of.len());
        let (factor, kernel) = (&self.factor, &self.kernel);
        self.kept.par_chunks_mut(PANELS).for_each(|panels| {
            panels
                .iter_mut()
                .for_each(|panel| panel.extend(factor, kernel));
        });
    }

    /// The observations that are new, pair by pair in the order of their first; they are counted among the totals.
    fn merged(&mut self, data: &LabeledData) -> Vec<Labels> {
        let mut new: Vec<Labels> = Vec::new();
        let mut place_of: HashMap<usize, usize> = HashMap::new();
        for observation in data.since(self.observations) {
            let value = self.action_values[observation.action - 1];
            let phi = [observation.features, &[value]].concat();
            let next = self.totals.len();
            let pair = *self.pair_of.entry(bits(&phi)).or_insert(next);
            let empty = || Labels {
                pair,
                phi,
                count: 0.0,
                converted: 0.0,
            };
            if pair == next {
                self.totals.push(empty());
                self.last_row.push(None);
            }
            let place = *place_of.entry(pair).or_insert(new.len());
            if place == new.len() {
                new.push(Labels {
                    count: 0.0,
                    converted: 0.0,
                    ..self.totals[pair].clone()
                });
            }
            for labels in [&mut self.totals[pair], &mut new[place]] {
                labels.count += 1.0;
                labels.converted += f64::from(u8::from(observation.converted));
            }
        }
        self.observations = data.len();
        new
    }

    /// Appends a row to L for each of these.
    fn append_rows(&mut self, all: &[Labels]) {
        for eight in all.chunks(LANES) {
            let (kept, other): (Vec<usize>, Vec<usize>) =
                (0..eight.len()).partition(|i| self.column(&eight[*i].phi).is_some());
            let mut from_kept = Panel::new(self.kernel.dimension());
            for i in &kept {
                if let Some(column) = self.column(&eight[*i].phi) {
                    from_kept.push_lane(&self.kept[column / LANES], column % LANES);
                }
            }
            let anew = self.columns(other.iter().map(|i| eight[*i].phi.as_slice()));
            for (panel, members) in [(from_kept, kept), (anew, other)] {
                let mut panel = panel;
                for (lane, i) in members.into_iter().enumerate() {
                    let labels = &eight[i];
                    panel.extend(&self.factor, &self.kernel);
                    let noise = self.lambda / labels.count;
                    let label = labels.converted / labels.count;
                    let repeats = self.last_row[labels.pair].replace(self.factor.len());
                    let unexplained = self.factor.append(&panel, lane, label, noise, repeats);
                    self.log_determinant += (unexplained / noise).ln();
                }
            }
        }
    }

    /// The number of a column that is kept.
    fn column(&self, phi: &[f64]) -> Option<usize> {
        let (value, features) = phi.split_last()?;
        let first = self.first_of.get(&bits(features))?;
        let action = self.action_values.iter().position(|a| a == value)?;
        Some(first + action)
    }

    /// The columns of up to eight pairs, made anew.
    fn columns<'p>(&self, pairs: impl Iterator<Item = &'p [f64]>) -> Panel {
        let mut panel = Panel::new(self.kernel.dimension());
        pairs.for_each(|phi| panel.push(phi));
        panel.extend(&self.factor, &self.kernel);
        panel
    }

    /// The columns of all actions of a context, made anew.
    fn columns_of(&self, features: &[f64]) -> Vec<Panel> {
        let eights = self.action_values.chunks(LANES);
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
        let kept = self
            .kept
            .last()
            .map_or(0, |last| (self.kept.len() - 1) * LANES + last.pairs());
        if *self.first_of.entry(bits(features)).or_insert(kept) != kept {
            return;
        }
        for panel in self.columns_of(features) {
            for lane in 0..panel.pairs() {
                if self.kept.last().is_none_or(Panel::is_full) {
                    self.kept.push(Panel::new(self.kernel.dimension()));
                }
                if let Some(last) = self.kept.last_mut() {
                    last.push_lane(&panel, lane);
                }
            }
        }
    }

    /// For [`super::Oracle::save`].
    pub fn saved(&self) -> Vec<f64> {
        self.fits.saved()
    }

    /// Takes in data as [`Posterior::saved`] says it came, between the contexts that were watched: all of them are by now.
    /// Where L was made anew, all data before it count as one fit.
    pub fn restore(&mut self, data: &LabeledData, saved: &[f64]) -> Result<(), Invalid> {
        let watched = self.watched();
        let fits = Fits::of_saved(saved, data.len(), watched.len())?;
        self.kept.clear();
        self.first_of.clear();
        for fit in fits {
            let before = self.first_of.len()..fit.watched;
            watched[before]
                .iter()
                .for_each(|context| self.watch(context));
            self.take_in(&data.first(fit.observations));
        }
        let rest = self.first_of.len()..;
        watched[rest].iter().for_each(|context| self.watch(context));
        Ok(())
    }

    /// The features of the contexts whose columns are kept, in the order in which they came.
    fn watched(&self) -> Vec<Vec<f64>> {
        let actions = self.action_values.len();
        let first_columns = (0..self.first_of.len()).map(|context| context * actions);
        let features = |column: usize| {
            let phi = self.kept[column / LANES].phi(column % LANES);
            phi[..phi.len() - 1].to_vec()
        };
        first_columns.map(features).collect()
    }

    /// mean +- `radius` * deviation of all actions in one context; unknown without data.
    pub fn bounds(&self, features: &[f64], radius: f64, out: &mut [Bounds]) {
        if self.is_empty() {
            return out.fill(Bounds::UNKNOWN);
        }
        self.for_each_action(features, |action, (mean, deviation)| {
            out[action] = Bounds::around(mean, radius * deviation);
        });
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
        match self.first_of.get(&bits(features)) {
            Some(&first) => actions.for_each(|action| {
                let column = first + action;
                see(action, self.kept[column / LANES].moments(column % LANES));
            }),
            None => {
                let panels = self.columns_of(features);
                actions.for_each(|a| see(a, panels[a / LANES].moments(a % LANES)));
            }
        }
    }
}

fn bits(features: &[f64]) -> Vec<u64> {
    features.iter().map(|x| x.to_bits()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{ApplicationSpec, Context, KernelSpec, TaskSpec};

    /// 20 contexts and 2 prices: 40 pairs, whatever the number of observations.
    #[test]
    fn rows_stop_growing_on_finite_contexts() {
        let values: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i) / 20.0]).collect();
        let prices = vec![1.0, 2.0];
        let task = TaskSpec::new(2, 1, ApplicationSpec::Pricing { prices }, 1);
        let spec = KernelSpec {
            nu: None,
            length: vec![0.3, 1.0],
        };
        let kernel = spec.check("kernel", 2).unwrap();
        let mut posterior = Posterior::new(&task.check().unwrap(), kernel, 0.5);
        let mut data = LabeledData::new(1);
        for n in 0..3000usize {
            let context = Context {
                step: 0,
                features: &values[(n * 7) % 20],
                point: None,
            };
            data.push(&context, 1 + (n / 20) % 2, n % 3 == 0);
            if n % 10 == 9 {
                posterior.take_in(&data);
                assert!(
                    posterior.factor.len() <= 60,
                    "{n}: {}",
                    posterior.factor.len()
                );
            }
        }
        assert_eq!((posterior.len(), posterior.totals.len()), (3000, 40));
        let count: f64 = posterior.totals.iter().map(|labels| labels.count).sum();
        assert_eq!(count, 3000.0);
    }
}
