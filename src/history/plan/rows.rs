//! `plan.csv`: the offer for every step, budget and segment.

use super::{Customer, OfferPlan, Segment};
use crate::history::fit::Fitted;
use crate::history::task_file::TaskFile;

/// The offer to one segment at one step and budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellOffer {
    /// Price, wage or bid; `None` for no offer.
    pub action: Option<f64>,
    /// Probability of acceptance.
    pub probability: f64,
    /// Lower end of its interval.
    pub lower: f64,
    /// Upper end of its interval.
    pub upper: f64,
    /// Value of the units in the rest of the episode.
    pub opportunity_cost: f64,
    /// Expected reward of the rest of the episode.
    pub value: f64,
}

/// The file: `step,budget,<raw column>,...,action,probability,lower,upper,opportunity_cost,value`, budgets from 1.
pub fn plan_csv(
    task: &TaskFile,
    fitted: &Fitted,
    plan: &OfferPlan,
    segments: &[Segment],
) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = vec!["step".to_string(), "budget".into()];
    let columns = task.encoding.columns.iter();
    header.extend(columns.map(|column| no_formula(column.name().to_string())));
    let rest = "action,probability,lower,upper,opportunity_cost,value";
    header.extend(rest.split(',').map(String::from));
    writer.write_record(&header).expect("writing to memory");
    let by_segment = |segment: &Segment| -> (Vec<String>, Customer) {
        let raw = segment.values.iter();
        let raw = raw.map(|value| no_formula(value.to_string())).collect();
        (raw, plan.customer(fitted, &segment.features))
    };
    let by_segment: Vec<_> = segments.iter().map(by_segment).collect();
    let mut cells: Vec<String> = Vec::new();
    for step in 0..plan.task.horizon() {
        for budget in 1..=plan.task.budget_max() {
            for (raw, customer) in &by_segment {
                let offer = plan.offer(step, budget, customer);
                cells.clear();
                cells.extend([(step + 1).to_string(), budget.to_string()]);
                cells.extend_from_slice(raw);
                cells.push(offer.action.map_or(String::new(), |a| a.to_string()));
                let numbers = [
                    offer.probability,
                    offer.lower,
                    offer.upper,
                    offer.opportunity_cost,
                    offer.value,
                ];
                cells.extend(numbers.map(|x| x.to_string()));
                writer.write_record(&cells).expect("writing to memory");
            }
        }
    }
    writer.into_inner().expect("writing to memory")
}

/// A text that a spreadsheet would read as a formula gets an apostrophe, which spreadsheets take for the beginning of a text.
fn no_formula(cell: String) -> String {
    match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err() {
        true => format!("'{cell}"),
        false => cell,
    }
}
