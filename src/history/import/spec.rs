//! How to read a raw file.

use crate::history::clock::OpeningHours;
use crate::history::zone::Zone;
use crate::task::COST_LIMIT;

/// The meaning of the columns, and how to read them.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportSpec {
    /// Column of the episode. If it is the column of times, each day is an episode.
    pub episode: String,
    /// Where steps come from.
    pub step: StepSource,
    /// The zone of the shop's clocks, if times are to be converted.
    pub zone: Option<Zone>,
    /// Column of the price, wage or bid offered; empty or 0 is no offer.
    pub action: String,
    /// Column of the outcome.
    pub accepted: String,
    /// Columns that describe a customer; by default all others that are useful.
    pub features: Option<Vec<String>>,
    /// Columns whose numbers are labels, such as postal codes.
    pub categories: Vec<String>,
    /// Where starting budgets come from.
    pub budget: BudgetSource,
    /// Column of the probability with which the action was drawn.
    pub probability: Option<String>,
    /// What is offered.
    pub kind: OfferKind,
    /// Unit to which actions are rounded.
    pub round: Option<f64>,
    /// Column of the units that a customer takes.
    pub quantity: Option<String>,
    /// Column of the reference price that prices become multiples of.
    pub relative_to: Option<String>,
    /// Wages, or bids with their values, and the column of budgets are multiplied by this: 100 counts them in cents.
    pub units: u32,
    /// Whether wrong rows are left out instead of refused.
    pub drop_wrong: bool,
}

/// Where steps come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepSource {
    /// A column of whole numbers from 1.
    Column {
        /// Its name.
        name: String,
        /// H; by default the largest step found.
        steps: Option<usize>,
    },
    /// A column of times; the day is divided into equal steps.
    Time {
        /// Its name.
        name: String,
        /// H; by default steps so short that few customers share one.
        steps: Option<usize>,
        /// Opening hours; by default the whole hours around all times found.
        clock: Option<OpeningHours>,
    },
    /// A column of days before the end of the episode, such as the days before a hotel night: the last step is 0 days before.
    Lead {
        /// Its name.
        name: String,
        /// H; by default one more than the most days found.
        steps: Option<usize>,
    },
}

/// Where starting budgets come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetSource {
    /// Unknown: the most spent in any episode.
    Unknown,
    /// The same in every episode.
    Constant(u32),
    /// A column.
    Column(String),
}

/// What is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferKind {
    /// Prices.
    Pricing,
    /// Wages.
    Procurement,
    /// Bids.
    Auction,
}

impl StepSource {
    /// The name of the column.
    pub fn column(&self) -> &String {
        match self {
            Self::Column { name, .. } | Self::Time { name, .. } | Self::Lead { name, .. } => name,
        }
    }
}

/// What to do about wages and bids that are not whole.
pub const COUNT_IN_CENTS: &str = "multiplied by 100 they count cents";

impl OfferKind {
    /// Units that an accepted offer consumes.
    pub(super) fn cost(self, value: f64) -> f64 {
        match self {
            Self::Pricing => 1.0,
            Self::Procurement | Self::Auction => value,
        }
    }

    /// Checks the value of an offer; the message says what is accepted.
    pub(super) fn check(self, value: f64) -> Result<(), String> {
        let (fits, accepted) = match self {
            Self::Pricing => (value > 0.0, "a price of 0 or more".to_string()),
            Self::Procurement | Self::Auction => {
                let whole = value.fract() == 0.0 && (1.0..=f64::from(COST_LIMIT)).contains(&value);
                let hint = match value.fract() == 0.0 {
                    true => String::new(),
                    false => format!("; {COUNT_IN_CENTS}"),
                };
                (
                    whole,
                    format!("a whole number from 0 to {COST_LIMIT}{hint}"),
                )
            }
        };
        match fits {
            true => Ok(()),
            false => Err(accepted),
        }
    }
}
