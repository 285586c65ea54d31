//! `verdict.md`: the claims of the paper's last section, checked with the numbers of a rerun. The page states the rules
//! by which its words follow from the numbers.

use std::fmt::Write;

use super::style::{Style, Table, band_cells, fixed, with_band};
use super::table::share;
use crate::results::{PointResult, Results};
use crate::statistics::MeanAndError;

/// The learner is much below another policy if its regret is less than this share of the other's.
const MUCH: f64 = 0.5;

/// Growth is linear if the band of the slope includes 1 and stays within this distance of it.
const SHARP: f64 = 0.25;

/// One panel of the figure. The learner comes first; the learner with tight bounds, which is not in the paper, last.
#[derive(Debug)]
pub struct FigurePanel {
    /// Its name, such as `auction`.
    pub name: String,
    /// K.
    pub actions: u32,
    /// opt per episode.
    pub opt: f64,
    /// The results of the policies.
    pub policies: Vec<PointResult>,
    /// Warnings, each with the name of its policy.
    pub warnings: Vec<String>,
    /// Final regret minus the learner's, paired by replication.
    pub excess: Vec<MeanAndError>,
}

impl FigurePanel {
    /// The panel of a finished study whose first policy is the learner.
    pub fn new(name: &str, actions: u32, results: &Results, excess: Vec<MeanAndError>) -> Self {
        let run = &results.run;
        Self {
            name: name.into(),
            actions,
            opt: run.opt.values().next().copied().unwrap_or(f64::NAN),
            policies: PointResult::all(run).collect(),
            warnings: run
                .policies
                .iter()
                .flat_map(|p| p.warnings.iter().map(|w| format!("{}: {w}", p.name)))
                .collect(),
            excess,
        }
    }

    /// The number of policies that are in the paper.
    fn compared(&self) -> usize {
        self.policies.len() - 1
    }

    /// A table row: the learner with tight bounds against the best of the others.
    fn improvement(&self) -> String {
        let (improved, mine) = (self.compared(), self.last(self.compared()));
        let others = (0..self.compared()).min_by(|&i, &j| self.last(i).total_cmp(&self.last(j)));
        let best = others.unwrap_or(0);
        let excess = &self.excess[improved];
        format!(
            "| {} | {} | {} | {} | {} | {} ({}) |",
            self.name,
            self.actions,
            fixed(mine, 1),
            fixed(self.last(0), 1),
            signed(excess),
            self.policy(best),
            fixed(self.last(best), 1)
        )
    }

    fn policy(&self, i: usize) -> &str {
        &self.policies[i].policy
    }

    fn last(&self, i: usize) -> f64 {
        self.policies[i].final_regret.unwrap_or(f64::NAN)
    }

    /// The policies by rising regret.
    fn order(&self) -> String {
        let mut order: Vec<usize> = (0..self.compared()).collect();
        order.sort_by(|&i, &j| self.last(i).total_cmp(&self.last(j)));
        let names: Vec<&str> = order.iter().map(|&i| self.policy(i)).collect();
        names.join(" < ")
    }

    /// Claim 1 against one policy: whether it holds, and a sentence.
    fn below(&self, i: usize) -> (bool, String) {
        let (learner, other) = (self.last(0), self.last(i));
        let excess = &self.excess[i];
        let size = MeanAndError {
            mean: excess.mean.abs(),
            ..*excess
        };
        let size = with_band(Some(size), 1);
        let [mine, theirs] = [learner, other].map(|x| fixed(x, 1));
        let holds = excess.lower() > 0.0 && learner < MUCH * other;
        let (relation, end) = if holds {
            ("much below", "lower by")
        } else if excess.lower() > 0.0 {
            ("below (by less than half)", "lower by")
        } else if excess.upper() < 0.0 {
            ("**above**", "higher by")
        } else {
            ("not significantly different from", "difference")
        };
        let name = self.policy(i);
        let text = format!("{relation} {name}: {mine} against {theirs}, {end} {size}");
        (holds, text)
    }

    /// Claim 2 for one policy: how its regret grows.
    fn growth(&self, i: usize) -> (&'static str, String) {
        let name = self.policy(i);
        let Some(slope) = self.policies[i].slope() else {
            let text = format!("{name}: no slope, its regret is within its error of zero");
            return ("unknown", text);
        };
        let growth = if slope.standard_error.is_nan() {
            "unknown"
        } else if slope.upper() < 1.0 {
            "sub-linear"
        } else if slope.lower() > 1.0 {
            "faster than linear"
        } else if slope.lower() >= 1.0 - SHARP && slope.upper() <= 1.0 + SHARP {
            "linear"
        } else {
            "unclear"
        };
        let text = format!("{name}: {growth}, slope {}", with_band(Some(slope), 2));
        (growth, text)
    }

    fn learner_is_much_below_all(&self) -> bool {
        (1..self.compared()).all(|i| self.below(i).0)
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            "policy",
            "final regret",
            "+- 3 s.e.",
            "of opt",
            "slope +- 3 s.e.",
            "minus the learner's, paired, +- 3 s.e.",
        ]);
        for (i, policy) in self.policies.iter().enumerate() {
            let [last, band] = band_cells(policy.regret(), 1);
            let paired = match i {
                0 => "".into(),
                _ => signed(&self.excess[i]),
            };
            let slope = with_band(policy.slope(), 2);
            table.push([
                policy.policy.clone(),
                last,
                band,
                share(policy),
                slope,
                paired,
            ]);
        }
        table
    }

    fn write(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "### {}, K = {} (opt {:.4} per episode)\n",
            self.name, self.actions, self.opt
        )?;
        writeln!(page, "{}", self.table().text(Style::Markdown).trim_end())?;
        let others = 1..self.compared();
        let below: Vec<String> = others.map(|i| self.below(i).1).collect();
        let growth: Vec<String> = (0..self.policies.len()).map(|i| self.growth(i).1).collect();
        writeln!(page, "\n1. {} is {}.", self.policy(0), below.join("; "))?;
        writeln!(page, "2. {}.\n", growth.join("; "))?;
        let mut warnings = self.warnings.iter();
        warnings.try_for_each(|warning| writeln!(page, "Warning: {warning}.\n"))
    }
}

/// A difference with its sign and its band.
fn signed(value: &MeanAndError) -> String {
    let text = with_band(Some(*value), 1);
    if value.mean > 0.0 {
        format!("+{text}")
    } else {
        text
    }
}

/// The tables of all panels.
pub fn tables(panels: &[FigurePanel], style: Style) -> String {
    let table = |panel: &FigurePanel| {
        let name = format!("{}, K = {}", panel.name, panel.actions);
        style.prose(&name) + &panel.table().text(style)
    };
    panels.iter().map(table).collect::<Vec<_>>().join("\n")
}

/// The page; `setting` describes the runs.
pub fn verdict(setting: &str, panels: &[FigurePanel]) -> String {
    let mut page = String::new();
    write_page(&mut page, setting, panels).expect("writing to a string");
    page
}

fn write_page(page: &mut String, setting: &str, panels: &[FigurePanel]) -> std::fmt::Result {
    writeln!(page, "# The paper's comparison, run again\n\n{setting}\n")?;
    writeln!(
        page,
        "## What the paper claims\n\n\
         1. The cumulative regret of Mimic-Opt-DP is much below that of SquareCBwK and Logistic-UCB1, in both panels.\n\
         2. The regret of Mimic-Opt-DP grows sub-linearly in T; where the others do not converge to the optimal actions,\n   \
         theirs grows linearly.\n\n\
         The paper shows curves without numbers, and does not state K, delta and lambda (here 0.1 and 1). Nor does it say whether\n\
         the dual of SquareCBwK, an algorithm for one episode, survives an episode: `square-cbwk` starts it anew,\n\
         `square-cbwk-tuned` keeps it and has gamma = 1000.\n"
    )?;
    writeln!(
        page,
        "## In short\n\n| panel | K | regret, lowest first | claim 1 | learner's growth | others' growth |"
    )?;
    writeln!(page, "| --- | --- | --- | --- | --- | --- |")?;
    for panel in panels {
        let claim = if panel.learner_is_much_below_all() {
            "holds"
        } else {
            "**does not hold**"
        };
        let word = |i: usize| panel.growth(i).0;
        let others: Vec<&str> = (1..panel.compared()).map(word).collect();
        let (name, k, order) = (&panel.name, panel.actions, panel.order());
        writeln!(
            page,
            "| {name} | {k} | {order} | {claim} | {} | {} |",
            word(0),
            others.join(", ")
        )?;
    }
    writeln!(
        page,
        "\n## Beyond the paper\n\n\
         `tight-opt-dp` is the same algorithm with bounds that are tight and hold at all times, one conversion probability for\n\
         reward and consumption, no bonus where a pair is known as well as the pairs that are played, and one reserved episode\n\
         in ten. Its confidence bounds are valid in both\n\
         panels; the radius of the paper's pricing panel (gamma = 0.5, kappa = 8) is set by hand and is not.\n\n\
         | panel | K | tight-opt-dp | mimic-opt-dp | difference, paired | best of the others |\n\
         | --- | --- | --- | --- | --- | --- |"
    )?;
    for panel in panels {
        writeln!(page, "{}", panel.improvement())?;
    }
    writeln!(page, "\n## The numbers\n")?;
    for panel in panels {
        panel.write(page)?;
    }
    writeln!(
        page,
        "## How to read this\n\n\
         Bands are 3 standard errors over replications. *Much below* means less than half, and lower by more than 3 standard\n\
         errors of the paired difference (all policies of a replication see the same contexts and random draws). The slope is that of\n\
         ln(mean cumulative regret) on ln(episode) over the last half of the episodes, its error a jackknife over replications;\n\
         with a band of 3 errors, *sub-linear* is below 1, *faster* above 1, *linear* between 0.75 and 1.25 and around 1,\n\
         *unclear* otherwise, and *unknown* if the regret is within its error of zero.\n\
         A slope describes these episodes only: while bounds are wide, regret may grow faster than linearly."
    )
}
