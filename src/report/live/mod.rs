//! The page of a live learner, which requests numbers from its own server every two seconds and draws them.

use super::html::data::styles_json;
use super::html::page::Page;
use super::html::{DRAWN, ELEMENTS, STYLE, THEME};
use super::own_data::{MARKS, OWN_STYLE};

const MAIN: &str = "<noscript><p class=\"note\">This page needs JavaScript; its numbers are at /v1/view.</p></noscript>\n";
const LIVE: &str = include_str!("live.js");
const LIVE_STYLE: &str = include_str!("live.css");

/// The page of the task folder `name`.
pub fn live_page(name: &str) -> String {
    let page = Page {
        title: &format!("{name}: live"),
        main: MAIN,
        footer: "Served by <code>cbwk-gpu serve</code>; the numbers are updated every two seconds. Every answer is in \
                 journal.jsonl.",
        connects: true,
        styles: &[STYLE, OWN_STYLE, LIVE_STYLE],
        data: &styles_json(),
        scripts: &[ELEMENTS, THEME, DRAWN, MARKS, LIVE],
    };
    page.text()
}

const LIST: &str = include_str!("shops.js");

/// The list of several shops, with links to their pages.
pub fn shops_page() -> String {
    let page = Page {
        title: "Shops",
        main: "<noscript><p class=\"note\">This page needs JavaScript; its numbers are at /v1/shops.</p></noscript>\n",
        footer: "Served by <code>cbwk-gpu serve</code>; the list is updated every five seconds.",
        connects: true,
        styles: &[STYLE, OWN_STYLE, LIVE_STYLE],
        data: &styles_json(),
        scripts: &[ELEMENTS, THEME, LIST],
    };
    page.text()
}
