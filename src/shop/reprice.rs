//! Another price list or another largest budget for a task folder in use. Prices that are no longer offered stay in the
//! task's list, so that the log and the journal can still be read and a model of all prices still learns from them.

use super::learner_file::LearnerFile;
use super::live::JOURNAL_FILE;
use super::{MODEL_FILE, ServeError, TaskFolder};
use crate::error::{InputError, Invalid};
use crate::history::{Offers, TaskFile};
use crate::learner::live::{LiveSettings, RepriceRecord};

/// A change of a task, checked and not yet made.
#[derive(Debug)]
pub struct Reprice {
    file: TaskFile,
    record: RepriceRecord,
    /// What is kept and what is not, in words.
    pub notes: Vec<String>,
}

impl TaskFolder {
    /// Checks a change: the prices to offer from now on, and the largest starting budget.
    pub fn plan_reprice(
        &self,
        prices: Option<&[f64]>,
        budget: Option<u32>,
    ) -> Result<Reprice, InputError> {
        let mut file = self.file.clone();
        let mut notes = Vec::new();
        if let Some(prices) = prices {
            self.new_prices(&mut file, prices, &mut notes)?;
        }
        if let Some(units) = budget {
            let before = file.task.budget;
            file.task.budget = units;
            if units < before && self.place(JOURNAL_FILE).exists() {
                notes.push(format!(
                    "plans still cover the {before} units or fewer that episodes of the journal began with"
                ));
            }
        }
        let wrong = |invalid: Invalid| InputError::option("reprice", invalid.to_string());
        file.check().map_err(wrong)?;
        if self.place(MODEL_FILE).exists() {
            notes.push("model.json was fitted to the list before: run cbwk-gpu fit again".into());
        }
        let record = RepriceRecord {
            task: Self::sum_of(&file),
            prices: prices.map(<[f64]>::to_vec),
            budget,
        };
        Ok(Reprice {
            file,
            record,
            notes,
        })
    }

    fn new_prices(
        &self,
        file: &mut TaskFile,
        prices: &[f64],
        notes: &mut Vec<String>,
    ) -> Result<(), InputError> {
        let Offers::Pricing { prices: known } = &self.file.application else {
            let message = "found a task without prices; accepted: one of kind pricing";
            return Err(InputError::option("--prices", message));
        };
        let mut list = prices.to_vec();
        list.sort_by(f64::total_cmp);
        if list.is_empty() || list.windows(2).any(|pair| pair[0] == pair[1]) {
            let message = "found no price, or one twice; accepted: different prices";
            return Err(InputError::option("--prices", message));
        }
        let mut all = known.clone();
        all.extend(list.iter().filter(|price| !known.contains(price)));
        all.sort_by(f64::total_cmp);
        let words = |prices: Vec<&f64>| {
            let words: Vec<String> = prices.iter().map(ToString::to_string).collect();
            words.join(", ")
        };
        let new: Vec<&f64> = list.iter().filter(|price| !known.contains(price)).collect();
        let gone: Vec<&f64> = known.iter().filter(|price| !list.contains(price)).collect();
        let by_price = LearnerFile::read(&self.learner_document()?, None)?;
        let by_price = by_price.resolved["oracle"]["kind"] == "armed";
        if !gone.is_empty() {
            notes.push(match by_price {
                true => format!(
                    "no longer offered: {}; what was learnt there is kept and says nothing about other prices, because the learner has one rate per price",
                    words(gone)
                ),
                false => format!("no longer offered: {}; outcomes there still teach", words(gone)),
            });
        }
        if !new.is_empty() {
            notes.push(match by_price {
                true => format!(
                    "new: {}; the learner knows nothing about them yet",
                    words(new)
                ),
                false => format!("new: {}; the model carries over to them", words(new)),
            });
        }
        file.offered = (list != all).then_some(list);
        file.application = Offers::Pricing { prices: all };
        Ok(())
    }

    /// Makes the change: an event in the journal, if there is one, then the task file. The service must not run.
    pub fn reprice(&self, change: &Reprice) -> Result<(), ServeError> {
        if self.place(JOURNAL_FILE).exists() && !self.is_repriced(change)? {
            let (mut live, _) = self.live(LiveSettings::default())?;
            live.reprice(&change.record);
            live.commit().map_err(|refusal| {
                InputError::in_file(&self.place(JOURNAL_FILE), refusal.message)
            })?;
        }
        self.write_task(&change.file)?;
        Ok(())
    }

    /// Whether the journal ends with this change already: an earlier run was interrupted.
    fn is_repriced(&self, change: &Reprice) -> Result<bool, InputError> {
        let text = crate::files::read_text(&self.place(JOURNAL_FILE))?;
        let last = text.lines().last().unwrap_or_default();
        let last: Option<serde_json::Value> = serde_json::from_str(last).ok();
        Ok(last.is_some_and(|l| l["op"] == "reprice" && l["task"] == change.record.task.as_str()))
    }
}
