//! The numbers the dense solver's candidates are computed in: 64 bits, or 32 bits, of which twice as many fit a vector.
//! The value table, its gaps' differences and the sums over contexts stay in 64 bits; with 32-bit terms a value is off by
//! a few 1e-7 of r_max min(b, H) at most.

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
    /// Adds up so many contexts: `add` adds a range of them, in this type.
    fn add_up(contexts: usize, sums: &mut [f64], add: impl FnMut(Range<usize>, &mut [Self]));
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
    fn add_up(contexts: usize, sums: &mut [f64], mut add: impl FnMut(Range<usize>, &mut [Self])) {
        add(0..contexts, sums);
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

    /// A few at a time, before they go into the 64-bit sums.
    fn add_up(contexts: usize, sums: &mut [f64], mut add: impl FnMut(Range<usize>, &mut [Self])) {
        const TOGETHER: usize = 64;
        let mut part = vec![0.0; sums.len()];
        for first in (0..contexts).step_by(TOGETHER) {
            part.fill(0.0);
            add(first..(first + TOGETHER).min(contexts), &mut part);
            for (sum, part) in sums.iter_mut().zip(&part) {
                *sum += f64::from(*part);
            }
        }
    }
}

/// Sixty-four bytes at an address that vector loads like.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Numbers that start on a cache line.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<Line>);

impl Lines {
    /// Makes room for whole cache lines of numbers.
    pub fn resize(&mut self, numbers: usize) {
        let lines = (numbers * size_of::<f64>()).div_ceil(size_of::<Line>());
        self.0.resize(lines, Line([0; 64]));
    }

    pub fn as_slice(&self) -> &[f64] {
        bytemuck::cast_slice(&self.0)
    }

    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

/// One row of gaps per distinct cost, every row starting on a cache line.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    lines: Vec<Line>,
}

/// So many budgets as rows of gaps have: whole cache lines of them.
pub(super) fn padded<T: Term>(budgets: usize) -> usize {
    budgets.next_multiple_of(size_of::<Line>() / size_of::<T>())
}

impl Gaps {
    /// The rows that were filled last, one after the other.
    pub fn rows<T: Term>(&self) -> &[T] {
        bytemuck::cast_slice(&self.lines)
    }

    /// gap(c)[b] = next[b] - next[b - c], infinite where c > b and beyond the last budget; returns rows of `width`.
    pub fn fill<T: Term>(&mut self, next: &[f64], costs: &[u32], width: usize) -> &[T] {
        let lines = width * costs.len() * size_of::<T>() / size_of::<Line>();
        self.lines.resize(lines, Line([0; 64]));
        let all: &mut [T] = bytemuck::cast_slice_mut(&mut self.lines);
        for (row, &cost) in all.chunks_exact_mut(width).zip(costs) {
            let cost = (cost as usize).min(next.len());
            row.fill(T::of(f64::INFINITY));
            for ((gap, after), before) in row[cost..].iter_mut().zip(&next[cost..]).zip(next) {
                *gap = T::of(after - before);
            }
        }
        all
    }
}
