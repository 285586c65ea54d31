//! The likelihood-mixture confidence set of logistic regression: an ellipsoid that holds the true parameter at all times at
//! once. It goes beyond the paper, whose refined bounds (Appendix A.2.3) are in `logistic`.
//!
//! Y_n = 1 with probability f(x_n.mu*), f(w) = 1/(1+exp(-w)), |mu*| <= S; x_n may depend on all that came before it. With
//! sp(w) = ln(1+exp(w)), the negative log-likelihood is l(mu) = sum_n sp(x_n.mu) - Y_n x_n.mu.
//!
//! # 1. A martingale
//!
//! For any fixed mu the likelihood ratio exp(l(mu*) - l(mu)) is a martingale that starts at 1, and so is its mean over a law
//! of mu that is fixed before the data, here N(0, I/lam) with lam = d/S^2. By Ville's inequality it stays below 1/delta
//! forever with probability at least 1 - delta. On that event, at all times,
//!
//! ```text
//! l(mu*) <= ln(1/delta) - ln E,        E = mean over mu ~ N(0, I/lam) of exp(-l(mu))       (the evidence)
//! ```
//!
//! # 2. The evidence, from below
//!
//! For any law q, -ln E <= mean over q of l + KL(q | N(0, I/lam)). Take q = N(mu, H^-1) with mu the minimum of
//! J = l + lam/2 |.|^2 and H its Hessian there, lam I + sum v_n x_n x_n', v_n = f'(m_n), m_n = x_n.mu. Under q, x_n.mu is
//! N(m, s^2) with s = |x_n| in the norm of H^-1, and the mean of sp exceeds sp(m) by at most e = min(JJ, SC):
//!
//! ```text
//! JJ = sp(xi) - sp(m) + (m - xi)/2, xi = sqrt(m^2 + s^2)          (Jaakkola and Jordan 2000)
//! SC = v (2 exp(s^2/2) Phi(s) - s sqrt(2/pi) - 1)                 (sp(m+z) <= sp(m) + f(m) z + v (exp|z| - |z| - 1))
//! ```
//!
//! the latter because |f''| <= f' (Bach 2010). With the divergence of two normal laws and lam/2 |mu*|^2 <= lam S^2 / 2,
//!
//! ```text
//! J(mu*) - J(mu) <= beta = ln(1/delta) + sum e_n + (lam tr H^-1 - d)/2 + ln det(H/lam)/2 + lam S^2/2
//! ```
//!
//! # 3. From the likelihood to an ellipsoid
//!
//! J has its minimum at mu, and by |f''| <= f' again it grows at least as fast as
//!
//! ```text
//! J(mu + D) - J(mu) >= lam/2 |D|^2 + sum v_n g2(t_n) (x_n.D)^2 / 2,     t_n >= |x_n.D|,   g2(t) = 2 (exp(-t) + t - 1)/t^2
//! ```
//!
//! g2 falls from 1, so any upper bounds t_n serve. The first: |D| in the norm of H is at most r0, where r^2 g2(R r)/2 = beta
//! and R = max s_n, so that |x_n.D| <= r0 s_n; also |x_n.D| <= S |x_n| + |m_n|. They make an ellipsoid
//! D' Hc D <= 2 beta, Hc = lam I + sum v_n g2(t_n) x_n x_n', and with it smaller t_n; two rounds of this are made.
//!
//! Bounds of rho are f at the ends of phi.mu -+ sqrt(2 beta) |phi| (norm of Hc^-1), clamped to -+ S |phi|: the bonus stands
//! inside f, where it never leaves (0, 1).

use multiversion::multiversion;
use nalgebra::{DMatrix, DVector};

use super::design::Design;
use super::factor::{cholesky, lower_inverse};
use super::newton::{self, Estimate};
use super::sigmoids::{exp_of_negative, sigmoids};

/// The ellipsoid { mu + D : D' Hc D <= 2 beta }.
#[derive(Debug, Clone)]
pub(super) struct LikelihoodMixture {
    /// The minimum of J.
    pub estimate: Estimate,
    /// Bounds J(mu*) - J(mu).
    pub beta: f64,
    /// Hc.
    pub shape: DMatrix<f64>,
    /// Bounds the distance of mu* in the norm of H.
    #[cfg(test)]
    pub r0: f64,
}

/// Rounds of smaller t_n, larger Hc.
const ROUNDS: usize = 2;

impl LikelihoodMixture {
    /// The set for the data in `design`, with |mu*| <= `norm_bound`; the search for mu begins at `start`.
    pub fn new(design: &Design, norm_bound: f64, delta: f64, start: DVector<f64>) -> Self {
        let d = design.dimension();
        let lambda = ridge(d, norm_bound);
        let estimate = newton::fit(design, lambda, start);
        let centers = design.products(&estimate.mu);
        let mut slopes = centers.clone();
        sigmoids(&mut slopes);
        slopes.iter_mut().for_each(|f| *f *= 1.0 - *f);
        let hessian = with_ridge(design.weighted_gram(&slopes), lambda);
        let factor = cholesky(hessian);
        let log_det: f64 = factor.l_dirty().diagonal().iter().map(|x| x.ln()).sum();
        let inverse = lower_inverse(&factor);
        let deviations = design.norms(&inverse);
        let excess = mean_excess(&centers, &slopes, &deviations);
        let trace = inverse.norm_squared();
        let beta = -delta.ln()
            + excess
            + 0.5 * (lambda * trace - d as f64)
            + (log_det - 0.5 * d as f64 * lambda.ln())
            + 0.5 * lambda * norm_bound * norm_bound;
        let widest = deviations.iter().fold(0.0, |r: f64, s| r.max(*s));
        let r0 = first_radius(beta, widest);
        let lengths = design.norms(&DMatrix::identity(d, d));
        let mut reach: Vec<f64> = deviations.iter().map(|s| r0 * s).collect();
        for ((t, length), m) in reach.iter_mut().zip(&lengths).zip(&centers) {
            *t = t.min(norm_bound * length + m.abs());
        }
        let curvature = |reach: &[f64]| {
            let mut weights = reach.to_vec();
            growths(&mut weights, &slopes);
            with_ridge(design.weighted_gram(&weights), lambda)
        };
        let radius = (2.0 * beta).sqrt();
        let mut shape = curvature(&reach);
        for _ in 1..ROUNDS {
            let norms = design.norms(&lower_inverse(&cholesky(shape)));
            for (t, norm) in reach.iter_mut().zip(&norms) {
                *t = t.min(radius * norm);
            }
            shape = curvature(&reach);
        }
        Self {
            estimate,
            beta,
            shape,
            #[cfg(test)]
            r0,
        }
    }
}

/// lam = d / S^2: the law N(0, I/lam) has its mass where |mu| is about S.
pub(super) fn ridge(d: usize, norm_bound: f64) -> f64 {
    d as f64 / (norm_bound * norm_bound)
}

fn with_ridge(mut gram: DMatrix<f64>, lambda: f64) -> DMatrix<f64> {
    for i in 0..gram.nrows() {
        gram[(i, i)] += lambda;
    }
    gram
}

/// The sum of min(JJ, SC), given v = f'(m): an upper bound on the excess of the means of sp over N(m, s^2) above sp(m).
fn mean_excess(centers: &[f64], slopes: &[f64], deviations: &[f64]) -> f64 {
    let mut sum = 0.0;
    let (mut jj, mut sc) = ([0.0; CHUNK], [0.0; CHUNK]);
    let chunks = centers
        .chunks(CHUNK)
        .zip(slopes.chunks(CHUNK))
        .zip(deviations.chunks(CHUNK));
    for ((m, v), s) in chunks {
        let (jj, sc) = (&mut jj[..m.len()], &mut sc[..m.len()]);
        jaakkola_jordan(m, s, jj);
        self_concordant(s, sc);
        for i in 0..m.len() {
            sum += jj[i].min(v[i] * sc[i]);
        }
    }
    sum
}

/// Observations that are evaluated together.
const CHUNK: usize = 64;

/// JJ. sp(w) - w/2 is even, so it is (xi - |m|)/2 + ln( (1 + exp(-xi)) / (1 + exp(-|m|)) ).
fn jaakkola_jordan(centers: &[f64], deviations: &[f64], out: &mut [f64]) {
    let mut ratios = [1.0; CHUNK];
    differences(centers, deviations, out, &mut ratios);
    for (jj, ratio) in out.iter_mut().zip(ratios) {
        *jj = 0.5 * *jj + ratio.ln();
    }
}

/// xi - |m| and (1 + exp(-xi)) / (1 + exp(-|m|)).
#[multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn differences(centers: &[f64], deviations: &[f64], more: &mut [f64], ratios: &mut [f64]) {
    let rows = centers.iter().zip(deviations);
    for ((more, ratio), (m, s)) in more.iter_mut().zip(ratios).zip(rows) {
        let m = m.abs();
        let xi = (m * m + s * s).sqrt();
        // 0 where both are 0.
        *more = s * s / (xi + m + f64::MIN_POSITIVE);
        let ((top, bottom), (m_top, m_bottom)) = (exp_of_negative(-xi), exp_of_negative(-m));
        *ratio = ((top + bottom) * m_bottom) / ((m_top + m_bottom) * bottom);
    }
}

/// SC / v. With exp(s^2/2) (2 Phi(s) - 1) = sqrt(2/pi) (s + s^3/3 + s^5/15 + s^7/105 + ...), both parts are series without
/// cancellation.
fn self_concordant(deviations: &[f64], out: &mut [f64]) {
    // With data, most deviations are small.
    if deviations.iter().all(|s| *s <= 0.125) {
        return short_series(deviations, out);
    }
    long_series(deviations, out);
    for (sc, s) in out.iter_mut().zip(deviations).filter(|(_, s)| **s > 1.0) {
        let phi_twice = libm::erfc(-s * std::f64::consts::FRAC_1_SQRT_2);
        *sc = (0.5 * s * s).exp() * phi_twice - ROOT * s - 1.0;
    }
}

/// sqrt(2/pi).
const ROOT: f64 = 0.797_884_560_802_865_4;

/// For s <= 1/8.
#[multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn short_series(deviations: &[f64], out: &mut [f64]) {
    series::<6>(deviations, out);
}

/// For s <= 1.
#[multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn long_series(deviations: &[f64], out: &mut [f64]) {
    series::<17>(deviations, out);
}

/// 1/k for the terms of the series.
const INVERSES: [f64; 36] = {
    let mut inverses = [0.0; 36];
    let mut k = 1;
    while k < inverses.len() {
        inverses[k] = 1.0 / k as f64;
        k += 1;
    }
    inverses
};

#[inline(always)]
fn series<const TERMS: usize>(deviations: &[f64], out: &mut [f64]) {
    for (sc, s) in out.iter_mut().zip(deviations) {
        let square = s * s;
        let (mut even, mut odd) = (0.0, 0.0);
        for k in (1..=TERMS).rev() {
            even = (even + 1.0) * square * INVERSES[2 * k];
            odd = (odd + 1.0) * square * INVERSES[2 * k + 1];
        }
        *sc = even + ROOT * s * odd;
    }
}

/// Replaces every t by v g2(t), g2(t) = 2 (exp(-t) + t - 1) / t^2; near 0 by its series, 2 sum_k (-t)^k / (k+2)!.
#[multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn growths(reach: &mut [f64], slopes: &[f64]) {
    for (t, v) in reach.iter_mut().zip(slopes) {
        let mut series = 0.0;
        for k in [11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0] {
            series = (1.0 - series) * *t / k;
        }
        let (top, bottom) = exp_of_negative(-*t);
        let direct = 2.0 * (top / bottom + *t - 1.0) / (*t * *t);
        *t = v * if *t < 0.1 { 1.0 - series } else { direct };
    }
}

/// The root of r^2 g2(R r)/2 = beta: with t = R r it is exp(-t) + t - 1 = beta R^2, convex and increasing in t. Newton's
/// method begins outside and stays there.
fn first_radius(beta: f64, widest: f64) -> f64 {
    let target = beta * widest * widest;
    if target < 1e-12 {
        // g2 is 1 to within t/3.
        return (2.0 * beta).sqrt() * (1.0 + (2.0 * target).sqrt());
    }
    let mut t = target + (2.0 * target).sqrt();
    for _ in 0..100 {
        let slope = -(-t).exp_m1();
        let next = t - (t - slope - target) / slope;
        if next >= t * (1.0 - 1e-15) {
            break;
        }
        t = next;
    }
    t / widest
}

#[cfg(test)]
mod tests;
