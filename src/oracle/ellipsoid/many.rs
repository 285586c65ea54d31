//! SIMD arithmetic on many contexts side by side.

/// Contexts that are evaluated together.
pub(super) const BULK: usize = 64;

/// One number for each of them.
pub(super) type Many = [f64; BULK];

/// Puts the features of contexts, those of one together, into columns.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn set_columns(features: &[f64], columns: &mut [Many]) {
    match columns {
        [a] => a[..features.len()].copy_from_slice(features),
        // Known lengths, so that compilers vectorise.
        [a, b] => {
            for (([x, y], a), b) in features.as_chunks().0.iter().zip(a).zip(b) {
                (*a, *b) = (*x, *y);
            }
        }
        [a, b, c] => {
            for ((([x, y, z], a), b), c) in features.as_chunks().0.iter().zip(a).zip(b).zip(c) {
                (*a, *b, *c) = (*x, *y, *z);
            }
        }
        columns => {
            for (i, theta) in features.chunks_exact(columns.len()).enumerate() {
                for (column, x) in columns.iter_mut().zip(theta) {
                    column[i] = *x;
                }
            }
        }
    }
}

/// [`super::ThetaPart`] of many contexts: utilities, squares, crosses.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn theta_parts(thetas: &[Many], mu: &[f64], v_inverse: &[f64]) -> (Many, Many, Many) {
    let mut square = [0.0; BULK];
    let columns = v_inverse.chunks_exact(thetas.len() + 1);
    for (theta, column) in thetas.iter().zip(columns) {
        let product = products(thetas, column);
        for i in 0..BULK {
            square[i] += product[i] * theta[i];
        }
    }
    let cross = &v_inverse[thetas.len() * (thetas.len() + 1)..];
    (products(thetas, mu), square, products(thetas, cross))
}

/// theta.column of many contexts.
#[inline(always)]
fn products(thetas: &[Many], column: &[f64]) -> Many {
    let mut sums = [0.0; BULK];
    for (theta, x) in thetas.iter().zip(column) {
        for i in 0..BULK {
            sums[i] += theta[i] * x;
        }
    }
    sums
}

/// [`super::NormBound::theta_part`] of many contexts.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn limits_squared(thetas: &[Many], inverse_sizes: &[f64], factor: f64) -> Many {
    let mut sums = [0.0; BULK];
    for (theta, inverse) in thetas.iter().zip(inverse_sizes) {
        for i in 0..BULK {
            let scaled = theta[i] * inverse;
            sums[i] += scaled * scaled;
        }
    }
    sums.iter_mut().for_each(|sum| *sum *= factor);
    sums
}

/// A number added to many.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn raised(numbers: &Many, x: f64) -> Many {
    numbers.map(|number| number + x)
}

/// scale |phi| of many contexts with action value `a`.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn radii(square: &Many, cross: &Many, a: f64, corner: f64, scale: f64) -> Many {
    let mut radius = *square;
    for (radius, cross) in radius.iter_mut().zip(cross) {
        let norm_squared = *radius + a * (2.0 * cross + a * corner);
        *radius = scale * norm_squared.max(0.0).sqrt();
    }
    radius
}

/// (ucb, lcb) as [`crate::oracle::Bounds::around`] has them, lcb with the radius times `below`.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn clipped(center: &Many, radius: &Many, below: f64) -> (Many, Many) {
    let (mut upper, mut lower) = (*center, *center);
    for i in 0..BULK {
        upper[i] = (center[i] + radius[i]).clamp(0.0, 1.0);
        lower[i] = (center[i] - below * radius[i]).clamp(0.0, 1.0);
    }
    (upper, lower)
}

/// center +- radius, below center times `below`, clamped to the norm bound.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn clamped(
    center: &Many,
    radius: &Many,
    below: f64,
    limit_squared: &Many,
    more: f64,
) -> (Many, Many) {
    let (mut upper, mut lower) = (*center, *center);
    for i in 0..BULK {
        let limit = (limit_squared[i] + more).sqrt();
        upper[i] = (center[i] + radius[i]).min(limit).max(-limit);
        lower[i] = (center[i] - below * radius[i]).min(limit).max(-limit);
    }
    (upper, lower)
}
