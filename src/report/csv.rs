//! CSV files. Numbers are written with the fewest digits that read back as the same float64.

use std::fmt::Write;

use crate::dp::ValueTable;
use crate::experiment::{FinishedWave, PolicyOutcome, RegretSummary, cumulative_regret};

/// The header of `episodes.csv`.
pub const EPISODES_HEADER: &str =
    "policy,replication,episode,b_t,reward,opt,regret,cumulative_regret,spent,expected_regret\n";

/// Lines of `episodes.csv`: one per replication and episode of a finished wave.
pub fn episodes(wave: &FinishedWave) -> String {
    let mut text = String::new();
    let name = quoted(wave.policy);
    let opt: Vec<f64> = wave
        .budgets
        .iter()
        .map(|&b| wave.optimum.table.start(b))
        .collect();
    for (r, episodes) in (wave.first + 1..).zip(wave.episodes) {
        let cumulative = cumulative_regret(episodes.iter().map(|e| e.reward), &opt);
        for (t, (episode, cumulative)) in episodes.iter().zip(cumulative).enumerate() {
            let (b_t, opt) = (wave.budgets[t], opt[t]);
            let expected = episode
                .expected
                .map_or(String::new(), |e| (opt - e).to_string());
            writeln!(
                text,
                "{name},{r},{},{b_t},{},{opt},{},{cumulative},{},{expected}",
                t + 1,
                episode.reward,
                opt - episode.reward,
                episode.spent,
            )
            .expect("writing to a string");
        }
    }
    text
}

/// `summary.csv`: cumulative regret per policy and episode, with a band of 3 standard errors.
pub fn summary(names: &[&str], regrets: &[RegretSummary]) -> String {
    let mut text = String::from("policy,episode,mean,standard_error,lower,upper\n");
    for (name, regret) in names.iter().zip(regrets) {
        let name = quoted(name);
        for (t, point) in regret.cumulative.iter().enumerate() {
            writeln!(
                text,
                "{name},{},{},{},{},{}",
                t + 1,
                point.mean,
                point.standard_error,
                point.lower(),
                point.upper(),
            )
            .expect("writing to a string");
        }
    }
    text
}

/// `steps.csv`: mean budget left at the start of each step over the last quarter of the episodes; step H + 1 is the
/// end of the episode.
pub fn steps(policies: &[PolicyOutcome]) -> String {
    let mut text = String::from("policy,step,budget_left,standard_error\n");
    for policy in policies {
        let name = quoted(&policy.name);
        for (h, left) in (1..).zip(policy.budget_use.left()) {
            writeln!(text, "{name},{h},{},{}", left.mean, left.standard_error)
                .expect("writing to a string");
        }
    }
    text
}

/// `actions.csv`: what each greedy policy's last plan offers at (step, budget), beside what the optimal policy offers.
pub fn actions(policies: &[PolicyOutcome]) -> String {
    let mut text = String::from(
        "policy,step,budget,mean_action,offer_share,optimal_mean_action,optimal_offer_share\n",
    );
    for policy in policies {
        let name = quoted(&policy.name);
        let Some(map) = &policy.offers else { continue };
        let cells = map
            .steps
            .iter()
            .flat_map(|h| map.budgets.iter().map(move |b| (h + 1, b)));
        for ((h, b), (learnt, optimal)) in cells.zip(map.learnt.iter().zip(&map.optimal)) {
            writeln!(
                text,
                "{name},{h},{b},{},{},{},{}",
                learnt.mean_action, learnt.share, optimal.mean_action, optimal.share
            )
            .expect("writing to a string");
        }
    }
    text
}

/// `values.csv`: the value table, steps 1..=H.
pub fn values(table: &ValueTable) -> String {
    let mut text = String::from("step,budget,value\n");
    for h in 0..table.horizon() {
        for (b, value) in table.row(h).iter().enumerate() {
            writeln!(text, "{},{b},{value}", h + 1).expect("writing to a string");
        }
    }
    text
}

/// A name as a CSV cell.
pub(super) fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_string()
    }
}
