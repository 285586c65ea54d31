//! Checks of a row against what is known of the whole file.

use csv::StringRecord;

use super::row::{Layout, Row, When};
use crate::history::clock::{OpeningHours, show_time};
use crate::history::raw::Raw;

/// Constraints on all rows.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// H, if known.
    pub horizon: Option<usize>,
    /// Opening hours, if known.
    pub clock: Option<OpeningHours>,
    /// Features (by index in the layout) that must be numbers or missing.
    pub numbers: Vec<usize>,
    /// Features that must be numbers.
    pub required: Vec<usize>,
}

impl Rules {
    /// The step (1-based) of a row, if it can be determined.
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
            (Some(When::Lead(days)), Some(steps), _) if days as usize >= steps => Err(format!(
                "found {days} days before; accepted: from 0 to {}",
                steps - 1
            )),
            (Some(When::Lead(days)), Some(steps), _) => Ok(Some(steps - days as usize)),
            (Some(When::Moment(moment)), steps, Some(clock)) => {
                let time = || show_time(moment.second);
                let refused = || format!("found {}; accepted: times from {clock}", time());
                let step = clock.step(moment.second, steps.unwrap_or(1));
                let step = step.ok_or_else(refused)?;
                Ok(steps.map(|_| step))
            }
            (Some(When::Moment(_) | When::Lead(_)) | None, _, _) => Ok(None),
        }
    }
}
