//! Applications (Table 1 of the paper): which reward and cost an action has in a context.
//!
//! Actions are indexed; index 0 is the null action with reward and cost 0. Non-null actions are 1..=`actions()`.

use std::collections::BTreeSet;

use super::{COST_LIMIT, Context, FeatureRange, Multiplier, NUMBER_LIMIT, finite_numbers};
use crate::error::{Invalid, shown};

/// An application as a study file states it, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub enum ApplicationSpec {
    /// Sell a unit at a posted price: reward = price, cost = 1.
    Pricing {
        /// Positive prices.
        prices: Vec<f64>,
    },
    /// Hire at an offered wage: reward = 1, cost = wage.
    Procurement {
        /// Positive whole wages.
        wages: Vec<u32>,
    },
    /// First-price auction: reward = theta - bid, cost = bid. Contexts are one-dimensional values theta.
    Auction {
        /// Positive whole bids.
        bids: Vec<u32>,
    },
    /// Explicit rewards and costs: one row per context type (in the order of the context values), one column per
    /// non-null action.
    Table {
        /// Rewards; negative ones make the action infeasible in that context.
        rewards: Vec<Vec<f64>>,
        /// Whole costs, at least 1.
        costs: Vec<Vec<u32>>,
    },
    /// Prices or wages of customers who differ in what they take: r(theta, a) and d(theta, a) of the paper depend on theta.
    PerCustomer {
        /// The application for one unit; pricing or procurement.
        of: Box<ApplicationSpec>,
        /// How many units the customer takes: reward and cost are multiplied by it.
        quantity: Option<Multiplier>,
        /// What prices are relative to: the reward is multiplied by it.
        rate: Option<Multiplier>,
    },
}

impl ApplicationSpec {
    /// The numbers that stand for the non-null actions: prices, wages, bids, or the numbers of a table's columns.
    pub fn action_values(&self) -> Vec<f64> {
        match self {
            Self::Pricing { prices } => prices.clone(),
            Self::Procurement { wages: whole } | Self::Auction { bids: whole } => {
                whole.iter().copied().map(f64::from).collect()
            }
            Self::Table { rewards, .. } => {
                let actions = rewards.first().map_or(0, Vec::len);
                (1..=actions).map(|a| a as f64).collect()
            }
            Self::PerCustomer { of, .. } => of.action_values(),
        }
    }
}

/// A checked application: at least one non-null action, every cost at least 1, every reward finite.
#[derive(Debug, Clone)]
pub struct Application {
    kind: Kind,
    action_values: Vec<f64>,
    cost_max: u32,
    quantity: Option<Multiplier>,
    rate: Option<Multiplier>,
    /// Actions that are known and no longer taken; empty for none.
    closed: Vec<bool>,
}

#[derive(Debug, Clone)]
enum Kind {
    Pricing,
    Procurement,
    Auction,
    Table {
        types: usize,
        rewards: Vec<f64>,
        costs: Vec<u32>,
    },
}

impl Application {
    /// Checks a specification for contexts of the given dimension.
    pub(crate) fn check(spec: &ApplicationSpec, dimension: usize) -> Result<Self, Invalid> {
        let most = |costs: &[u32]| costs.iter().copied().max().unwrap_or(1);
        let (kind, cost_max) = match spec {
            ApplicationSpec::Pricing { prices } => {
                non_empty("application.prices", prices)?;
                for (i, &price) in prices.iter().enumerate() {
                    if !(price > 0.0 && price <= NUMBER_LIMIT) {
                        let field = format!("application.prices[{}]", i + 1);
                        let accepted = format!("a positive number up to {NUMBER_LIMIT:e}");
                        return Err(Invalid::new(field, shown(price), accepted));
                    }
                }
                (Kind::Pricing, 1)
            }
            ApplicationSpec::Procurement { wages } => {
                check_payments("application.wages", wages)?;
                (Kind::Procurement, most(wages))
            }
            ApplicationSpec::Auction { bids } => {
                if dimension != 1 {
                    return Err(Invalid::new(
                        "contexts",
                        format!("{dimension} features per context"),
                        "one feature (the private value theta) for an auction",
                    ));
                }
                check_payments("application.bids", bids)?;
                (Kind::Auction, most(bids))
            }
            ApplicationSpec::Table { rewards, costs } => {
                check_table(rewards, costs)?;
                let table = Kind::Table {
                    types: rewards.len(),
                    rewards: rewards.concat(),
                    costs: costs.concat(),
                };
                (table, most(&costs.concat()))
            }
            ApplicationSpec::PerCustomer { of, quantity, rate } => {
                return Self::check(of, dimension)?.per_customer(*quantity, *rate, dimension);
            }
        };
        Ok(Self {
            kind,
            action_values: spec.action_values(),
            cost_max,
            quantity: None,
            rate: None,
            closed: Vec::new(),
        })
    }

    fn per_customer(
        self,
        quantity: Option<Multiplier>,
        rate: Option<Multiplier>,
        dimension: usize,
    ) -> Result<Self, Invalid> {
        let fits = match self.kind {
            Kind::Pricing => true,
            Kind::Procurement => rate.is_none(),
            Kind::Auction | Kind::Table { .. } => false,
        };
        if !fits || self.depends_on_context() {
            let accepted = "pricing; procurement with a quantity";
            return Err(Invalid::new("application.kind", "another", accepted));
        }
        let most = f64::from(COST_LIMIT / self.cost_max);
        for (name, multiplier, limit) in
            [("quantity", &quantity, most), ("rate", &rate, NUMBER_LIMIT)]
        {
            if let Some(multiplier) = multiplier {
                multiplier.check(&format!("application.{name}"), dimension, limit)?;
            }
        }
        let units = quantity.map_or(1.0, |quantity| quantity.most);
        Ok(Self {
            cost_max: self.cost_max * units as u32,
            quantity,
            rate,
            ..self
        })
    }

    /// Number of non-null actions.
    pub fn actions(&self) -> usize {
        self.action_values.len()
    }

    /// The number that stands for non-null action `a` in phi: its price, wage or bid (its index for a table).
    pub fn action_value(&self, action: usize) -> f64 {
        self.action_values[action - 1]
    }

    /// All non-null action values, in index order.
    pub fn action_values(&self) -> &[f64] {
        &self.action_values
    }

    /// The largest cost of any action (the paper's L).
    pub fn cost_max(&self) -> u32 {
        self.cost_max
    }

    /// All costs that occur, in rising order.
    pub fn costs(&self) -> Vec<u32> {
        let one: Vec<u32> = match &self.kind {
            Kind::Pricing => vec![1],
            Kind::Procurement | Kind::Auction => {
                self.action_values.iter().map(|a| *a as u32).collect()
            }
            Kind::Table { costs, .. } => costs.clone(),
        };
        let units = 1..=self.quantity.map_or(1, |quantity| quantity.most as u32);
        let costs = units.flat_map(|units| one.iter().map(move |cost| units * cost));
        let costs: BTreeSet<u32> = costs.collect();
        costs.into_iter().collect()
    }

    /// How many context types the table has, where rewards and costs come from a table.
    pub fn table_types(&self) -> Option<usize> {
        match &self.kind {
            Kind::Table { types, .. } => Some(*types),
            _ => None,
        }
    }

    /// Whether actions are bids.
    pub fn is_auction(&self) -> bool {
        matches!(self.kind, Kind::Auction)
    }

    /// Whether rewards or costs depend on the context.
    pub fn depends_on_context(&self) -> bool {
        let varies = matches!(self.kind, Kind::Auction | Kind::Table { .. });
        varies || self.is_per_customer()
    }

    /// Whether customers take several units, or have prices of their own.
    pub fn is_per_customer(&self) -> bool {
        self.quantity.is_some() || self.rate.is_some()
    }

    /// Checks the units and the rate of a customer.
    pub(crate) fn check_customer(&self, features: &[f64]) -> Result<(), Invalid> {
        if let Some(quantity) = &self.quantity {
            quantity.check_whole(features)?;
        }
        self.rate
            .map_or(Ok(()), |rate| rate.check_positive(features))
    }

    /// The units that a customer takes, at least 1.
    fn units(&self, context: &Context) -> f64 {
        let units = |quantity: &Multiplier| quantity.of(context.features).round();
        let units = self.quantity.as_ref().map_or(1.0, units);
        units.clamp(1.0, self.quantity.map_or(1.0, |quantity| quantity.most))
    }

    /// The same, without the prices that are not among `offered`: they stay in the list, for data about them, and are
    /// infeasible.
    pub(super) fn offering(mut self, offered: &[f64]) -> Self {
        let values = self.action_values.iter();
        self.closed = values.map(|value| !offered.contains(value)).collect();
        self
    }

    /// r(theta, a) of a non-null action; negative means infeasible.
    pub fn reward(&self, context: &Context, action: usize) -> f64 {
        if self.closed.get(action - 1) == Some(&true) {
            return -1.0;
        }
        let reward = self.unit_reward(context, action);
        match self.is_per_customer() {
            false => reward,
            true => {
                let rate = self.rate.map_or(1.0, |rate| rate.of(context.features));
                reward * self.units(context) * rate
            }
        }
    }

    fn unit_reward(&self, context: &Context, action: usize) -> f64 {
        match &self.kind {
            Kind::Pricing => self.action_value(action),
            Kind::Procurement => 1.0,
            Kind::Auction => context.features[0] - self.action_value(action),
            Kind::Table { rewards, .. } => {
                rewards[context.table_row() * self.actions() + action - 1]
            }
        }
    }

    /// Reward and cost of an accepted offer at any price, wage or bid; `None` if there is no such offer.
    pub fn sale_at(&self, context: &Context, value: f64) -> Option<(f64, u32)> {
        let whole = value.fract() == 0.0 && (1.0..=f64::from(COST_LIMIT)).contains(&value);
        let (reward, cost) = match &self.kind {
            Kind::Pricing if value > 0.0 && value <= NUMBER_LIMIT => (value, 1),
            Kind::Procurement if whole => (1.0, value as u32),
            Kind::Auction if whole => (context.features[0] - value, value as u32),
            Kind::Table { costs, .. } if whole && value as usize <= self.actions() => {
                let pair = context.table_row() * self.actions() + value as usize - 1;
                (self.unit_reward(context, value as usize), costs[pair])
            }
            _ => return None,
        };
        let rate = self.rate.map_or(1.0, |rate| rate.of(context.features));
        let units = self.units(context);
        Some((reward * units * rate, cost.saturating_mul(units as u32)))
    }

    /// The action with this price, wage or bid.
    pub fn action_at(&self, value: f64) -> Option<usize> {
        let place = self.action_values.iter().position(|known| *known == value);
        place.map(|place| place + 1)
    }

    /// The largest reward of contexts within a range, at least 0.
    pub(super) fn largest_reward(&self, range: &FeatureRange) -> f64 {
        let values = self.action_values.iter().copied();
        let most = |multiplier: &Option<Multiplier>| multiplier.map_or(1.0, |m| m.most);
        let times = most(&self.quantity) * most(&self.rate);
        times
            * match &self.kind {
                Kind::Pricing => values.fold(0.0, f64::max),
                Kind::Procurement => 1.0,
                Kind::Auction => {
                    let least = values.fold(f64::INFINITY, f64::min);
                    (range.sizes()[0] - least).max(0.0)
                }
                Kind::Table { rewards, .. } => rewards.iter().copied().fold(0.0, f64::max),
            }
    }

    /// d(theta, a) of a non-null action.
    pub fn cost(&self, context: &Context, action: usize) -> u32 {
        let cost = match &self.kind {
            Kind::Pricing => 1,
            Kind::Procurement | Kind::Auction => self.action_value(action) as u32,
            Kind::Table { costs, .. } => costs[context.table_row() * self.actions() + action - 1],
        };
        match self.quantity {
            None => cost,
            Some(_) => cost * self.units(context) as u32,
        }
    }
}

fn non_empty<T>(field: &str, list: &[T]) -> Result<(), Invalid> {
    if list.is_empty() {
        return Err(Invalid::new(field, "an empty list", "at least one entry"));
    }
    Ok(())
}

fn whole_cost() -> String {
    format!("a whole number from 1 to {COST_LIMIT}")
}

/// Rewards and costs of the same shape, one row per context type.
fn check_table(rewards: &[Vec<f64>], costs: &[Vec<u32>]) -> Result<(), Invalid> {
    non_empty("application.rewards", rewards)?;
    let actions = rewards[0].len();
    non_empty("application.rewards[1]", &rewards[0])?;
    if costs.len() != rewards.len() {
        return Err(Invalid::new(
            "application.costs",
            format!("{} rows", costs.len()),
            format!("{} rows, as in rewards", rewards.len()),
        ));
    }
    let width = |name: &str, row: usize, found: usize| {
        Invalid::new(
            format!("application.{name}[{}]", row + 1),
            format!("{found} entries"),
            format!("{actions} entries, as in the first row of rewards"),
        )
    };
    for (row, (r, c)) in rewards.iter().zip(costs).enumerate() {
        if r.len() != actions {
            return Err(width("rewards", row, r.len()));
        }
        if c.len() != actions {
            return Err(width("costs", row, c.len()));
        }
        finite_numbers(&format!("application.rewards[{}]", row + 1), r)?;
        if let Some(a) = c.iter().position(|x| !(1..=COST_LIMIT).contains(x)) {
            let field = format!("application.costs[{}][{}]", row + 1, a + 1);
            return Err(Invalid::new(field, c[a], whole_cost()));
        }
    }
    Ok(())
}

/// Wages and bids are costs: whole numbers from 1.
fn check_payments(field: &str, payments: &[u32]) -> Result<(), Invalid> {
    non_empty(field, payments)?;
    match payments.iter().position(|p| !(1..=COST_LIMIT).contains(p)) {
        None => Ok(()),
        Some(i) => {
            let field = format!("{field}[{}]", i + 1);
            Err(Invalid::new(field, payments[i], whole_cost()))
        }
    }
}
