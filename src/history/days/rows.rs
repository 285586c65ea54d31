//! The days of a log: their budgets, what they earned, and their arrivals. Where the log stops at the end of the stock, the
//! rest of the day is taken from a similar day that was logged to its end.

use crate::history::fit::Fitted;
use crate::task::Task;

/// Similar days that may give a day its tail.
const DONORS: usize = 5;

/// The most days among which donors are looked for.
const CANDIDATES: usize = 1000;

/// The days of a log.
#[derive(Debug)]
pub struct Days<'f> {
    fitted: &'f Fitted,
    /// Starting budgets.
    pub budgets: Vec<u32>,
    /// Rewards of the accepted offers, in their order, until the budget is used.
    pub earned: Vec<f64>,
    /// For a day that was not watched to its end, days that were watched longer.
    donors: Vec<Vec<u32>>,
}

impl<'f> Days<'f> {
    /// The days of a fitted log; budgets are at most those of the task.
    pub fn new(fitted: &'f Fitted, task: &Task) -> Self {
        let largest = task.budget_max();
        let episodes = fitted.log.episodes().iter();
        let budgets: Vec<u32> = episodes
            .map(|e| e.budget.unwrap_or(largest).min(largest))
            .collect();
        let mut days = Self {
            fitted,
            earned: Vec::new(),
            budgets,
            donors: Vec::new(),
        };
        days.earned = (0..days.count()).map(|day| days.earned_by(day)).collect();
        days.donors = (0..days.count()).map(|day| days.donors_of(day)).collect();
        days
    }

    /// Number of days.
    pub fn count(&self) -> usize {
        self.budgets.len()
    }

    fn earned_by(&self, day: usize) -> f64 {
        let Fitted { log, task, .. } = self.fitted;
        let (mut left, mut reward) = (self.budgets[day], 0.0);
        for i in log.episodes()[day].arrivals.clone() {
            let arrival = log.arrivals()[i];
            if arrival.accepted {
                let context = log.context(task, i);
                let value = task.application().action_value(arrival.action as usize);
                let sale = task.application().sale_at(&context, value);
                let (earned, cost) = sale.unwrap_or((0.0, 0));
                if cost <= left {
                    left -= cost;
                    reward += earned;
                }
            }
        }
        reward
    }

    /// The first of a day's arrivals at `step` or later.
    fn arrivals_from(&self, day: usize, step: u32) -> std::ops::Range<usize> {
        let arrivals = self.fitted.log.episodes()[day].arrivals.clone();
        let own = &self.fitted.log.arrivals()[arrivals.clone()];
        arrivals.start + own.partition_point(|arrival| arrival.step < step)..arrivals.end
    }

    /// The days watched longer with the most similar number of arrivals so far; of the same group where it has enough.
    fn donors_of(&self, day: usize) -> Vec<u32> {
        let Fitted {
            exposure,
            group_of_day,
            ..
        } = self.fitted;
        let end = exposure.steps[day];
        if end as usize >= self.fitted.task.horizon() {
            return Vec::new();
        }
        let so_far = |day: usize| {
            let all = self.fitted.log.episodes()[day].arrivals.len();
            all - self.arrivals_from(day, end).len()
        };
        let longer = |other: &usize| exposure.steps[*other] > end;
        let stride = self.count().div_ceil(CANDIDATES);
        let mut others: Vec<usize> = (day % stride..self.count())
            .step_by(stride)
            .filter(longer)
            .collect();
        let same = |other: &usize| group_of_day[*other] == group_of_day[day];
        if others.iter().filter(|other| same(other)).count() >= DONORS {
            others.retain(same);
        }
        let own = so_far(day);
        // Among days alike, any: a multiplicative hash mixes them.
        let mixed = |other: usize| (other as u32 ^ day as u32).wrapping_mul(0x9E37_79B1);
        let mut others: Vec<(usize, u32, u32)> = others
            .into_iter()
            .map(|other| (own.abs_diff(so_far(other)), mixed(other), other as u32))
            .collect();
        others.sort_unstable();
        others.truncate(DONORS);
        others.into_iter().map(|(_, _, other)| other).collect()
    }

    /// The arrivals of a day, by number in the log; `turn` picks the tail of a day that was not watched to its end.
    pub fn arrivals(&self, day: usize, turn: usize) -> Vec<u32> {
        let own = self.fitted.log.episodes()[day].arrivals.clone();
        let mut arrivals: Vec<u32> = own.map(|i| i as u32).collect();
        let mut last = day;
        // A donor may lack the very end itself, but it was watched longer.
        while !self.donors[last].is_empty() {
            let donors = &self.donors[last];
            let donor = donors[(day + turn) % donors.len()] as usize;
            let tail = self.arrivals_from(donor, self.fitted.exposure.steps[last]);
            arrivals.extend(tail.map(|i| i as u32));
            last = donor;
        }
        arrivals
    }
}
