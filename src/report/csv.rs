//! CSV files. Numbers are written with the fewest digits that read back as the same float64.

use std::fmt::Write;

use crate::dp::ValueTable;
use crate::sim::{Outcome, RegretSummary, cumulative_regret};

/// `episodes.csv`: one line per policy, replication and episode.
pub fn episodes(outcome: &Outcome) -> String {
    let mut text = String::from(
        "policy,replication,episode,b_t,reward,opt,regret,cumulative_regret,spent,expected_regret\n",
    );
    let opt = outcome.opt();
    for policy in &outcome.policies {
        let name = quoted(&policy.name);
        for (r, episodes) in policy.episodes.iter().enumerate() {
            let cumulative = cumulative_regret(episodes.iter().map(|e| e.reward), &opt);
            for (t, (episode, cumulative)) in episodes.iter().zip(cumulative).enumerate() {
                let (b_t, opt) = (outcome.budgets[t], opt[t]);
                let expected = episode
                    .expected
                    .map_or(String::new(), |e| (opt - e).to_string());
                writeln!(
                    text,
                    "{name},{},{},{b_t},{},{opt},{},{cumulative},{},{expected}",
                    r + 1,
                    t + 1,
                    episode.reward,
                    opt - episode.reward,
                    episode.spent,
                )
                .expect("writing to a string");
            }
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
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_string()
    }
}
