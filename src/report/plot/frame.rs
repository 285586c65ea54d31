//! What stands around the lines of a chart: background, title, grid, axes and their names, legend.

use std::fmt::Write;

use super::axis::Axis;
use super::chart::{Chart, Series};

pub(super) const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 500.0;
pub(super) const LEFT: f64 = 84.0;
pub(super) const RIGHT: f64 = 640.0;
pub(super) const TOP: f64 = 56.0;
pub(super) const BOTTOM: f64 = 436.0;

/// Where names in the legend start, and how many characters fit beside the plot.
const NAMES: f64 = RIGHT + 58.0;
pub(crate) const NAME_LENGTH: usize = 22;
const NOTE_LENGTH: usize = 26;

/// Okabe and Ito's palette, which colour-blind readers can tell apart; dashes help in print.
pub(crate) const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];
pub(crate) const DASHES: [&str; 5] = ["none", "7 3", "2 3", "9 3 2 3", "14 4"];

/// Colour and dash of a series.
pub(super) fn style(series: &Series, place: usize) -> (&'static str, &'static str) {
    let (colour, dash) = series.style.unwrap_or((place, place));
    (COLOURS[colour % COLOURS.len()], DASHES[dash % DASHES.len()])
}

/// A white page of a size, not closed yet; `title` is escaped.
pub(super) fn page(width: f64, height: f64, title: &str) -> String {
    let mut svg = String::new();
    put(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\" role=\"img\">"
        ),
    );
    put(&mut svg, format_args!("<title>{title}</title>"));
    put(
        &mut svg,
        format_args!("<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>"),
    );
    svg
}

/// Starts the picture: everything but the series and the legend.
pub(super) fn open(chart: &Chart, x: &Axis, y: &Axis) -> String {
    let title = escape(&chart.title);
    let mut svg = page(WIDTH, height(chart), &title);
    put(
        &mut svg,
        format_args!(
            "<text x=\"{LEFT}\" y=\"30\" font-size=\"16\" font-weight=\"bold\">{title}</text>"
        ),
    );
    vertical(&mut svg, y);
    horizontal(&mut svg, x);
    put(
        &mut svg,
        format_args!("<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"#888\"/>"),
    );
    put(
        &mut svg,
        format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            (LEFT + RIGHT) / 2.0,
            BOTTOM + 44.0,
            escape(&chart.x.name)
        ),
    );
    put(
        &mut svg,
        format_args!(
            "<text transform=\"translate(24 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (TOP + BOTTOM) / 2.0,
            escape(&chart.y.name)
        ),
    );
    svg
}

/// Grid lines and numbers of the vertical axis.
fn vertical(svg: &mut String, y: &Axis) {
    for &tick in y.ticks() {
        let at = y.place(tick);
        let colour = if y.is_zero(tick) { "#888" } else { "#ddd" };
        put(
            svg,
            format_args!(
                "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"{colour}\"/>"
            ),
        );
        put(
            svg,
            format_args!(
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                at + 4.5,
                y.label(tick)
            ),
        );
    }
}

/// Tick marks and numbers of the horizontal axis.
fn horizontal(svg: &mut String, x: &Axis) {
    for &tick in x.ticks() {
        let at = x.place(tick);
        put(
            svg,
            format_args!(
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{BOTTOM}\" y2=\"{}\" stroke=\"#888\"/>",
                BOTTOM + 5.0
            ),
        );
        put(
            svg,
            format_args!(
                "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                BOTTOM + 20.0,
                x.label(tick)
            ),
        );
    }
}

/// The height of a series in the legend.
fn row_height(series: &Series) -> f64 {
    if series.note.is_some() { 40.0 } else { 24.0 }
}

/// The height of a chart, which grows with a long legend.
pub(super) fn height(chart: &Chart) -> f64 {
    let legend: f64 = chart.series.iter().map(row_height).sum();
    HEIGHT.max(TOP + legend + 16.0)
}

/// Names in the order of the last values, largest on top, as the curves end.
pub(super) fn legend(svg: &mut String, chart: &Chart) {
    let last = |i: usize| chart.series[i].points.last().map_or(f64::MIN, |p| p.y);
    let mut order: Vec<usize> = (0..chart.series.len()).collect();
    order.sort_by(|&a, &b| last(b).total_cmp(&last(a)));
    let mut at = TOP + 14.0;
    for i in order {
        let series = &chart.series[i];
        let (colour, dash) = style(series, i);
        put(
            svg,
            format_args!(
                "<line x1=\"{}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\" stroke=\"{colour}\" stroke-width=\"3\" stroke-dasharray=\"{dash}\"/>",
                NAMES - 36.0,
                NAMES - 8.0
            ),
        );
        put(
            svg,
            format_args!(
                "<text x=\"{NAMES}\" y=\"{}\">{}</text>",
                at + 4.5,
                escape(&shorten(&series.name, NAME_LENGTH))
            ),
        );
        if let Some(note) = &series.note {
            put(
                svg,
                format_args!(
                    "<text x=\"{NAMES}\" y=\"{}\" font-size=\"11\" fill=\"#666\">{}</text>",
                    at + 19.0,
                    escape(&shorten(note, NOTE_LENGTH))
                ),
            );
        }
        at += row_height(series);
    }
}

/// A text that fits beside the plot.
pub(crate) fn shorten(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.into();
    }
    text.chars().take(length - 1).chain(['…']).collect()
}

/// Text as XML takes it; control characters, which it never takes, become the mark of what cannot be shown.
pub(super) fn escape(text: &str) -> String {
    let unfit = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(unfit, "\u{fffd}")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

pub(super) fn put(svg: &mut String, line: std::fmt::Arguments) {
    writeln!(svg, "{line}").expect("writing to a string");
}
