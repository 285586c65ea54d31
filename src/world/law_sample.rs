//! Context laws as samples that a plan can average over.

use std::collections::HashMap;

use rand::Rng;

use super::{DayLaws, World};
use crate::dp::ContextSample;
use crate::task::Context;

/// The features of a drawn context, and its point of a finite law.
type Drawn = (Vec<f64>, Option<u32>);

impl World {
    /// The finite law itself, with probabilities as weights; `None` where a law is continuous. Steps with the same law
    /// share one list. With `split_by_step` a context seen at two steps is two entries, for bounds that differ by step.
    /// With several types of day it is the mean over them, step by step.
    pub fn law_sample(&self, split_by_step: bool) -> Option<ContextSample> {
        let days = self.contexts().days().iter();
        self.finite_sample(
            split_by_step,
            &days.map(|d| (d, d.weight())).collect::<Vec<_>>(),
        )
    }

    /// The finite law of each type of day, as [`World::law_sample`] has their mean.
    pub fn day_samples(&self, split_by_step: bool) -> Option<Vec<ContextSample>> {
        let days = self.contexts().days().iter();
        days.map(|day| self.finite_sample(split_by_step, &[(day, 1.0)]))
            .collect()
    }

    fn finite_sample(
        &self,
        split_by_step: bool,
        days: &[(&DayLaws, f64)],
    ) -> Option<ContextSample> {
        let laws = self.contexts();
        if !laws.is_finite() {
            return None;
        }
        let key = |step| -> Vec<_> { days.iter().map(|(day, _)| day.law_of(step)).collect() };
        let alike = self.first_steps(split_by_step, key);
        let mut sample = ContextSample::of_weights(self.task(), split_by_step, 1.0, &alike);
        for step in (0..alike.len()).filter(|&step| alike[step] == step) {
            for (day, share) in days {
                let (points, weights) = day.finite(step)?;
                let arrival = share * (1.0 - day.no_arrival(step));
                let contexts = points.iter().zip(weights).map(|(&point, weight)| {
                    let context = Context {
                        step,
                        features: laws.support().features(point),
                        point: Some(point),
                    };
                    (context, weight * arrival)
                });
                sample.add_weighted(self.task(), contexts);
            }
        }
        Some(sample)
    }

    /// `count` arrivals drawn from the law of each step; steps with the same law share the draws. A step without possible
    /// arrivals stays empty.
    pub(crate) fn drawn_sample(
        &self,
        split_by_step: bool,
        count: usize,
        rng: &mut impl Rng,
    ) -> ContextSample {
        let laws = self.contexts();
        let alike = self.first_steps(split_by_step, |step| laws.drawn_law_of(step));
        let total = count as f64;
        let mut sample = ContextSample::of_weights(self.task(), split_by_step, total, &alike);
        let mut drawn: HashMap<_, Vec<Drawn>> = HashMap::new();
        for step in (0..alike.len()).filter(|&step| alike[step] == step) {
            let contexts = drawn.entry(laws.drawn_law_of(step)).or_insert_with(|| {
                let draw = |_| {
                    let mut features = vec![0.0; laws.dimension()];
                    let point = laws.draw_arrival(rng, step, &mut features);
                    (features, point)
                };
                let count = if laws.has_contexts(step) { count } else { 0 };
                (0..count).map(draw).collect()
            });
            let contexts = contexts.iter().map(|(features, point)| {
                let context = Context {
                    step,
                    features,
                    point: *point,
                };
                (context, 1.0)
            });
            sample.add_weighted(self.task(), contexts);
        }
        sample
    }

    /// For each step the first step with the same law, or the step itself where steps are kept apart.
    fn first_steps<K: Eq + std::hash::Hash>(
        &self,
        split_by_step: bool,
        law: impl Fn(usize) -> K,
    ) -> Vec<usize> {
        let mut first = HashMap::new();
        let steps = 0..self.task().horizon();
        steps
            .map(|step| match split_by_step {
                true => step,
                false => *first.entry(law(step)).or_insert(step),
            })
            .collect()
    }
}
