//! The page of a live learner: it asks the service it came from for numbers, every few seconds, and draws them.

use serde_json::json;

use super::html::data::{embedded, ramp_colours};
use super::html::{ELEMENTS, STYLE, THEME, escape, filled};
use super::own_data::{MARKS, OWN_STYLE};
use super::plot::{COLOURS, DASHES};

const SKELETON: &str = include_str!("page.html");
const LIVE: &str = include_str!("live.js");
const LIVE_STYLE: &str = include_str!("live.css");

/// The page of a task folder with this name.
pub fn live_page(name: &str) -> String {
    let data = json!({ "colours": COLOURS.len(), "dashes": DASHES, "ramp": ramp_colours() });
    let title = escape(&format!("{name}: live"));
    filled(
        SKELETON,
        &[
            ("{{title}}", &title),
            ("{{style}}", &[STYLE, OWN_STYLE, LIVE_STYLE].concat()),
            ("{{heading}}", &title),
            ("{{data}}", &embedded(&data)),
            ("{{script}}", &[ELEMENTS, THEME, MARKS, LIVE].concat()),
        ],
    )
}
