//! Do days differ beyond their columns? For residuals e of a day, the pair sum C = ((sum e)^2 - sum e^2) / 2 has mean 0
//! where steps are independent; z = sum of C over days / root of the sum of their null variances.

use serde::{Deserialize, Serialize};

use crate::history::fit::Fitted;
use crate::task::Task;

/// Larger values of z say that days differ: by chance in at most 0.5% of logs.
pub const Z_LIMIT: f64 = 3.0;

/// Steps merely count arrivals if this share of the days has its arrivals at the first steps, one each.
const COUNTED: f64 = 0.99;

/// z of the three tests; `None` if a test does not apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Moods {
    /// Some days are busier than others.
    pub arrivals: Option<f64>,
    /// Some days have customers who are worth more.
    pub contexts: Option<f64>,
    /// On some days customers accept more readily.
    pub acceptance: Option<f64>,
}

/// Pair sums of days.
#[derive(Debug, Clone, Default)]
struct PairSums {
    sum: f64,
    variance: f64,
    /// Of the current day: sums of e, e^2, the variances, and their squares.
    day: [f64; 4],
}

impl PairSums {
    fn add(&mut self, e: f64, variance: f64) {
        let terms = [e, e * e, variance, variance * variance];
        self.day
            .iter_mut()
            .zip(terms)
            .for_each(|(sum, x)| *sum += x);
    }

    fn end_day(&mut self) {
        let [sum, squares, variances, their_squares] = std::mem::take(&mut self.day);
        self.sum += (sum * sum - squares) / 2.0;
        self.variance += (variances * variances - their_squares) / 2.0;
    }

    fn z(&self) -> Option<f64> {
        (self.variance > 0.0).then(|| self.sum / self.variance.sqrt())
    }
}

impl Moods {
    /// Tests the days of a log within their groups. `held_out` has the offers with their held-out probabilities.
    pub fn test(fitted: &Fitted, task: &Task, held_out: &[(usize, f64)]) -> Self {
        Self {
            arrivals: arrivals(fitted),
            contexts: contexts(fitted, task),
            acceptance: acceptance(fitted, held_out),
        }
    }

    /// What each flagged test means, in words.
    pub fn words(&self) -> Vec<String> {
        let flagged = |z: Option<f64>| z.filter(|z| *z > Z_LIMIT);
        let mut words = Vec::new();
        if let Some(z) = flagged(self.arrivals) {
            words.push(format!("some days are busier than others and no column tells which (z = {z:.1}): a plan of the mean day holds back too much on quiet days"));
        }
        if let Some(z) = flagged(self.contexts) {
            words.push(format!("on some days customers are worth more than on others and no column tells which (z = {z:.1}): a plan of the mean day does not use that"));
        }
        if let Some(z) = flagged(self.acceptance) {
            words.push(format!("on some days customers accept more readily than on others and no column tells which (z = {z:.1}): intervals of the model are too narrow, and a plan of the mean day does not use that"));
        }
        words
    }
}

fn arrivals(fitted: &Fitted) -> Option<f64> {
    let Fitted { log, exposure, .. } = fitted;
    let horizon = fitted.task.horizon();
    let counts_up = |arrivals: &std::ops::Range<usize>| {
        let mut steps = log.arrivals()[arrivals.clone()].iter().zip(0..);
        steps.all(|(arrival, place)| arrival.step == place)
    };
    let days = log.episodes().len() as f64;
    let counting = log.episodes().iter().filter(|e| counts_up(&e.arrivals));
    if counting.count() as f64 >= COUNTED * days {
        return None;
    }
    let mut sums = PairSums::default();
    for group in 0..fitted.laws.len() {
        let own = |day: usize| fitted.group_of_day[day] == group;
        let rates = exposure.rates(log, horizon, |day| f64::from(u8::from(own(day))));
        for (day, episode) in log
            .episodes()
            .iter()
            .enumerate()
            .filter(|(day, _)| own(*day))
        {
            let mut came = vec![0.0; horizon];
            for arrival in &log.arrivals()[episode.arrivals.clone()] {
                came[arrival.step as usize] = 1.0;
            }
            // Where several come in a step, whether anybody did says less, and its rate is at most 1.
            let watched = exposure.steps[day] as usize;
            for (came, rate) in came[..watched].iter().zip(&rates) {
                sums.add(came - rate, rate * (1.0 - rate));
            }
            sums.end_day();
        }
    }
    sums.z()
}

/// The worth of a customer is the best rho r.
fn contexts(fitted: &Fitted, task: &Task) -> Option<f64> {
    let log = &fitted.log;
    let planned = fitted.planned();
    let worth = |i: usize| {
        let context = log.context(task, i);
        let mut rho = Vec::with_capacity(planned.len());
        let model = &fitted.fit.model;
        model.append_rho(log.theta(i), &planned, &mut rho);
        let of_action = |(a, rho): (usize, &f64)| rho * task.reward(&context, a);
        (1..).zip(&rho).map(of_action).fold(0.0, f64::max)
    };
    let mut sums = PairSums::default();
    let worth: Vec<f64> = (0..log.arrivals().len()).map(worth).collect();
    for group in 0..fitted.laws.len() {
        let days = log.episodes().iter().zip(&fitted.group_of_day);
        let days = days
            .filter(|(_, own)| **own == group)
            .map(|(e, _)| e.arrivals.clone());
        // Count, sum and sum of squares of each step.
        let mut steps = vec![[0.0; 3]; task.horizon()];
        for i in days.clone().flatten() {
            let step = &mut steps[log.arrivals()[i].step as usize];
            let terms = [1.0, worth[i], worth[i] * worth[i]];
            step.iter_mut().zip(terms).for_each(|(sum, x)| *sum += x);
        }
        for arrivals in days {
            for i in arrivals {
                let [n, sum, squares] = steps[log.arrivals()[i].step as usize];
                if n > 1.0 {
                    let mean = sum / n;
                    sums.add(worth[i] - mean, (squares / n - mean * mean).max(0.0));
                }
            }
            sums.end_day();
        }
    }
    sums.z().filter(|z| z.is_finite())
}

fn acceptance(fitted: &Fitted, held_out: &[(usize, f64)]) -> Option<f64> {
    let data = &fitted.data;
    let mut sums = PairSums::default();
    for day in held_out.chunk_by(|a, b| data.episodes[a.0] == data.episodes[b.0]) {
        for (offer, p) in day {
            sums.add(data.labels[*offer] - p, p * (1.0 - p));
        }
        sums.end_day();
    }
    sums.z()
}
