//! Pictures, tables and pages made from results. Nothing here computes a result.

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

/// Writes a picture as SVG and, beside it, as PNG.
pub fn write_picture(folder: &ResultsFolder, name: &str, svg: &str) -> Result<(), OutputError> {
    folder.write(&format!("{name}.svg"), svg.as_bytes())?;
    let png = png::Painter::default().png(svg);
    folder.write(&format!("{name}.png"), &png)
}
