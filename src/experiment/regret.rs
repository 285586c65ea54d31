//! Regret of a policy: the cumulative sum of opt_t minus realised reward, averaged over replications, with errors.

use super::{EpisodeOutcome, Yardstick};
use crate::policy::Played;
use crate::statistics::{CurveMoments, Growth, MeanAndError};

/// Summary of one policy's regret.
#[derive(Debug, Clone)]
pub struct RegretSummary {
    /// Cumulative regret after each episode.
    pub cumulative: Vec<MeanAndError>,
    /// The regret of each replication after the last episode.
    pub finals: Vec<f64>,
    /// Mean reward per episode.
    pub mean_reward: f64,
    /// Total reward as a share of total opt.
    pub share_of_opt: f64,
    /// Cumulative regret after the last episode with the plans' exact expected rewards instead of realised rewards, if
    /// known.
    pub expected: Option<MeanAndError>,
    /// What the regret bound consists of, summed over all episodes, for learners: widths of bounds and tolerances of the
    /// pairs that were offered, as means over replications.
    pub played: Option<Played>,
    /// Growth rate of the regret over the last half of the episodes, if the final regret is significantly positive.
    pub slope: Option<MeanAndError>,
}

/// The regret of one policy so far. Replications are added in order; only their final regrets are kept.
#[derive(Debug)]
pub struct RegretTally<'a> {
    yardstick: &'a Yardstick,
    curve: Vec<f64>,
    moments: CurveMoments,
    growth: Growth,
    earned: f64,
    finals: Vec<f64>,
    expected: Option<Vec<f64>>,
    played: Option<Played>,
}

impl<'a> RegretTally<'a> {
    /// An empty tally for `replications` replications.
    pub fn new(yardstick: &'a Yardstick, replications: usize) -> Self {
        let episodes = yardstick.opt.len();
        Self {
            yardstick,
            curve: Vec::with_capacity(episodes),
            moments: CurveMoments::new(episodes),
            growth: Growth::new(episodes, replications),
            earned: 0.0,
            finals: Vec::with_capacity(replications),
            expected: Some(Vec::with_capacity(replications)),
            played: Some(Played::default()),
        }
    }

    /// Adds the next replication.
    pub fn add(&mut self, episodes: &[EpisodeOutcome]) {
        let opt = &self.yardstick.opt;
        let rewards = || episodes.iter().map(|e| e.reward);
        self.curve.clear();
        self.curve.extend(cumulative_regret(rewards(), opt));
        self.moments.push(&self.curve);
        self.growth.push(&self.curve);
        self.earned = rewards().fold(self.earned, |sum, reward| sum + reward);
        let total: f64 = opt.iter().sum();
        self.finals.push(total - rewards().sum::<f64>());
        for episode in episodes {
            self.played = self.played.zip(episode.played).map(|(a, b)| Played {
                widths: a.widths + b.widths,
                tolerance: a.tolerance + b.tolerance,
            });
        }
        let expected: Option<f64> = episodes.iter().map(|e| e.expected).sum();
        match (&mut self.expected, expected) {
            (Some(all), Some(expected)) => all.push(total - expected),
            _ => self.expected = None,
        }
    }

    /// The summary of all added replications.
    pub fn finish(self) -> RegretSummary {
        let opt = &self.yardstick.opt;
        let replications = self.finals.len() as f64;
        let earned = self.earned / replications;
        let cumulative = self.moments.finish();
        // If the regret is not clearly above zero, or its error is unknown, its slope is noise.
        let is_clear = cumulative.last().is_some_and(|last| last.lower() > 0.0);
        RegretSummary {
            slope: self.growth.slope().filter(|_| is_clear),
            cumulative,
            finals: self.finals,
            mean_reward: earned / opt.len() as f64,
            share_of_opt: earned / opt.iter().sum::<f64>(),
            played: self.played.map(|sum| Played {
                widths: sum.widths / replications,
                tolerance: sum.tolerance / replications,
            }),
            expected: self.expected.map(|all| MeanAndError::of(&all)),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regret_accumulates() {
        let rewards = [1.0, 0.0, 5.0];
        let curve: Vec<f64> = cumulative_regret(rewards.into_iter(), &[2.0, 2.0, 3.0]).collect();
        assert_eq!(curve, [1.0, 3.0, 1.0]);
    }

    #[test]
    fn expected_regret_needs_every_replication() {
        let yardstick = Yardstick {
            budgets: vec![1, 1],
            opt: vec![2.0, 3.0],
        };
        let outcome = |reward: f64, expected: Option<f64>| EpisodeOutcome {
            reward,
            spent: 1,
            expected,
            played: None,
        };
        let mut tally = RegretTally::new(&yardstick, 2);
        tally.add(&[outcome(1.0, Some(1.5)), outcome(0.0, Some(1.0))]);
        tally.add(&[outcome(2.0, Some(1.5)), outcome(3.0, Some(3.0))]);
        let found = tally.finish();
        assert_eq!(found.finals, [4.0, 0.0]);
        assert_eq!(found.cumulative[1].mean, 2.0);
        assert_eq!((found.mean_reward, found.share_of_opt), (1.5, 0.6));
        assert_eq!(found.expected.map(|x| x.mean), Some(1.5));
        let mut tally = RegretTally::new(&yardstick, 2);
        tally.add(&[outcome(1.0, Some(1.5)), outcome(0.0, None)]);
        tally.add(&[outcome(1.0, Some(1.5)), outcome(0.0, Some(1.0))]);
        assert_eq!(tally.finish().expected, None);
    }
}
