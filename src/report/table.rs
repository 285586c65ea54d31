//! Tables for people.

use std::fmt::Write;

use crate::config::Study;
use crate::experiment::{BAND, Outcome, RegretSummary, evenly_spaced};
use crate::world::Optimum;

/// The result of a study: a headline and one line per policy.
pub fn study(setting: &str, study: &Study, outcome: &Outcome, regrets: &[RegretSummary]) -> String {
    let mut text = format!(
        "{}: T = {} episodes, H = {} steps, {} replications, seed {}, {setting}\n{}\n\n",
        study.name,
        study.episodes,
        study.world.task().horizon(),
        study.replications,
        study.seed,
        optimum_line(outcome),
    );
    let header = [
        "policy",
        "mean reward",
        "of opt",
        "final regret",
        "+- 3 s.e.",
        "slope (s.e.)",
        "seconds",
    ];
    let rows = outcome
        .policies
        .iter()
        .zip(regrets)
        .map(|(policy, regret)| {
            let [share, last, band, slope] = regret_cells(regret);
            [
                policy.name.clone(),
                format!("{:.3}", regret.mean_reward),
                share,
                last,
                band,
                slope,
                format!("{:.2}", policy.elapsed.as_secs_f64()),
            ]
        });
    align(&mut text, &header.map(String::from), rows);
    text
}

/// Share of opt, final regret, its band and the log-log slope of a policy, `-` for what is unknown.
pub fn regret_cells(regret: &RegretSummary) -> [String; 4] {
    let known = |value: f64, text: String| if value.is_nan() { "-".into() } else { text };
    let last = regret.cumulative.last();
    let (mean, error) = last.map_or((f64::NAN, f64::NAN), |x| (x.mean, x.standard_error));
    let share = regret.share_of_opt;
    [
        known(share, format!("{:.1}%", 100.0 * share)),
        known(mean, format!("{mean:.1}")),
        known(error, format!("{:.1}", BAND * error)),
        regret.slope.map_or("-".into(), |slope| {
            let error = known(slope.standard_error, format!("{:.2}", slope.standard_error));
            format!("{:.2} ({error})", slope.mean)
        }),
    ]
}

fn optimum_line(outcome: &Outcome) -> String {
    let episodes = outcome.budgets.len() as f64;
    let mean = |values: &dyn Fn(usize) -> f64| {
        outcome
            .budgets
            .iter()
            .map(|&b| values(b as usize))
            .sum::<f64>()
            / episodes
    };
    let opt = mean(&|b| outcome.optimum.table.row(0)[b]);
    let fluid = mean(&|b| outcome.optimum.fluid[b]);
    let how = match &outcome.optimum.estimate {
        None => "exact".to_string(),
        Some(estimate) => {
            let error = mean(&|b| estimate.standard_error[b]);
            format!(
                "estimated from {} rows, standard error {error:.4}",
                estimate.rows
            )
        }
    };
    format!("opt per episode {opt:.6} ({how}), fluid bound {fluid:.6}")
}

/// How many budgets a printed table of values shows at the most.
const BUDGETS_SHOWN: usize = 24;

/// Optimal values per budget.
pub fn optimum(headline: &str, optimum: &Optimum) -> String {
    let values = optimum.table.row(0);
    let shown = evenly_spaced(values.len(), BUDGETS_SHOWN);
    let mut text = format!("{headline}\n\n");
    let mut header = vec!["budget".to_string(), "opt".to_string()];
    if optimum.estimate.is_some() {
        header.push("standard error".into());
    }
    header.push("fluid bound".into());
    let rows = shown.iter().map(|&b| {
        let mut row = vec![b.to_string(), format!("{:.6}", values[b])];
        if let Some(estimate) = &optimum.estimate {
            row.push(format!("{:.6}", estimate.standard_error[b]));
        }
        row.push(format!("{:.6}", optimum.fluid[b]));
        row
    });
    align(&mut text, &header, rows);
    if shown.len() < values.len() {
        writeln!(text, "({} of {} budgets shown)", shown.len(), values.len())
            .expect("writing to a string");
    }
    text
}

/// Columns padded to their widest cell: the first to the left, numbers to the right.
pub(super) fn align<R: AsRef<[String]>>(
    text: &mut String,
    header: &[String],
    rows: impl Iterator<Item = R>,
) {
    let rows: Vec<R> = rows.collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row.as_ref()[column].chars().count());
        cells
            .chain([header[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut line = |cells: &[String]| {
        let mut out = format!("{:<1$}", cells[0], widths[0]);
        for (cell, width) in cells.iter().zip(&widths).skip(1) {
            write!(out, "   {cell:>width$}").expect("writing to a string");
        }
        text.push_str(out.trim_end());
        text.push('\n');
    };
    line(header);
    for row in &rows {
        line(row.as_ref());
    }
}
