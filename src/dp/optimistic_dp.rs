//! Optimistic-DP, Algorithm 2 of the paper, line by line. It is written to be read: no gaps, no tiles, no threads. Every
//! backend is tested against it.

use super::{ExactSum, Problem};

/// Algorithm 2. Returns `u_hat[h][b]` for h = 1..=H+1 (0-based here) and b = 0..=budget_max.
///
/// ```text
///  1  Input: UCB_t, LCB_t, S_t
///  2  U[H+1](b) = 0                                                                          for every b
///  3  for h = H, ..., 1:
///  4      U[h](b) = min( mean over theta_h in S_t of V[h](b, theta_h),  min(b, H - h + 1) r_max )    for every b
///         V[h](b, theta) = max over a in A(b, theta) of
///                              UCB r(theta, a) + LCB U[h+1](b - d(theta, a)) + (1 - LCB) U[h+1](b)
///  5  end for
///  6  Output: U[h], h = 1, ..., H + 1
/// ```
///
/// The cap is applied to the mean, as the proof of Lemma 1 needs it. A problem without a cap whose bounds are both rho, over
/// the true law of contexts, is the Bellman equation: opt_t = U\[1\](B_t). Sums keep what rounding drops, so that the
/// reference is more precise than what it judges.
pub fn optimistic_dp(problem: &Problem) -> Vec<Vec<f64>> {
    // Line 1. S_t is a sample of weighted contexts; coefficients hold UCB r and LCB of every (context, action).
    let (sample, bounds) = (problem.sample, problem.coefficients);
    let (horizon, budgets) = (sample.horizon(), problem.budget_max as usize + 1);
    // Line 2.
    let mut u_hat = vec![vec![0.0_f64; budgets]; horizon + 1];
    // Line 3.
    for h in (0..horizon).rev() {
        let (u_hat, next) = u_hat.split_at_mut(h + 1);
        let next = &next[0];
        // Equation (4) of the paper.
        let v_hat = |b: usize, theta: usize| {
            // The null action.
            let mut best = next[b];
            for a in 1..=sample.actions() {
                let (reward, cost) = (sample.reward(theta, a), sample.cost(theta, a) as usize);
                let feasible = reward >= 0.0 && cost <= b;
                if feasible {
                    let pair = theta * sample.actions() + a - 1;
                    let (gain, lcb) = (bounds.gain[pair], bounds.lcb[pair]);
                    best = best.max(gain + lcb * next[b - cost] + (1.0 - lcb) * next[b]);
                }
            }
            best
        };
        // Line 4.
        for b in 0..budgets {
            let mut sum = ExactSum::default();
            let mut nobody = ExactSum::default();
            let mut total = nobody.add(sample.total());
            for (theta, weight) in sample.step(h).iter() {
                sum.add(weight * v_hat(b, theta));
                total = nobody.add(-weight);
            }
            // Where nobody arrives, the value is that of waiting.
            let mean = sum.add(total * next[b]) / sample.total();
            u_hat[h][b] = match problem.cap {
                Some(r_max) => mean.min(b.min(horizon - h) as f64 * r_max),
                None => mean,
            };
        }
    }
    // Line 6.
    u_hat
}
