//! The numbers of the live page: the open episode against its plan, the results of every episode, the offers of the plan.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::Live;
use super::page::PlanPage;
use super::threads::lock;
use crate::learner::Learner;
use crate::statistics::evenly_spaced;

/// Most episodes, and most points of the open one, that are shown.
const EPISODES: usize = 400;
const POINTS: usize = 240;

/// What is computed once per plan and episode, in the background.
#[derive(Debug, Default)]
pub struct Cache {
    computed: Arc<Mutex<Computed>>,
    /// The plan and the number of episodes that were asked for last.
    asked: Option<(u64, usize)>,
}

#[derive(Debug, Default)]
struct Computed {
    offers: Option<(u64, Value)>,
    path: Option<(usize, Value)>,
}

impl Live {
    /// Has the plan's numbers computed unless that has been done or is under way.
    fn compute_page(&mut self) {
        let wanted = (self.book.plans, self.book.episodes.len());
        let Some(learner) = self
            .learner
            .as_ref()
            .filter(|_| self.view.asked != Some(wanted))
        else {
            return;
        };
        let known = self.view.asked.is_some_and(|(plan, _)| plan == wanted.0);
        let page = PlanPage::of(learner);
        let budget = self.book.open_episode().map(|open| open.budget);
        let computed = Arc::clone(&self.view.computed);
        self.view.asked = Some(wanted);
        self.in_background(Box::new(move || {
            if !known {
                let offers = page.offers();
                lock(&computed).offers = Some((wanted.0, offers));
            }
            if let Some(budget) = budget {
                let path = json!(page.path(budget));
                lock(&computed).path = Some((wanted.1, path));
            }
        }));
    }

    /// The numbers of the page. While a plan is made, or its numbers are computed, those of the previous plan are shown.
    pub(super) fn view(&mut self) -> Value {
        self.compute_page();
        let number = self.book.episodes.len();
        let (offers, path) = {
            let computed = lock(&self.view.computed);
            let offers = computed.offers.as_ref().map(|(_, v)| v.clone());
            let path = computed.path.as_ref().filter(|(of, _)| *of == number);
            (offers, path.map(|(_, v)| v.clone()))
        };
        let left = &self.book.left;
        let left_at = evenly_spaced(left.len(), POINTS);
        let left: Vec<_> = left_at.iter().map(|i| left[*i]).collect();
        let shown = self.book.episodes.len().saturating_sub(EPISODES);
        let episodes = self.book.episodes[shown..].iter().map(|episode| {
            json!({
                "name": episode.name,
                "budget": episode.budget,
                "expected": episode.expected,
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
        json!({
            "state": self.state(),
            "first": shown + 1,
            "episodes": episodes,
            "offers": offers,
            "path": path,
            "steps": self.learner.as_ref().map(|l| l.task().horizon()),
            "left": left,
            "told": self.book.told,
            "columns": self.intake.columns(),
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
