//! The page of a live learner: it asks the service it came from for numbers, every few seconds, and draws them.

use serde_json::json;

use super::html::data::ramp_colours;
use super::html::page::Page;
use super::html::{DRAWN, ELEMENTS, STYLE, THEME};
use super::own_data::{MARKS, OWN_STYLE};
use super::plot::{COLOURS, DASHES};

const MAIN: &str = "<noscript><p class=\"note\">This page needs JavaScript; its numbers are at /v1/view.</p></noscript>\n";
const LIVE: &str = include_str!("live.js");
const LIVE_STYLE: &str = include_str!("live.css");

/// The page of a task folder with this name.
pub fn live_page(name: &str) -> String {
    let data = json!({ "colours": COLOURS.len(), "dashes": DASHES, "ramp": ramp_colours() });
    let page = Page {
        title: &format!("{name}: live"),
        main: MAIN,
        footer: "Served by <code>cbwk-gpu serve</code>; the numbers come anew every two seconds. Every answer is in \
                 journal.jsonl.",
        connects: true,
        styles: &[STYLE, OWN_STYLE, LIVE_STYLE],
        data: &data,
        scripts: &[ELEMENTS, THEME, DRAWN, MARKS, LIVE],
    };
    page.text()
}
