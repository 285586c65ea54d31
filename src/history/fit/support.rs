//! Which offers the log supports for which customers: an action counts for a customer if similar customers had it.
//! Similar is who would have been offered a similar price.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::compare::Folds;
use super::data::OfferData;

/// If features explain a smaller share of the offers (held out), all offers count for everybody.
const EXPLAINED: f64 = 0.02;

/// Offers that are looked at.
const NEAREST: u32 = 100;

/// An action is supported by at least so many of them, and this share.
const LEAST_OFFERS: u32 = 3;
const LEAST_SHARE: f64 = 0.02;

/// The most features with squares and products.
const FEATURES: usize = 20;

/// The most offers of the regression and of the comparison.
const OFFERS: usize = 20_000;

/// Ridge penalty.
const RIDGE: f64 = 1.0;

/// A ridge regression of the offers' values, and the share of their variance that it explains on held-out episodes.
#[derive(Debug)]
pub struct OfferRegression {
    beta: DVector<f64>,
    /// From 0 to 1.
    pub explained: f64,
}

impl OfferRegression {
    /// Regresses the scaled values of some offers on their rows of `width` numbers, the first a constant.
    pub fn fit(
        data: &OfferData,
        folds: &Folds,
        offers: &[usize],
        width: usize,
        row: impl Fn(usize) -> DVector<f64>,
    ) -> Self {
        let value = |i: usize| data.scaled[data.actions[i] as usize - 1];
        let fold_of = |i: usize| folds.of(data.episodes[i] as usize);
        // Sums by fold: all but one of them make a fit.
        let mut grams = vec![DMatrix::zeros(width, width); folds.count];
        let mut sums = vec![DVector::zeros(width); folds.count];
        for &i in offers {
            let x = row(i);
            grams[fold_of(i)].ger(1.0, &x, &x, 1.0);
            sums[fold_of(i)].axpy(value(i), &x, 1.0);
        }
        let gram: DMatrix<f64> = grams.iter().sum();
        let sum: DVector<f64> = sums.iter().sum();
        let ridge = || DMatrix::identity(width, width) * RIDGE;
        let solve = |gram: DMatrix<f64>, sum: &DVector<f64>| {
            Cholesky::new(gram + ridge()).map(|factor| factor.solve(sum))
        };
        let of_fold = |fold: usize| {
            let (rest, total) = (&gram - &grams[fold], &sum - &sums[fold]);
            let mean = total[0] / rest[(0, 0)].max(1.0);
            Some((solve(rest, &total)?, mean))
        };
        let fits: Vec<Option<(DVector<f64>, f64)>> = (0..folds.count).map(of_fold).collect();
        let (mut error, mut spread) = (0.0, 0.0);
        for &i in offers {
            if let Some((beta, mean)) = &fits[fold_of(i)] {
                error += (value(i) - row(i).dot(beta)).powi(2);
                spread += (value(i) - mean).powi(2);
            }
        }
        Self {
            beta: solve(gram, &sum).unwrap_or_else(|| DVector::zeros(width)),
            explained: match spread > 0.0 {
                true => (1.0 - error / spread).clamp(0.0, 1.0),
                false => 0.0,
            },
        }
    }
}

/// Support of actions by customer.
#[derive(Debug)]
pub struct Support {
    regression: OfferRegression,
    /// Index of the first feature after the constant.
    first: usize,
    /// The distinct predicted values, rising.
    predicted: Vec<f64>,
    /// Offers of each action with a smaller predicted value, by predicted value; the last row has all.
    below: Vec<Vec<u32>>,
}

impl Support {
    /// Of the offers of a log; `None` if all offers count for everybody.
    pub fn new(data: &OfferData, folds: &Folds) -> Option<Self> {
        let first = usize::from(data.has_constant);
        if data.dimension == first {
            return None;
        }
        let stride = data.len().div_ceil(OFFERS).max(1);
        let offers: Vec<usize> = (0..data.len()).step_by(stride).collect();
        let columns = |i: usize| columns(&data.theta(i)[first..]);
        let width = columns(0).len();
        let regression = OfferRegression::fit(data, folds, &offers, width, columns);
        if regression.explained < EXPLAINED {
            return None;
        }
        let mut support = Self {
            regression,
            first,
            predicted: Vec::new(),
            below: Vec::new(),
        };
        let place = |i: &usize| (support.predict(data.theta(*i)), data.actions[*i]);
        let mut offers: Vec<(f64, u32)> = offers.iter().map(place).collect();
        offers.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut below = vec![0; data.action_count()];
        for alike in offers.chunk_by(|a, b| a.0 == b.0) {
            support.predicted.push(alike[0].0);
            support.below.push(below.clone());
            alike
                .iter()
                .for_each(|(_, action)| below[*action as usize - 1] += 1);
        }
        support.below.push(below);
        Some(support)
    }

    fn predict(&self, theta: &[f64]) -> f64 {
        let value = columns(&theta[self.first..]).dot(&self.regression.beta);
        // Equal customers have equal predictions, whatever the order of the sums.
        (value * 1e9).round() / 1e9
    }

    /// Whether each action (from 1) is supported for a customer.
    pub fn of(&self, theta: &[f64]) -> Vec<bool> {
        let centre = self.predict(theta);
        let count = |place: usize| self.below[place].iter().sum::<u32>();
        // The window of predicted values grows to the nearer side.
        let mut high = self.predicted.partition_point(|x| *x < centre);
        let mut low = high;
        while count(high) - count(low) < NEAREST && (low > 0 || high < self.predicted.len()) {
            let below = low.checked_sub(1).map(|i| centre - self.predicted[i]);
            let above = self.predicted.get(high).map(|x| x - centre);
            match (below, above) {
                (Some(below), Some(above)) if below == above => (low, high) = (low - 1, high + 1),
                (Some(below), above) if above.is_none_or(|above| below < above) => low -= 1,
                _ => high += 1,
            }
        }
        let all = f64::from(count(high) - count(low));
        let counts = self.below[high].iter().zip(&self.below[low]);
        let own: Vec<bool> = counts
            .map(|(high, low)| {
                high - low >= LEAST_OFFERS && f64::from(high - low) >= LEAST_SHARE * all
            })
            .collect();
        let first = own.iter().position(|own| *own);
        let last = own.iter().rposition(|own| *own);
        // An action between supported ones is supported.
        let between = |a: usize| first.is_some_and(|f| f <= a) && last.is_some_and(|l| a <= l);
        (0..own.len()).map(between).collect()
    }
}

/// 1, the features, their squares and products.
fn columns(x: &[f64]) -> DVector<f64> {
    let mut columns = vec![1.0];
    columns.extend_from_slice(x);
    let x = &x[..x.len().min(FEATURES)];
    for (i, a) in x.iter().enumerate() {
        columns.extend(x[i..].iter().map(|b| a * b));
    }
    DVector::from_vec(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Customers with x = 0 were offered actions 1 and 3, those with x = 1 only action 4.
    #[test]
    fn support_is_what_similar_customers_were_offered() {
        let n = 400;
        let x = |i: usize| (i % 2) as f64;
        let action = |i: usize| [1, 4, 3, 4][i % 4];
        let mut data = OfferData {
            dimension: 2,
            has_constant: true,
            thetas: (0..n).flat_map(|i| [1.0, x(i)]).collect(),
            actions: (0..n).map(action).collect(),
            labels: vec![0.0; n],
            episodes: (0..n as u32).map(|i| i / 4).collect(),
            steps: vec![0; n],
            arrivals: (0..n as u32).collect(),
            scaled: vec![-1.0, -0.5, 0.5, 1.0],
            episode_count: n / 4,
        };
        let folds = Folds::new(n / 4);
        let support = Support::new(&data, &folds).unwrap();
        assert_eq!(support.of(&[1.0, 0.0]), [true, true, true, false]);
        assert_eq!(support.of(&[1.0, 1.0]), [false, false, false, true]);
        // Offers that have nothing to do with x count for everybody.
        data.actions = (0..n).map(|i| [1, 4, 4, 1][i % 4]).collect();
        assert!(Support::new(&data, &folds).is_none());
    }
}
