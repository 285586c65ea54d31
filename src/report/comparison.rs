//! The policies of a study compared with each other, and the long comparison of `reproduce`.

use serde::Serialize;

use super::style::{Style, Table, band_cells, decimals, fixed, with_band};
use crate::error::Invalid;
use crate::results::{PointResult, PolicyRun, Run};
use crate::statistics::{Band, MeanAndError, holm, paired_p};

/// Final regrets of the policies of a study, and the differences of all pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// How the bands were made.
    pub band: &'static str,
    /// The policies, lowest regret first.
    pub policies: Vec<Compared>,
    /// All pairs of them.
    pub pairs: Vec<Pair>,
}

/// The final regret of a policy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Its name.
    pub policy: String,
    /// Mean over replications.
    pub final_regret: f64,
    /// Lower end of its band.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// The final regret of a policy minus that of another, paired by replication.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The policy.
    pub policy: String,
    /// The other one, whose regret is no larger.
    pub minus: String,
    /// Mean difference.
    pub difference: f64,
    /// Lower end of its band.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// The p-value of the paired t-test.
    pub p: f64,
    /// The same with Holm's correction for all pairs.
    pub p_holm: f64,
}

impl Comparison {
    /// Compares the policies of these names, or all.
    pub fn new(run: &Run, names: &[String], band: Band) -> Result<Self, Invalid> {
        let known: Vec<&str> = run.policies.iter().map(|p| p.name.as_str()).collect();
        if let Some(wrong) = names.iter().find(|name| !known.contains(&name.as_str())) {
            let accepted = format!("a policy of the study: {}", known.join(", "));
            return Err(Invalid::new("policy", format!("`{wrong}`"), accepted));
        }
        let chosen = |p: &&PolicyRun| names.is_empty() || names.contains(&p.name);
        let mut policies: Vec<&PolicyRun> = run.policies.iter().filter(chosen).collect();
        if let Some(old) = policies.iter().find(|p| p.final_regrets.is_empty()) {
            let found = format!("no regrets by replication for `{}`", old.name);
            let accepted = "results of a version that writes them into run.json";
            return Err(Invalid::new("final_regrets", found, accepted));
        }
        let mean = |p: &PolicyRun| MeanAndError::of(&p.final_regrets).mean;
        policies.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        let mut pairs = Vec::new();
        for (i, worse) in policies.iter().enumerate() {
            for better in &policies[..i] {
                let both = worse.final_regrets.iter().zip(&better.final_regrets);
                let differences: Vec<f64> = both.map(|(x, y)| x - y).collect();
                let (lower, upper) = band.of(&differences);
                pairs.push(Pair {
                    policy: worse.name.clone(),
                    minus: better.name.clone(),
                    difference: MeanAndError::of(&differences).mean,
                    lower,
                    upper,
                    p: paired_p(&differences),
                    p_holm: f64::NAN,
                });
            }
        }
        let corrected = holm(&pairs.iter().map(|pair| pair.p).collect::<Vec<_>>());
        for (pair, p) in pairs.iter_mut().zip(corrected) {
            pair.p_holm = p;
        }
        let compared = policies.iter().map(|p| {
            let (lower, upper) = band.of(&p.final_regrets);
            Compared {
                policy: p.name.clone(),
                final_regret: mean(p),
                lower,
                upper,
            }
        });
        Ok(Self {
            band: band.name(),
            policies: compared.collect(),
            pairs,
        })
    }

    /// Two tables: final regrets, and all pairs.
    pub fn text(&self, style: Style) -> String {
        let numbers = self.policies.iter().map(|p| p.final_regret);
        let digits = decimals(numbers, 1);
        let ends = ["lower", "upper"].map(|end| format!("{end} {}", self.band));
        let header = |names: &[&str]| {
            let names = names.iter().map(ToString::to_string);
            names.chain(ends.clone()).collect::<Vec<_>>()
        };
        let mut finals = Table::new(header(&["policy", "final regret"]));
        for row in &self.policies {
            let numbers = [row.final_regret, row.lower, row.upper].map(|x| fixed(x, digits));
            finals.push([row.policy.clone()].into_iter().chain(numbers));
        }
        let mut columns = header(&["policy", "minus", "difference"]);
        columns.extend(["p", "p (Holm)"].map(String::from));
        let mut pairs = Table::new(columns);
        for row in &self.pairs {
            let numbers = [row.difference, row.lower, row.upper].map(|x| fixed(x, digits));
            let names = [row.policy.clone(), row.minus.clone()].into_iter();
            let p_values = [row.p, row.p_holm].map(p_value);
            pairs.push(names.chain(numbers).chain(p_values));
        }
        let note = "\nDifferences are paired, replication by replication; p is that of a paired t-test, and with Holm's\n\
            correction one level holds for all pairs together.";
        finals.text(style) + "\n" + &pairs.text(style) + &style.prose(note)
    }
}

/// A p-value with two significant digits; small ones as a limit.
fn p_value(p: f64) -> String {
    match p {
        p if p.is_nan() => "-".into(),
        p if p < 1e-4 => "<0.0001".into(),
        p if p < 0.01 => format!("{p:.4}"),
        p => format!("{p:.2}"),
    }
}

/// A panel of the long comparison: its name, and the results of its policies.
#[derive(Debug)]
pub struct ComparedPanel {
    /// Such as `auction, K = 4`.
    pub name: String,
    /// `run.json`.
    pub run: Run,
}

/// The final regret of every policy on every panel, with its band.
pub fn long_table(panels: &[ComparedPanel]) -> Table {
    let names = panels.iter().map(|panel| panel.name.clone());
    let mut table = Table::new(["policy".to_string()].into_iter().chain(names));
    let policies = panels.first().map(|panel| &panel.run.policies);
    for (i, policy) in policies.into_iter().flatten().enumerate() {
        let cells = panels.iter().map(|panel| {
            let own = PointResult::all(&panel.run).nth(i);
            with_band(own.and_then(|own| own.regret()), 0)
        });
        table.push([policy.name.clone()].into_iter().chain(cells));
    }
    table
}

/// `comparison.md`: the long table, and each panel with differences to the clairvoyant, shares, slopes and times.
pub fn long_page(setting: &str, panels: &[ComparedPanel]) -> String {
    let mut page = format!(
        "# All policies on both panels of the paper\n\n{setting} Final regret, +- 3 standard errors:\n\n{}",
        long_table(panels).text(Style::Markdown)
    );
    for panel in panels {
        let reference = panel.run.reference.clone().unwrap_or_default();
        let over = format!("over {reference}, paired");
        let mut table = Table::new([
            "policy",
            "final regret",
            "+- 3 s.e.",
            &over,
            "+- 3 s.e.",
            "of opt",
            "slope +- 3 s.e.",
            "decision, median",
            "99%",
            "seconds",
        ]);
        for (own, run) in PointResult::all(&panel.run).zip(&panel.run.policies) {
            let times = run.decision_seconds.map(|t| [t.p50, t.p99]);
            let times = times.map_or_else(|| ["-".into(), "-".into()], |t| t.map(microseconds));
            let cells = [own.policy.clone()].into_iter();
            let cells = cells.chain(band_cells(own.regret(), 1));
            let cells = cells.chain(band_cells(own.paired(), 1));
            let cells = cells.chain([super::table::share(&own), with_band(own.slope(), 2)]);
            table.push(cells.chain(times).chain([fixed(run.seconds, 1)]));
        }
        page += &format!("\n## {}\n\n{}", panel.name, table.text(Style::Markdown));
    }
    page + "\nDifferences are paired by replication: all policies of a replication see the same contexts and random draws.\n\
        Times are of this machine; a decision of a policy that refits within an episode includes the fit.\n"
}

/// Seconds as microseconds.
fn microseconds(seconds: f64) -> String {
    format!("{:.2} us", 1e6 * seconds)
}
