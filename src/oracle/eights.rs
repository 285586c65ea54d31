//! SIMD arithmetic on eight numbers side by side: products of rows with eight columns, and forward substitution for eight
//! right-hand sides. Sums run in one order on every machine, so that all get the same bits; machines without fused
//! multiply-add emulate it.

use multiversion::multiversion;

/// Numbers side by side.
pub(super) const EIGHT: usize = 8;

/// Eight numbers side by side.
pub(super) type Eight = [f64; EIGHT];

/// Rows whose products are computed together.
pub(super) const TOGETHER: usize = 4;

/// Rows that forward substitution takes at a time.
const BLOCK: usize = 16;

/// Replaces x by L^-1 x for eight right-hand sides; row i of L ends with its diagonal.
pub(super) fn solve_lower(rows: &[Vec<f64>], x: &mut [Eight]) {
    for first in (0..rows.len()).step_by(BLOCK) {
        let (done, rest) = x.split_at_mut(first);
        for (rows, x) in rows[first..]
            .chunks(TOGETHER)
            .zip(rest.chunks_mut(TOGETHER))
            .take(BLOCK / TOGETHER)
        {
            let row = |i: usize| &rows[i.min(rows.len() - 1)][..first];
            let sums = row_products([row(0), row(1), row(2), row(3)], done);
            for (x, sum) in x.iter_mut().zip(sums) {
                for lane in 0..EIGHT {
                    x[lane] -= sum[lane];
                }
            }
        }
        for n in 0..rest.len().min(BLOCK) {
            let row = &rows[first + n][first..];
            rest[n] = new_entry(&rest[..n], row, &[0.0; EIGHT], &rest[n]);
        }
    }
}

/// (rest - sum - row.entries) / the last of `row`.
#[multiversion(targets("x86_64+avx512f+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
pub(super) fn new_entry(entries: &[Eight], row: &[f64], sum: &Eight, rest: &Eight) -> Eight {
    let mut sum = *sum;
    for (entries, l) in entries.iter().zip(row) {
        for lane in 0..EIGHT {
            sum[lane] = l.mul_add(entries[lane], sum[lane]);
        }
    }
    let diagonal = row[entries.len()];
    std::array::from_fn(|lane| (rest[lane] - sum[lane]) / diagonal)
}

/// The products of four rows with eight columns.
#[multiversion(targets("x86_64+avx512f+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
pub(super) fn row_products(rows: [&[f64]; TOGETHER], columns: &[Eight]) -> [Eight; TOGETHER] {
    let mut sums = [[0.0; EIGHT]; TOGETHER];
    let rows = rows.map(|row| &row[..columns.len()]);
    for (n, entries) in columns.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(&rows) {
            let l = row[n];
            for lane in 0..EIGHT {
                sums[lane] = l.mul_add(entries[lane], sums[lane]);
            }
        }
    }
    sums
}

/// max(0, W below) for the units `out` of a layer; W is stored column by column, one column per unit below.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn relu_layer(weights: &[f64], below: &[Eight], out: &mut [Eight]) {
    let width = out.len();
    let (fours, rest) = out.as_chunks_mut::<TOGETHER>();
    let first = TOGETHER * fours.len();
    for (i, out) in fours.iter_mut().enumerate() {
        relu_units(&weights[TOGETHER * i..], width, below, out);
    }
    for (i, out) in rest.iter_mut().enumerate() {
        relu_units(
            &weights[first + i..],
            width,
            below,
            std::array::from_mut(out),
        );
    }
}

/// The same for the first few units.
#[inline(always)]
fn relu_units<const UNITS: usize>(
    weights: &[f64],
    width: usize,
    below: &[Eight],
    out: &mut [Eight; UNITS],
) {
    let mut sums = [[0.0; EIGHT]; UNITS];
    for (i, x) in below.iter().enumerate() {
        let column = &weights[i * width..i * width + UNITS];
        for (sum, w) in sums.iter_mut().zip(column) {
            for lane in 0..EIGHT {
                sum[lane] += w * x[lane];
            }
        }
    }
    for (out, sum) in out.iter_mut().zip(sums) {
        for lane in 0..EIGHT {
            out[lane] = if sum[lane] > 0.0 { sum[lane] } else { 0.0 };
        }
    }
}

/// sum_i weights_i values_i of an even number of terms: the sums of the two halves, each in its order, so that halves that
/// are opposites add up to exactly 0.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn weighted_sum(weights: &[f64], values: &[Eight]) -> Eight {
    let half = weights.len() / 2;
    let (w, x) = (weights.split_at(half), values.split_at(half));
    let (mut first, mut second) = ([0.0; EIGHT], [0.0; EIGHT]);
    for i in 0..half {
        for lane in 0..EIGHT {
            first[lane] += w.0[i] * x.0[i][lane];
            second[lane] += w.1[i] * x.1[i][lane];
        }
    }
    std::array::from_fn(|lane| first[lane] + second[lane])
}

/// Adds the outer products of `units` and `below`, summed over blocks of these lengths, to `sums`, one column per unit below.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn add_outer_products(
    units: &[Eight],
    units_per_block: usize,
    below: &[Eight],
    below_per_block: usize,
    sums: &mut [Eight],
) {
    let columns = sums.chunks_exact_mut(units_per_block);
    for (i, sums) in columns.take(below_per_block).enumerate() {
        let (fours, rest) = sums.as_chunks_mut::<TOGETHER>();
        let first = TOGETHER * fours.len();
        let x = (&below[i..], below_per_block);
        for (four, sums) in fours.iter_mut().enumerate() {
            let units = (&units[TOGETHER * four..], units_per_block);
            add_products(units, x, sums);
        }
        for (one, sum) in rest.iter_mut().enumerate() {
            let units = (&units[first + one..], units_per_block);
            add_products(units, x, std::array::from_mut(sum));
        }
    }
}

/// Adds units * x to the sums of the first few units; both come with the distance of their blocks.
#[inline(always)]
fn add_products<const UNITS: usize>(
    (units, units_apart): (&[Eight], usize),
    (x, x_apart): (&[Eight], usize),
    sums: &mut [Eight; UNITS],
) {
    let mut totals = *sums;
    for block in 0..x.len().div_ceil(x_apart) {
        let x = &x[block * x_apart];
        let units = &units[block * units_apart..block * units_apart + UNITS];
        for (total, unit) in totals.iter_mut().zip(units) {
            for lane in 0..EIGHT {
                total[lane] += unit[lane] * x[lane];
            }
        }
    }
    *sums = totals;
}

/// Sets `values` to 0 for inactive units.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
pub(super) fn mask(values: &mut [Eight], activations: &[Eight]) {
    let activations = activations.as_flattened();
    for (value, activation) in values.as_flattened_mut().iter_mut().zip(activations) {
        *value = if *activation > 0.0 { *value } else { 0.0 };
    }
}
