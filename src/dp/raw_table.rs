//! A value table as a backend computed it, neither checked nor smoothed. [`super::ValueTable::checked`] makes it a table for
//! plans.

/// The numbers a table was computed in, and so what rounding may have done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// 64-bit floats throughout.
    F64,
    /// Candidates in 32-bit floats; the table in 64-bit floats or in fixed point.
    F32,
}

impl Precision {
    /// How far below its neighbour rounding may put a value, as a share of r_max min(b, H): twice what a single value may
    /// be off.
    pub fn tolerance(self) -> f64 {
        match self {
            Self::F64 => 2e-12,
            Self::F32 => 4e-6,
        }
    }

    /// Its name for users and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
        }
    }
}

/// `u_hat[h][b]` before any check, h in 1..=H (0-based inside), b in 0..=budget_max. A value that the backend's own numbers
/// could not hold is infinite.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTable {
    pub(super) width: usize,
    pub(super) values: Vec<f64>,
    pub(super) precision: Precision,
    pub(super) reward: f64,
}

impl RawTable {
    /// A table of zeros, whose rounding is measured in `reward`: r_max, or the largest gain where values are not capped.
    pub fn zeros(horizon: usize, budget_max: u32, precision: Precision, reward: f64) -> Self {
        let width = budget_max as usize + 1;
        // The checked table has one row more, after the last step.
        let mut values = Vec::with_capacity((horizon + 1) * width);
        values.resize(horizon * width, 0.0);
        Self {
            width,
            values,
            precision,
            reward,
        }
    }

    /// H.
    pub fn horizon(&self) -> usize {
        self.values.len() / self.width
    }

    /// Step `h` (0-based) for all budgets.
    pub fn row(&self, h: usize) -> &[f64] {
        &self.values[h * self.width..(h + 1) * self.width]
    }

    /// Step `h`, to be written.
    pub fn row_mut(&mut self, h: usize) -> &mut [f64] {
        &mut self.values[h * self.width..(h + 1) * self.width]
    }

    /// How far rounding may have moved a value with budget `b` against its neighbours.
    pub fn rounding(&self, b: usize) -> f64 {
        self.precision.tolerance() * self.reward * b.min(self.horizon()) as f64
    }

    /// The numbers it was computed in.
    pub fn precision(&self) -> Precision {
        self.precision
    }
}
