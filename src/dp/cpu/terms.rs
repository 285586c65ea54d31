//! The numbers that dense candidates are computed in: 64 bits, or 32 bits, of which twice as many fit a vector. The value
//! table, the differences in gaps and the sums over contexts stay in 64 bits; with 32-bit terms a value is off by a few
//! 1e-7 of r_max min(b, H) at most.

use std::borrow::Cow;
use std::ops::{AddAssign, Mul, Range, Sub};

use bytemuck::{Pod, Zeroable};

use crate::dp::Precision;

/// A number type of candidates.
pub(super) trait Term:
    Pod + Send + Sync + PartialOrd + Sub<Output = Self> + Mul<Output = Self> + AddAssign
{
    /// Its name.
    const PRECISION: Precision;
    /// Rounds.
    fn of(x: f64) -> Self;
    /// addend - self * factor with one rounding.
    fn fused(self, factor: Self, addend: Self) -> Self;
    /// A table in this type.
    fn table(values: &[f64]) -> Cow<'_, [Self]>;
    /// Adds up the contexts of a range: `add` adds some of them, in this type.
    fn add_up(contexts: Range<usize>, sums: &mut [f64], add: impl FnMut(Range<usize>, &mut [Self]));
}

impl Term for f64 {
    const PRECISION: Precision = Precision::F64;

    #[inline]
    fn of(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn fused(self, factor: Self, addend: Self) -> Self {
        (-self).mul_add(factor, addend)
    }

    fn table(values: &[f64]) -> Cow<'_, [Self]> {
        Cow::Borrowed(values)
    }

    #[inline]
    fn add_up(
        contexts: Range<usize>,
        sums: &mut [f64],
        mut add: impl FnMut(Range<usize>, &mut [Self]),
    ) {
        add(contexts, sums);
    }
}

impl Term for f32 {
    const PRECISION: Precision = Precision::F32;

    #[inline]
    fn of(x: f64) -> Self {
        x as f32
    }

    #[inline(always)]
    fn fused(self, factor: Self, addend: Self) -> Self {
        (-self).mul_add(factor, addend)
    }

    fn table(values: &[f64]) -> Cow<'_, [Self]> {
        values.iter().map(|x| *x as f32).collect()
    }

    /// Adds a few contexts in 32 bits, then their sum in 64.
    fn add_up(
        contexts: Range<usize>,
        sums: &mut [f64],
        mut add: impl FnMut(Range<usize>, &mut [Self]),
    ) {
        const TOGETHER: usize = 64;
        let mut part = vec![0.0; sums.len()];
        for first in contexts.clone().step_by(TOGETHER) {
            part.fill(0.0);
            add(first..(first + TOGETHER).min(contexts.end), &mut part);
            for (sum, part) in sums.iter_mut().zip(&part) {
                *sum += f64::from(*part);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// Numbers that start on a cache line, as vector loads like them.
#[derive(Debug, Default)]
pub(super) struct AlignedNumbers(Vec<CacheLine>);

/// `budgets` rounded up to whole cache lines.
pub(super) fn padded<T: Term>(budgets: usize) -> usize {
    budgets.next_multiple_of(size_of::<CacheLine>() / size_of::<T>())
}

impl AlignedNumbers {
    /// Resizes to whole cache lines; what was there stays.
    pub fn resize<T: Term>(&mut self, numbers: usize) {
        let lines = (numbers * size_of::<T>()).div_ceil(size_of::<CacheLine>());
        self.0.resize(lines, CacheLine([0; 64]));
    }

    pub fn as_slice<T: Term>(&self) -> &[T] {
        bytemuck::cast_slice(&self.0)
    }

    pub fn as_mut_slice<T: Term>(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.0)
    }

    /// Rows of gaps, one per cost, each `width` long: gap(c)[b] = next[b] - next[b - c], infinite where c > b and beyond
    /// the last budget.
    pub fn fill_gaps<T: Term>(&mut self, next: &[f64], costs: &[u32], width: usize) -> &[T] {
        self.resize::<T>(width * costs.len());
        let rows = self.as_mut_slice::<T>().chunks_exact_mut(width);
        for (row, &cost) in rows.zip(costs) {
            let cost = (cost as usize).min(next.len());
            row.fill(T::of(f64::INFINITY));
            for ((gap, after), before) in row[cost..].iter_mut().zip(&next[cost..]).zip(next) {
                *gap = T::of(after - before);
            }
        }
        self.as_slice()
    }
}
