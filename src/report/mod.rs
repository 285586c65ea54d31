//! Pictures, tables and pages made from results. Nothing here computes a result.

pub mod comparison;
pub mod coverage;
pub mod estimation;
mod finding;
pub mod html;
pub mod live;
pub mod overview;
pub mod own_data;
pub mod plot;
pub(crate) mod png;
pub mod style;
pub mod table;
pub mod verdict;
mod warnings;

use crate::error::OutputError;
use crate::results::ResultsFolder;

/// Smallest and largest of some numbers.
fn extremes(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    numbers.fold(ends, |(low, high), x| (low.min(x), high.max(x)))
}

/// Each value once, in the order of first appearance.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut list = Vec::new();
    for value in values {
        if !list.contains(&value) {
            list.push(value);
        }
    }
    list
}

/// Writes a picture as SVG and, beside it, as PNG.
pub fn write_picture(folder: &ResultsFolder, name: &str, svg: &str) -> Result<(), OutputError> {
    folder.write(&format!("{name}.svg"), svg.as_bytes())?;
    let png = png::Painter::default().png(svg);
    folder.write(&format!("{name}.png"), &png)
}
