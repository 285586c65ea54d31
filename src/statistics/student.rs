//! The incomplete beta function by its continued fraction, and Student's t.

/// The integral from 0 to x of t^(a-1) (1-t)^(b-1), divided by x^a (1-x)^b: the continued fraction of the incomplete beta
/// function by Lentz's method, for x below (a+1)/(a+b+2), where it converges within about sqrt(a+b) terms.
pub fn tail_fraction(x: f64, a: f64, b: f64) -> f64 {
    let away_from_zero = |x: f64| if x.abs() < 1e-300 { 1e-300 } else { x };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..1_000_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            factor *= c * d;
        }
        fraction *= factor;
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction / a
}

/// The incomplete beta function I_x(a, b), regularised.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    (a * x.ln() + b * (-x).ln_1p() - log_beta).exp() * tail_fraction(x, a, b)
}

/// The probability that Student's t with `freedom` degrees of freedom is at least as far from 0 as `t`.
pub fn two_sided_p(t: f64, freedom: f64) -> f64 {
    match t.abs() {
        0.0 => 1.0,
        t if t.is_infinite() => 0.0,
        t => incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::two_sided_p;

    /// `2 * scipy.stats.t.sf(t, df)`: for 1 degree of freedom 1 - 2 atan(t) / pi, for 2 degrees 1 - t / sqrt(2 + t^2).
    #[test]
    fn tails_of_students_t() {
        for t in [0.0, 0.1, 1.0, 3.5, 40.0f64] {
            let cauchy = 1.0 - 2.0 * t.atan() / std::f64::consts::PI;
            approx::assert_relative_eq!(two_sided_p(t, 1.0), cauchy, max_relative = 1e-10);
            let two = 1.0 - t / (2.0 + t * t).sqrt();
            approx::assert_relative_eq!(two_sided_p(-t, 2.0), two, max_relative = 1e-9);
        }
        // The 97.5% quantile of 49 degrees of freedom: `scipy.stats.t.ppf(0.975, 49)`.
        let p = two_sided_p(2.0095752371292392, 49.0);
        approx::assert_relative_eq!(p, 0.05, max_relative = 1e-9);
    }
}
