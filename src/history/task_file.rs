//! `task.toml`: the task found in the raw file, and how raw columns become features.

use serde::{Deserialize, Serialize};

use super::clock::OpeningHours;
use super::encoding::Encoding;
use crate::error::{Invalid, shown};
use crate::learner::live::Rails;
use crate::task::{Application, ApplicationSpec, Task, TaskSpec};

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
    /// Time, if steps come from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
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
        let spec = offers.spec();
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
