//! The value-to-go table u_hat[h][b], h in 1..=H+1, b in 0..=budget_max (0-based h inside).

/// Values for every step and budget; the row after the last step is zero.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueTable {
    horizon: usize,
    width: usize,
    values: Vec<f64>,
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

    /// A table of values that are known already, row by row from step 1 on, zeros after the last step included; `None`
    /// where their number is wrong or one of them is no number.
    pub fn from_values(horizon: usize, budget_max: u32, values: Vec<f64>) -> Option<Self> {
        let width = budget_max as usize + 1;
        let whole = values.len() == (horizon + 1) * width && values.iter().all(|x| x.is_finite());
        whole.then_some(Self {
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

    /// Sets row `h`; rounding that would make values fall in b is smoothed out (Lemma 1).
    pub(super) fn fill_monotone(&mut self, h: usize, values: impl Iterator<Item = f64>) {
        let row = &mut self.values[h * self.width..(h + 1) * self.width];
        let mut previous = 0.0f64;
        for (slot, value) in row.iter_mut().zip(values) {
            previous = previous.max(value);
            *slot = previous;
        }
    }

    /// Row `h` to be written, and row `h + 1`.
    pub(super) fn step(&mut self, h: usize) -> (&mut [f64], &[f64]) {
        let (head, tail) = self.values.split_at_mut((h + 1) * self.width);
        (&mut head[h * self.width..], &tail[..self.width])
    }
}
