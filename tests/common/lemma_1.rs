//! Lemma 1 on a table as a backend computed it, before anything is smoothed.
#![allow(dead_code, reason = "each test file uses a part")]

use cbwk_gpu::dp::RawTable;

/// 0 <= u[h](b) - u[h](b - c) <= 2 r_max cost_max for every h, b and c up to cost_max, but for the rounding that the
/// table's precision states. The upper half is a statement about tables under the cap of Algorithm 2.
pub fn lemma_1(raw: &RawTable, r_max: f64, cost_max: u32, capped: bool) -> Result<(), String> {
    let unit = raw.precision().tolerance() * r_max;
    let most = if capped {
        2.0 * r_max * f64::from(cost_max)
    } else {
        f64::INFINITY
    };
    for h in 0..raw.horizon() {
        let row = raw.row(h);
        for b in 0..row.len() {
            let rounding = unit * b.min(raw.horizon()) as f64;
            for c in 1..=(cost_max as usize).min(b) {
                let gap = row[b] - row[b - c];
                // Written so that NaN fails.
                if !(gap >= -rounding && gap <= most + rounding) {
                    let step = h + 1;
                    return Err(format!("gap {gap:e} at step {step}, budget {b}, cost {c}"));
                }
            }
        }
    }
    Ok(())
}

/// The largest fall of a row against its largest value so far, as a share of r_max min(b, H).
pub fn largest_fall(raw: &RawTable, r_max: f64) -> f64 {
    let mut worst: f64 = 0.0;
    for h in 0..raw.horizon() {
        let mut previous: f64 = 0.0;
        for (b, &value) in raw.row(h).iter().enumerate() {
            let scale = r_max.max(f64::MIN_POSITIVE) * b.clamp(1, raw.horizon()) as f64;
            worst = worst.max((previous - value) / scale);
            previous = previous.max(value);
        }
    }
    worst
}

/// The negative control: a value of the table itself moved by little more than is allowed, down and up, is noticed.
pub fn assert_lemma_1_can_fail(raw: &RawTable, r_max: f64, cost_max: u32) {
    assert_eq!(lemma_1(raw, r_max, cost_max, true), Ok(()));
    let last = raw.row(0).len() - 1;
    assert!(last > 0 && cost_max > 0, "a table with budgets is needed");
    let rounding = raw.precision().tolerance() * r_max * last.min(raw.horizon()) as f64;
    for value in [
        raw.row(0)[last - 1] - 1.1 * rounding,
        raw.row(0)[last - 1] + 2.0 * r_max * f64::from(cost_max) + 1.1 * rounding,
        f64::NAN,
        f64::INFINITY,
    ] {
        let mut moved = raw.clone();
        moved.row_mut(0)[last] = value;
        assert!(
            lemma_1(&moved, r_max, cost_max, true).is_err(),
            "{value:e} passes"
        );
    }
}
