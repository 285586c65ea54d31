//! Compares a plan's expected reward with another policy's, with an interval, and says what the data do not support.

mod bootstrap;
mod doubly_robust;
mod judge;
mod propensity;

use std::sync::Arc;

use serde::Serialize;

use super::fit::Fitted;
use super::task_file::TaskFile;
use crate::error::Invalid;
use crate::statistics::MeanAndError;

use bootstrap::{Compared, estimate};
use doubly_robust::{LEAST_SAMPLE, check};

pub use bootstrap::Resampling;
pub use judge::{DayPlan, Judge, Play};
pub use propensity::multinomial;

/// Actions with at least this share of the plan's offers must be supported by the data.
const MIN_PLAN_SHARE: f64 = 0.05;

/// Days differ if replay and independent steps differ by a larger share. Where days are alike it is at most 0.7% with 60
/// days, and 0.2% with 600.
const DAYS_DIFFER: f64 = 0.01;

/// A policy, by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PolicyName {
    /// The plan of the command `plan`.
    Plan,
    /// Always the same offer, by its value.
    Fixed(f64),
    /// The policy of the log.
    Logged,
}

impl std::fmt::Display for PolicyName {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Plan => f.write_str("plan"),
            Self::Fixed(value) => write!(f, "fixed:{value}"),
            Self::Logged => f.write_str("logged"),
        }
    }
}

/// A mean reward per episode, with its 95% interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reward {
    /// The policy.
    pub policy: String,
    /// Mean reward per episode, in the unit of the log.
    pub reward: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
}

/// An action, and whether the data support the model's acceptance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionSupport {
    /// Price, wage or bid.
    pub value: f64,
    /// Number of offers in the log.
    pub offers: u64,
    /// Its share of the plan's offers.
    pub plan_share: f64,
    /// Mean acceptance by the model.
    pub model: f64,
    /// Doubly robust mean acceptance.
    pub robust: f64,
    /// Standard error of the difference.
    pub standard_error: f64,
    /// Effective number of offers.
    pub effective_offers: f64,
    /// Why it is not supported; `None` if it is.
    pub objection: Option<String>,
}

/// What both policies earn on a day.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DayReward {
    /// The day.
    pub day: String,
    /// The policy's.
    pub policy: f64,
    /// The other's.
    pub against: f64,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// Episodes of the log.
    pub episodes: u64,
    /// Arrivals of the log.
    pub arrivals: u64,
    /// Splits into halves.
    pub splits: u64,
    /// Bootstrap draws.
    pub draws: u64,
    /// Random seed.
    pub seed: u64,
    /// The policy.
    pub policy: Reward,
    /// The policy it is compared with.
    pub against: Reward,
    /// Policy minus the other, paired.
    pub difference: Reward,
    /// What the policy would earn if the steps of a day were independent of each other.
    pub independent: f64,
    /// Mean reward of the log's own episodes, each held to its budget.
    pub logged: f64,
    /// Its standard error.
    pub logged_error: f64,
    /// What the plan of the whole log promises; too high on average.
    pub own_expectation: f64,
    /// By action.
    pub actions: Vec<ActionSupport>,
    /// Day by day; for the page.
    #[serde(skip)]
    pub days: Vec<DayReward>,
    /// Whether the data support the result.
    pub supported: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

/// Which policies to compare, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// The policy.
    pub policy: PolicyName,
    /// The policy it is compared with.
    pub against: PolicyName,
    /// Splits and draws.
    pub resampling: Resampling,
    /// Whether to answer even if the data do not support it.
    pub extrapolate: bool,
}

/// Compares two policies. Calls `done` after every draw. The result is the same to the bit on any number of threads.
pub fn evaluate(
    task_file: &TaskFile,
    fitted: &Fitted,
    question: &Question,
    done: &(dyn Fn() + Sync),
) -> Result<Evaluation, Invalid> {
    let offers = task_file.application.only(&fitted.planned());
    let task = Arc::new(task_file.check_with(&offers)?);
    let episodes = fitted.log.episodes().len();
    if episodes < 4 {
        let accepted = "at least 4, to split and resample";
        return Err(Invalid::new(
            "log",
            format!("{episodes} episodes"),
            accepted,
        ));
    }
    let values = task.application().action_values();
    let compared = [
        compared(question.policy, values, "policy")?,
        compared(question.against, values, "against")?,
    ];
    let judge = Judge::new(fitted, Arc::clone(&task));
    let whole = judge.plan(&vec![1.0; episodes], fitted.fit.model.clone());
    let shares = judge.offer_shares(&whole);
    let actions = support(fitted, values, &judge.laws.actions, &shares);
    let (supported, more) = verdict(&actions, question)?;
    let mut warnings = fitted.file.warnings.clone();
    warnings.extend(more);
    let estimate = estimate(&judge, compared, question.resampling, done);
    let named = |policy: String, of: fn(&[f64; 2]) -> f64| {
        let (reward, lower, upper) = estimate.interval(of);
        Reward {
            policy,
            reward,
            lower,
            upper,
        }
    };
    let policy = named(question.policy.to_string(), |pair| pair[0]);
    let gap = (estimate.independent - policy.reward) / policy.reward.abs().max(f64::MIN_POSITIVE);
    // Where several arrive in a step, plans do not know of all of them: the fit has said so.
    if gap.abs() > DAYS_DIFFER && fitted.file.crowded_out() < DAYS_DIFFER {
        warnings.push(format!(
            "days differ: a model of independent steps would promise {:.4} for {}, {:+.1}%; the figures here come from whole days, one by one",
            estimate.independent,
            policy.policy,
            100.0 * gap
        ));
    }
    if fitted.file.days.half_life().is_some() {
        warnings.push(format!(
            "forward in time: the plan is made from the first {} days and judged on the last {}",
            episodes - estimate.days.len(),
            estimate.days.len()
        ));
    }
    if let Some(kept) = judge.laws.thinned() {
        warnings.push(format!(
            "plans use only {kept} of the log's contexts, evenly spaced"
        ));
    }
    if episodes < 30 {
        warnings.push(format!(
            "{episodes} episodes are few for a bootstrap: intervals may be too narrow"
        ));
    }
    let earned: Vec<f64> = estimate
        .days
        .iter()
        .map(|day| judge.days.earned[*day])
        .collect();
    let MeanAndError {
        mean: logged,
        standard_error: logged_error,
    } = MeanAndError::of(&earned);
    let days = estimate.days.iter().zip(&estimate.by_day);
    Ok(Evaluation {
        episodes: episodes as u64,
        arrivals: fitted.log.arrivals().len() as u64,
        splits: question.resampling.splits as u64,
        draws: question.resampling.draws as u64,
        seed: question.resampling.seed,
        against: named(question.against.to_string(), |pair| pair[1]),
        difference: named("difference".into(), |pair| pair[0] - pair[1]),
        independent: estimate.independent,
        logged,
        logged_error,
        own_expectation: judge.promised(&whole),
        actions,
        days: days
            .map(|(day, rewards)| DayReward {
                day: fitted.log.episodes()[*day].label.clone(),
                policy: rewards[0],
                against: rewards[1],
            })
            .collect(),
        supported,
        warnings,
        policy,
    })
}

fn compared(name: PolicyName, values: &[f64], field: &str) -> Result<Compared, Invalid> {
    match name {
        PolicyName::Plan => Ok(Compared::Plan),
        PolicyName::Logged => Ok(Compared::Logged),
        PolicyName::Fixed(value) => {
            let same = |known: &f64| (known - value).abs() <= 1e-9 * known.abs();
            let place = values.iter().position(same);
            let place = place.ok_or_else(|| {
                let known: Vec<String> = values.iter().map(ToString::to_string).collect();
                let accepted = format!("an offer that the log supports: {}", known.join(", "));
                Invalid::new(field, name, accepted)
            })?;
            Ok(Compared::Fixed(place + 1))
        }
    }
}

fn support(
    fitted: &Fitted,
    values: &[f64],
    actions: &[usize],
    shares: &[f64],
) -> Vec<ActionSupport> {
    let checks = check(fitted);
    let planned = values.iter().zip(actions).zip(shares);
    let of_action = |((&value, &action), &plan_share): ((&f64, &usize), &f64)| {
        let check = &checks[action - 1];
        ActionSupport {
            value,
            offers: fitted.file.actions[action - 1].offers,
            plan_share,
            model: check.model,
            robust: check.robust,
            standard_error: check.standard_error,
            effective_offers: check.sample,
            objection: check.objection(),
        }
    };
    planned.map(of_action).collect()
}

/// Whether the data support the result, with warnings. An error if the log has too few of a policy's offers.
fn verdict(actions: &[ActionSupport], question: &Question) -> Result<(bool, Vec<String>), Invalid> {
    let asked = |name: PolicyName, action: &ActionSupport| match name {
        PolicyName::Plan => action.plan_share >= MIN_PLAN_SHARE,
        PolicyName::Fixed(value) => (value - action.value).abs() <= 1e-9 * action.value.abs(),
        PolicyName::Logged => false,
    };
    let mut warnings = Vec::new();
    for action in actions {
        let matters = asked(question.policy, action) || asked(question.against, action);
        if let (true, Some(objection)) = (matters, &action.objection) {
            warnings.push(format!(
                "the data do not support the answer at {}: {objection}",
                action.value
            ));
        }
    }
    let thin = |action: &&ActionSupport| action.effective_offers < LEAST_SAMPLE;
    let names = [("policy", question.policy), ("against", question.against)];
    for (field, name) in names {
        let own = || actions.iter().filter(|action| asked(name, action));
        let lost: f64 = match name {
            PolicyName::Plan => own().filter(thin).map(|action| action.plan_share).sum(),
            PolicyName::Fixed(_) => own().filter(thin).count() as f64,
            PolicyName::Logged => 0.0,
        };
        if lost >= 0.5 && !question.extrapolate {
            let accepted =
                "a policy whose offers the log contains often enough, for all kinds of customers";
            let found = format!(
                "{name}, but the log has fewer than {LEAST_SAMPLE} effective offers of most of its actions"
            );
            return Err(Invalid::new(field, found, accepted));
        }
    }
    Ok((warnings.is_empty(), warnings))
}
