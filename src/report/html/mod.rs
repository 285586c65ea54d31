//! `report.html`, a self-contained page, and the pictures beside it.

pub(super) mod data;
pub(super) mod page;
mod sweep;

pub use sweep::SweepReport;

use std::path::PathBuf;

use rayon::prelude::*;

use page::{Page, escape, filled};

use super::distinct;
use super::finding::{self, Found};
use super::plot::{self, AxisSpec, Chart, HeatMap, Labelled, Point, Series};
use super::png::Painter;
use crate::results::{OfferMap, PointResult, PolicyResults, Results, labels};

const MAIN: &str = include_str!("study.html");
pub(super) const STYLE: &str = include_str!("report.css");
pub(super) const ELEMENTS: &str = include_str!("elements.js");
pub(super) const THEME: &str = include_str!("theme.js");
pub(super) const DRAWN: &str = include_str!("drawn.js");
const SCRIPTS: [&str; 6] = [
    ELEMENTS,
    THEME,
    DRAWN,
    include_str!("chart.js"),
    include_str!("heat.js"),
    include_str!("page.js"),
];

/// A report on one or several results folders.
#[derive(Debug)]
pub struct Report {
    title: String,
    runs: Vec<Results>,
    labels: Vec<String>,
}

impl Report {
    /// A report on one or several folders.
    pub fn new(runs: Vec<Results>) -> Self {
        let labels = labels(&runs);
        let names = distinct(runs.iter().map(|run| run.study.name.as_str()));
        let title = match names[..] {
            [first, second, _, _, ..] => {
                format!("{first}, {second} and {} more", names.len() - 2)
            }
            _ => names.join(", "),
        };
        Self {
            title,
            labels,
            runs,
        }
    }

    /// The main result of each instance, one per line.
    fn finding(&self) -> String {
        let groups = self.instances();
        let several = groups.len() > 1;
        let sentence = |group: &Vec<usize>| {
            let found = finding::finding(group.iter().flat_map(|&i| {
                let run = &self.runs[i].run;
                let alone = group.len() == 1;
                let results = PointResult::all(run).zip(&run.policies);
                results.map(move |(mut result, policy)| Found {
                    result: {
                        if !alone {
                            result.policy = self.series_name(i, &result.policy);
                        }
                        result
                    },
                    run: i,
                    knows: self.runs[i].study.knows_the_truth(&policy.name),
                    is_reference: run.reference.as_ref() == Some(&policy.name),
                    finals: &policy.final_regrets,
                })
            }));
            match several {
                true => format!("{}: {found}", self.places(group)),
                false => found,
            }
        };
        groups.iter().map(sentence).collect::<Vec<_>>().join("\n")
    }

    /// The title of an instance's picture.
    fn headline(&self, instance: &[usize], what: &str) -> String {
        let title = match instance.len() == self.runs.len() {
            true => self.title.clone(),
            false => self.places(instance),
        };
        format!("{}: {what}", plot::shorten(&title, 56))
    }

    /// The folders of an instance.
    fn places(&self, instance: &[usize]) -> String {
        let labels: Vec<&str> = instance.iter().map(|&i| self.labels[i].as_str()).collect();
        labels.join(", ")
    }

    /// The page; `pictures` are the names of the files beside it.
    pub fn page(&self, pictures: &[PathBuf]) -> String {
        let page = Page {
            title: &self.title,
            main: &filled(MAIN, &[("{{finding}}", &escape(&self.finding()))]),
            footer: "Made by <code>cbwk-gpu report</code>. In a plot, move with the pointer, or focus it and use the arrow \
                     keys, Home and End; Escape hides the values.",
            connects: false,
            styles: &[STYLE],
            data: &data::json(self, pictures),
            scripts: &SCRIPTS,
        };
        page.text()
    }

    /// Every picture: name, SVG and PNG. Different instances have separate pictures.
    pub fn pictures(&self) -> Vec<(String, String, Vec<u8>)> {
        let mut svgs = Vec::new();
        let instances = self.instances();
        for instance in &instances {
            let place = self.file_end(instance[0], instances.len() > 1);
            let mut put = |kind: &str, svg| svgs.push((format!("{kind}{place}"), svg));
            put("regret", self.regret(instance).svg());
            let others = [
                ("regret-log", self.regret_log(instance)),
                ("reward", self.rewards(instance)),
                ("budget", self.budget_left(instance)),
            ];
            for (kind, chart) in others {
                if let Some(chart) = chart {
                    put(kind, chart.svg());
                }
            }
        }
        for (i, (run, label)) in self.runs.iter().zip(&self.labels).enumerate() {
            let name = format!("offers{}", self.file_end(i, self.runs.len() > 1));
            svgs.extend(offers(run, label, self.runs.len() > 1).map(|svg| (name, svg)));
        }
        painted(svgs)
    }

    /// The end of a file name: number and label if there are several folders.
    fn file_end(&self, run: usize, several: bool) -> String {
        match several {
            true => format!("-{}-{}", run + 1, file_name(&self.labels[run])),
            false => String::new(),
        }
    }

    /// The name of a policy, with its folder if there are several.
    fn series_name(&self, run: usize, policy: &str) -> String {
        if self.runs.len() == 1 {
            policy.to_string()
        } else {
            format!("{}/{policy}", self.labels[run])
        }
    }

    /// The name for a legend, where a long folder name is cut.
    fn short_name(&self, instance: &[usize], run: usize, policy: &str) -> String {
        if instance.len() == 1 {
            return policy.to_string();
        }
        let room = plot::NAME_LENGTH.saturating_sub(policy.chars().count() + 1);
        format!("{}/{policy}", plot::shorten(&self.labels[run], room.max(4)))
    }

    /// The policies of an instance, with their names for a legend.
    fn policies(&self, instance: &[usize]) -> Vec<Labelled<'_>> {
        let of_run = |&i: &usize| {
            let name = move |p: &PolicyResults| self.short_name(instance, i, p.name());
            let run = &self.runs[i];
            run.policies.iter().map(move |p| (name(p), run, p))
        };
        instance.iter().flat_map(of_run).collect()
    }

    fn regret(&self, instance: &[usize]) -> Chart {
        let title = self.headline(instance, "regret");
        plot::regret_curves(&title, &self.policies(instance))
    }

    /// Regret on logarithmic axes, where growth like T^s is a line of slope s. Curves that do not differ significantly
    /// from zero at the end are left out.
    fn regret_log(&self, instance: &[usize]) -> Option<Chart> {
        let positive = |p: &Point| p.y > 0.0 && p.band.is_none_or(|(lower, _)| lower > 0.0);
        let mut chart = self.regret(instance);
        chart.x = AxisSpec::log_whole(chart.x.name);
        chart.y = AxisSpec::log(chart.y.name);
        let clear = |series: &Series| series.points.last().is_some_and(positive);
        chart.series.retain(clear);
        (!chart.series.is_empty()).then_some(chart)
    }

    /// Reward per episode, if opt is known.
    fn rewards(&self, instance: &[usize]) -> Option<Chart> {
        let known = instance.iter().all(|&i| !self.runs[i].opt.is_empty());
        let title = self.headline(instance, "reward");
        known.then(|| plot::rewards(&title, &self.policies(instance)))
    }

    /// Runs by instance: those with equal steps, episodes and optima. Regrets of different instances cannot be ranked.
    fn instances(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (i, run) in self.runs.iter().enumerate() {
            let alike = |group: &&mut Vec<usize>| {
                let (a, b) = (&self.runs[group[0]].run, &run.run);
                (a.horizon, a.episodes, &a.opt) == (b.horizon, b.episodes, &b.opt)
            };
            match groups.iter_mut().find(alike) {
                Some(group) => group.push(i),
                None => groups.push(vec![i]),
            }
        }
        groups
    }

    fn budget_left(&self, instance: &[usize]) -> Option<Chart> {
        let mut policies = self.policies(instance);
        policies.retain(|(.., p)| !p.left.is_empty());
        let title = self.headline(instance, "budget use, last quarter of the episodes");
        (!policies.is_empty()).then(|| plot::budget_left(&title, &policies))
    }
}

/// Renders pictures, given as name and SVG, to PNG as well.
pub(super) fn painted(svgs: Vec<(String, String)>) -> Vec<(String, String, Vec<u8>)> {
    let painter = Painter::default();
    let with_png = |(name, svg): (String, String)| {
        let png = painter.png(&svg);
        (name, svg, png)
    };
    svgs.into_par_iter().map(with_png).collect()
}

/// The optimal offers beside those of every policy that differs.
fn offers(run: &Results, label: &str, several: bool) -> Option<String> {
    let maps = || {
        run.policies
            .iter()
            .filter_map(|p| Some((p, p.offers.as_ref()?)))
    };
    let cells: &OfferMap = maps().next()?.1;
    if cells.budgets.is_empty() {
        return None;
    }
    let mut panels = vec![("optimal policy".to_string(), &cells.optimal[..])];
    let different = maps().filter(|(_, map)| differs(map));
    panels.extend(different.map(|(policy, map)| (policy.name().into(), &map.learnt[..])));
    let name = if several { label } else { &run.study.name };
    let action = run.study.action;
    let map = HeatMap {
        title: format!("{}: mean {action} offered", plot::shorten(name, 70)),
        quantity: format!("mean {action} where one is offered"),
        cells,
        panels,
    };
    Some(map.svg())
}

/// Whether a policy's offers differ from the optimal ones, except by rounding.
fn differs(map: &OfferMap) -> bool {
    let far = |x: f64, y: f64| (x - y).abs() > 1e-9 * (1.0 + y.abs());
    let mut pairs = map.learnt.iter().zip(&map.optimal);
    pairs.any(|(x, y)| far(x.mean_action, y.mean_action) || far(x.share, y.share))
}

/// A label as part of a file name.
fn file_name(label: &str) -> String {
    let unsafe_char = |c: char| !c.is_alphanumeric() && !"-_.".contains(c);
    label.replace(unsafe_char, "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_colours_of_the_pictures() {
        for (i, colour) in plot::COLOURS.iter().enumerate() {
            let line = format!("--c{i}: light-dark({colour}, ");
            assert!(STYLE.contains(&line), "{line}");
            for part in ["stroke", "fill"] {
                let rule = format!("[{part}=\"{colour}\"] {{ {part}: var(--c{i}); }}");
                assert!(STYLE.contains(&rule), "{rule}");
            }
        }
    }

    #[test]
    fn labels_become_names_of_files() {
        assert_eq!(file_name("a/b c.d"), "a-b-c.d");
        assert_eq!(escape("<&>"), "&lt;&amp;&gt;");
    }
}
