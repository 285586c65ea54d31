//! Context laws as a study file states them, and the checks that turn them into laws.

use super::OwnLaw;
use super::law::{Law, running_sum};
use crate::error::Invalid;
use crate::task::{ContextRows, Own, Support, finite_numbers};

/// How far a list of probabilities may be from summing to one.
const SUM_TOLERANCE: f64 = 1e-6;

/// The largest number of points a grid may have.
const GRID_LIMIT: usize = 10_000_000;

/// The laws of all steps and the probability of no arrival.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextsSpec {
    /// The law of arriving contexts.
    pub law: LawSpec,
    /// Probability of no arrival: one number for all steps, or one per step. Empty means 0.
    pub no_arrival: Vec<f64>,
    /// Context values in the order of the rows of tables; by default the order of their first appearance.
    pub types: Option<Vec<Vec<f64>>>,
    /// Names of the features, if any.
    pub features: Option<Vec<String>>,
}

/// A law of arriving contexts, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub enum LawSpec {
    /// A list of feature vectors with probabilities (equal ones where `weights` is `None`).
    Finite {
        /// Feature vectors.
        values: Vec<Vec<f64>>,
        /// Probabilities, one per value.
        weights: Option<Vec<f64>>,
    },
    /// Uniform on a grid with `points[i]` equally spaced values from `low[i]` to `high[i]`, both included.
    Grid {
        /// Lower corner.
        low: Vec<f64>,
        /// Upper corner.
        high: Vec<f64>,
        /// Points per coordinate.
        points: Vec<usize>,
    },
    /// Uniform on a box.
    Box {
        /// Lower corner.
        low: Vec<f64>,
        /// Upper corner.
        high: Vec<f64>,
    },
    /// A mixture of Gaussians with independent coordinates, each draw clipped to a box.
    Mixture {
        /// The Gaussians.
        components: Vec<ComponentSpec>,
        /// Lower corner of the box.
        low: Vec<f64>,
        /// Upper corner of the box.
        high: Vec<f64>,
    },
    /// The empirical law of rows, step by step.
    Rows(ContextRows),
    /// Code of the user's own, with contexts in a box.
    Own {
        /// Lower corner of the box.
        low: Vec<f64>,
        /// Upper corner of the box.
        high: Vec<f64>,
        /// The code.
        own: Own<dyn OwnLaw>,
    },
    /// A law per range of steps.
    ByStep {
        /// Ranges that cover all steps in order.
        segments: Vec<SegmentSpec>,
    },
    /// A type of day is drawn first, then the arrivals of that type.
    Days {
        /// The types of day.
        types: Vec<DayTypeSpec>,
    },
}

/// A type of day.
#[derive(Debug, Clone, PartialEq)]
pub struct DayTypeSpec {
    /// Its name.
    pub name: String,
    /// Share of days of this type.
    pub weight: f64,
    /// The law of its arriving contexts; not itself by days.
    pub law: LawSpec,
    /// Probability of no arrival: one number for all steps, or one per step. Empty means 0.
    pub no_arrival: Vec<f64>,
}

/// One Gaussian of a mixture.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentSpec {
    /// Probability of this component.
    pub weight: f64,
    /// Mean per coordinate.
    pub mean: Vec<f64>,
    /// Standard deviation per coordinate.
    pub deviation: Vec<f64>,
}

/// A law for steps `first..=last` (1-based).
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentSpec {
    /// First step, 1-based.
    pub first: usize,
    /// Last step, 1-based, included.
    pub last: usize,
    /// The law; not itself by step.
    pub law: LawSpec,
}

impl ContextsSpec {
    /// Whether the order of the context values is unambiguous: it is given, or all steps list the same values.
    pub(super) fn has_ordered_types(&self) -> bool {
        self.types.is_some() || self.law.has_one_list()
    }
}

impl LawSpec {
    /// Whether all steps of all types of day list the same values in the same order.
    fn has_one_list(&self) -> bool {
        match self {
            Self::Rows(_) => false,
            Self::ByStep { segments } => one_list(segments.iter().map(|segment| &segment.law)),
            Self::Days { types } => one_list(types.iter().flat_map(|day| match &day.law {
                Self::ByStep { segments } => segments.iter().map(|s| &s.law).collect(),
                law => vec![law],
            })),
            _ => true,
        }
    }

    /// Number of features, the same in all parts of the law.
    pub(super) fn dimension(&self, field: &str) -> Result<usize, Invalid> {
        match self {
            Self::Finite { values, .. } => {
                let first = values.first().map_or(0, Vec::len);
                if first == 0 {
                    return Err(Invalid::new(
                        format!("{field}.values"),
                        "an empty list",
                        "at least one context with at least one feature",
                    ));
                }
                for (i, value) in values.iter().enumerate() {
                    same_length(&format!("{field}.values[{}]", i + 1), value, first)?;
                }
                Ok(first)
            }
            Self::Grid { low, .. }
            | Self::Box { low, .. }
            | Self::Mixture { low, .. }
            | Self::Own { low, .. } => {
                if low.is_empty() {
                    let field = format!("{field}.low");
                    return Err(Invalid::new(field, "an empty list", "at least one number"));
                }
                Ok(low.len())
            }
            Self::Rows(rows) => Ok(rows.dimension()),
            Self::ByStep { segments } => {
                let laws = segments.iter().enumerate();
                let laws = laws.map(|(i, s)| (format!("{field}.segments[{}]", i + 1), &s.law));
                let parts: Vec<_> = laws.collect();
                let nested = |law: &Self| matches!(law, Self::ByStep { .. } | Self::Days { .. });
                if let Some((field, _)) = parts.iter().find(|(_, law)| nested(law)) {
                    let accepted = "a law that is neither by step nor by days";
                    return Err(Invalid::new(format!("{field}.kind"), "another", accepted));
                }
                one_dimension(&format!("{field}.segments"), &parts)
            }
            Self::Days { types } => {
                let laws = types.iter().enumerate();
                let laws =
                    laws.map(|(i, day)| (format!("{field}.types[{}].contexts", i + 1), &day.law));
                let parts: Vec<_> = laws.collect();
                let nested = |law: &Self| matches!(law, Self::Days { .. });
                if let Some((field, _)) = parts.iter().find(|(_, law)| nested(law)) {
                    let accepted = "a law that is not itself by days";
                    return Err(Invalid::new(format!("{field}.kind"), "days", accepted));
                }
                one_dimension(&format!("{field}.types"), &parts)
            }
        }
    }

    /// Checks a law that is neither by step or days nor from rows; its points go into the support.
    pub(super) fn check(&self, field: &str, support: &mut Support) -> Result<Law, Invalid> {
        match self {
            Self::Finite { values, weights } => {
                for (i, value) in values.iter().enumerate() {
                    finite_numbers(&format!("{field}.values[{}]", i + 1), value)?;
                }
                let weights = match weights {
                    Some(weights) => {
                        let field = format!("{field}.weights");
                        same_length(&field, weights, values.len())?;
                        probabilities(&field, weights)?
                    }
                    None => vec![1.0 / values.len() as f64; values.len()],
                };
                let points = values.iter().map(|value| support.insert(value)).collect();
                Ok(Law::finite(points, weights))
            }
            Self::Grid { low, high, points } => {
                corners(field, low, high)?;
                same_length(&format!("{field}.points"), points, low.len())?;
                grid(field, low, high, points, support)
            }
            Self::Box { low, high } => {
                corners(field, low, high)?;
                let (low, high) = (low.clone(), high.clone());
                Ok(Law::Box { low, high })
            }
            Self::Own { low, high, own } => {
                corners(field, low, high)?;
                let (low, high, own) = (low.clone(), high.clone(), own.clone());
                Ok(Law::Own { low, high, own })
            }
            Self::Mixture {
                components,
                low,
                high,
            } => {
                corners(field, low, high)?;
                mixture(field, components, low, high)
            }
            Self::Rows(_) | Self::ByStep { .. } | Self::Days { .. } => {
                unreachable!("ContextLaws splits these")
            }
        }
    }
}

/// The number of features of all parts of a law.
fn one_dimension(list: &str, parts: &[(String, &LawSpec)]) -> Result<usize, Invalid> {
    let mut dimension = None;
    for (field, law) in parts {
        let found = law.dimension(field)?;
        if found != *dimension.get_or_insert(found) {
            let accepted = "the same number of features in all parts";
            return Err(Invalid::new(
                field.clone(),
                format!("{found} features"),
                accepted,
            ));
        }
    }
    dimension.ok_or_else(|| Invalid::new(list.to_string(), "an empty list", "at least one entry"))
}

/// Whether laws list the same values.
fn one_list<'a>(laws: impl IntoIterator<Item = &'a LawSpec>) -> bool {
    let laws: Vec<&LawSpec> = laws.into_iter().collect();
    let rows = |law: &LawSpec| matches!(law, LawSpec::Rows(_));
    laws.windows(2).all(|pair| match (pair[0], pair[1]) {
        (LawSpec::Finite { values: a, .. }, LawSpec::Finite { values: b, .. }) => a == b,
        (a, b) => !rows(a) && !rows(b) && a == b,
    }) && !(laws.len() == 1 && rows(laws[0]))
}

fn grid(
    field: &str,
    low: &[f64],
    high: &[f64],
    points: &[usize],
    support: &mut Support,
) -> Result<Law, Invalid> {
    if let Some(i) = points.iter().position(|n| *n == 0) {
        let field = format!("{field}.points[{}]", i + 1);
        return Err(Invalid::new(field, 0, "a whole number from 1"));
    }
    let total = points
        .iter()
        .try_fold(1usize, |product, n| product.checked_mul(*n))
        .filter(|total| *total <= GRID_LIMIT);
    let Some(total) = total else {
        return Err(Invalid::new(
            format!("{field}.points"),
            "a grid that is too large",
            format!("at most {GRID_LIMIT} points in all"),
        ));
    };
    let coordinate = |i: usize, k: usize| match points[i] {
        1 => low[i],
        n => low[i] + (high[i] - low[i]) * k as f64 / (n - 1) as f64,
    };
    let mut value = vec![0.0; low.len()];
    let numbers = (0..total)
        .map(|mut index| {
            for i in (0..low.len()).rev() {
                value[i] = coordinate(i, index % points[i]);
                index /= points[i];
            }
            support.insert(&value)
        })
        .collect();
    Ok(Law::finite(numbers, vec![1.0 / total as f64; total]))
}

fn mixture(
    field: &str,
    components: &[ComponentSpec],
    low: &[f64],
    high: &[f64],
) -> Result<Law, Invalid> {
    let weights: Vec<f64> = components.iter().map(|c| c.weight).collect();
    let weights = probabilities(&format!("{field}.components"), &weights)?;
    for (i, component) in components.iter().enumerate() {
        let field = format!("{field}.components[{}]", i + 1);
        for (name, list) in [
            ("mean", &component.mean),
            ("deviation", &component.deviation),
        ] {
            same_length(&format!("{field}.{name}"), list, low.len())?;
            finite_numbers(&format!("{field}.{name}"), list)?;
        }
        if let Some(k) = component.deviation.iter().position(|s| *s < 0.0) {
            let field = format!("{field}.deviation[{}]", k + 1);
            return Err(Invalid::new(
                field,
                component.deviation[k],
                "a number from 0",
            ));
        }
    }
    Ok(Law::Mixture {
        cumulative: running_sum(&weights),
        means: components.iter().map(|c| c.mean.clone()).collect(),
        deviations: components.iter().map(|c| c.deviation.clone()).collect(),
        low: low.to_vec(),
        high: high.to_vec(),
    })
}

/// Non-negative weights that sum to one; rounding in the file is removed by a division.
pub(super) fn probabilities(field: &str, weights: &[f64]) -> Result<Vec<f64>, Invalid> {
    if let Some(i) = weights.iter().position(|w| !(0.0..=1.0).contains(w)) {
        let field = format!("{field}[{}]", i + 1);
        return Err(Invalid::new(field, weights[i], "a probability from 0 to 1"));
    }
    let sum: f64 = weights.iter().sum();
    if (sum - 1.0).abs() > SUM_TOLERANCE {
        let found = format!("weights that sum to {sum}");
        return Err(Invalid::new(field, found, "weights that sum to 1"));
    }
    Ok(weights.iter().map(|w| w / sum).collect())
}

fn corners(field: &str, low: &[f64], high: &[f64]) -> Result<(), Invalid> {
    finite_numbers(&format!("{field}.low"), low)?;
    finite_numbers(&format!("{field}.high"), high)?;
    same_length(&format!("{field}.high"), high, low.len())?;
    match (0..low.len()).find(|&i| low[i] > high[i]) {
        Some(i) => Err(Invalid::new(
            format!("{field}.high[{}]", i + 1),
            high[i],
            format!("a number from {} (the lower corner)", low[i]),
        )),
        None => Ok(()),
    }
}

fn same_length<T>(field: &str, list: &[T], length: usize) -> Result<(), Invalid> {
    if list.len() == length {
        return Ok(());
    }
    let found = format!("{} entries", list.len());
    Err(Invalid::new(field, found, format!("{length} entries")))
}
