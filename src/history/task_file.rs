//! `task.toml`: the task found in the raw file, and how raw columns become features.

use serde::{Deserialize, Serialize};

use super::clock::OpeningHours;
use super::encoding::{Column, Encoding};
use super::zone::Zone;
use crate::error::{Invalid, shown};
use crate::learner::live::Rails;
use crate::task::{Application, ApplicationSpec, Multiplier, Task, TaskSpec};

/// The content of a task file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFile {
    /// Steps and units.
    pub task: Sizes,
    /// What is offered.
    pub application: Offers,
    /// Names of the raw file's columns.
    pub columns: Columns,
    /// Opening hours, if steps come from times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<OpeningHours>,
    /// The prices that are offered now, if some of the list are not any more (`reprice`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<Vec<f64>>,
    /// Limits on live offers.
    #[serde(default, skip_serializing_if = "is_unlimited")]
    pub rails: Rails,
    /// How the action's value is scaled in phi.
    pub action: ActionScale,
    /// How raw columns become features.
    pub encoding: Encoding,
}

fn is_unlimited(rails: &Rails) -> bool {
    *rails == Rails::default()
}

/// Steps and units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// H, steps in an episode.
    pub horizon: usize,
    /// The largest starting budget.
    pub budget: u32,
}

/// What is offered: the distinct actions of the log, in rising order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Offers {
    /// Units for sale.
    Pricing {
        /// Prices.
        prices: Vec<f64>,
    },
    /// Work to buy.
    Procurement {
        /// Wages.
        wages: Vec<u32>,
    },
    /// First-price auctions.
    Auction {
        /// Bids.
        bids: Vec<u32>,
    },
}

/// Names of the raw file's columns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// Episode.
    pub episode: String,
    /// Step, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Days before the end of the episode, if steps come from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<String>,
    /// Time, if steps come from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The zone of the shop's clocks: times with another one are converted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<Zone>,
    /// Price, wage or bid offered.
    pub action: String,
    /// Whether it was accepted.
    pub accepted: String,
    /// Starting budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// Probability with which the action was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<String>,
    /// Units that a customer takes; also a column of the encoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// What prices are multiples of; also a column of the encoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to: Option<String>,
}

/// The action's value enters phi as (value - mean) / deviation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionScale {
    /// Mean over the offers of the log.
    pub mean: f64,
    /// Standard deviation over the offers of the log; 1 if all are equal.
    pub deviation: f64,
}

impl ActionScale {
    /// The last entry of phi.
    pub fn scaled(&self, value: f64) -> f64 {
        (value - self.mean) / self.deviation
    }
}

impl Offers {
    /// As the application of a task.
    pub fn spec(&self) -> ApplicationSpec {
        match self {
            Self::Pricing { prices } => ApplicationSpec::Pricing {
                prices: prices.clone(),
            },
            Self::Procurement { wages } => ApplicationSpec::Procurement {
                wages: wages.clone(),
            },
            Self::Auction { bids } => ApplicationSpec::Auction { bids: bids.clone() },
        }
    }

    /// Only some of the actions (numbered from 1).
    pub fn only(&self, actions: &[usize]) -> Self {
        fn chosen<T: Copy>(list: &[T], actions: &[usize]) -> Vec<T> {
            actions.iter().map(|a| list[a - 1]).collect()
        }
        match self {
            Self::Pricing { prices } => Self::Pricing {
                prices: chosen(prices, actions),
            },
            Self::Procurement { wages } => Self::Procurement {
                wages: chosen(wages, actions),
            },
            Self::Auction { bids } => Self::Auction {
                bids: chosen(bids, actions),
            },
        }
    }

    /// The noun for an action: `price`, `wage` or `bid`.
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Pricing { .. } => "price",
            Self::Procurement { .. } => "wage",
            Self::Auction { .. } => "bid",
        }
    }

    /// Whether acceptance rises with the action's value.
    pub fn acceptance_rises(&self) -> bool {
        !matches!(self, Self::Pricing { .. })
    }
}

impl TaskFile {
    /// The noun for an action, with what it is relative to.
    pub fn noun(&self) -> String {
        let noun = self.application.noun();
        match &self.columns.relative_to {
            Some(column) => format!("{noun} (times {column})"),
            None => noun.into(),
        }
    }

    /// What a step is, by step: when it begins, or how many days are left; empty if steps have only numbers.
    pub fn step_labels(&self) -> Vec<String> {
        let horizon = self.task.horizon;
        let label = |h: usize| match (&self.clock, &self.columns.lead) {
            (Some(clock), _) => Some(format!("from {}", clock.start_of(h, horizon))),
            (None, Some(_)) => Some(match horizon - h {
                1 => "1 day before".to_string(),
                days => format!("{days} days before"),
            }),
            (None, None) => None,
        };
        (1..=horizon).filter_map(label).collect()
    }

    /// Whether a column of the encoding multiplies rewards or costs.
    pub fn multiplies(&self, column: usize) -> bool {
        let name = self.encoding.columns[column].name();
        let multipliers = [&self.columns.quantity, &self.columns.relative_to];
        multipliers.into_iter().flatten().any(|other| other == name)
    }

    /// The column as a number that multiplies.
    pub fn multiplier(&self, name: &str) -> Result<Multiplier, Invalid> {
        let mut feature = usize::from(self.encoding.constant);
        for column in &self.encoding.columns {
            match column {
                Column::Number {
                    column,
                    mean,
                    deviation,
                    high,
                    ..
                } if column == name => {
                    return Ok(Multiplier {
                        feature,
                        mean: *mean,
                        deviation: *deviation,
                        most: *high,
                    });
                }
                other => feature += other.width(),
            }
        }
        let found = format!("column `{name}`, which the encoding does not have as a number");
        Err(Invalid::new("columns", found, "a column of numbers"))
    }

    /// The application of some offers, with quantities and reference prices.
    fn spec(&self, offers: &Offers) -> Result<ApplicationSpec, Invalid> {
        let multiplier = |name: &Option<String>| {
            let name = name.as_ref();
            name.map(|name| self.multiplier(name)).transpose()
        };
        let (quantity, rate) = (
            multiplier(&self.columns.quantity)?,
            multiplier(&self.columns.relative_to)?,
        );
        Ok(match quantity.is_some() || rate.is_some() {
            false => offers.spec(),
            true => ApplicationSpec::PerCustomer {
                of: Box::new(offers.spec()),
                quantity,
                rate,
            },
        })
    }

    /// Checks everything and makes the task.
    pub fn check(&self) -> Result<Task, Invalid> {
        self.check_with(&self.application)
    }

    /// Likewise with other offers, such as a subset.
    pub fn check_with(&self, offers: &Offers) -> Result<Task, Invalid> {
        self.encoding.check()?;
        if let Some(clock) = &self.clock {
            clock.check()?;
        }
        self.rails.check(&self.application.spec().action_values())?;
        let ActionScale { mean, deviation } = self.action;
        if !(mean.is_finite() && deviation.is_finite() && deviation > 0.0) {
            let found = format!("mean = {}, deviation = {}", shown(mean), shown(deviation));
            let accepted = "a mean and a positive deviation";
            return Err(Invalid::new("action", found, accepted));
        }
        let spec = self.spec(offers)?;
        let dimension = self.encoding.dimension();
        let application = Application::check(&spec, dimension)?;
        let rising = application.action_values().is_sorted_by(|a, b| a < b);
        if !rising {
            let accepted = "different actions in rising order";
            return Err(Invalid::new("application", "another order", accepted));
        }
        let spendable = u64::from(application.cost_max()) * self.task.horizon as u64;
        let limit = u32::try_from(spendable).unwrap_or(u32::MAX);
        let task = TaskSpec {
            horizon: self.task.horizon,
            budget_max: self.task.budget.min(limit),
            application: spec,
            dimension,
            feature_names: Some(self.encoding.names()),
            range: self.encoding.range(),
            types: Vec::new(),
            reward_max: None,
        };
        let task = task.check()?;
        Ok(match &self.offered {
            None => task,
            Some(offered) => task.offering(offered),
        })
    }
}
