//! The frame of every page: head, title, footer, data as JSON, scripts. A page is one self-contained file.

use serde_json::Value;

const FRAME: &str = include_str!("frame.html");

/// A page of HTML.
pub struct Page<'a> {
    /// Plain text.
    pub title: &'a str,
    /// The content under the title, as HTML; scripts may add to it.
    pub main: &'a str,
    /// HTML.
    pub footer: &'a str,
    /// Whether it may send requests to its own server.
    pub connects: bool,
    /// CSS.
    pub styles: &'a [&'a str],
    /// The data that the scripts read.
    pub data: &'a Value,
    /// JavaScript.
    pub scripts: &'a [&'a str],
}

impl Page<'_> {
    /// The page's text.
    pub fn text(&self) -> String {
        let title = escape(self.title);
        let connect = match self.connects {
            true => "; connect-src 'self'",
            false => "",
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

/// Replaces the marks of a skeleton, given in their order, in one pass: content that looks like a mark stays as it is.
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

/// JSON for a script element: it has no `<`, which could end the element or open a comment.
fn embedded(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
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
    fn content_that_looks_like_a_mark_is_kept() {
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

    #[test]
    fn embedded_json_cannot_end_its_element() {
        let hostile = serde_json::json!({ "name": "</script><!--<script> \"'\\ \u{2028} é 語" });
        let text = embedded(&hostile);
        assert!(!text.contains('<'));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), hostile);
    }
}
