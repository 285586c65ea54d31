//! How a policy spends an episode's budget: the units left at the start of each step. Only the last quarter of the episodes
//! counts, when learning is mostly over.

use crate::statistics::MeanAndError;

/// Budget left by step, summed as integers, so neither order nor threads can change a bit.
#[derive(Debug, Clone)]
pub struct BudgetUse {
    first_episode: usize,
    episodes: usize,
    replications: u64,
    sums: Vec<u128>,
    squares: Vec<u128>,
}

impl BudgetUse {
    /// For `episodes` episodes of `horizon` steps.
    pub fn new(episodes: usize, horizon: usize) -> Self {
        let counted = episodes.div_ceil(4);
        Self {
            first_episode: episodes - counted + 1,
            episodes: counted,
            replications: 0,
            sums: vec![0; horizon + 1],
            squares: vec![0; horizon + 1],
        }
    }

    /// The first episode (1-based) that counts.
    pub fn first_episode(&self) -> usize {
        self.first_episode
    }

    /// Adds a replication's sums over the episodes that count: units left before each step and at the end.
    pub fn add(&mut self, left: &[u64]) {
        self.replications += 1;
        for ((sum, square), &left) in self.sums.iter_mut().zip(&mut self.squares).zip(left) {
            *sum += u128::from(left);
            *square += u128::from(left) * u128::from(left);
        }
    }

    /// Mean units left at the start of steps 1..=H and at the end of the episode, with errors over replications.
    pub fn left(&self) -> Vec<MeanAndError> {
        let n = u128::from(self.replications);
        let scale = self.episodes as f64;
        let per_step = self.sums.iter().zip(&self.squares);
        per_step
            .map(|(&sum, &square)| {
                let n_times_squares = (n * square - sum * sum) as f64 / n as f64;
                let variance = n_times_squares / (n as f64 - 1.0);
                MeanAndError {
                    mean: sum as f64 / n as f64 / scale,
                    standard_error: (variance / n as f64).sqrt() / scale,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_errors_match_direct_computation() {
        let mut use_ = BudgetUse::new(7, 2);
        assert_eq!(use_.first_episode(), 6);
        let totals = [[10, 7, 0], [10, 4, 1], [10, 9, 0]];
        for left in &totals {
            use_.add(left);
        }
        for (step, found) in use_.left().iter().enumerate() {
            let values: Vec<f64> = totals.iter().map(|t| t[step] as f64 / 2.0).collect();
            let expected = MeanAndError::of(&values);
            approx::assert_relative_eq!(found.mean, expected.mean, epsilon = 1e-14);
            let error = expected.standard_error;
            approx::assert_relative_eq!(found.standard_error, error, epsilon = 1e-14);
        }
    }
}
