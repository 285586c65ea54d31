//! Chooses the encoding of each column; useless columns are left out, with a reason.

use super::row::Layout;
use super::source::RawFile;
use super::spec::{ImportSpec, OfferKind};
use super::summary::count;
use super::survey::{ColumnSurvey, Survey};
use crate::error::InputError;
use crate::history::encoding::{Column, Encoding, Missing};

/// The most levels of a category.
const LEVEL_LIMIT: usize = 50;

/// A column with a larger share of missing values gets an indicator feature.
const MISSING_SHARE: f64 = 0.01;

/// Up to this share, texts are mistakes in a column of numbers.
const STRAY_SHARE: f64 = 0.01;

/// The chosen encoding.
#[derive(Debug)]
pub struct Decision {
    pub encoding: Encoding,
    /// The index of each encoded column among the layout's features.
    pub places: Vec<usize>,
    /// Name and reason of each column that is left out.
    pub dropped: Vec<(String, String)>,
}

/// Columns of numbers with a few texts, which must be mistakes.
pub fn with_stray_texts(survey: &Survey, layout: &Layout, spec: &ImportSpec) -> Vec<usize> {
    let columns = survey.columns.iter().enumerate();
    let stray = columns.filter(|(i, column)| {
        let forced = spec.categories.contains(&layout.features[*i].1);
        let cells = column.texts + column.numbers.count;
        !forced && column.texts > 0 && column.texts as f64 <= STRAY_SHARE * cells as f64
    });
    stray.map(|(i, _)| i).collect()
}

/// Chooses the encoding of all columns.
pub fn decide(
    file: &RawFile,
    layout: &Layout,
    spec: &ImportSpec,
    survey: &Survey,
) -> Result<Decision, InputError> {
    let is_auction = spec.kind == OfferKind::Auction;
    let mut decision = Decision {
        encoding: Encoding {
            constant: !is_auction,
            columns: Vec::new(),
        },
        places: Vec::new(),
        dropped: unnamed(layout),
    };
    for (place, ((_, name), column)) in layout.features.iter().zip(&survey.columns).enumerate() {
        let forced = spec.categories.contains(name);
        let asked = spec.features.is_some() || forced;
        let encoded = if is_auction {
            // The context of an auction is the private value, in the unit of the bids.
            let scale = (0.0, 1.0 / layout.units());
            Ok(number(name, column, scale, Missing::Refused))
        } else if layout.multipliers().contains(&place) {
            let deviation = column.numbers.deviation();
            let deviation = if deviation > 0.0 { deviation } else { 1.0 };
            let scale = (column.numbers.mean, deviation);
            Ok(number(name, column, scale, Missing::Refused))
        } else {
            encoding_of(name, column, survey.arrivals, forced, asked)
        };
        match encoded {
            Ok(column) => {
                decision.encoding.columns.push(column);
                decision.places.push(place);
            }
            Err(reason) => {
                let many = column.levels.as_ref().is_none_or(|l| l.len() > LEVEL_LIMIT);
                if asked && many {
                    let accepted =
                        format!("a column of numbers, or of at most {LEVEL_LIMIT} different texts");
                    let message = format!("column `{name}`: found {reason}; accepted: {accepted}");
                    return Err(file.whole_file(message));
                }
                decision.dropped.push((name.clone(), reason));
            }
        }
    }
    Ok(decision)
}

/// Columns without a name, such as the row numbers that some programs add.
fn unnamed(layout: &Layout) -> Vec<(String, String)> {
    let named = |place: &usize| ((place + 1).to_string(), "it has no name".into());
    layout.unnamed.iter().map(named).collect()
}

/// The encoding of a column, or why it is useless.
fn encoding_of(
    name: &str,
    column: &ColumnSurvey,
    arrivals: u64,
    forced: bool,
    asked: bool,
) -> Result<Column, String> {
    let numbers = column.numbers.count;
    let cells = column.texts + numbers;
    if cells == 0 {
        return Err("nothing but empty cells".into());
    }
    let levels = column.levels.as_ref().map(std::collections::HashSet::len);
    let is_number = column.texts == 0 && !forced;
    let is_constant = levels == Some(1) || (is_number && column.range.0 == column.range.1);
    if is_constant && column.missing == 0 {
        return Err("the same in every row".into());
    }
    if is_constant {
        // Only whether it is missing varies.
        return Ok(category(name, column));
    }
    if is_number {
        if column.running && !asked && cells > 10 {
            return Err("a number that rises from row to row".into());
        }
        let often = column.missing as f64 > MISSING_SHARE * arrivals as f64;
        let missing = if often {
            Missing::Indicator
        } else {
            Missing::Mean
        };
        let scale = (column.numbers.mean, column.numbers.deviation());
        return Ok(number(name, column, scale, missing));
    }
    if column.dates && numbers == 0 && !asked {
        return Err("dates".into());
    }
    match (levels, &column.first_text) {
        (Some(levels), _) if levels <= LEVEL_LIMIT => Ok(category(name, column)),
        (_, Some(text)) if numbers > 0 && !forced => {
            let (numbers, texts) = (count(numbers), count(column.texts));
            Err(format!(
                "{numbers} numbers and {texts} texts such as `{text}`"
            ))
        }
        (Some(levels), _) => Err(format!("{levels} different texts")),
        (None, _) => Err("more than 1000 different texts".into()),
    }
}

fn number(
    name: &str,
    column: &ColumnSurvey,
    (mean, deviation): (f64, f64),
    missing: Missing,
) -> Column {
    Column::Number {
        column: name.into(),
        mean,
        deviation,
        low: column.range.0,
        high: column.range.1,
        missing,
    }
}

/// Levels are sorted, so that the order of rows does not matter.
fn category(name: &str, column: &ColumnSurvey) -> Column {
    let mut levels: Vec<String> = column.levels.iter().flatten().cloned().collect();
    levels.sort_unstable();
    if column.missing > 0 {
        levels.push(String::new());
    }
    Column::Category {
        column: name.into(),
        levels,
    }
}

/// The only feature of an auction.
pub fn the_feature<'l>(file: &RawFile, layout: &'l Layout) -> Result<&'l String, InputError> {
    match &layout.features[..] {
        [(_, name)] => Ok(name),
        others => Err(file.whole_file(format!(
            "found {} columns that may describe an auction; accepted: one feature, the value of winning in the unit of the bids",
            others.len()
        ))),
    }
}
