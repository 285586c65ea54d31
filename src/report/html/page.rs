//! What every page has in common: its head, a title, a footer, its data as JSON and the scripts that show them. A page needs
//! nothing but itself.

use serde_json::Value;

use super::data::embedded;

const FRAME: &str = include_str!("frame.html");

/// A page of HTML.
pub struct Page<'a> {
    /// Plain text.
    pub title: &'a str,
    /// What stands under the title, as HTML; scripts may add to it.
    pub main: &'a str,
    /// HTML.
    pub footer: &'a str,
    /// Whether it may ask the service that it came from.
    pub connects: bool,
    /// CSS, one sheet after the other.
    pub styles: &'a [&'a str],
    /// What the scripts read.
    pub data: &'a Value,
    /// JavaScript, one file after the other.
    pub scripts: &'a [&'a str],
}

impl Page<'_> {
    /// The page's text.
    pub fn text(&self) -> String {
        let title = escape(self.title);
        let connect = if self.connects {
            "; connect-src 'self'"
        } else {
            ""
        };
        filled(
            FRAME,
            &[
                ("{{connect}}", connect),
                ("{{title}}", &title),
                ("{{style}}", &self.styles.concat()),
                ("{{heading}}", &title),
                ("{{main}}", self.main),
                ("{{footer}}", self.footer),
                ("{{data}}", &embedded(self.data)),
                ("{{script}}", &self.scripts.concat()),
            ],
        )
    }
}

/// A skeleton with its marks, which stand in this order, replaced in one pass, so that no content can be taken for a mark.
pub(super) fn filled(skeleton: &str, contents: &[(&str, &str)]) -> String {
    let mut page = String::new();
    let mut rest = skeleton;
    for (mark, content) in contents {
        let (before, after) = rest.split_once(mark).expect("the skeleton has all marks");
        page.push_str(before);
        page.push_str(content);
        rest = after;
    }
    page + rest
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_content_is_taken_for_a_mark() {
        let page = Page {
            title: "<{{main}}>",
            main: "{{data}}",
            footer: "",
            connects: false,
            styles: &[],
            data: &Value::Null,
            scripts: &["a();", "b();"],
        };
        let text = page.text();
        assert!(text.contains("<title>&lt;{{main}}&gt;</title>"), "{text}");
        assert!(text.contains("\n{{data}}</main>"), "{text}");
        assert!(text.contains("a();b();"), "{text}");
        assert!(!text.contains("connect-src"), "{text}");
    }
}
