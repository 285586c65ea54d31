//! The zones of a column of times.

use super::source::RawFile;
use crate::error::InputError;
use crate::history::clock::Moment;

/// Refuses times of different zones if the shop's zone is not known; returns the number of times without one if it is.
pub fn check_zones(
    file: &RawFile,
    place: usize,
    is_known: bool,
    read: impl Fn(&str) -> Option<Moment>,
) -> Result<u64, InputError> {
    let (mut first, mut without) = (None, 0);
    file.each(|line, record| {
        let cell = record.map_or("", |record| record[place].trim());
        let Some(moment) = read(cell) else {
            return Ok(());
        };
        without += u64::from(moment.offset.is_none());
        let (offset, before) = first.get_or_insert_with(|| (moment.offset, cell.to_string()));
        match *offset == moment.offset || is_known {
            true => Ok(()),
            false => Err(file.at(
                line,
                format!(
                    "column `{}`: found `{cell}` after `{before}`, which have different zones; accepted: one zone, or the zone of the shop, to which all are converted",
                    file.names()[place]
                ),
            )),
        }
    })?;
    Ok(if is_known { without } else { 0 })
}
