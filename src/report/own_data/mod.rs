//! Tables of a task folder, and its self-contained pages `fit.html`, `plan.html` and `evaluate.html`.

mod evaluation_table;
mod fit_table;

use serde_json::{Value, json};

use super::html::data::styles_json;
use super::html::page::Page;
use super::html::{DRAWN, ELEMENTS, STYLE, THEME};
use crate::history::evaluate::Evaluation;
use crate::history::fit::ModelFile;
use crate::history::plan::PlanView;

pub use evaluation_table::evaluation_tables;
pub use fit_table::fit_tables;

const MAIN: &str = "<noscript><p class=\"note\">This page needs JavaScript; its numbers are in the files beside it.</p></noscript>\n";
pub(super) const OWN_STYLE: &str = include_str!("own_data.css");
pub(super) const MARKS: &str = include_str!("marks.js");
const FIT: &str = include_str!("fit.js");
const PLAN: &str = include_str!("plan.js");
const EVALUATION: &str = include_str!("evaluation.js");

/// The page of a fit.
pub fn fit_page(name: &str, model: &ModelFile) -> String {
    let footer =
        "Made by <code>cbwk-gpu fit</code>. The numbers are in model.json beside this page.";
    let title = format!("{name}: acceptance");
    page(&title, footer, FIT, json!({ "model": model }))
}

/// The page of a plan.
pub fn plan_page(name: &str, plan: &PlanView) -> String {
    let footer = "Made by <code>cbwk-gpu plan</code>. The numbers are in the CSV file beside this page. In the map, use the arrow keys.";
    let title = format!("{name}: offers");
    page(&title, footer, PLAN, json!({ "plan": plan }))
}

/// The page of an evaluation; `action` is the noun for an action.
pub fn evaluation_page(name: &str, evaluation: &Evaluation, action: &str) -> String {
    let footer = "Made by <code>cbwk-gpu evaluate</code>; with <code>--format json</code> it prints the numbers.";
    let title = format!(
        "{name}: {} against {}",
        evaluation.policy.policy, evaluation.against.policy
    );
    let content = json!({ "evaluation": evaluation, "days": evaluation.days, "action": action });
    page(&title, footer, EVALUATION, content)
}

fn page(title: &str, footer: &str, script: &str, content: Value) -> String {
    let mut data = styles_json();
    for (name, part) in content.as_object().into_iter().flatten() {
        data[name] = part.clone();
    }
    let page = Page {
        title,
        main: MAIN,
        footer,
        connects: false,
        styles: &[STYLE, OWN_STYLE],
        data: &data,
        scripts: &[ELEMENTS, THEME, DRAWN, MARKS, script],
    };
    page.text()
}

/// A share in percent.
fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}
