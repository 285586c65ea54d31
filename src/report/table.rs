//! Tables for people.

use std::fmt::Write;

use crate::results::{OptimumByBudget, PointResult, PolicyRun, Results, Run};
use crate::statistics::{BAND, evenly_spaced};

/// The result of a study: a headline and one line per policy.
pub fn study(results: &Results) -> String {
    let run = &results.run;
    let adapter = run.adapter.as_ref();
    let adapter = adapter.map_or(String::new(), |name| format!(" on {name}"));
    let mut text = format!(
        "{}: T = {} episodes, H = {} steps, {} replications, seed {}, {} {}{adapter}, {} threads\n{}\n\n",
        results.study.name,
        run.episodes,
        run.horizon,
        run.replications,
        run.seed,
        run.backend,
        run.precision,
        run.threads,
        optimum_line(run),
    );
    let mut header: Vec<String> = [
        "policy",
        "mean reward",
        "of opt",
        "final regret",
        "+- 3 s.e.",
    ]
    .map(String::from)
    .to_vec();
    if let Some(reference) = &run.reference {
        header.push(format!("over {reference}"));
        header.push("+- 3 s.e.".into());
    }
    header.extend(["slope (s.e.)", "seconds"].map(String::from));
    let rows = run.policies.iter().map(|policy| {
        let [share, last, band, slope] = regret_cells(&PointResult::new(policy));
        let reward = format!("{:.3}", policy.mean_reward.unwrap_or(f64::NAN));
        let mut row = vec![policy.name.clone(), reward, share, last, band];
        if let Some(reference) = &run.reference {
            row.extend(paired_cells(policy, reference));
        }
        row.extend([slope, format!("{:.2}", policy.seconds)]);
        row
    });
    align(&mut text, &header, rows);
    let warnings = run.policies.iter().flat_map(|policy| {
        let warnings = policy.warnings.iter();
        warnings.map(move |warning| format!("warning: {}: {warning}\n", policy.name))
    });
    let warnings: String = warnings.collect();
    if !warnings.is_empty() {
        text.push('\n');
        text.push_str(&warnings);
    }
    text
}

/// The paired difference of a policy to the reference and its band; nothing for the reference itself.
fn paired_cells(policy: &PolicyRun, reference: &str) -> [String; 2] {
    match policy.paired() {
        Some(paired) if policy.name != reference => {
            let band = BAND * paired.standard_error;
            let band = if band.is_nan() {
                "-".into()
            } else {
                format!("{band:.1}")
            };
            [format!("{:.1}", paired.mean), band]
        }
        _ => ["-".into(), "-".into()],
    }
}

/// Share of opt, final regret, its band and the log-log slope of a policy, `-` for what is unknown.
pub fn regret_cells(result: &PointResult) -> [String; 4] {
    let known = |value: f64, text: String| if value.is_nan() { "-".into() } else { text };
    let (last, share) = (result.regret(), result.share_of_opt);
    let error = last.map_or(f64::NAN, |last| last.standard_error);
    [
        share.map_or("-".into(), |share| format!("{:.1}%", 100.0 * share)),
        last.map_or("-".into(), |last| format!("{:.1}", last.mean)),
        known(error, format!("{:.1}", BAND * error)),
        result.slope().map_or("-".into(), |slope| {
            let error = known(slope.standard_error, format!("{:.2}", slope.standard_error));
            format!("{:.2} ({error})", slope.mean)
        }),
    ]
}

fn optimum_line(run: &Run) -> String {
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let how = match run.opt_rows {
        None => "exact".to_string(),
        Some(rows) => {
            let error = known(run.opt_per_episode_standard_error);
            format!("estimated from {rows} rows, standard error {error:.4}")
        }
    };
    format!(
        "opt per episode {:.6} ({how}), fluid bound {:.6}",
        known(run.opt_per_episode),
        known(run.fluid_bound_per_episode)
    )
}

/// How many budgets a printed table of values shows at the most.
const BUDGETS_SHOWN: usize = 24;

/// Optimal values per budget.
pub fn optimum(headline: &str, optimum: &OptimumByBudget) -> String {
    let shown = evenly_spaced(optimum.opt.len(), BUDGETS_SHOWN);
    let mut text = format!("{headline}\n\n");
    let mut header = vec!["budget".to_string(), "opt".to_string()];
    if optimum.opt_standard_error.is_some() {
        header.push("standard error".into());
    }
    header.push("fluid bound".into());
    let budgets: Vec<u32> = optimum.opt.keys().copied().collect();
    let rows = shown.iter().map(|&place| {
        let b = &budgets[place];
        let mut row = vec![b.to_string(), format!("{:.6}", optimum.opt[b])];
        if let Some(errors) = &optimum.opt_standard_error {
            row.push(format!("{:.6}", errors[b]));
        }
        row.push(format!("{:.6}", optimum.fluid_bound[b]));
        row
    });
    align(&mut text, &header, rows);
    if shown.len() < budgets.len() {
        writeln!(text, "({} of {} budgets shown)", shown.len(), budgets.len())
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
