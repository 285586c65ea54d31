//! The report of a sweep: a page with small charts and a table, and the same charts as files.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::page::{Page, escape, filled};
use super::{ELEMENTS, STYLE, THEME, painted};
use crate::error::InputError;
use crate::report::finding::{band, paired_difference};
use crate::report::overview::{charts, policy_styles, setting, share_axis};
use crate::report::plot::{self, COLOURS, Chart, DASHES, Series, legend_of, small_multiples};
use crate::report::warnings;
use crate::results::{Overview, OverviewRow, Results, SweepIndex};
use crate::statistics::{BAND, MeanAndError};

const MAIN: &str = include_str!("sweep.html");
const SCRIPT: &str = include_str!("sweep.js");

/// The most points whose curves a page shows.
const POINTS: usize = 60;

/// A sweep by its overview and the results of its points.
#[derive(Debug)]
pub struct SweepReport {
    title: String,
    overview: Overview,
    points: Vec<(String, Results)>,
}

impl SweepReport {
    /// Reads a folder whose `overview.csv` names its points.
    pub fn read(folder: &Path) -> Result<Self, InputError> {
        let overview = Overview::read(&folder.join("overview.csv"))?;
        let mut names: Vec<&String> = overview.rows.iter().map(|row| &row.point).collect();
        names.dedup();
        let read = |name: &&String| {
            let results = Results::read(&folder.join(name))?;
            results.check_sums()?;
            Ok((name.to_string(), results))
        };
        let points = names.iter().map(read);
        let points: Vec<(String, Results)> = points.collect::<Result<_, InputError>>()?;
        let name = points.first().map_or("", |(_, run)| &run.study.name);
        let title = SweepIndex::read(folder)?.map(|index| index.title);
        Ok(Self {
            title: title.unwrap_or_else(|| format!("{name}: {} points", points.len())),
            overview,
            points,
        })
    }

    /// Regret curves, a chart for each point.
    fn curves(&self) -> Vec<Chart> {
        let styles = policy_styles(&self.overview);
        let chart = |(name, run): &(String, Results)| {
            let mut chart = plot::regret_curves(name, &plot::labelled(run));
            for series in &mut chart.series {
                let style = styles.iter().find(|(name, _)| *name == series.name);
                series.style = style.map(|style| style.1).or(series.style);
            }
            chart.y.name = "cumulative regret".into();
            chart
        };
        let mut curves: Vec<Chart> = self.points.iter().take(POINTS).map(chart).collect();
        share_axis(&mut curves);
        curves
    }

    /// Every picture: name, SVG and PNG.
    pub fn pictures(&self) -> Vec<(String, String, Vec<u8>)> {
        let overview = crate::report::overview::picture(&self.title, &self.overview);
        let (count, mut title) = (self.points.len(), self.title.clone());
        if count > POINTS {
            title += &format!(" (the first {POINTS} of {count})");
        }
        let curves = small_multiples(&title, &self.curves());
        painted(vec![
            ("overview".into(), overview),
            ("regret".into(), curves),
        ])
    }

    /// The page; `pictures` are the names of the files beside it.
    pub fn page(&self, pictures: &[PathBuf]) -> String {
        let (overview, curves) = (charts(&self.title, &self.overview), self.curves());
        let styles = legend_of(&curves);
        let style = |series: &Series| {
            let (colour, dash) = series.style.unwrap_or_default();
            json!({ "name": series.name, "colour": colour, "dash": dash })
        };
        let data = json!({
            "band": BAND,
            "colours": COLOURS.len(),
            "dashes": DASHES,
            "keys": self.overview.keys,
            "reference": self.overview.reference(),
            "setting": setting(self.points.iter().map(|(_, point)| &point.run)),
            "warnings": warnings::of_points(self.points.iter().map(|(name, point)| (name.as_str(), &point.run))),
            "series": styles.iter().map(style).collect::<Vec<_>>(),
            "rows": self.rows(),
            "commands": self.points.iter().take(1).map(|(_, run)| &run.run.command).collect::<Vec<_>>(),
            "pictures": pictures.iter().map(|p| p.to_string_lossy()).collect::<Vec<_>>(),
        });
        let figures = |charts: &[Chart]| -> String {
            let figure = |chart: &Chart| format!("<figure>{}</figure>", chart.small_svg());
            charts.iter().map(figure).collect()
        };
        let left = match self.points.len() {
            count if count > POINTS => {
                format!("<p class=\"lead\">The first {POINTS} of {count}.</p>\n")
            }
            _ => String::new(),
        };
        let main = filled(
            MAIN,
            &[
                ("{{finding}}", &escape(&self.finding())),
                ("{{overview}}", &figures(&overview)),
                ("{{left}}", &left),
                ("{{curves}}", &figures(&curves)),
            ],
        );
        let page = Page {
            title: &self.title,
            main: &main,
            footer: "Made by <code>cbwk-gpu report</code>. Every point is a results folder of its own, which \
                     <code>cbwk-gpu report</code> takes as well.",
            connects: false,
            styles: &[STYLE],
            data: &data,
            scripts: &[ELEMENTS, THEME, SCRIPT],
        };
        page.text()
    }

    /// Where the policy with the most points has its lowest and highest regret. If the points have different optima, whose
    /// regrets cannot be compared, its share of opt instead.
    fn finding(&self) -> String {
        let rows = &self.overview.rows;
        let points = |policy: &str| rows.iter().filter(|r| r.result.policy == policy).count();
        let most = rows.iter().map(|row| points(&row.result.policy)).max();
        let Some(first) = rows.iter().find(|r| Some(points(&r.result.policy)) == most) else {
            return String::new();
        };
        let policy = &first.result.policy;
        let own = || rows.iter().filter(|row| row.result.policy == *policy);
        let regrets = own().filter_map(|row| {
            let (point, results) = self.points.iter().find(|(name, _)| *name == row.point)?;
            let value = PointValue {
                value: row.result.regret()?,
                point,
                finals: results.run.policy(policy).map_or(&[], |p| &p.final_regrets),
            };
            Some((value, &results.run))
        });
        if own().all(|row| row.result.opt == first.result.opt) {
            let start = format!("The final regret of {policy} is");
            return ends(&start, regrets.map(|(end, _)| end));
        }
        // The error of a share of opt is the error of the regret divided by total opt.
        let shares = regrets.filter_map(|(regret, run)| {
            let total = run.opt_per_episode? * run.episodes as f64;
            let value = MeanAndError {
                mean: 100.0 * (1.0 - regret.value.mean / total),
                standard_error: 100.0 * regret.value.standard_error / total,
            };
            Some(PointValue {
                value,
                finals: &[],
                ..regret
            })
        });
        let start =
            format!("The points have different optima. {policy}'s share of them, in percent, is");
        ends(&start, shares)
    }

    fn rows(&self) -> Vec<serde_json::Value> {
        let row = |row: &OverviewRow| {
            let result = &row.result;
            json!({ "values": row.values, "result": {
                "policy": result.policy,
                "mean_reward": result.mean_reward,
                "opt": result.opt,
                "share_of_opt": result.share_of_opt,
                "final_regret": result.final_regret,
                "standard_error": result.standard_error,
                "expected_regret": result.expected_regret,
                "expected_standard_error": result.expected_standard_error,
                "paired_difference": result.paired_difference,
                "paired_standard_error": result.paired_standard_error,
                "slope": result.slope,
                "slope_standard_error": result.slope_standard_error,
            } })
        };
        self.overview.rows.iter().map(row).collect()
    }
}

/// A policy's value at a point, with the final regrets if the value is their mean.
#[derive(Clone, Copy)]
struct PointValue<'a> {
    value: MeanAndError,
    point: &'a str,
    finals: &'a [f64],
}

/// The lowest and highest value in a sentence, compared by paired final regrets if these are known: points of one
/// instance see the same contexts and random draws.
fn ends<'a>(start: &str, values: impl Iterator<Item = PointValue<'a>>) -> String {
    let mut known: Vec<PointValue> = values.collect();
    known.sort_by(|a, b| a.value.mean.total_cmp(&b.value.mean));
    let (Some(low), Some(high)) = (known.first(), known.last()) else {
        return format!("{start} unknown at all points.");
    };
    if known.len() == 1 {
        return format!("{start} {}.", band(low.value));
    }
    let apart = match paired_difference(high.finals, low.finals) {
        Some(d) if d.lower() > 0.0 => format!(", by {}", band(d)),
        Some(d) => format!(
            "; they do not differ significantly (difference {})",
            band(d)
        ),
        None if low.value.upper() >= high.value.lower() => "; these bands overlap".into(),
        None => String::new(),
    };
    format!(
        "{start} lowest at {} ({}) and highest at {} ({}){apart}.",
        low.point,
        band(low.value),
        high.point,
        band(high.value)
    )
}
