//! From sections of the study file to the specifications of world and policies.

mod baselines;
pub(super) mod context_rows;
mod oracles;
mod policies;

use std::path::Path;

use super::own::own;
use super::{Read, Section};
use crate::error::InputError;
use crate::files::read_text;
use crate::history::{EmpiricalLaw, LabeledLog, LogForm, POOLED_BELOW};
use crate::task::{ApplicationSpec, COST_LIMIT, KernelSpec, Multiplier};
use crate::world::{
    BudgetSpec, ComponentSpec, ContextsSpec, ConversionSpec, DayTypeSpec, LawSpec, SegmentSpec,
    WorldSpec,
};

use context_rows::FeatureNames;
pub(super) use policies::{NamedSpec, policies};
pub(crate) use policies::{initial_log_of, learner};

const WHOLE: std::ops::RangeInclusive<u64> = 0..=u32::MAX as u64;
const COST: std::ops::RangeInclusive<u64> = 1..=COST_LIMIT as u64;

/// The world of a study.
pub(super) fn world(
    root: &mut Section,
    horizon: usize,
    names: &mut FeatureNames,
) -> Read<WorldSpec> {
    let budget = root.table("budget", budget)?;
    let (application, reward_max) = root.table("application", application)?;
    let contexts = root.table("contexts", |s| contexts(s, horizon, names))?;
    let conversion = root.table("conversion", conversion)?;
    Ok(WorldSpec {
        horizon,
        budget,
        application,
        reward_max,
        contexts,
        conversion,
    })
}

fn budget(s: &mut Section) -> Read<BudgetSpec> {
    let kind = s.kind(&["constant", "cycle", "uniform", "file"])?;
    Ok(match kind.as_str() {
        "constant" => BudgetSpec::Constant {
            value: s.whole("value", WHOLE)? as u32,
        },
        "cycle" => BudgetSpec::Cycle {
            values: s.wholes("values", WHOLE)?,
        },
        "uniform" => BudgetSpec::Uniform {
            low: s.whole("low", WHOLE)? as u32,
            high: s.whole("high", WHOLE)? as u32,
        },
        _ => BudgetSpec::Sequence {
            values: read_budgets(&s.path("path")?)?,
        },
    })
}

/// A file of starting budgets: a CSV with a column `b_t`, one line per episode.
fn read_budgets(file: &Path) -> Read<Vec<u32>> {
    let text = read_text(file)?;
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let header = lines
        .next()
        .map_or("", |(_, line)| line)
        .trim_start_matches('\u{feff}');
    let place = |wanted: &str| header.split(',').position(|name| name.trim() == wanted);
    let (column, episode) = (place("b_t"), place("episode"));
    let Some(column) = column else {
        let message = format!("found `{header}`; accepted: a header with a column `b_t`");
        return Err(InputError::at(file, 1, message));
    };
    lines
        .zip(1u64..)
        .map(|((number, line), t)| {
            let cell = |column: usize| line.split(',').nth(column).unwrap_or("").trim();
            if let Some(found) = episode.map(cell).filter(|found| found.parse() != Ok(t)) {
                let message = format!("column `episode`: found `{found}`; accepted: {t}");
                return Err(InputError::at(file, number + 1, message));
            }
            let cell = cell(column);
            cell.parse().map_err(|_| {
                let message =
                    format!("column `b_t`: found `{cell}`; accepted: a whole number from 0");
                InputError::at(file, number + 1, message)
            })
        })
        .collect()
}

fn application(s: &mut Section) -> Read<(ApplicationSpec, Option<f64>)> {
    let kind = s.kind(&["pricing", "procurement", "auction", "table"])?;
    let spec = match kind.as_str() {
        "pricing" => ApplicationSpec::Pricing {
            prices: s.numbers("prices")?,
        },
        "procurement" => ApplicationSpec::Procurement {
            wages: s.wholes("wages", COST)?,
        },
        "auction" => ApplicationSpec::Auction {
            bids: s.wholes("bids", COST)?,
        },
        _ => ApplicationSpec::Table {
            rewards: s.rows("rewards")?,
            costs: s.whole_rows("costs", COST)?,
        },
    };
    let quantity = multiplier(s, "quantity")?;
    let rate = multiplier(s, "rate")?;
    let spec = match quantity.is_some() || rate.is_some() {
        false => spec,
        true => ApplicationSpec::PerCustomer {
            of: Box::new(spec),
            quantity,
            rate,
        },
    };
    Ok((spec, s.optional_number("reward_max")?))
}

/// A feature that multiplies rewards or costs.
fn multiplier(s: &mut Section, key: &str) -> Read<Option<Multiplier>> {
    if !s.has(key) {
        return Ok(None);
    }
    s.table(key, |s| {
        Ok(Some(Multiplier {
            feature: s.whole("feature", 1..=u32::MAX.into())? as usize - 1,
            mean: s.number_or("mean", 0.0)?,
            deviation: s.number_or("deviation", 1.0)?,
            most: s.number("most")?,
        }))
    })
}

fn contexts(s: &mut Section, horizon: usize, names: &mut FeatureNames) -> Read<ContextsSpec> {
    let features = s.optional_texts("features")?;
    if let Some(features) = &features {
        *names = FeatureNames::Given(features.clone());
    }
    if s.kind(&KINDS)? == "days" {
        let mut number = 0;
        let types = s.tables("types", |day| {
            number += 1;
            let name = day.text_or("name", &format!("type {number}"))?;
            let weight = day.number("weight")?;
            let read = |s: &mut Section| arrivals(s, &KINDS[..8], horizon, names);
            let (law, no_arrival) = day.table("contexts", read)?;
            Ok(DayTypeSpec {
                name,
                weight,
                law,
                no_arrival,
            })
        })?;
        return Ok(ContextsSpec {
            law: LawSpec::Days { types },
            no_arrival: Vec::new(),
            types: None,
            features,
        });
    }
    let (law, no_arrival) = arrivals(s, &KINDS, horizon, names)?;
    Ok(ContextsSpec {
        law,
        no_arrival,
        types: s.optional_rows("types")?,
        features,
    })
}

/// Kinds of context laws; the first five can be the law of a range of steps, and the first eight that of a type of day.
const KINDS: [&str; 9] = [
    "finite", "grid", "box", "mixture", "file", "by-step", "log", "own", "days",
];

/// The arrivals of a day of one type: their law, and the probability of no arrival.
fn arrivals(
    s: &mut Section,
    kinds: &[&str],
    horizon: usize,
    names: &mut FeatureNames,
) -> Read<(LawSpec, Vec<f64>)> {
    let mut no_arrival = s.number_or_numbers("no_arrival")?;
    let law = match s.kind(kinds)?.as_str() {
        "log" => {
            let (law, logged) = logged_law(s, horizon, names)?;
            if no_arrival.is_empty() {
                no_arrival = logged;
            }
            law
        }
        "by-step" => LawSpec::ByStep {
            segments: s.tables("segments", |segment| {
                Ok(SegmentSpec {
                    first: segment.whole("first", 1..=horizon as u64)? as usize,
                    last: segment.whole("last", 1..=horizon as u64)? as usize,
                    law: {
                        let kind = segment.kind(&KINDS[..5])?;
                        law(segment, &kind, horizon, names)?
                    },
                })
            })?,
        },
        "own" => LawSpec::Own {
            low: s.numbers("low")?,
            high: s.numbers("high")?,
            own: own(s, |finder, code, object| finder.law(code, object))?,
        },
        kind => law(s, kind, horizon, names)?,
    };
    Ok((law, no_arrival))
}

/// The contexts of a labeled log, and the share of episodes without an arrival at each step.
fn logged_law(
    s: &mut Section,
    horizon: usize,
    names: &mut FeatureNames,
) -> Read<(LawSpec, Vec<f64>)> {
    let file = s.path("path")?;
    let pooled_below = s.whole_or("pooled_below", 0..=u64::MAX, POOLED_BELOW)?;
    let form = LogForm {
        horizon,
        features: names.columns(),
        actions: None,
    };
    let log = LabeledLog::read(&file, &form)?;
    names.accept(&file, log.features())?;
    if log.arrivals().is_empty() {
        let message = "found no arrival; accepted: at least one";
        return Err(InputError::in_file(&file, message));
    }
    let law = EmpiricalLaw::new(&log, horizon, pooled_below);
    let episodes = log.episodes().len() as f64;
    let share = |n: &u64| (1.0 - *n as f64 / episodes).max(0.0);
    let no_arrival = law.arrivals.iter().map(share).collect();
    let segments = law.segments(&log).into_iter();
    let segments = segments.map(|segment| SegmentSpec {
        first: *segment.steps.start(),
        last: *segment.steps.end(),
        law: LawSpec::Finite {
            values: segment.values,
            weights: Some(segment.weights),
        },
    });
    let segments = segments.collect();
    Ok((LawSpec::ByStep { segments }, no_arrival))
}

fn law(s: &mut Section, kind: &str, horizon: usize, names: &mut FeatureNames) -> Read<LawSpec> {
    Ok(match kind {
        "finite" => LawSpec::Finite {
            values: s.rows("values")?,
            weights: s.optional_numbers("weights")?,
        },
        "grid" => LawSpec::Grid {
            low: s.numbers("low")?,
            high: s.numbers("high")?,
            points: s
                .wholes("points", 1..=u32::MAX.into())?
                .iter()
                .map(|&n| n as usize)
                .collect(),
        },
        "box" => LawSpec::Box {
            low: s.numbers("low")?,
            high: s.numbers("high")?,
        },
        "mixture" => LawSpec::Mixture {
            components: s.tables("components", |component| {
                Ok(ComponentSpec {
                    weight: component.number("weight")?,
                    mean: component.numbers("mean")?,
                    deviation: component.numbers("deviation")?,
                })
            })?,
            low: s.numbers("low")?,
            high: s.numbers("high")?,
        },
        _ => LawSpec::Rows(context_rows::read(&s.path("path")?, horizon, names)?),
    })
}

fn conversion(s: &mut Section) -> Read<ConversionSpec> {
    let kinds = [
        "armed",
        "armed-by-step",
        "linear",
        "logistic",
        "logistic-by-action",
        "rkhs",
        "table",
        "own",
    ];
    Ok(match s.kind(&kinds)?.as_str() {
        "armed" if s.has("highest_other_bid") => s.table("highest_other_bid", |s| {
            Ok(ConversionSpec::HighestOtherBid {
                values: s.numbers("values")?,
                weights: s.numbers("weights")?,
            })
        })?,
        "armed" => ConversionSpec::Armed {
            probabilities: s.numbers("probabilities")?,
        },
        "armed-by-step" => ConversionSpec::ArmedByStep {
            probabilities: s.rows("probabilities")?,
        },
        "linear" => ConversionSpec::Linear {
            weights: s.numbers("weights")?,
        },
        "logistic" => ConversionSpec::Logistic {
            weights: s.numbers("weights")?,
        },
        "logistic-by-action" => ConversionSpec::LogisticByAction {
            intercepts: s.numbers("intercepts")?,
            weights: s.rows("weights")?,
        },
        "rkhs" => ConversionSpec::Rkhs {
            kernel: s.table("kernel", kernel)?,
            centers: s.rows("centers")?,
            weights: s.numbers("weights")?,
        },
        "own" => ConversionSpec::Own {
            by_step: s.flag_or("by_step", false)?,
            own: own(s, |finder, code, object| finder.conversion(code, object))?,
        },
        _ => ConversionSpec::Table {
            probabilities: s.rows("probabilities")?,
        },
    })
}

/// The kernel of a world or an oracle.
fn kernel(s: &mut Section) -> Read<KernelSpec> {
    let nu = match s.kind(&["squared-exponential", "matern"])?.as_str() {
        "matern" => Some(s.number("nu")?),
        _ => None,
    };
    if !s.has("length") {
        return Err(s.missing("length", "a number, or one per feature of phi"));
    }
    let length = s.number_or_numbers("length")?;
    Ok(KernelSpec { nu, length })
}
