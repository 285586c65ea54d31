//! The data of a page as JSON: summaries only, so that pages of large studies stay small.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::super::plot::{self, COLOURS, DASHES, ramp};
use super::Report;
use crate::results::{MeanOffer, PolicyResults, Results};
use crate::statistics::{BAND, MeanAndError, evenly_spaced};

/// The most embedded points of a curve: evenly spaced ones, and ones for a logarithmic axis.
const POINTS: (usize, usize) = (400, 200);

/// Number of colours of the heat map's scale; the page uses the nearest.
const RAMP: usize = 101;

/// Fields of `run.json` that are shown unchanged.
const SHOWN: &str = "version command seed backend adapter driver precision threads episodes horizon replications \
    reference delta seconds peak_memory_bytes opt opt_rows opt_standard_error opt_per_episode_standard_error fluid_bound";

/// The styles that scripts draw with: number of colours, dashes, and the heat map's scale.
pub(in crate::report) fn styles_json() -> Value {
    let colour = |i| ramp::colour(i as f64 / (RAMP - 1) as f64);
    let ramp: Vec<String> = (0..RAMP).map(colour).collect();
    json!({ "colours": COLOURS.len(), "dashes": DASHES, "ramp": ramp })
}

/// All data of a report.
pub(super) fn json(report: &Report, pictures: &[PathBuf]) -> Value {
    let mut series = Vec::new();
    let mut runs = vec![Value::Null; report.runs.len()];
    let instances = report.instances();
    for (group, instance) in instances.iter().enumerate() {
        let policies = instance.iter().flat_map(|&i| &report.runs[i].policies);
        let mut styles =
            plot::curve_styles(&policies.map(PolicyResults::name).collect::<Vec<_>>()).into_iter();
        for &number in instance {
            let run = &report.runs[number];
            // Distinct optimal offers, which most policies share.
            let mut optimal: Vec<&[MeanOffer]> = Vec::new();
            for (policy, (colour, dash)) in run.policies.iter().zip(&mut styles) {
                let mut entry = policy_json(policy, number, &mut optimal);
                let name = report.series_name(number, policy.name());
                // The heading of an instance with one folder names the folder already.
                let short = match instance.len() {
                    1 => policy.name(),
                    _ => &name,
                };
                entry["short"] = short.into();
                entry["name"] = name.into();
                entry["colour"] = colour.into();
                entry["dash"] = dash.into();
                entry["instance"] = group.into();
                entry["rewards"] = match run.opt.is_empty() {
                    true => Value::Null,
                    false => rewards_json(policy, &run.opt),
                };
                series.push(entry);
            }
            runs[number] = run_json(run, &report.labels[number], &optimal);
        }
    }
    let labels = instances.iter().map(|instance| report.places(instance));
    let mut data = styles_json();
    data["band"] = BAND.into();
    data["pictures"] = pictures.iter().map(|p| p.to_string_lossy()).collect();
    data["instances"] = labels.collect();
    data["runs"] = runs.into();
    data["series"] = series.into();
    data
}

fn run_json(run: &Results, label: &str, optimal: &[&[MeanOffer]]) -> Value {
    let fields = serde_json::to_value(&run.run).unwrap_or_default();
    let shown = SHOWN.split(' ').filter_map(|key| {
        let value = fields.get(key)?;
        Some((key.to_string(), value.clone()))
    });
    json!({
        "label": label,
        "folder": run.folder.to_string_lossy(),
        "name": run.study.name,
        "action": run.study.action,
        "study": run.study.text,
        "run": shown.collect::<Map<_, _>>(),
        "optimal": optimal.iter().map(|offers| offers_json(offers)).collect::<Vec<_>>(),
    })
}

fn policy_json<'a>(
    policy: &'a PolicyResults,
    run: usize,
    optimal: &mut Vec<&'a [MeanOffer]>,
) -> Value {
    let shown = episodes_shown(policy.cumulative.len());
    let at = |value: &dyn Fn(&MeanAndError) -> f64| -> Vec<f64> {
        shown
            .iter()
            .map(|&t| value(&policy.cumulative[t]))
            .collect()
    };
    let offers = policy.offers.as_ref().filter(|map| !map.budgets.is_empty());
    let offers = offers.map(|map| {
        let known = optimal.iter().position(|offers| *offers == map.optimal);
        let place = known.unwrap_or_else(|| {
            optimal.push(&map.optimal);
            optimal.len() - 1
        });
        json!({
            "steps": map.steps,
            "budgets": map.budgets,
            "learnt": offers_json(&map.learnt),
            "optimal": place,
            "differs": super::differs(map),
        })
    });
    json!({
        "run": run,
        "policy": policy.name(),
        "episode": shown.iter().map(|t| t + 1).collect::<Vec<_>>(),
        "mean": at(&|p| p.mean),
        "error": at(&|p| p.standard_error),
        "mean_reward": policy.run.mean_reward,
        "share_of_opt": policy.run.share_of_opt,
        "expected": policy.run.expected_regret,
        "expected_error": policy.run.expected_standard_error,
        "paired": policy.run.paired_difference,
        "paired_error": policy.run.paired_standard_error,
        "warnings": policy.run.warnings,
        "slope": policy.run.slope,
        "slope_error": policy.run.slope_standard_error,
        "left": policy.left.iter().map(|p| p.mean).collect::<Vec<_>>(),
        "left_error": policy.left.iter().map(|p| p.standard_error).collect::<Vec<_>>(),
        "offers": offers,
    })
}

/// Mean reward per episode and opt, block by block.
fn rewards_json(policy: &PolicyResults, opt: &[f64]) -> Value {
    let blocks = plot::reward_blocks(&policy.cumulative, opt);
    json!({
        "episode": blocks.iter().map(|b| b.episode).collect::<Vec<_>>(),
        "reward": blocks.iter().map(|b| b.reward).collect::<Vec<_>>(),
        "opt": blocks.iter().map(|b| b.opt).collect::<Vec<_>>(),
    })
}

/// Mean actions and shares, rounded for colours and tooltips.
fn offers_json(offers: &[MeanOffer]) -> Value {
    let rounded = |x: f64| format!("{x:.4e}").parse::<f64>().unwrap_or(x);
    json!({
        "mean": offers.iter().map(|o| rounded(o.mean_action)).collect::<Vec<_>>(),
        "share": offers.iter().map(|o| rounded(o.share)).collect::<Vec<_>>(),
    })
}

/// The embedded episodes (0-based) of a curve: all, or enough for a linear and a logarithmic axis.
fn episodes_shown(episodes: usize) -> Vec<usize> {
    let (even, geometric) = POINTS;
    if episodes <= even + geometric {
        return (0..episodes).collect();
    }
    let mut shown = evenly_spaced(episodes, even);
    shown.extend((0..geometric).map(|i| {
        let power = i as f64 / (geometric - 1) as f64;
        ((episodes as f64).powf(power) as usize).clamp(1, episodes) - 1
    }));
    shown.sort_unstable();
    shown.dedup();
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_curves_keep_their_start_and_end() {
        assert_eq!(episodes_shown(600), (0..600).collect::<Vec<_>>());
        let shown = episodes_shown(100_000);
        assert!(shown.len() <= 600 && shown.is_sorted());
        assert_eq!((shown[0], shown[1], shown[2]), (0, 1, 2));
        assert_eq!(shown.last(), Some(&99_999));
    }
}
