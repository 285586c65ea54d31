//! Starting budgets B_1, ..., B_T: an oblivious sequence, revealed one episode at a time.

use rand::{Rng, RngExt};

use crate::error::Invalid;

/// Where starting budgets come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetSpec {
    /// The same in every episode.
    Constant {
        /// The budget.
        value: u32,
    },
    /// A list that is repeated.
    Cycle {
        /// The budgets, in order.
        values: Vec<u32>,
    },
    /// Independent uniform draws from `low..=high`, made once per study and shared by its replications.
    Uniform {
        /// Smallest budget.
        low: u32,
        /// Largest budget.
        high: u32,
    },
    /// One budget per episode, as in a file.
    Sequence {
        /// The budgets; at least as many as episodes.
        values: Vec<u32>,
    },
}

impl BudgetSpec {
    /// The largest budget asked for.
    pub fn largest(&self) -> u32 {
        match self {
            Self::Constant { value } => *value,
            Self::Uniform { high, .. } => *high,
            Self::Cycle { values } | Self::Sequence { values } => {
                values.iter().copied().max().unwrap_or(0)
            }
        }
    }
}

/// Checked starting budgets, none above what can be spent in an episode.
#[derive(Debug, Clone)]
pub struct Budgets {
    spec: BudgetSpec,
    limit: u32,
}

impl Budgets {
    /// Checks the specification. Budgets above `limit` = cost_max * H cannot be spent and are lowered to it; the
    /// note says so.
    pub fn check(spec: &BudgetSpec, limit: u32) -> Result<(Self, Option<String>), Invalid> {
        match spec {
            BudgetSpec::Cycle { values } | BudgetSpec::Sequence { values } if values.is_empty() => {
                return Err(Invalid::new(
                    "budget.values",
                    "an empty list",
                    "at least one budget",
                ));
            }
            BudgetSpec::Uniform { low, high } if low > high => {
                let accepted = format!("a whole number from low = {low}");
                return Err(Invalid::new("budget.high", high, accepted));
            }
            _ => {}
        }
        let budgets = Self {
            spec: spec.clone(),
            limit,
        };
        let largest = spec.largest();
        let note = (largest > limit).then(|| {
            format!("budgets above {limit} are lowered to {limit}: no more can be spent in an episode (largest found: {largest})")
        });
        Ok((budgets, note))
    }

    /// The largest starting budget that can occur.
    pub fn max(&self) -> u32 {
        self.spec.largest().min(self.limit)
    }

    /// The number of episodes with a budget; `None` where it is unlimited.
    pub fn episodes(&self) -> Option<usize> {
        match &self.spec {
            BudgetSpec::Sequence { values } => Some(values.len()),
            _ => None,
        }
    }

    /// B_1, ..., B_T.
    pub fn sequence(&self, episodes: usize, rng: &mut impl Rng) -> Vec<u32> {
        (0..episodes)
            .map(|t| match &self.spec {
                BudgetSpec::Constant { value } => *value,
                BudgetSpec::Cycle { values } => values[t % values.len()],
                BudgetSpec::Uniform { low, high } => rng.random_range(*low..=*high),
                BudgetSpec::Sequence { values } => values[t],
            })
            .map(|b| b.min(self.limit))
            .collect()
    }
}
