//! The episodes reserved for learning the context laws: J = {1 + (M + i) n_alpha : i >= 0} (Sections 3.1, 3.4).

use crate::error::Invalid;

/// Reserved episodes; M initial rows postpone the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservedEpisodes {
    n_alpha: usize,
    initial_rows: usize,
}

impl ReservedEpisodes {
    /// n_alpha is the smallest whole number in [1/alpha, 2/alpha - 1).
    ///
    /// The paper uses this interval with unlabeled data, and [1/alpha - 1, 2/alpha - 1) without. The latter admits
    /// n_alpha = 1, which would reserve every episode and learn nothing, so the former is always used here.
    pub fn new(alpha: f64, initial_rows: usize, field: &str) -> Result<Self, Invalid> {
        // Allows for rounding of 1/alpha, as with alpha = 1/3.
        let slack = 1e-9;
        let n = (1.0 / alpha - slack).ceil();
        if alpha.is_finite() && alpha > 0.0 && alpha < 1.0 && n < 2.0 / alpha - 1.0 - slack {
            return Ok(Self {
                n_alpha: n as usize,
                initial_rows,
            });
        }
        Err(Invalid::new(
            field,
            alpha,
            "a number between 0 and 1 with a whole number n in [1/alpha, 2/alpha - 1), to reserve every n-th episode for contexts, such as 0.5 or 0.1",
        ))
    }

    /// n_alpha, the distance between reserved episodes.
    pub fn n_alpha(&self) -> usize {
        self.n_alpha
    }

    /// Whether episode `t` (1-based) is reserved.
    pub fn contains(&self, t: usize) -> bool {
        (t - 1).is_multiple_of(self.n_alpha) && (t - 1) / self.n_alpha >= self.initial_rows
    }

    /// The same spacing with a different number of initial rows.
    pub fn with_initial_rows(self, initial_rows: usize) -> Self {
        Self {
            initial_rows,
            ..self
        }
    }

    /// Number of context rows after `episodes` episodes.
    pub fn rows_after(&self, episodes: usize) -> usize {
        let all = episodes.div_ceil(self.n_alpha);
        self.initial_rows + all.saturating_sub(self.initial_rows)
    }
}

#[cfg(test)]
mod tests {
    use super::ReservedEpisodes;

    fn reserved(alpha: f64, rows: usize, until: usize) -> Vec<usize> {
        let set = ReservedEpisodes::new(alpha, rows, "alpha").unwrap();
        (1..=until).filter(|&t| set.contains(t)).collect()
    }

    #[test]
    fn matches_the_definition() {
        assert_eq!(reserved(0.5, 0, 8), [1, 3, 5, 7]);
        assert_eq!(reserved(0.5, 2, 8), [5, 7]);
        assert_eq!(reserved(1.0 / 3.0, 0, 8), [1, 4, 7]);
        assert_eq!(reserved(0.4, 1, 12), [4, 7, 10]);
    }

    #[test]
    fn rows_are_at_least_half_of_alpha_t_and_at_most_alpha_t() {
        for alpha in [0.5, 0.3, 0.25, 0.1] {
            let set = ReservedEpisodes::new(alpha, 0, "alpha").unwrap();
            for t in [200, 1000] {
                let rows = set.rows_after(t) as f64;
                assert_eq!(rows as usize, (1..=t).filter(|&s| set.contains(s)).count());
                assert!(alpha * t as f64 / 2.0 <= rows && rows <= alpha * t as f64 + 1.0);
            }
        }
    }

    #[test]
    fn rejects_an_alpha_without_a_whole_number() {
        for alpha in [0.7, 2.0 / 3.0, 0.99, 1.0, 0.0, -0.5, f64::NAN] {
            assert!(ReservedEpisodes::new(alpha, 0, "alpha").is_err(), "{alpha}");
        }
    }
}
