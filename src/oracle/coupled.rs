//! Coupled optimism: one probability for reward and consumption.
//!
//! The paper plans with ucb for the reward and lcb for the consumption, as if an offer could be accepted often when it
//! earns and rarely when it costs. But both come from the same conversion. With gap(c) = u[h+1](b) - u[h+1](b - c) >= 0,
//! the Bellman recursion is
//!
//! ```text
//! u[h](b) = u[h+1](b) + E max(0, max_a rho (r - gap(cost)))
//! ```
//!
//! and an optimist who may choose one rho in [lcb, ucb] per (context, action) takes ucb wherever r > gap, and does not
//! offer elsewhere:
//!
//! ```text
//! u_hat[h](b) = u_hat[h+1](b) + mean_s max(0, max_a ucb (r - gap(cost)))          offer  argmax_a ucb (r - gap(cost))
//! ```
//!
//! That is the paper's recursion fed with lcb := ucb.
//!
//! **It is optimistic** wherever rho <= ucb. Write T_p for the operator u -> u + E max(0, max_a p (r - gap(cost))) over one
//! law of contexts. As E max_a p (r + u(b - cost)) + (1 - p) u(b), the null action included, T_p is monotone in u; and
//! p (r - gap)^+ is monotone in p. So with u the true value and u_hat >= u at h + 1, T_ucb u_hat >= T_ucb u >= T_rho u at h,
//! and u_hat >= u at all h by induction from H + 1, where both are 0. That the mean runs over a sample in place of the law
//! costs what it costs the paper: the deviation of S_t's mean, which is independent of the bounds.
//!
//! **Lemma 1 and the cap hold by themselves**, because u_hat is the value of a true decision process, one with conversion
//! ucb: it does not fall with the budget, and nobody can sell more than min(b, H - h + 1) times at r_max.
//!
//! **It is never above the paper's table**: for the same u the paper's operator S is at least T_ucb, term by term
//! (ucb r - lcb gap >= ucb (r - gap)), so S u' >= T_ucb u' >= T_ucb u_hat for u' >= u_hat, and the cap takes nothing away
//! that u_hat has. So true <= coupled <= separate. Only ucb is needed, so that one-sided bounds do.
//!
//! Table and choice must follow the same rule; mixing the two is worse than either.

use super::{Belief, Oracle, Pairs, Wrapper, fill_bounds};
use crate::dp::BoundParameters;

/// Wraps an oracle: one probability, the upper bound, for both reward and consumption.
#[derive(Debug)]
pub struct Coupled {
    inner: Box<dyn Oracle>,
}

impl Coupled {
    /// Couples an oracle.
    pub fn new(inner: Box<dyn Oracle>) -> Self {
        Self { inner }
    }
}

impl Wrapper for Coupled {
    fn inner(&self) -> &dyn Oracle {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Oracle {
        &mut *self.inner
    }

    fn adjust(&self, _action: usize, belief: &mut Belief) {
        belief.bounds.lcb = belief.bounds.ucb;
    }

    fn fill(&self, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]) {
        fill_bounds(&*self.inner, pairs, ucb, lcb);
        lcb.copy_from_slice(ucb);
    }

    fn parameters(&self) -> Option<BoundParameters> {
        Some(self.inner.bulk()?.parameters()?.coupled())
    }
}
