//! The numbers of the live page: the open episode against its plan, the results of every episode, the offers of the plan.

use serde_json::{Value, json};

use super::Live;
use crate::learner::Learner;
use crate::policy::Decider;
use crate::statistics::evenly_spaced;

/// Most contexts that stand for the sample, steps and budgets of the map, and episodes shown.
const CONTEXTS: usize = 24;
const STEPS: usize = 48;
const BUDGETS: usize = 40;
const EPISODES: usize = 400;

/// What is computed once per plan and once per episode.
#[derive(Debug, Default)]
pub struct Cache {
    offers: Option<(u64, Value)>,
    budget: Option<(usize, Value)>,
}

impl Live {
    /// The numbers of the page. While a plan is made, those of the previous plan are shown.
    pub(super) fn view(&mut self) -> Value {
        let (plan, number) = (self.book.plans, self.book.episodes.len());
        if let Some(learner) = &self.learner {
            if self.view.offers.as_ref().is_none_or(|(of, _)| *of != plan) {
                self.view.offers = Some((plan, offers(learner)));
            }
            let known = self.view.budget.as_ref().map(|(of, _)| *of);
            if let (Some(open), true) = (self.book.open_episode(), known != Some(number)) {
                self.view.budget = Some((number, json!(budget_path(learner, open.budget))));
            }
        }
        let shown = self.book.episodes.len().saturating_sub(EPISODES);
        let episodes = self.book.episodes[shown..].iter().map(|episode| {
            json!({
                "name": episode.name,
                "budget": episode.budget,
                "hoped": episode.hoped,
                "ended": episode.ended > 0,
                "reward": episode.reward,
                "spent": episode.spent,
                "offers": episode.offers,
                "outcomes": episode.outcomes,
                "accepted": episode.accepted,
                "width": (episode.offers > 0).then(|| episode.widths / f64::from(episode.offers)),
            })
        });
        let episodes: Vec<Value> = episodes.collect();
        let path = self.view.budget.as_ref().filter(|(of, _)| *of == number);
        json!({
            "state": self.state(),
            "first": shown + 1,
            "episodes": episodes,
            "offers": self.view.offers.as_ref().map(|(_, v)| v),
            "path": path.map(|(_, v)| v),
            "steps": self.learner.as_ref().map(|l| l.task().horizon()),
            "left": self.book.left,
        })
    }

    /// The answer to `state`.
    pub(super) fn state(&self) -> Value {
        let learner = self.learner.as_ref();
        let open = self.book.open_episode().map(|episode| {
            let day = learner.and_then(Learner::so_far);
            json!({
                "episode": episode.name,
                "begun": episode.budget,
                "adjusted": episode.adjusted,
                "oversold": day.map(|day| day.oversold),
                "cancelled": episode.cancelled,
                "budget": learner.and_then(Learner::budget),
                "held": learner.map(Learner::held),
                "spent": day.map(|day| day.spent),
                "reward": day.map(|day| day.reward),
                "arrivals": episode.arrivals,
                "offers": episode.offers,
                "outcomes": episode.outcomes,
                "accepted": episode.accepted,
            })
        });
        json!({
            "ok": true,
            "episode": self.book.open_episode().map(|episode| &episode.name),
            "open": open,
            "episodes": self.book.episodes.len(),
            "decisions": self.book.decisions.len(),
            "observations": learner.map(|l| l.policy().observations().len()),
            "plan": self.book.plans,
            "planning": self.is_planning(),
            "lines": self.book.lines,
            "program": env!("CARGO_PKG_VERSION"),
        })
    }
}

/// A few contexts spread over the sample.
fn contexts(learner: &Learner) -> Vec<Vec<f64>> {
    let sample = learner.policy().contexts();
    let places = evenly_spaced(sample.len(), CONTEXTS);
    places
        .iter()
        .map(|&entry| sample.context(entry).features.to_vec())
        .collect()
}

/// The mean offer of the plan by step and budget; `null` where nothing is offered.
fn offers(learner: &Learner) -> Value {
    let (task, policy) = (learner.task(), learner.policy());
    let contexts = contexts(learner);
    let steps = evenly_spaced(task.horizon(), STEPS);
    let budgets: Vec<u32> = evenly_spaced(task.budget_max() as usize, BUDGETS)
        .iter()
        .map(|b| *b as u32 + 1)
        .collect();
    let cell = |h: usize, b: u32| {
        let mut decider = Decider::new(task.actions());
        let values = contexts.iter().filter_map(|features| {
            let context = task.context(h, features);
            match decider.choose(task, policy.beliefs(), policy.u_hat(), &context, b) {
                0 => None,
                action => Some(task.application().action_value(action)),
            }
        });
        let values: Vec<f64> = values.collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let rows = budgets
        .iter()
        .map(|b| steps.iter().map(|h| cell(*h, *b)).collect::<Vec<_>>());
    let rows: Vec<Vec<Option<f64>>> = rows.collect();
    let steps: Vec<usize> = steps.iter().map(|h| h + 1).collect();
    json!({ "steps": steps, "budgets": budgets, "mean": rows })
}

/// Expected units left after each step under the plan and the learner's estimates; the first is the start.
fn budget_path(learner: &Learner, budget: u32) -> Vec<f64> {
    let (task, policy) = (learner.task(), learner.policy());
    let contexts = contexts(learner);
    let mut estimates = vec![0.0; task.actions()];
    let mut mass = vec![0.0; budget as usize + 1];
    mass[budget as usize] = 1.0;
    let mut path = vec![f64::from(budget)];
    for h in 0..task.horizon() {
        let mut decider = Decider::new(task.actions());
        let mut after = vec![0.0; mass.len()];
        for (b, share) in mass.iter().enumerate().filter(|(_, m)| **m > 1e-9) {
            let each = share / contexts.len().max(1) as f64;
            if contexts.is_empty() {
                after[b] += share;
            }
            for features in &contexts {
                let context = task.context(h, features);
                let known = (b as u32).min(policy.u_hat().budget_max());
                match decider.choose(task, policy.beliefs(), policy.u_hat(), &context, known) {
                    0 => after[b] += each,
                    action => {
                        policy.beliefs().estimate(&context, &mut estimates);
                        let p = estimates[action - 1];
                        after[b - task.cost(&context, action) as usize] += each * p;
                        after[b] += each * (1.0 - p);
                    }
                }
            }
        }
        mass = after;
        path.push(mass.iter().zip(0u32..).map(|(m, b)| m * f64::from(b)).sum());
    }
    path
}
