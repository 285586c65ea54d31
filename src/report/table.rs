//! Tables for people.

use super::style::{Style, Table, band_cells, counted, decimals, fixed, with_band};
use crate::results::{OptimumByBudget, PointResult, Results, Run};
use crate::statistics::{BAND, evenly_spaced};

/// What every table of regrets says about its errors.
pub const ERRORS: &str = "+- is 3 standard errors over replications; differences are paired, replication by replication.";

/// The result of a study: a headline and one line per policy.
pub fn study(results: &Results, style: Style) -> String {
    let run = &results.run;
    let adapter = run.adapter.as_ref();
    let adapter = adapter.map_or(String::new(), |name| format!(" on {name}"));
    let headline = format!(
        "{}: T = {}, H = {}, {}, seed {}, {} {}{adapter}, {}\n{}\n\n",
        results.study.name,
        counted(run.episodes, "episode"),
        counted(run.horizon, "step"),
        counted(run.replications, "replication"),
        run.seed,
        run.backend,
        run.precision,
        counted(run.threads, "thread"),
        optimum_line(run),
    );
    let policies: Vec<PointResult> = PointResult::all(run).collect();
    let expected = policies.iter().any(|p| p.expected_regret.is_some());
    let mut header = vec![
        "policy",
        "mean reward",
        "of opt",
        "final regret",
        "+- 3 s.e.",
    ];
    if expected {
        header.extend(["expected regret", "+- 3 s.e."]);
    }
    let over = run.reference.as_ref();
    let over = over.map(|reference| format!("over {reference}"));
    if let Some(over) = &over {
        header.extend([over, "+- 3 s.e."]);
    }
    header.extend(["slope +- 3 s.e.", "seconds"]);
    let mut table = Table::new(header);
    let regrets = || policies.iter().filter_map(PointResult::regret);
    let digits = decimals(regrets().flat_map(|x| [x.mean, BAND * x.standard_error]), 1);
    let reward_digits = decimals(policies.iter().filter_map(|p| p.mean_reward), 3);
    for (result, policy) in policies.iter().zip(&run.policies) {
        let reward = fixed(result.mean_reward.unwrap_or(f64::NAN), reward_digits);
        let mut row = vec![result.policy.clone(), reward, share(result)];
        row.extend(band_cells(result.regret(), digits));
        if expected {
            row.extend(band_cells(result.expected(), digits));
        }
        if over.is_some() {
            row.extend(paired_cells(result, run, digits));
        }
        row.extend([with_band(result.slope(), 2), fixed(policy.seconds, 2)]);
        table.push(row);
    }
    let mut text = style.prose(&headline) + &table.text(style);
    let mut notes = format!("\n{ERRORS}\n");
    if let Some(error) = run.opt_per_episode_standard_error {
        let off = BAND * error * run.episodes as f64;
        notes += &format!(
            "opt is an estimate: all regrets may be off together by {}, which paired differences are not.\n",
            fixed(off, digits)
        );
    }
    for policy in &run.policies {
        let warnings = policy.warnings.iter();
        notes.extend(warnings.map(|warning| format!("warning: {}: {warning}\n", policy.name)));
    }
    text += &style.prose(&notes);
    text
}

/// The paired difference of a policy to the reference and its band; nothing for the reference itself.
fn paired_cells(result: &PointResult, run: &Run, digits: usize) -> [String; 2] {
    let other = run.reference.as_ref() != Some(&result.policy);
    band_cells(result.paired().filter(|_| other), digits)
}

/// Share of opt.
pub(super) fn share(result: &PointResult) -> String {
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    result.share_of_opt.map_or("-".into(), percent)
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
pub fn optimum(headline: &str, optimum: &OptimumByBudget, style: Style) -> String {
    let shown = evenly_spaced(optimum.opt.len(), BUDGETS_SHOWN);
    let mut header = vec!["budget", "opt"];
    if optimum.opt_standard_error.is_some() {
        header.push("standard error");
    }
    header.push("fluid bound");
    let budgets: Vec<u32> = optimum.opt.keys().copied().collect();
    let mut table = Table::new(header);
    for &place in &shown {
        let b = &budgets[place];
        let mut row = vec![b.to_string(), fixed(optimum.opt[b], 6)];
        if let Some(errors) = &optimum.opt_standard_error {
            row.push(fixed(errors[b], 6));
        }
        row.push(fixed(optimum.fluid_bound[b], 6));
        table.push(row);
    }
    let mut text = style.prose(&format!("{headline}\n\n")) + &table.text(style);
    if shown.len() < budgets.len() {
        let note = format!("({} of {} budgets shown)", shown.len(), budgets.len());
        text += &style.prose(&note);
    }
    text
}
