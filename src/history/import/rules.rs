//! What makes a row wrong beyond its own cells: what is known of the file as a whole.

use csv::StringRecord;

use super::row::{Layout, Row, When};
use crate::history::clock::{Clock, show_time};
use crate::history::raw::Raw;

/// What all rows must keep to.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// H, where it is known.
    pub horizon: Option<usize>,
    /// Opening hours, where they are known.
    pub clock: Option<Clock>,
    /// Features (by their place in the layout) that are numbers wherever they are not missing.
    pub numbers: Vec<usize>,
    /// Features that must not be missing.
    pub required: Vec<usize>,
}

impl Rules {
    /// The step (1-based) of a row, where it can be told.
    pub fn check(
        &self,
        layout: &Layout,
        record: &StringRecord,
        row: &Row,
    ) -> Result<Option<usize>, String> {
        if row.arrival.is_some() {
            for &feature in self.numbers.iter().chain(&self.required) {
                let fits = match layout.feature_cell(record, feature) {
                    Raw::Missing => !self.required.contains(&feature),
                    Raw::Number(_) => true,
                    Raw::Text(text) => layout.number(text).is_some(),
                };
                if !fits {
                    let (place, name) = &layout.features[feature];
                    let found = record[*place].trim();
                    return Err(format!(
                        "column `{name}`: found `{found}`; accepted: a number, as in the rest of the column"
                    ));
                }
            }
        }
        match (row.when, self.horizon, self.clock) {
            (Some(When::Step(step)), Some(steps), _) if step > steps => Err(format!(
                "found step {step}; accepted: a step from 1 to {steps}"
            )),
            (Some(When::Step(step)), _, _) => Ok(Some(step)),
            (Some(When::Moment(moment)), Some(steps), Some(clock)) => {
                let step = clock.step(moment.second, steps);
                let refused = || {
                    let [time, open, close] =
                        [moment.second, clock.open, clock.close].map(show_time);
                    format!("found {time}; accepted: times from {open} to {close}")
                };
                step.map(Some).ok_or_else(refused)
            }
            (Some(When::Moment(_)) | None, _, _) => Ok(None),
        }
    }
}
