//! Regret of a policy: opt_t minus the realised reward, cumulated, averaged over replications with a band.

use super::log_log_slope;
use super::run::{Outcome, PolicyOutcome};
use crate::statistics::MeanAndError;

/// The regret of one policy, summarised.
#[derive(Debug, Clone)]
pub struct RegretSummary {
    /// Cumulative regret after each episode.
    pub cumulative: Vec<MeanAndError>,
    /// Mean reward per episode.
    pub mean_reward: f64,
    /// Total reward as a share of total opt.
    pub share_of_opt: f64,
    /// Cumulative regret after the last episode with the exact expected rewards of the plans in place of the realised
    /// ones, where these are known.
    pub expected: Option<MeanAndError>,
    /// How fast the regret grows over the last half of the episodes, where it is positive.
    pub slope: Option<MeanAndError>,
}

impl Outcome {
    /// opt_t of every episode.
    pub fn opt(&self) -> Vec<f64> {
        self.budgets
            .iter()
            .map(|&b| self.optimum.table.start(b))
            .collect()
    }

    /// Final regret of each policy minus that of the first, replication by replication: all met the same contexts and
    /// luck, so the differences are sharper than the regrets.
    pub fn excess_over_first(&self) -> Vec<MeanAndError> {
        let opt = self.opt();
        let finals = |policy: &PolicyOutcome| policy.final_regrets(&opt);
        let first = self.policies.first().map(finals).unwrap_or_default();
        let excess = |policy| {
            let pairs = finals(policy).into_iter().zip(&first);
            MeanAndError::of(&pairs.map(|(x, y)| x - y).collect::<Vec<_>>())
        };
        self.policies.iter().map(excess).collect()
    }

    /// The regret of each policy, in the order of the study.
    pub fn regrets(&self) -> Vec<RegretSummary> {
        let opt = self.opt();
        self.policies
            .iter()
            .map(|policy| summarise(policy, &opt))
            .collect()
    }
}

impl PolicyOutcome {
    /// The regret of each replication after the last episode.
    pub fn final_regrets(&self, opt: &[f64]) -> Vec<f64> {
        let total: f64 = opt.iter().sum();
        let earned =
            |episodes: &Vec<super::EpisodeOutcome>| episodes.iter().map(|e| e.reward).sum::<f64>();
        self.episodes.iter().map(|e| total - earned(e)).collect()
    }
}

/// Cumulative regret of one replication after each episode.
pub fn cumulative_regret<'a>(
    rewards: impl Iterator<Item = f64> + 'a,
    opt: &'a [f64],
) -> impl Iterator<Item = f64> + 'a {
    let mut sum = 0.0;
    rewards.zip(opt).map(move |(reward, opt)| {
        sum += opt - reward;
        sum
    })
}

fn summarise(policy: &PolicyOutcome, opt: &[f64]) -> RegretSummary {
    let rewards =
        |r: &Vec<_>| -> Vec<f64> { r.iter().map(|o: &super::EpisodeOutcome| o.reward).collect() };
    let curves: Vec<Vec<f64>> = policy
        .episodes
        .iter()
        .map(|replication| cumulative_regret(rewards(replication).into_iter(), opt).collect())
        .collect();
    let cumulative = (0..opt.len())
        .map(|t| MeanAndError::of(&curves.iter().map(|curve| curve[t]).collect::<Vec<_>>()))
        .collect();
    let replications = policy.episodes.len() as f64;
    let total: f64 = policy.episodes.iter().flatten().map(|o| o.reward).sum();
    RegretSummary {
        cumulative,
        expected: expected_regret(policy, opt),
        slope: log_log_slope(&curves),
        mean_reward: total / replications / opt.len() as f64,
        share_of_opt: total / replications / opt.iter().sum::<f64>(),
    }
}

fn expected_regret(policy: &PolicyOutcome, opt: &[f64]) -> Option<MeanAndError> {
    let total: f64 = opt.iter().sum();
    let regret = |episodes: &Vec<super::EpisodeOutcome>| {
        let earned: Option<f64> = episodes.iter().map(|e| e.expected).sum();
        earned.map(|earned| total - earned)
    };
    let regrets: Option<Vec<f64>> = policy.episodes.iter().map(regret).collect();
    regrets.map(|regrets| MeanAndError::of(&regrets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regret_accumulates() {
        let rewards = [1.0, 0.0, 5.0];
        let curve: Vec<f64> = cumulative_regret(rewards.into_iter(), &[2.0, 2.0, 3.0]).collect();
        assert_eq!(curve, [1.0, 3.0, 1.0]);
    }
}
