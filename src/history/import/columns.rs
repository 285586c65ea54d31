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
    /// The encoding.
    pub encoding: Encoding,
    /// The index of each encoded column among the layout's features.
    pub places: Vec<usize>,
    /// Columns that are left out, and why.
    pub dropped: Vec<(String, String)>,
}

/// The kind of a column.
enum Kind {
    Number,
    Category,
    Useless(String),
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
    if spec.kind == OfferKind::Auction {
        return private_value(file, layout, survey);
    }
    let mut decision = Decision {
        encoding: Encoding {
            constant: true,
            columns: Vec::new(),
        },
        places: Vec::new(),
        dropped: unnamed(layout),
    };
    for (place, ((_, name), column)) in layout.features.iter().zip(&survey.columns).enumerate() {
        let asked = spec.features.is_some() || spec.categories.contains(name);
        let encoded = match kind_of(column, spec.categories.contains(name), asked) {
            Kind::Number => number(name, column, survey.arrivals),
            Kind::Category => category(name, column),
            Kind::Useless(reason) => {
                let many = column.levels.as_ref().is_none_or(|l| l.len() > LEVEL_LIMIT);
                if asked && many {
                    let accepted =
                        format!("a column of numbers, or of at most {LEVEL_LIMIT} different texts");
                    let message = format!("column `{name}`: found {reason}; accepted: {accepted}");
                    return Err(file.whole_file(message));
                }
                decision.dropped.push((name.clone(), reason));
                continue;
            }
        };
        decision.encoding.columns.push(encoded);
        decision.places.push(place);
    }
    Ok(decision)
}

/// Columns without a name, such as the row numbers that some programs add.
fn unnamed(layout: &Layout) -> Vec<(String, String)> {
    let named = |place: &usize| ((place + 1).to_string(), "it has no name".into());
    layout.unnamed.iter().map(named).collect()
}

fn kind_of(column: &ColumnSurvey, forced: bool, asked: bool) -> Kind {
    let cells = column.texts + column.numbers.count;
    if cells == 0 {
        return Kind::Useless("nothing but empty cells".into());
    }
    let levels = column.levels.as_ref().map(std::collections::HashSet::len);
    let is_number = column.texts == 0 && !forced;
    if levels == Some(1) || (is_number && column.range.0 == column.range.1) {
        return match column.missing {
            0 => Kind::Useless("the same in every row".into()),
            // Only whether it is missing varies.
            _ => Kind::Category,
        };
    }
    if is_number {
        return match column.running && !asked && cells > 10 {
            true => Kind::Useless("a number that rises from row to row".into()),
            false => Kind::Number,
        };
    }
    if column.dates && column.numbers.count == 0 && !asked {
        return Kind::Useless("dates".into());
    }
    match (levels, &column.first_text) {
        (Some(levels), _) if levels <= LEVEL_LIMIT => Kind::Category,
        (_, Some((_, text))) if column.numbers.count > 0 && !forced => Kind::Useless(format!(
            "{} numbers and {} texts such as `{text}`",
            count(column.numbers.count),
            count(column.texts)
        )),
        (Some(levels), _) => Kind::Useless(format!("{levels} different texts")),
        (None, _) => Kind::Useless("more than 1000 different texts".into()),
    }
}

fn number(name: &str, column: &ColumnSurvey, arrivals: u64) -> Column {
    let often = column.missing as f64 > MISSING_SHARE * arrivals as f64;
    Column::Number {
        column: name.into(),
        mean: column.numbers.mean,
        deviation: column.numbers.deviation(),
        low: column.range.0,
        high: column.range.1,
        missing: if often {
            Missing::Indicator
        } else {
            Missing::Mean
        },
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

/// The context of an auction is the private value, in the unit of the bids.
fn private_value(file: &RawFile, layout: &Layout, survey: &Survey) -> Result<Decision, InputError> {
    let name = the_feature(file, layout)?;
    let column = &survey.columns[0];
    if let Some((line, text)) = &column.first_text {
        let message =
            format!("column `{name}`: found `{text}`; accepted: the value of winning, a number");
        return Err(file.at(*line, message));
    }
    Ok(Decision {
        encoding: Encoding {
            constant: false,
            columns: vec![Column::Number {
                column: name.clone(),
                mean: 0.0,
                deviation: 1.0,
                low: column.range.0,
                high: column.range.1,
                missing: Missing::Refused,
            }],
        },
        places: vec![0],
        dropped: unnamed(layout),
    })
}
