//! The beta-binomial confidence set: bounds of one conversion probability p from s conversions in n trials that hold for
//! all n at once, however the trials were chosen. It goes beyond the paper, whose radius (Appendix A.2.1) is in `armed`.
//!
//! # Why it holds at all times
//!
//! Let p be true. For any other value q the likelihood ratio `q^s (1-q)^(n-s) / (p^s (1-p)^(n-s))` is a martingale in n that
//! starts at 1, and so is its mean over a law of q that is fixed before the data, here Jeffreys' law Beta(a, b) with
//! a = b = 1/2 (Robbins 1970):
//!
//! ```text
//! M_n(p) = B(s+a, n-s+b) / ( B(a, b) p^s (1-p)^(n-s) )
//! ```
//!
//! A non-negative martingale that starts at 1 ever reaches 1/alpha with probability at most alpha (Ville's inequality). So
//! the set { p : M_n(p) < 1/alpha } holds the truth for all n at once with probability at least 1 - alpha. The choice of
//! actions may depend on all earlier outcomes: trials of other actions do not change M. K actions share delta, with
//! alpha = delta / K each.
//!
//! ln M_n is convex in p with its minimum at s/n, so the set is an interval. **One-sided:** where only an upper bound is
//! needed, q is drawn from the part of Beta(a, b) below p, which puts the incomplete `B_p` in place of both complete
//! functions. That martingale grows only where s/n is below p, and the bound is some 5% tighter. Beyond s/n its logarithm
//! crosses ln(1/alpha) exactly once: its slope there is `n (p - s/n) / (p (1-p)) - (1 - alpha) / (2 asin(sqrt p) sqrt(p (1-p)))`,
//! which is positive: some likelihood ratio is at least their mean, so n kl(s/n, p) >= ln(1/alpha) there, and
//! kl(q, p) <= (p-q)^2 / (p (1-p)). With ln(1/alpha) >= 1 - alpha the first term is then at least (1 - alpha) / p, which
//! exceeds the second for p < 3/4 as asin(sqrt p) >= sqrt p; and at least sqrt(1 - alpha) / sqrt(p (1-p)), which exceeds it
//! for p >= 3/4, where asin(sqrt p) >= pi/3.
//!
//! # How it is computed
//!
//! With kl the relative entropy of two coins, `ln M_n(p) = n kl(s/n, p) - c`, where Stirling's formula gives c without the
//! cancellation of large lgammas: its leading terms s ln s + (n-s) ln(n-s) - n ln n are the entropy and drop out. Roots are
//! found by Newton's method from outside, and the outer end is kept.

use std::f64::consts::{PI, TAU};

use super::Bounds;
use crate::statistics::tail_fraction;

/// The two-sided set of s = `converted` out of n = `tried` at level `alpha`, for all n at once.
pub fn beta_binomial_interval(converted: u64, tried: u64, alpha: f64) -> Bounds {
    if tried == 0 {
        return Bounds::UNKNOWN;
    }
    let trials = Trials::new(converted, tried);
    Bounds {
        lcb: (trials.share() - trials.mirrored().reach(alpha)).max(0.0),
        ucb: (trials.share() + trials.reach(alpha)).min(1.0),
    }
}

/// The upper end of the one-sided set, tighter than the two-sided one.
pub fn beta_binomial_upper(converted: u64, tried: u64, alpha: f64) -> f64 {
    if tried == converted {
        return 1.0;
    }
    let trials = Trials::new(converted, tried);
    (trials.share() + trials.reach_one_sided(alpha)).min(1.0)
}

/// s conversions in n > 0 trials.
#[derive(Debug, Clone, Copy)]
struct Trials {
    s: f64,
    n: f64,
}

impl Trials {
    fn new(converted: u64, tried: u64) -> Self {
        Self {
            s: converted as f64,
            n: tried as f64,
        }
    }

    /// Conversions and refusals exchanged.
    fn mirrored(self) -> Self {
        Self {
            s: self.n - self.s,
            n: self.n,
        }
    }

    fn share(self) -> f64 {
        self.s / self.n
    }

    /// 1 - s/n.
    fn rest(self) -> f64 {
        (self.n - self.s) / self.n
    }

    /// -ln B(s+1/2, n-s+1/2) - n entropy(s/n): the leading terms of Stirling's formula are the entropy.
    fn stirling_gap(self) -> f64 {
        let Self { s, n } = self;
        0.5 * (n / TAU).ln() + remainder_of_factorial(n)
            - remainder_at_half(s)
            - remainder_at_half(n - s)
    }

    /// n kl(s/n, s/n + x). The linear parts of the two logarithms cancel and are left out.
    fn divergence(self, x: f64) -> f64 {
        let rest = self.rest();
        let below = match self.s {
            0.0 => -x,
            _ => self.share() * ln_1p_less(x / self.share()),
        };
        -self.n * (below + rest * ln_1p_less(-x / rest))
    }

    /// The distance of the two-sided set's upper end from s/n.
    fn reach(self, alpha: f64) -> f64 {
        let c = self.stirling_gap() + PI.ln() - alpha.ln();
        let rest = self.rest();
        if self.s == 0.0 {
            return -(-c / self.n).exp_m1();
        }
        if rest == 0.0 {
            return 0.0;
        }
        // Both are outside: kl >= 2 x^2, and n kl >= (n-s) ln(1/(1-p)) - n entropy.
        let entropy = -self.share() * self.share().ln() - rest * rest.ln();
        let singular = rest - (-(c / self.n + entropy) / rest).exp();
        let outside = (0.5 * c / self.n).sqrt().min(singular);
        if outside >= rest {
            return rest;
        }
        outer_root(outside, |x| {
            let spread = (self.share() + x) * (rest - x);
            (self.divergence(x) - c, self.n * x / spread)
        })
    }

    /// The distance of the one-sided set's upper end from s/n < 1.
    fn reach_one_sided(self, alpha: f64) -> f64 {
        let outside = self.reach(alpha);
        let (gap, rest) = (self.stirling_gap(), self.rest());
        let c = gap + PI.ln() - alpha.ln();
        if outside >= rest {
            return rest;
        }
        outer_root(outside, |x| {
            let (p, one_less_p) = (self.share() + x, rest - x);
            let spread = p * one_less_p;
            let divergence = self.divergence(x);
            // The density of Beta(s+1/2, n-s+1/2) at p, times p (1-p), and its mass above p.
            let height = (gap - divergence).exp() * spread.sqrt();
            let tail = height * tail_fraction(one_less_p, self.n - self.s + 0.5, self.s + 0.5);
            let angle = p.sqrt().asin();
            let value = divergence - c + (-tail).ln_1p() - (angle / (0.5 * PI)).ln();
            let slope = (self.n * x + height / (1.0 - tail) - 0.5 * spread.sqrt() / angle) / spread;
            (value, slope)
        })
    }
}

/// The relative accuracy of roots.
const RESOLUTION: f64 = 4.0 * f64::EPSILON;

/// The root of an increasing function (given with its slope) between 0 and `outside`, rounded outwards.
fn outer_root(outside: f64, at: impl Fn(f64) -> (f64, f64)) -> f64 {
    let (mut inner, mut outer) = (0.0, outside);
    let mut x = outside;
    for _ in 0..200 {
        let (value, slope) = at(x);
        if value >= 0.0 {
            outer = x;
        } else {
            inner = x;
        }
        let newton = x - value / slope;
        let near = (newton - x).abs() <= RESOLUTION * x;
        if near && value >= 0.0 {
            break;
        }
        x = if near {
            // Just inside, by rounding: step out.
            x * (1.0 + RESOLUTION)
        } else if newton > inner && newton < outer {
            newton
        } else {
            0.5 * (inner + outer)
        };
        if x >= outer || outer - inner <= RESOLUTION * outer {
            break;
        }
    }
    outer
}

/// ln(1 + u) - u for u >= -1, without cancellation near 0: with r = u / (2 + u), ln(1 + u) = 2 artanh r and
/// 2r - u = -ur.
fn ln_1p_less(u: f64) -> f64 {
    if u.abs() > 0.2 {
        return u.ln_1p() - u;
    }
    let r = u / (2.0 + u);
    let square = r * r;
    let series = (0..9)
        .rev()
        .fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 3));
    2.0 * r * square * series - u * r
}

/// Above this argument, series in its inverse are exact to rounding.
const LARGE: f64 = 30.0;

/// ln Gamma(x + 1/2) - (x ln x - x + ln(2 pi) / 2).
fn remainder_at_half(x: f64) -> f64 {
    if x < LARGE {
        let leading = if x == 0.0 { 0.0 } else { x * x.ln() - x };
        return libm::lgamma(x + 0.5) - leading - 0.5 * TAU.ln();
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    inverse
        * (-1.0 / 24.0
            + square * (7.0 / 2880.0 + square * (-31.0 / 40_320.0 + square * 127.0 / 430_080.0)))
}

/// ln n! - (n ln n - n + ln(2 pi n) / 2) for n >= 1.
fn remainder_of_factorial(n: f64) -> f64 {
    if n < LARGE {
        return libm::lgamma(n + 1.0) - (n * n.ln() - n + 0.5 * (TAU * n).ln());
    }
    let inverse = 1.0 / n;
    let square = inverse * inverse;
    inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)))
}

#[cfg(test)]
mod tests;
