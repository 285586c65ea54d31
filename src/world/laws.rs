//! Context laws Lambda_1, ..., Lambda_H (Section 2): independent over steps, possibly different at each. Beyond the paper a
//! day can be of one of several types, each with its own laws: steps are then independent given the type.

use std::sync::Arc;

use rand::{Rng, RngExt};

use super::OwnLaw;
use super::law::{Law, no_arrival_by_step, pick, running_sum};
use super::law_spec::{ContextsSpec, DayTypeSpec, LawSpec, probabilities};
use crate::error::Invalid;
use crate::task::{ContextRows, EpisodeContexts, Own, Support, finite_numbers};

/// The checked laws of all types of day.
#[derive(Debug, Clone)]
pub struct ContextLaws {
    dimension: usize,
    support: Arc<Support>,
    days: Vec<DayLaws>,
    /// Partial sums of the types' probabilities.
    cumulative: Vec<f64>,
}

/// The laws of all steps on one type of day.
#[derive(Debug, Clone)]
pub struct DayLaws {
    name: String,
    weight: f64,
    laws: Vec<Law>,
    step_law: Vec<usize>,
    no_arrival: Vec<f64>,
}

impl ContextLaws {
    /// Checks a specification for a horizon of `horizon` steps.
    pub fn check(spec: &ContextsSpec, horizon: usize) -> Result<Self, Invalid> {
        let dimension = spec.law.dimension("contexts")?;
        let mut support = Support::new(dimension);
        for (i, value) in spec.types.iter().flatten().enumerate() {
            let field = format!("contexts.types[{}]", i + 1);
            if value.len() != dimension {
                let accepted = format!("{dimension} features, as in the contexts");
                return Err(Invalid::new(
                    field,
                    format!("{} features", value.len()),
                    accepted,
                ));
            }
            finite_numbers(&field, value)?;
            support.insert(value);
        }
        let days = match &spec.law {
            LawSpec::Days { types } => {
                if !spec.no_arrival.is_empty() {
                    let accepted = "nothing: every type of day has its own";
                    return Err(Invalid::new("contexts.no_arrival", "numbers", accepted));
                }
                day_types(types, horizon, &mut support)?
            }
            law => {
                let mut day = DayLaws::new(1.0, "contexts", &spec.no_arrival, horizon)?;
                day.add_all(law, "contexts", &mut support)?;
                vec![day]
            }
        };
        let weights: Vec<f64> = days.iter().map(|day| day.weight).collect();
        Ok(Self {
            dimension,
            support: Arc::new(support),
            cumulative: running_sum(&weights),
            days,
        })
    }

    /// Number of features of a context.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The types of day; a single one with probability 1 unless the contexts are of kind `days`.
    pub fn days(&self) -> &[DayLaws] {
        &self.days
    }

    /// Whether the law of every step and type of day is finite, so that optima are exact.
    pub fn is_finite(&self) -> bool {
        let mut laws = self.days.iter().flat_map(|day| &day.laws);
        laws.all(|law| matches!(law, Law::Finite { .. }))
    }

    /// The points of the finite laws.
    pub fn support(&self) -> &Arc<Support> {
        &self.support
    }

    /// The points that can arrive.
    pub(crate) fn drawn_points(&self) -> impl Iterator<Item = u32> {
        let days = self.days.iter().filter(|day| day.weight > 0.0);
        let finite = days.flat_map(|day| &day.laws).filter_map(|law| match law {
            Law::Finite {
                points, weights, ..
            } => Some(points.iter().zip(weights)),
            _ => None,
        });
        let drawn = finite.flatten().filter(|(_, weight)| **weight > 0.0);
        drawn.map(|(point, _)| *point)
    }

    /// What decides about an arrival's context at `step`: the law, and with several types of day their rates as well.
    pub(super) fn drawn_law_of(&self, step: usize) -> Vec<(usize, u64)> {
        match &self.days[..] {
            [day] => vec![(day.step_law[step], 0)],
            days => days.iter().map(|day| day.law_of(step)).collect(),
        }
    }

    /// Corners (low, high) of the boxes of continuous laws.
    pub(super) fn boxes(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        let laws = self.days.iter().flat_map(|day| &day.laws);
        laws.filter_map(|law| match law {
            Law::Finite { .. } => None,
            Law::Box { low, high }
            | Law::Mixture { low, high, .. }
            | Law::Own { low, high, .. } => Some((&low[..], &high[..])),
        })
    }

    /// The laws that are own code, one per type of day at most.
    pub fn own(&self) -> impl Iterator<Item = &Own<dyn OwnLaw>> {
        self.days.iter().filter_map(|day| day.laws.first()?.own())
    }

    /// Draws a type of day and replaces the contexts of an episode by new draws of that type, which is returned.
    pub fn draw(&self, rng: &mut impl Rng, episode: &mut EpisodeContexts) -> usize {
        let day = match self.days.len() {
            1 => 0,
            _ => pick(&self.cumulative, rng),
        };
        self.days[day].draw(rng, &self.support, episode);
        day
    }

    /// Whether an arrival is possible at `step` (0-based): rows from a file may have none there.
    pub(super) fn has_contexts(&self, step: usize) -> bool {
        self.days
            .iter()
            .any(|day| day.weight > 0.0 && day.has_contexts(step))
    }

    /// Draws the context of an arrival at `step` (0-based) into `slot`; returns its point of a finite law. Types of day
    /// count by how often they have an arrival there.
    pub(super) fn draw_arrival(
        &self,
        rng: &mut impl Rng,
        step: usize,
        slot: &mut [f64],
    ) -> Option<u32> {
        let day = match self.days.len() {
            1 => 0,
            _ => {
                let rate = |day: &DayLaws| day.weight * (1.0 - day.no_arrival[step]);
                let rates: Vec<f64> = self.days.iter().map(rate).collect();
                let total: f64 = rates.iter().sum();
                let shares: Vec<f64> = rates.iter().map(|rate| rate / total).collect();
                pick(&running_sum(&shares), rng)
            }
        };
        let day = &self.days[day];
        day.laws[day.step_law[step]].draw(rng, &self.support, slot, step)
    }

    /// Draws `count` independent rows.
    pub fn draw_rows(&self, rng: &mut impl Rng, count: usize) -> ContextRows {
        self.rows(count, |episode| {
            self.draw(rng, episode);
        })
    }

    /// Draws `count` independent rows of one type of day.
    pub fn draw_rows_of(&self, day: usize, rng: &mut impl Rng, count: usize) -> ContextRows {
        self.rows(count, |episode| {
            self.days[day].draw(rng, &self.support, episode);
        })
    }

    fn rows(&self, count: usize, mut draw: impl FnMut(&mut EpisodeContexts)) -> ContextRows {
        let horizon = self.days[0].step_law.len();
        let mut rows = ContextRows::new(horizon, self.dimension);
        rows.reserve(count);
        let mut episode = EpisodeContexts::new(self.dimension);
        for _ in 0..count {
            draw(&mut episode);
            let mut arrivals = episode.iter().peekable();
            for step in 0..horizon {
                let arrival = arrivals.next_if(|context| context.step == step);
                rows.push(arrival.map(|context| context.features));
            }
        }
        rows
    }
}

/// The laws of the types of day, which share one support.
fn day_types(
    types: &[DayTypeSpec],
    horizon: usize,
    support: &mut Support,
) -> Result<Vec<DayLaws>, Invalid> {
    let weights: Vec<f64> = types.iter().map(|day| day.weight).collect();
    let weights = probabilities("contexts.types", &weights)?;
    let mut days: Vec<DayLaws> = Vec::with_capacity(types.len());
    for (i, (spec, weight)) in types.iter().zip(weights).enumerate() {
        let field = format!("contexts.types[{}].contexts", i + 1);
        let mut day = DayLaws::new(weight, &field, &spec.no_arrival, horizon)?;
        day.add_all(&spec.law, &field, support)?;
        if days.iter().any(|other| other.name == spec.name) {
            let found = format!("a second type called `{}`", spec.name);
            let field = format!("contexts.types[{}].name", i + 1);
            return Err(Invalid::new(
                field,
                found,
                "a different name for every type",
            ));
        }
        day.name.clone_from(&spec.name);
        days.push(day);
    }
    Ok(days)
}

impl DayLaws {
    /// The name of the type; empty where days are all alike.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The share of days of this type.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Probability of no arrival at `step` (0-based).
    pub fn no_arrival(&self, step: usize) -> f64 {
        self.no_arrival[step]
    }

    /// The number of the law in force at `step` and the arrival rate; steps that agree in both have the same arrivals.
    pub(super) fn law_of(&self, step: usize) -> (usize, u64) {
        (self.step_law[step], self.no_arrival[step].to_bits())
    }

    /// Points and probabilities (given an arrival) of the law of `step`, where it is finite.
    pub fn finite(&self, step: usize) -> Option<(&[u32], &[f64])> {
        match &self.laws[self.step_law[step]] {
            Law::Finite {
                points, weights, ..
            } => Some((points, weights)),
            _ => None,
        }
    }

    fn has_contexts(&self, step: usize) -> bool {
        !matches!(&self.laws[self.step_law[step]], Law::Finite { points, .. } if points.is_empty())
    }

    fn draw(&self, rng: &mut impl Rng, support: &Support, episode: &mut EpisodeContexts) {
        episode.clear();
        if self.laws[0].own().is_some() {
            return self.laws[0].draw_episode(rng, &self.no_arrival, episode);
        }
        for (step, &law) in self.step_law.iter().enumerate() {
            let p = self.no_arrival[step];
            if p > 0.0 && rng.random::<f64>() < p {
                continue;
            }
            let law = &self.laws[law];
            episode.arrive(step, |slot| law.draw(rng, support, slot, step));
        }
    }

    /// A type without laws yet.
    fn new(weight: f64, field: &str, no_arrival: &[f64], horizon: usize) -> Result<Self, Invalid> {
        Ok(Self {
            name: String::new(),
            weight,
            laws: Vec::new(),
            step_law: vec![0; horizon],
            no_arrival: no_arrival_by_step(field, no_arrival, horizon)?,
        })
    }

    /// Adds the laws of all steps.
    fn add_all(
        &mut self,
        law: &LawSpec,
        field: &str,
        support: &mut Support,
    ) -> Result<(), Invalid> {
        let horizon = self.step_law.len();
        let LawSpec::ByStep { segments } = law else {
            return self.add(law, field, 0..horizon, support);
        };
        let mut next = 1;
        for (i, segment) in segments.iter().enumerate() {
            let field = format!("{field}.segments[{}]", i + 1);
            if segment.first != next || segment.last < next || segment.last > horizon {
                return Err(Invalid::new(
                    field,
                    format!("first = {}, last = {}", segment.first, segment.last),
                    format!(
                        "segments that cover steps 1 to {horizon} in order (here first = {next})"
                    ),
                ));
            }
            self.add(
                &segment.law,
                &field,
                segment.first - 1..segment.last,
                support,
            )?;
            next = segment.last + 1;
        }
        if next != horizon + 1 {
            return Err(Invalid::new(
                format!("{field}.segments"),
                format!("no segment for step {next}"),
                format!("segments that cover steps 1 to {horizon}"),
            ));
        }
        Ok(())
    }

    /// Adds the law of a range of steps; rows from a file give each step its own.
    fn add(
        &mut self,
        spec: &LawSpec,
        field: &str,
        steps: std::ops::Range<usize>,
        support: &mut Support,
    ) -> Result<(), Invalid> {
        if let LawSpec::Rows(rows) = spec {
            for step in steps {
                let law = self.empirical(rows, step, support);
                self.step_law[step] = self.laws.len();
                self.laws.push(law);
            }
            return Ok(());
        }
        let law = spec.check(field, support)?;
        // An own law depends on the step.
        let copies = if law.own().is_some() { steps.len() } else { 1 };
        for (i, step) in steps.enumerate() {
            self.step_law[step] = self.laws.len() + i.min(copies - 1);
        }
        self.laws.extend(std::iter::repeat_n(law, copies));
        Ok(())
    }

    /// The empirical law of one step of the rows; rows without an arrival add to the no-arrival probability.
    fn empirical(&mut self, rows: &ContextRows, step: usize, support: &mut Support) -> Law {
        let seen: Vec<u32> = (0..rows.len())
            .filter_map(|row| rows.get(row, step))
            .map(|features| support.insert(features))
            .collect();
        let arrived = seen.len() as f64 / rows.len() as f64;
        self.no_arrival[step] = 1.0 - (1.0 - self.no_arrival[step]) * arrived;
        let mut counts: Vec<(u32, f64)> = Vec::new();
        let mut place = std::collections::HashMap::new();
        for point in &seen {
            let slot = *place.entry(*point).or_insert_with(|| {
                counts.push((*point, 0.0));
                counts.len() - 1
            });
            counts[slot].1 += 1.0;
        }
        let (points, weights) = counts
            .into_iter()
            .map(|(point, count)| (point, count / seen.len() as f64))
            .unzip();
        Law::finite(points, weights)
    }
}
