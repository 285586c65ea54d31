//! Shops whose days differ in known ways: their logs as task folders, and what a plan truly earns in them.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::Path;

use cbwk_gpu::history::fit::Fitted;
use cbwk_gpu::history::plan::OfferPlan;
use cbwk_gpu::history::{BudgetSource, Raw};
use cbwk_gpu::shop::TaskFolder;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::common::rng;
use super::own_data::{spec, task_folder};

pub const PRICES: [f64; 6] = [4.0, 6.0, 8.0, 10.0, 13.0, 16.0];

/// What is special about a day.
#[derive(Debug, Clone)]
pub struct Day {
    /// Probability of an arrival at each step.
    pub rates: Vec<f64>,
    /// Added to everybody's logit of acceptance.
    pub shift: f64,
    /// Values of the day's columns.
    pub columns: Vec<String>,
}

/// A shop: a customer has x in {0, 1/2, 1} and accepts a price p with probability f(1.6 + 1.2 x - p / 5 + shift).
pub struct DayShop {
    pub steps: usize,
    pub budget: u32,
    /// Names of the columns of a day.
    pub columns: &'static [&'static str],
    /// Whether arrivals after the last unit are in the log.
    pub watched: bool,
    /// Day number (of so many) and randomness to day.
    pub day: fn(f64, &mut ChaCha8Rng) -> Day,
}

/// Every day alike.
pub const ALIKE: DayShop = DayShop {
    steps: 20,
    budget: 8,
    columns: &[],
    watched: true,
    day: |_, _| plain(vec![0.6; 20]),
};

/// Busy and quiet days, which no column tells.
pub const BUSY: DayShop = DayShop {
    steps: 20,
    budget: 8,
    columns: &[],
    watched: true,
    day: |_, rng| plain(vec![if rng.random() { 0.95 } else { 0.25 }; 20]),
};

/// Weekends are busy, and a column tells.
pub const WEEKEND: DayShop = DayShop {
    columns: &["weekend"],
    day: |share, _| {
        // Two of seven days, as in a calendar: intervals are for the mix of days that the log has.
        let weekend = (share * 10_000.0 / 7.0 + 0.01).fract() < 2.0 / 7.0;
        Day {
            columns: vec![u8::from(weekend).to_string()],
            ..plain(vec![if weekend { 0.95 } else { 0.35 }; 20])
        }
    },
    ..ALIKE
};

/// Customers accept more and more in the course of the log.
pub const DRIFT: DayShop = DayShop {
    day: |share, _| Day {
        shift: 2.0 * share - 1.0,
        ..plain(vec![0.6; 20])
    },
    ..ALIKE
};

/// On good days everybody accepts more readily.
pub const MOODY: DayShop = DayShop {
    day: |_, rng| Day {
        shift: if rng.random() { 1.0 } else { -1.0 },
        ..plain(vec![0.6; 20])
    },
    ..ALIKE
};

/// A column of the day that means nothing.
pub const NOISE: DayShop = DayShop {
    columns: &["colour", "luck"],
    day: |_, rng| Day {
        columns: vec![
            ["red", "green", "blue"][rng.random_range(0..3)].into(),
            rng.random_range(0..50).to_string(),
        ],
        ..plain(vec![0.6; 20])
    },
    ..ALIKE
};

pub fn plain(rates: Vec<f64>) -> Day {
    Day {
        rates,
        shift: 0.0,
        columns: Vec::new(),
    }
}

pub fn acceptance(x: f64, price: f64, shift: f64) -> f64 {
    1.0 / (1.0 + f64::exp(-(1.6 + 1.2 * x - price / 5.0 + shift)))
}

/// The arrivals of a day: steps and x.
fn arrivals(day: &Day, rng: &mut ChaCha8Rng) -> Vec<(usize, f64)> {
    let steps = day.rates.iter().enumerate();
    let came: Vec<usize> = steps
        .filter(|(_, rate)| rng.random::<f64>() < **rate)
        .map(|(step, _)| step)
        .collect();
    let x = |step| (step, f64::from(rng.random_range(0..3_u8)) / 2.0);
    came.into_iter().map(x).collect()
}

impl DayShop {
    /// The raw file of `days` days with random prices.
    pub fn raw(&self, days: usize, seed: u64) -> String {
        let mut rng = rng(seed);
        let mut text = String::from("day,hour,x");
        self.columns.iter().for_each(|c| text += &format!(",{c}"));
        text += ",price,bought,stock\n";
        for d in 0..days {
            let day = (self.day)(d as f64 / days as f64, &mut rng);
            let own: String = day.columns.iter().map(|c| format!(",{c}")).collect();
            let mut left = self.budget;
            let mut seen = false;
            for (step, x) in arrivals(&day, &mut rng) {
                let price = PRICES[rng.random_range(0..PRICES.len())];
                let taken = rng.random::<f64>() < acceptance(x, price, day.shift);
                if left == 0 && !self.watched {
                    continue;
                }
                let price = if left == 0 {
                    String::new()
                } else {
                    price.to_string()
                };
                let bought = u32::from(taken && left > 0);
                let budget = self.budget;
                text += &format!("{d},{},{x}{own},{price},{bought},{budget}\n", step + 1);
                left -= bought;
                seen = true;
            }
            if !seen {
                let empty = ",".repeat(self.columns.len());
                text += &format!("{d},,{empty},,,{}\n", self.budget);
            }
        }
        text
    }

    /// The task folder of such a log.
    pub fn logged(&self, folder: &Path, days: usize, seed: u64) -> TaskFolder {
        let mut spec = spec(self.steps);
        spec.budget = BudgetSource::Column("stock".into());
        task_folder(folder, &self.raw(days, seed), &spec)
    }

    /// What a price (by step, budget, x and the day's columns; 0 is none) earns per day: exactly along the arrivals of many
    /// fresh days, from this share of the calendar on.
    pub fn earns(
        &self,
        days: usize,
        from: f64,
        mut price: impl FnMut(usize, u32, f64, &Day) -> f64,
    ) -> f64 {
        let mut rng = rng(0xF5E5);
        let mut sum = 0.0;
        for d in 0..days {
            let day = (self.day)(from + (1.0 - from) * d as f64 / days as f64, &mut rng);
            let mut value = vec![0.0; self.budget as usize + 1];
            for (step, x) in arrivals(&day, &mut rng).into_iter().rev() {
                for b in (1..=self.budget).rev() {
                    let offer = price(step, b, x, &day);
                    if offer > 0.0 {
                        let gap = value[b as usize] - value[b as usize - 1];
                        value[b as usize] += acceptance(x, offer, day.shift) * (offer - gap);
                    }
                }
            }
            sum += value[self.budget as usize];
        }
        sum / days as f64
    }

    /// The most that any plan can earn on a day with these rates and this shift: the Bellman equation, by hand.
    pub fn optimum(&self, day: &Day) -> f64 {
        let mut value = vec![0.0; self.budget as usize + 1];
        for rate in day.rates.iter().rev() {
            for b in (1..value.len()).rev() {
                let gap = value[b] - value[b - 1];
                let best = |x: f64| {
                    let worth = |p: &f64| acceptance(x, *p, day.shift) * (p - gap);
                    PRICES.iter().map(worth).fold(0.0, f64::max)
                };
                value[b] += rate * [0.0, 0.5, 1.0].map(best).iter().sum::<f64>() / 3.0;
            }
        }
        value[self.budget as usize]
    }

    /// What a plan truly earns per day.
    pub fn plan_earns(&self, folder: &TaskFolder, fitted: &Fitted, plan: &OfferPlan) -> f64 {
        self.plan_earns_from(folder, fitted, plan, 0.0)
    }

    /// Likewise from this share of the calendar on.
    pub fn plan_earns_from(
        &self,
        folder: &TaskFolder,
        fitted: &Fitted,
        plan: &OfferPlan,
        from: f64,
    ) -> f64 {
        let values = plan.task.application().action_values().to_vec();
        let mut known = std::collections::HashMap::new();
        self.earns(4000, from, |step, b, x, day| {
            let key = (step, b, x.to_bits(), day.columns.clone());
            *known.entry(key).or_insert_with(|| {
                let named = |name: &str| match self.columns.iter().position(|c| *c == name) {
                    Some(i) => Raw::cell(&day.columns[i]),
                    None => Raw::Number(x),
                };
                let columns = folder.file.encoding.columns.iter();
                let raw = columns.map(|c| named(c.name()));
                let mut features = Vec::new();
                let encoding = &folder.file.encoding;
                encoding.encode_in_order(raw, &mut features, None).unwrap();
                match plan.best(step, b, &plan.customer(fitted, &features)) {
                    0 => 0.0,
                    a => values[a - 1],
                }
            })
        })
    }
}
