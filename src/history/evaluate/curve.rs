//! Policy evaluation where every action costs one unit and earns its own value. The offer to a context depends on the gap
//! g = u(b) - u(b - 1) alone, and changes at a few gaps: summed over contexts, reward and sales are steps of g, found once
//! and looked up for every (step, budget).

/// Reward and sales per arrival as functions of the gap.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// Gaps at which somebody's offer changes, in rising order.
    gaps: Vec<f64>,
    /// (expected reward, probability of a sale) from before the first gap on.
    sums: Vec<(f64, f64)>,
}

/// A change of somebody's offer.
#[derive(Debug, Clone, Copy)]
struct Change {
    gap: f64,
    reward: f64,
    sale: f64,
}

/// A line rho (value - g) of an action on the upper envelope.
#[derive(Debug, Clone, Copy)]
struct Line {
    action: usize,
    rho: f64,
    reward: f64,
}

impl Line {
    /// The gap from which `other`, less steep, is above.
    fn meets(&self, other: &Self) -> f64 {
        (self.reward - other.reward) / (self.rho - other.rho)
    }
}

impl Curve {
    /// Contexts with their weights (which sum to one) are offered what is best by the `choice` row of probabilities, and
    /// accept by the `truth` row; `values` are the actions'.
    pub fn new<'r>(
        values: &[f64],
        contexts: impl Iterator<Item = (f64, &'r [f64], &'r [f64])>,
    ) -> Self {
        let mut changes = Vec::new();
        let mut start = (0.0, 0.0);
        let mut all: Vec<Line> = Vec::with_capacity(values.len() + 1);
        let mut lines: Vec<Line> = Vec::with_capacity(values.len() + 1);
        for (weight, choice, truth) in contexts {
            envelope(values, choice, &mut all, &mut lines);
            let mut before = (0.0, 0.0);
            for (i, line) in lines.iter().enumerate() {
                let here = match line.action {
                    0 => (0.0, 0.0),
                    a => (weight * truth[a - 1] * values[a - 1], weight * truth[a - 1]),
                };
                if i == 0 {
                    start = (start.0 + here.0, start.1 + here.1);
                } else {
                    changes.push(Change {
                        gap: lines[i - 1].meets(line),
                        reward: here.0 - before.0,
                        sale: here.1 - before.1,
                    });
                }
                before = here;
            }
        }
        Self::of_changes(start, changes)
    }

    /// Everybody is offered the same action.
    pub fn fixed<'r>(
        value: f64,
        action: usize,
        contexts: impl Iterator<Item = (f64, &'r [f64])>,
    ) -> Self {
        let sale: f64 = contexts
            .map(|(weight, truth)| weight * truth[action - 1])
            .sum();
        Self::of_changes((sale * value, sale), Vec::new())
    }

    fn of_changes(start: (f64, f64), mut changes: Vec<Change>) -> Self {
        changes.sort_unstable_by(|a, b| a.gap.total_cmp(&b.gap));
        let mut sums = Vec::with_capacity(changes.len() + 1);
        let mut sum = start;
        sums.push(sum);
        for change in &changes {
            sum = (sum.0 + change.reward, sum.1 + change.sale);
            sums.push(sum);
        }
        Self {
            gaps: changes.iter().map(|change| change.gap).collect(),
            sums,
        }
    }

    /// Expected reward and probability of a sale, for offers made at this gap.
    pub fn at(&self, gap: f64) -> (f64, f64) {
        self.sums[self.gaps.partition_point(|g| *g <= gap)]
    }
}

/// The lines that are on top somewhere at gaps from 0 on, in the order in which they are; the null action (0) is the last.
fn envelope(values: &[f64], choice: &[f64], all: &mut Vec<Line>, lines: &mut Vec<Line>) {
    lines.clear();
    all.clear();
    let offers = choice.iter().zip(values).enumerate();
    let offers = offers.filter(|(_, (rho, _))| **rho > 0.0);
    all.extend(offers.map(|(i, (rho, value))| Line {
        action: i + 1,
        rho: *rho,
        reward: rho * value,
    }));
    // The steeper first; of equally steep ones the higher, so that the others never get on top.
    all.sort_by(|a, b| b.rho.total_cmp(&a.rho).then(b.reward.total_cmp(&a.reward)));
    all.push(Line {
        action: 0,
        rho: 0.0,
        reward: 0.0,
    });
    for &line in all.iter() {
        if lines.last().is_some_and(|top| top.rho == line.rho) {
            continue;
        }
        while let Some(top) = lines.last() {
            let below_from_zero = line.reward >= top.reward;
            let hidden = match lines.len() {
                0 | 1 => false,
                n => lines[n - 2].meets(&line) <= lines[n - 2].meets(top),
            };
            if !(below_from_zero || hidden) {
                break;
            }
            lines.pop();
        }
        lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best action at a gap, action by action.
    fn best(values: &[f64], choice: &[f64], gap: f64) -> usize {
        let mut best = (0, 0.0);
        for (i, (rho, value)) in choice.iter().zip(values).enumerate() {
            let gain = rho * (value - gap);
            if gain > best.1 {
                best = (i + 1, gain);
            }
        }
        best.0
    }

    #[test]
    fn looks_up_what_a_search_finds() {
        let values = [1.0, 1.5, 2.0, 3.0, 4.5];
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let row = |random: &mut dyn FnMut() -> f64| -> Vec<f64> {
            (0..5)
                .map(|_| if random() < 0.1 { 0.0 } else { random() })
                .collect()
        };
        for _ in 0..200 {
            let contexts: Vec<(Vec<f64>, Vec<f64>)> = (0..6)
                .map(|_| (row(&mut random), row(&mut random)))
                .collect();
            let weight = 1.0 / 6.0;
            let all = contexts.iter().map(|(c, t)| (weight, &c[..], &t[..]));
            let curve = Curve::new(&values, all);
            for _ in 0..50 {
                let gap = 5.0 * random();
                let (mut reward, mut sale) = (0.0, 0.0);
                for (choice, truth) in &contexts {
                    let a = best(&values, choice, gap);
                    if a > 0 {
                        reward += weight * truth[a - 1] * values[a - 1];
                        sale += weight * truth[a - 1];
                    }
                }
                let found = curve.at(gap);
                assert!((found.0 - reward).abs() < 1e-12 && (found.1 - sale).abs() < 1e-12);
            }
        }
    }
}
