//! Tables of a task folder, and its self-contained pages `fit.html` and `plan.html`.

mod evaluation_table;
mod fit_table;

use serde::Serialize;
use serde_json::json;

use super::html::data::styles_json;
use super::html::page::Page;
use super::html::{DRAWN, ELEMENTS, STYLE, THEME};
use crate::history::fit::ModelFile;
use crate::history::plan::PlanView;

pub use evaluation_table::evaluation_tables;
pub use fit_table::fit_tables;

const MAIN: &str = "<noscript><p class=\"note\">This page needs JavaScript; its numbers are in the files beside it.</p></noscript>\n";
pub(super) const OWN_STYLE: &str = include_str!("own_data.css");
pub(super) const MARKS: &str = include_str!("marks.js");
const FIT: &str = include_str!("fit.js");
const PLAN: &str = include_str!("plan.js");

/// The page of a fit.
pub fn fit_page(name: &str, model: &ModelFile) -> String {
    let footer =
        "Made by <code>cbwk-gpu fit</code>. The numbers are in model.json beside this page.";
    let title = format!("{name}: acceptance");
    page(&title, footer, FIT, ("model", model))
}

/// The page of a plan.
pub fn plan_page(name: &str, plan: &PlanView) -> String {
    let footer = "Made by <code>cbwk-gpu plan</code>. The numbers are in the CSV file beside this page. In the map, use the arrow keys.";
    let title = format!("{name}: offers");
    page(&title, footer, PLAN, ("plan", plan))
}

fn page(
    title: &str,
    footer: &str,
    script: &str,
    (name, content): (&str, &impl Serialize),
) -> String {
    let mut data = styles_json();
    data[name] = json!(content);
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
