//! The upper concave hull of a context's points (cost, reward).

/// A corner of the hull and the edge that leads to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HullCorner {
    /// The action whose point it is; 0 is the null action.
    pub action: usize,
    /// Expected cost of the action.
    pub cost: f64,
    /// Expected reward of the action.
    pub reward: f64,
    /// Reward per cost along the edge from the corner before; infinite at the null action.
    pub slope: f64,
}

/// The hull of the null action's point (0, 0) and the points of the other actions that earn something.
#[derive(Debug, Clone, Default)]
pub struct Hull {
    corners: Vec<HullCorner>,
    points: Vec<HullCorner>,
}

impl Hull {
    /// Replaces the hull by that of the (cost, reward) of actions 1, 2, ...; reuses memory.
    ///
    /// Slopes are compared as they are stored, so that they fall strictly from corner to corner.
    pub fn set(&mut self, points: impl Iterator<Item = (f64, f64)>) {
        self.points.clear();
        let earning = (1..).zip(points).filter(|(_, (c, r))| *c > 0.0 && *r > 0.0);
        self.points
            .extend(earning.map(|(action, (cost, reward))| HullCorner {
                action,
                cost,
                reward,
                slope: 0.0,
            }));
        // By rising cost; at equal cost the larger reward comes first, then the lower index.
        self.points.sort_by(|x, y| {
            let by_reward = y.reward.total_cmp(&x.reward);
            x.cost.total_cmp(&y.cost).then(by_reward)
        });
        self.corners.clear();
        self.corners.push(HullCorner {
            action: 0,
            cost: 0.0,
            reward: 0.0,
            slope: f64::INFINITY,
        });
        for point in &self.points {
            while let Some(last) = self.corners.last() {
                if point.reward <= last.reward {
                    break;
                }
                let slope = slope_between(last.cost, last.reward, point.cost, point.reward);
                if slope < last.slope {
                    self.corners.push(HullCorner { slope, ..*point });
                    break;
                }
                self.corners.pop();
            }
        }
    }

    /// Corners by rising cost and falling slope; the first is the null action.
    pub fn corners(&self) -> &[HullCorner] {
        &self.corners
    }

    /// The edges as (slope, cost), by falling slope.
    pub fn edges(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.corners
            .windows(2)
            .map(|pair| (pair[1].slope, pair[1].cost - pair[0].cost))
    }
}

/// Reward per cost along the edge between two points, either way round.
#[inline(always)]
pub(super) fn slope_between(cost: f64, reward: f64, other_cost: f64, other_reward: f64) -> f64 {
    rounded((other_reward - reward) / (other_cost - cost))
}

/// Rounds to 43 binary digits, so that slopes that differ only by rounding become equal: with prices, for example, every
/// first edge has the slope of a price.
#[inline(always)]
fn rounded(slope: f64) -> f64 {
    const DROPPED: u64 = 1 << 10;
    f64::from_bits((slope.to_bits().wrapping_add(DROPPED / 2)) & !(DROPPED - 1))
}

#[cfg(test)]
mod tests {
    use super::Hull;

    fn actions(points: &[(f64, f64)]) -> Vec<usize> {
        let mut hull = Hull::default();
        hull.set(points.iter().copied());
        hull.corners().iter().map(|c| c.action).collect()
    }

    #[test]
    fn corners_by_hand() {
        // Slopes 2, 1: both are corners. A point below the edge, one that earns less for more, one that earns nothing.
        assert_eq!(actions(&[(1.0, 2.0), (2.0, 3.0)]), [0, 1, 2]);
        assert_eq!(actions(&[(1.0, 1.0), (2.0, 3.0)]), [0, 2]);
        assert_eq!(actions(&[(1.0, 2.0), (2.0, 2.0), (0.0, 0.0)]), [0, 1]);
        // On the edge is no corner; of equal points the lower index is taken.
        assert_eq!(actions(&[(1.0, 1.0), (2.0, 2.0)]), [0, 2]);
        assert_eq!(actions(&[(1.0, 1.0), (1.0, 1.0)]), [0, 1]);
        assert_eq!(actions(&[(1.0, 1.0), (1.0, 2.0)]), [0, 2]);
        assert_eq!(actions(&[]), [0]);
    }

    #[test]
    fn slopes_that_differ_only_by_rounding_are_equal() {
        let mut hull = Hull::default();
        for i in 1..1000 {
            let rho = f64::from(i) / 1001.0;
            hull.set([(rho, 3.0 * rho)].into_iter());
            assert_eq!(hull.corners()[1].slope, 3.0);
        }
    }
}
