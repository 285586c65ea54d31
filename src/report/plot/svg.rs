//! SVG text, written element by element without any library: the files are small and the same everywhere.

use std::fmt::{Display, Write};

/// A picture that is being written.
#[derive(Debug)]
pub(super) struct Svg(String);

impl Svg {
    /// A white page with a title.
    pub fn page(width: f64, height: f64, title: &str) -> Self {
        let font = " font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\" role=\"img\"";
        let mut svg = Self::open(width, height, font);
        svg.put(format_args!("<title>{}</title>", escape(title)));
        svg.put(format_args!(
            "<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>"
        ));
        svg
    }

    /// An empty page with more attributes.
    pub fn open(width: f64, height: f64, attributes: &str) -> Self {
        let size =
            format!("viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\"");
        let namespace = "http://www.w3.org/2000/svg";
        Self(format!("<svg xmlns=\"{namespace}\" {size}{attributes}>\n"))
    }

    /// Adds a line.
    pub fn put(&mut self, line: impl Display) {
        writeln!(self.0, "{line}").expect("writing to a string");
    }

    /// Adds text; `attributes` hold its position.
    pub fn text(&mut self, attributes: impl Display, content: &str) {
        self.put(format_args!(
            "<text {attributes}>{}</text>",
            escape(content)
        ));
    }

    /// Adds a whole picture with its top left corner at (x, y).
    pub fn embed(&mut self, x: f64, y: f64, picture: &str) {
        self.put(format_args!(
            "<g transform=\"translate({x} {y})\">\n{picture}</g>"
        ));
    }

    /// The finished text.
    pub fn close(self) -> String {
        self.0 + "</svg>\n"
    }
}

/// At most `length` characters of a text.
pub(crate) fn shorten(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.into();
    }
    text.chars().take(length - 1).chain(['…']).collect()
}

/// Text for XML, which allows no control characters.
fn escape(text: &str) -> String {
    let unfit = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(unfit, "\u{fffd}")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
