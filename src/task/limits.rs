//! Limits on numbers from outside. They bound tables and rounding, not the method.

use crate::error::{Invalid, shown};

/// The longest episode accepted.
pub const HORIZON_LIMIT: usize = 100_000;

/// The most values a table may have, (H + 1) * (budget + 1): 4 GiB of them.
pub const TABLE_LIMIT: u64 = 1 << 29;

/// The largest cost an action may have.
pub const COST_LIMIT: u32 = 1_000_000;

/// The largest size of a reward, a feature or a weight: squares of it stay within 32-bit floats.
pub const NUMBER_LIMIT: f64 = 1e15;

/// Accepts numbers up to [`NUMBER_LIMIT`] in size; `field` is the list's place in the study.
pub fn finite_numbers(field: &str, list: &[f64]) -> Result<(), Invalid> {
    match list
        .iter()
        .position(|x| x.is_nan() || x.abs() > NUMBER_LIMIT)
    {
        Some(i) => {
            let field = format!("{field}[{}]", i + 1);
            let accepted = format!("a number of size up to {NUMBER_LIMIT:e}");
            Err(Invalid::new(field, shown(list[i]), accepted))
        }
        None => Ok(()),
    }
}
