//! Tables of a study and of optimal values.

use super::style::{Style, Table, band_cells, counted, decimals, fixed, with_band};
use crate::error::Invalid;
use crate::results::{OptimumByBudget, PointResult, PolicyRun, Results, Run};
use crate::statistics::{BAND, evenly_spaced};

/// Header of a column of errors.
const ERROR: &str = "+- 3 s.e.";

/// The note under every table of regrets.
pub(super) const ERRORS: &str = "+- is 3 standard errors over replications; differences are paired, replication by replication.";

/// The results of a study: a headline and one line per policy, with all columns or some ([`Table::select`]).
pub fn study(results: &Results, style: Style, columns: &[String]) -> Result<String, Invalid> {
    let asked = columns;
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
    let columns = RegretColumns::new(&policies, run.reference.as_deref());
    let mut table = Table::new(
        ["policy", "mean reward", "of opt"]
            .map(String::from)
            .into_iter()
            .chain(columns.header())
            .chain(["seconds".into()]),
    );
    let reward_digits = decimals(policies.iter().filter_map(|p| p.mean_reward), 3);
    for (result, policy) in policies.iter().zip(&run.policies) {
        let reward = fixed(result.mean_reward.unwrap_or(f64::NAN), reward_digits);
        let mut row = vec![result.policy.clone(), reward, share(result)];
        row.extend(columns.cells(result));
        row.push(fixed(policy.seconds, 2));
        table.push(row);
    }
    let mut text = style.prose(&headline) + &table.select(asked)?.text(style);
    let mut notes = format!("\n{ERRORS}\n");
    if let Some(error) = run.opt_per_episode_standard_error {
        let off = BAND * error * run.episodes as f64;
        notes += &format!(
            "opt is an estimate: all regrets may be off together by {}; paired differences are not affected.\n",
            fixed(off, columns.digits)
        );
    }
    notes += &played(run);
    for policy in &run.policies {
        let warnings = policy.warnings.iter();
        notes.extend(warnings.map(|warning| format!("warning: {}: {warning}\n", policy.name)));
    }
    text += &style.prose(&notes);
    Ok(text)
}

/// Which term of the regret bound is the larger, for learners.
fn played(run: &Run) -> String {
    let of_policy = |policy: &PolicyRun| {
        let played = policy.played?;
        let episodes = run.episodes as f64;
        Some(format!(
            "{} {} and {}",
            policy.name,
            fixed(played.widths / episodes, 2),
            fixed(played.tolerance / episodes, 2)
        ))
    };
    let all: Vec<String> = run.policies.iter().filter_map(of_policy).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(
            "offers of an episode: sum of the widths of their bounds, and of the tolerances: {}\n",
            all.join("; ")
        ),
    }
}

/// The columns of regret that tables of studies and of sweeps share.
pub(super) struct RegretColumns<'a> {
    digits: usize,
    has_expected: bool,
    reference: Option<&'a str>,
}

impl<'a> RegretColumns<'a> {
    pub fn new<'r>(
        results: impl IntoIterator<Item = &'r PointResult> + Clone,
        reference: Option<&'a str>,
    ) -> Self {
        let regrets = results.clone().into_iter().filter_map(PointResult::regret);
        Self {
            digits: decimals(regrets.flat_map(|x| [x.mean, BAND * x.standard_error]), 1),
            has_expected: results.into_iter().any(|r| r.expected_regret.is_some()),
            reference,
        }
    }

    pub fn header(&self) -> Vec<String> {
        let mut header = vec!["final regret".to_string(), ERROR.into()];
        if self.has_expected {
            header.extend(["expected regret".into(), ERROR.into()]);
        }
        if let Some(reference) = self.reference {
            header.extend([format!("over {reference}"), ERROR.into()]);
        }
        header.push(format!("slope {ERROR}"));
        header
    }

    /// The cells of a policy; the reference has no difference to itself.
    pub fn cells(&self, result: &PointResult) -> Vec<String> {
        let mut cells = band_cells(result.regret(), self.digits).to_vec();
        if self.has_expected {
            cells.extend(band_cells(result.expected(), self.digits));
        }
        if let Some(reference) = self.reference {
            let paired = result.paired().filter(|_| result.policy != reference);
            cells.extend(band_cells(paired, self.digits));
        }
        cells.push(with_band(result.slope(), 2));
        cells
    }
}

/// The share of opt in percent.
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

/// The most budgets that a printed table shows.
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
