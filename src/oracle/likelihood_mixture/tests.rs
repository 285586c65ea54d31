//! The set against values computed elsewhere, the evidence against integration, the ellipsoid against the set it encloses.

use approx::assert_abs_diff_eq;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::oracle::sigmoid;

const PHI: [[f64; 3]; 8] = [
    [0.0, 0.0, 1.0],
    [1.0, 0.0, 1.0],
    [0.0, 1.0, 2.0],
    [1.0, 1.0, 2.0],
    [0.5, 0.5, 3.0],
    [1.0, 1.0, 4.0],
    [0.25, 0.75, 1.0],
    [0.8, 0.1, 2.0],
];
const LABELS: [f64; 8] = [1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// The steps in mpmath 1.4.1 with 30 digits (Newton with explicit inverses, erf for Phi, a bracketed root for r0).
#[test]
fn agrees_with_mpmath() {
    let design = Design::of_rows(3, &PHI.concat(), &LABELS);
    let set = LikelihoodMixture::new(&design, 1.0, 0.1, DVector::zeros(3));
    let mu = [0.272352412440, -0.205763671289, -0.169217933116];
    for (found, wanted) in set.estimate.mu.iter().zip(mu) {
        assert_abs_diff_eq!(*found, wanted, epsilon = 2e-12);
    }
    assert_abs_diff_eq!(set.beta, 4.653312150659, epsilon = 1e-11);
    assert_abs_diff_eq!(set.r0, 6.201907007519, epsilon = 1e-11);
    assert_abs_diff_eq!((2.0 * set.beta).sqrt(), 3.050676040047, epsilon = 1e-11);
    let inverse = set.shape.clone().try_inverse().unwrap();
    let half_width = |phi: [f64; 3]| {
        let phi = DVector::from_column_slice(&phi);
        (2.0 * set.beta * phi.dot(&(&inverse * &phi))).sqrt()
    };
    let (near, far) = ([0.5, 0.5, 1.0], [1.0, 1.0, 4.0]);
    assert_abs_diff_eq!(half_width(near), 1.407720811003, epsilon = 1e-11);
    assert_abs_diff_eq!(half_width(far), 4.682426046365, epsilon = 1e-11);
}

fn jj(m: f64, s: f64) -> f64 {
    let mut out = [f64::NAN];
    jaakkola_jordan(&[m], &[s], &mut out);
    out[0]
}

fn sc(s: f64) -> f64 {
    let mut out = [f64::NAN];
    self_concordant(&[s], &mut out);
    out[0]
}

fn g2(t: f64) -> f64 {
    let mut out = [t];
    growths(&mut out, &[1.0]);
    out[0]
}

#[test]
fn parts_agree_with_mpmath() {
    let slope = |m: f64| sigmoid(m) * sigmoid(-m);
    assert_abs_diff_eq!(g2(0.5), 0.852245277701, epsilon = 1e-12);
    assert_abs_diff_eq!(jj(-1.2, 0.3), 0.010037590005, epsilon = 1e-12);
    let v = slope(-1.2);
    assert_abs_diff_eq!(v * sc(0.3), 0.009488846216, epsilon = 1e-12);
    let many = |x: f64| vec![x; CHUNK + 3];
    let sum = mean_excess(&many(-1.2), &many(v), &many(0.3));
    assert_abs_diff_eq!(sum, 67.0 * v * sc(0.3), epsilon = 1e-14);
    let wide = mean_excess(&[0.1], &[slope(0.1)], &[2.0]);
    assert_abs_diff_eq!(wide, jj(0.1, 2.0), epsilon = 1e-15);
    // Both forms of each agree where they meet.
    for s in [0.9999999f64, 1.0000001] {
        let direct = (0.5 * s * s).exp() * libm::erfc(-s / 2f64.sqrt());
        let direct = direct - s * (2.0 / std::f64::consts::PI).sqrt() - 1.0;
        approx::assert_relative_eq!(sc(s), direct, max_relative = 1e-14);
    }
    approx::assert_relative_eq!(sc(0.125), sc(0.1250000001), max_relative = 2e-9);
    for t in [1e-9f64, 1e-5, 1e-3, 0.09999999, 0.1, 3.0, 50.0, 900.0] {
        let direct = 2.0 * ((-t).exp_m1() + t) / (t * t);
        // The difference itself is exact to 1e-16 / t.
        approx::assert_relative_eq!(g2(t), direct, max_relative = 1e-13 + 4e-16 / t);
    }
    assert_eq!(
        (jj(2.0, 0.0), jj(0.0, 0.0), sc(0.0), g2(0.0)),
        (0.0, 0.0, 0.0, 1.0)
    );
}

/// The mean of sp over N(m, s^2) by the trapezoidal rule, exact to rounding for so smooth a function.
#[test]
fn the_mean_of_sp_is_below_its_bounds() {
    for m in [-8.0, -1.2, 0.0, 0.4, 3.0, 20.0] {
        for s in [1e-3, 0.1, 0.5, 1.0, 2.0, 6.0] {
            let sp = |w: f64| w.max(0.0) + (-w.abs()).exp().ln_1p();
            let (step, mut mean) = (0.01, 0.0);
            for i in -1200..=1200 {
                let z = f64::from(i) * step;
                mean += step * (-0.5 * z * z).exp() * (sp(m + s * z) - sp(m));
            }
            mean /= std::f64::consts::TAU.sqrt();
            let v = sigmoid(m) * sigmoid(-m);
            for bound in [jj(m, s), v * sc(s)] {
                assert!(mean <= bound + 1e-14, "m {m}, s {s}: {mean} above {bound}");
            }
        }
    }
}

/// Rows in [-1, 1]^d with a constant, labels of a truth of norm about 2; `one_sided` gives all labels 1.
fn rows(rng: &mut ChaCha8Rng, d: usize, n: usize, one_sided: bool) -> Design {
    let mut design = (Vec::new(), Vec::new());
    for _ in 0..n {
        let phi: Vec<f64> = (0..d)
            .map(|i| {
                if i == 0 {
                    1.0
                } else {
                    2.0 * rng.random::<f64>() - 1.0
                }
            })
            .collect();
        let w: f64 = phi
            .iter()
            .enumerate()
            .map(|(i, x)| x * (1.0 - i as f64 * 1.5))
            .sum();
        let y = one_sided || rng.random::<f64>() < sigmoid(w);
        design.0.extend(phi);
        design.1.push(f64::from(u8::from(y)));
    }
    Design::of_rows(d, &design.0, &design.1)
}

fn loss(design: &Design, mu: &DVector<f64>) -> f64 {
    let products = design.products(mu);
    let sp = |w: f64| w.max(0.0) + (-w.abs()).exp().ln_1p();
    let rows = products.iter().zip(design.labels());
    rows.map(|(w, y)| sp(*w) - y * w).sum()
}

/// beta - lam S^2/2 - ln(1/delta) - J(mu) bounds -ln E from above, by little once there are data.
#[test]
fn the_evidence_is_above_its_bound() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for d in [1, 2] {
        for (n, bound) in [(1, 1.0), (1, 10.0), (10, 3.0), (60, 10.0), (400, 10.0)] {
            for one_sided in [false, true] {
                let design = rows(&mut rng, d, n, one_sided);
                let set = LikelihoodMixture::new(&design, bound, 0.1, DVector::zeros(d));
                let lambda = ridge(d, bound);
                let j_min =
                    loss(&design, &set.estimate.mu) + 0.5 * lambda * set.estimate.mu.norm_squared();
                let claimed = set.beta - 0.5 * lambda * bound * bound - 10f64.ln() + j_min;
                // A box of 12 deviations around mu. What it leaves out would only make the evidence larger.
                let (_, hessian) = newton::psi_and_jacobian(&design, lambda, &set.estimate.mu);
                let variances = hessian.try_inverse().unwrap().diagonal();
                let side: i32 = if d == 1 { 20_000 } else { 150 };
                let steps = variances.map(|v| 12.0 * v.sqrt() / f64::from(side));
                let at = |i: i32, j: i32| {
                    let way = [f64::from(i), f64::from(j)];
                    DVector::from_fn(d, |k, _| set.estimate.mu[k] + steps[k] * way[k])
                };
                let second = if d == 1 { 0..=0 } else { -side..=side };
                let sum: f64 = (-side..=side)
                    .flat_map(|i| second.clone().map(move |j| (i, j)))
                    .map(|(i, j)| {
                        let mu = at(i, j);
                        let exponent = 0.5 * lambda * mu.norm_squared() + loss(&design, &mu);
                        (j_min - exponent).exp()
                    })
                    .sum();
                let scale = (lambda / std::f64::consts::TAU).sqrt();
                let volume: f64 = steps.iter().map(|step| step * scale).product();
                let truth = j_min - (sum * volume).ln();
                assert!(
                    truth <= claimed + 1e-9,
                    "d {d}, n {n}: {truth} above {claimed}"
                );
                // Tight where the data fix the parameter; labels that are all alike leave a law far from normal.
                if n >= 60 && !one_sided {
                    assert!(claimed < truth + 0.3, "d {d}, n {n}: {truth}, {claimed}");
                }
            }
        }
    }
}

/// From mu along many directions to where J has grown by beta (or the ball |mu*| <= S ends): all such points lie in the
/// ellipsoid, within r0 in the norm of H, and a tenth shorter ellipsoid would not hold them.
#[test]
fn the_ellipsoid_holds_the_exact_likelihood_set() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut farthest: f64 = 0.0;
    for d in [1, 2, 3, 5] {
        for (n, bound) in [(2, 1.0), (8, 10.0), (40, 3.0), (300, 10.0)] {
            for one_sided in [false, true] {
                let design = rows(&mut rng, d, n, one_sided);
                let set = LikelihoodMixture::new(&design, bound, 0.1, DVector::zeros(d));
                let lambda = ridge(d, bound);
                let j = |mu: &DVector<f64>| loss(&design, mu) + 0.5 * lambda * mu.norm_squared();
                let j_min = j(&set.estimate.mu);
                let (_, hessian) = newton::psi_and_jacobian(&design, lambda, &set.estimate.mu);
                for _ in 0..100 {
                    let way = DVector::from_fn(d, |_, _| rng.random::<f64>() - 0.5).normalize();
                    let inside = |r: f64| {
                        let mu = &set.estimate.mu + r * &way;
                        mu.norm() <= bound && j(&mu) - j_min <= set.beta
                    };
                    let (mut low, mut high) = (0.0, 3.0 * bound + set.estimate.mu.norm());
                    if !inside(low) {
                        // The penalised minimum itself may lie outside the ball.
                        continue;
                    }
                    for _ in 0..60 {
                        let middle = 0.5 * (low + high);
                        if inside(middle) {
                            low = middle;
                        } else {
                            high = middle;
                        }
                    }
                    let point = low * &way;
                    let share = point.dot(&(&set.shape * &point)) / (2.0 * set.beta);
                    assert!(share <= 1.0, "d {d}, n {n}: {share}");
                    let distance = point.dot(&(&hessian * &point)).sqrt();
                    assert!(
                        distance <= set.r0 * (1.0 + 1e-12),
                        "d {d}, n {n}: {distance}"
                    );
                    farthest = farthest.max(share);
                }
            }
        }
    }
    assert!(farthest > 0.81, "the farthest point is at {farthest}");
}
