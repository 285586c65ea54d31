//! The value-to-go table `u_hat[h][b]`, h in 1..=H+1, b in 0..=budget_max (0-based h inside), and the check that turns a
//! backend's numbers into one.

use thiserror::Error;

use super::RawTable;

/// Values for every step and budget; the row after the last step is zero. All are finite, not negative, and never fall in
/// b (Lemma 1).
#[derive(Debug, Clone, PartialEq)]
pub struct ValueTable {
    horizon: usize,
    width: usize,
    values: Vec<f64>,
}

/// A value that no correct backend computes; steps are 1-based, as in the paper.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum TableError {
    /// Not a number.
    #[error("the value at step {step} with budget {budget} is not a number")]
    NotANumber {
        /// Step.
        step: usize,
        /// Budget.
        budget: usize,
    },
    /// More than the backend's numbers hold.
    #[error("the value at step {step} with budget {budget} is larger than the backend's numbers")]
    Overflow {
        /// Step.
        step: usize,
        /// Budget.
        budget: usize,
    },
    /// Below the value of doing nothing.
    #[error("the value at step {step} with budget {budget} is negative: {value:e}")]
    Negative {
        /// Step.
        step: usize,
        /// Budget.
        budget: usize,
        /// The value.
        value: f64,
    },
    /// Below the value of a smaller budget, by more than rounding explains.
    #[error(
        "the value at step {step} falls by {by:e} at budget {budget}, where rounding explains {allowed:e}"
    )]
    Falls {
        /// Step.
        step: usize,
        /// Budget.
        budget: usize,
        /// By how much.
        by: f64,
        /// What rounding explains.
        allowed: f64,
    },
}

impl ValueTable {
    /// A table of zeros.
    pub fn zeros(horizon: usize, budget_max: u32) -> Self {
        let width = budget_max as usize + 1;
        Self {
            horizon,
            width,
            values: vec![0.0; (horizon + 1) * width],
        }
    }

    /// A table of known values, row by row from step 1 on, with the zeros after the last step; `None` where their number is
    /// wrong or one of them is not finite.
    pub(crate) fn from_values(horizon: usize, budget_max: u32, values: Vec<f64>) -> Option<Self> {
        let width = budget_max as usize + 1;
        let whole = values.len() == (horizon + 1) * width && values.iter().all(|x| x.is_finite());
        whole.then_some(Self {
            horizon,
            width,
            values,
        })
    }

    /// The weighted mean of tables of one shape; the weights sum to 1.
    pub(crate) fn mean(tables: &[(f64, &Self)]) -> Self {
        let (horizon, width) = (tables[0].1.horizon, tables[0].1.width);
        let value = |i| tables.iter().map(|(weight, t)| weight * t.values[i]).sum();
        Self {
            horizon,
            width,
            values: (0..(horizon + 1) * width).map(value).collect(),
        }
    }

    /// Checks a backend's numbers: finite, and neither negative nor falling in b by more than [`RawTable::rounding`].
    /// Smaller falls are smoothed, so that values never fall.
    pub fn checked(mut raw: RawTable) -> Result<Self, TableError> {
        let (horizon, width) = (raw.horizon(), raw.width);
        for h in 0..horizon {
            if is_sound(raw.row(h)) {
                continue;
            }
            let mut previous = 0.0;
            for budget in 0..width {
                let value = raw.row(h)[budget];
                // False for NaN.
                if value >= previous && value < f64::INFINITY {
                    previous = value;
                    continue;
                }
                let allowed = raw.rounding(budget);
                if value >= previous - allowed && value < f64::INFINITY {
                    raw.row_mut(h)[budget] = previous;
                } else {
                    return Err(TableError::of(h + 1, budget, value, previous, allowed));
                }
            }
        }
        let mut values = raw.values;
        values.resize((horizon + 1) * width, 0.0);
        Ok(Self {
            horizon,
            width,
            values,
        })
    }

    /// H.
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// Largest budget of the table.
    pub fn budget_max(&self) -> u32 {
        self.width as u32 - 1
    }

    /// u_hat of step `h` (0-based, `h == horizon` is after the last step) for all budgets.
    pub fn row(&self, h: usize) -> &[f64] {
        &self.values[h * self.width..(h + 1) * self.width]
    }

    /// The value at the start of an episode with budget `b`.
    pub fn start(&self, b: u32) -> f64 {
        self.row(0)[b as usize]
    }
}

/// Whether a row needs no repair: finite, not negative and never falling. Written for vector instructions.
fn is_sound(row: &[f64]) -> bool {
    let rises = row
        .iter()
        .zip(&row[1..])
        .fold(true, |rises, (x, y)| rises & (x <= y));
    let last = row[row.len() - 1];
    // NaN anywhere fails one of these.
    rises && row[0] >= 0.0 && last < f64::INFINITY
}

impl TableError {
    fn of(step: usize, budget: usize, value: f64, previous: f64, allowed: f64) -> Self {
        if value.is_nan() {
            Self::NotANumber { step, budget }
        } else if value == f64::INFINITY {
            Self::Overflow { step, budget }
        } else if value < -allowed {
            Self::Negative {
                step,
                budget,
                value,
            }
        } else {
            Self::Falls {
                step,
                budget,
                by: previous - value,
                allowed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TableError, ValueTable};
    use crate::dp::{Precision, RawTable};

    fn table(precision: Precision, row: &[f64]) -> Result<ValueTable, TableError> {
        let mut raw = RawTable::zeros(2, row.len() as u32 - 1, precision, 1.0);
        raw.row_mut(0).copy_from_slice(row);
        ValueTable::checked(raw)
    }

    /// Two steps, r_max = 1: at budget 2 the tolerance is that of two units.
    #[test]
    fn falls_within_rounding_are_smoothed_and_others_are_errors() {
        for precision in [Precision::F64, Precision::F32] {
            let allowed = 2.0 * precision.tolerance();
            let below = 1.0 - 0.9 * allowed;
            let smoothed = table(precision, &[-0.0, 1.0, below, 1.5]).unwrap();
            assert_eq!(smoothed.row(0), [0.0, 1.0, 1.0, 1.5]);
            assert_eq!(smoothed.row(2), [0.0; 4]);
            let (step, budget) = (1, 2);
            let found = table(precision, &[0.0, 1.0, 1.0 - 1.1 * allowed]);
            assert!(
                matches!(
                    found,
                    Err(TableError::Falls {
                        step: 1,
                        budget: 2,
                        ..
                    })
                ),
                "{found:?}"
            );
            // A slow fall is an error too: values are compared with the largest so far.
            let falling = [0.0, 1.0, below, 1.0 - 1.8 * allowed];
            assert!(table(precision, &falling).is_err());
            let found = table(precision, &[0.0, 0.0, -1.1 * allowed]);
            assert!(matches!(found, Err(TableError::Negative { budget: 2, .. })));
            assert!(table(precision, &[-1e-300, 0.0, 0.0]).is_err());
            let found = table(precision, &[0.0, 0.0, f64::NAN]);
            assert_eq!(found, Err(TableError::NotANumber { step, budget }));
            let found = table(precision, &[0.0, 0.0, f64::INFINITY]);
            assert_eq!(found, Err(TableError::Overflow { step, budget }));
            let found = table(precision, &[0.0, 0.0, f64::NEG_INFINITY]);
            assert!(matches!(found, Err(TableError::Negative { budget: 2, .. })));
        }
    }
}
