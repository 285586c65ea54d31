//! Kernels k(phi, phi') of Appendix A.2.4, on phi = (theta, action value). All are 1 at distance 0.
//!
//! ```text
//! squared exponential   exp(-r^2 / 2)
//! Matern(nu)            2^(1-nu) / Gamma(nu) z^nu K_nu(z),   z = sqrt(2 nu) r
//! ```
//!
//! r is the distance after division by the length, one for all features or one for each. For nu = p + 1/2 the Matern
//! kernel is exp(-z) times a polynomial; for other nu the Bessel function is integrated.

use crate::error::Invalid;

/// A kernel as a study file states it, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSpec {
    /// The smoothness nu of a Matern kernel; `None` is the squared exponential.
    pub nu: Option<f64>,
    /// The length, one for all features of phi or one for each.
    pub length: Vec<f64>,
}

/// A checked kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    shape: Shape,
    /// 1 / length by feature of phi.
    inverse_length: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    SquaredExponential,
    /// nu = p + 1/2: exp(-z) times a polynomial in z, lowest power first.
    HalfInteger {
        root: f64,
        polynomial: Vec<f64>,
    },
    General {
        root: f64,
        integral: MaternIntegral,
    },
}

/// The accepted range of nu. Beyond it a Matern kernel is close to white noise or the squared exponential.
const NU: std::ops::RangeInclusive<f64> = 0.05..=50.0;

impl KernelSpec {
    /// Checks the kernel for `dimension` features; `field` is its place in the study.
    pub fn check(&self, field: &str, dimension: usize) -> Result<Kernel, Invalid> {
        let inverse_length = match self.length.as_slice() {
            [one] => vec![1.0 / one; dimension],
            many => many.iter().map(|length| 1.0 / length).collect(),
        };
        if inverse_length.len() != dimension {
            return Err(Invalid::new(
                format!("{field}.length"),
                format!("{} numbers", self.length.len()),
                format!("one number, or {dimension} (one per context feature, then the action's)"),
            ));
        }
        let usable = |length: &f64| *length >= 1e-100 && *length <= 1e100;
        if let Some(bad) = self.length.iter().find(|length| !usable(length)) {
            return Err(Invalid::new(
                format!("{field}.length"),
                bad,
                "positive lengths",
            ));
        }
        let shape = match self.nu {
            None => Shape::SquaredExponential,
            Some(nu) if !NU.contains(&nu) => {
                let accepted = format!("a number from {} to {}", NU.start(), NU.end());
                return Err(Invalid::new(format!("{field}.nu"), nu, accepted));
            }
            Some(nu) if (nu - 0.5).fract() == 0.0 => Shape::HalfInteger {
                root: (2.0 * nu).sqrt(),
                polynomial: half_integer_polynomial((nu - 0.5) as usize),
            },
            Some(nu) => Shape::General {
                root: (2.0 * nu).sqrt(),
                integral: MaternIntegral::new(nu),
            },
        };
        Ok(Kernel {
            shape,
            inverse_length,
        })
    }
}

impl Kernel {
    /// k(x, y).
    pub fn at(&self, x: &[f64], y: &[f64]) -> f64 {
        self.of_distance_squared(self.distance_squared(x, y))
    }

    /// r^2, the squared distance after division by the length.
    pub fn distance_squared(&self, x: &[f64], y: &[f64]) -> f64 {
        x.iter()
            .zip(y)
            .zip(&self.inverse_length)
            .map(|((x, y), inverse)| ((x - y) * inverse).powi(2))
            .sum()
    }

    /// Whether it is exp(-r^2 / 2).
    pub fn is_squared_exponential(&self) -> bool {
        self.shape == Shape::SquaredExponential
    }

    /// k as a function of r^2.
    pub fn of_distance_squared(&self, square: f64) -> f64 {
        match &self.shape {
            Shape::SquaredExponential => (-0.5 * square).exp(),
            Shape::HalfInteger { root, polynomial } => {
                let z = root * square.sqrt();
                let sum = polynomial.iter().rev().fold(0.0, |sum, c| sum * z + c);
                // Far away the polynomial may overflow before exp(-z) wins.
                if z > 700.0 { 0.0 } else { sum * (-z).exp() }
            }
            Shape::General { root, integral } => integral.at(root * square.sqrt()),
        }
    }

    /// Number of features.
    pub fn dimension(&self) -> usize {
        self.inverse_length.len()
    }
}

/// Coefficients of p! / (2p)! sum_i (p+i)! / (i! (p-i)!) (2z)^(p-i), the polynomial of Matern p + 1/2.
fn half_integer_polynomial(p: usize) -> Vec<f64> {
    // The coefficient of z^k, k = p - i, follows from its lower neighbour: c_0 = 1, c_(k+1) / c_k is rational.
    let mut coefficients = vec![1.0];
    for k in 0..p {
        let (p, k) = (p as f64, k as f64);
        let ratio = 2.0 * (p - k) / ((2.0 * p - k) * (k + 1.0));
        coefficients.push(coefficients[coefficients.len() - 1] * ratio);
    }
    coefficients
}

/// The Matern kernel as a function of z for any nu, through the modified Bessel function of the second kind,
///
/// ```text
/// K_nu(z) = integral over t from 0 to infinity of exp(-z cosh t) cosh(nu t)
/// ```
///
/// by the trapezoidal rule. The integrand is analytic in |Im t| < pi/2 and decays doubly exponentially, so the error of
/// a step s is about exp(-pi^2 / s) for small nu; the steps here keep it below 1e-20 for all accepted nu, so that
/// only rounding remains. The factor of K_nu goes into the exponent, where it cannot overflow.
#[derive(Debug, Clone, PartialEq)]
struct MaternIntegral {
    nu: f64,
    /// ln( 2^(1-nu) / Gamma(nu) ).
    log_scale: f64,
    step: f64,
    /// cosh t at multiples of the step.
    cosh: Vec<f64>,
}

impl MaternIntegral {
    fn new(nu: f64) -> Self {
        // cosh t overflows at t = 710; terms end before that for every z from 1e-300 on.
        let step = if nu <= 10.0 { 0.125 } else { 0.0625 };
        let nodes = (710.0 / step) as usize;
        Self {
            nu,
            step,
            log_scale: (1.0 - nu) * std::f64::consts::LN_2 - libm::lgamma(nu),
            cosh: (0..nodes)
                .map(|i| (f64::from(i as u32) * step).cosh())
                .collect(),
        }
    }

    fn at(&self, z: f64) -> f64 {
        if z < 1e-300 {
            return 1.0;
        }
        let log_factor = self.log_scale + self.nu * z.ln();
        let mut sum = 0.5 * (log_factor - z).exp();
        for (i, cosh) in self.cosh.iter().enumerate().skip(1) {
            let growth = self.nu * (i as f64 * self.step);
            let decay = z * cosh;
            let term = 0.5 * (log_factor + growth - decay).exp() * (1.0 + (-2.0 * growth).exp());
            sum += term;
            if decay > growth && (term < 1e-18 * sum || decay - growth > 1000.0 + log_factor) {
                break;
            }
        }
        (self.step * sum).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(nu: Option<f64>, length: f64) -> Kernel {
        let length = vec![length];
        KernelSpec { nu, length }.check("kernel", 1).unwrap()
    }

    #[test]
    fn half_integers_in_closed_form_agree_with_the_integral() {
        for p in 0..12 {
            let nu = p as f64 + 0.5;
            let closed = kernel(Some(nu), 0.7);
            for r in [1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 10.0] {
                let z = (2.0 * nu).sqrt() * r / 0.7;
                let integral = MaternIntegral::new(nu).at(z);
                let value = closed.at(&[0.0], &[r]);
                approx::assert_relative_eq!(value, integral, max_relative = 1e-12);
            }
        }
    }

    #[test]
    fn kernels_are_one_at_zero_and_fall() {
        for nu in [
            None,
            Some(0.05),
            Some(0.5),
            Some(1.7),
            Some(2.5),
            Some(30.2),
            Some(50.0),
        ] {
            let k = kernel(nu, 2.0);
            let mut before = k.at(&[1.0], &[1.0]);
            assert_eq!(before, 1.0, "{nu:?}");
            // Smooth ones start flat.
            if nu.is_none_or(|nu| nu > 1.0) {
                let near = k.at(&[1e-9], &[0.0]);
                approx::assert_abs_diff_eq!(near, 1.0, epsilon = 1e-12);
            }
            for r in [1e-200, 1e-12, 1e-8, 1e-4, 0.1, 1.0, 4.0, 100.0, 1e6] {
                let value = k.at(&[r], &[0.0]);
                // Equal up to rounding is accepted.
                assert!(
                    (0.0..=before + 1e-13).contains(&value),
                    "{nu:?} at {r}: {value} after {before}"
                );
                before = value;
            }
            assert_eq!(before, 0.0, "{nu:?}");
        }
    }

    #[test]
    fn nu_and_lengths_are_checked() {
        let check = |nu, length: &[f64]| {
            let length = length.to_vec();
            KernelSpec { nu, length }.check("k", 2).unwrap_err().field
        };
        assert_eq!(check(None, &[1.0, 1.0, 1.0]), "k.length");
        assert_eq!(check(None, &[0.0]), "k.length");
        assert_eq!(check(None, &[1.0, f64::NAN]), "k.length");
        assert_eq!(check(Some(0.0), &[1.0]), "k.nu");
        assert_eq!(check(Some(f64::INFINITY), &[1.0]), "k.nu");
    }
}
