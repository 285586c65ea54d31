//! What stands around the lines of a chart: background, title, grid, axes and their names, legend.

use std::fmt::Write;

use super::axis::Axis;
use super::chart::{Chart, Series};

pub(super) const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 500.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 56.0;

/// Width and height of a small picture.
pub(super) const PANEL: (f64, f64) = (330.0, 250.0);

/// Where the plot is on the page.
#[derive(Debug)]
pub(super) struct Frame {
    size: (f64, f64),
    title: (f64, usize),
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// About how far apart the ticks of the vertical axis are.
    pub spacing: f64,
}

impl Frame {
    /// A chart with its legend on the right, which may need more height.
    pub fn wide(chart: &Chart) -> Self {
        Self {
            size: (WIDTH, height(chart)),
            title: (16.0, usize::MAX),
            left: 84.0,
            right: RIGHT,
            top: TOP,
            bottom: 436.0,
            spacing: 54.0,
        }
    }

    /// One of several small charts.
    pub fn panel() -> Self {
        Self {
            size: PANEL,
            title: (13.0, 46),
            left: 62.0,
            right: PANEL.0 - 12.0,
            top: 30.0,
            bottom: PANEL.1 - 46.0,
            spacing: 36.0,
        }
    }
}

/// About how wide a letter is.
const LETTER: f64 = 7.0;

/// Where names in the legend start, and how many characters fit beside the plot.
const NAMES: f64 = RIGHT + 58.0;
pub(crate) const NAME_LENGTH: usize = 24;
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
pub(super) fn open(chart: &Chart, frame: &Frame, x: &Axis, y: &Axis) -> String {
    let Frame {
        left,
        right,
        top,
        bottom,
        ..
    } = *frame;
    let (width, height) = frame.size;
    let (size, length) = frame.title;
    let mut svg = page(width, height, &escape(&chart.title));
    put(
        &mut svg,
        format_args!(
            "<text x=\"{left}\" y=\"{}\" font-size=\"{size}\" font-weight=\"bold\">{}</text>",
            1.9 * size,
            escape(&shorten(&chart.title, length))
        ),
    );
    for &tick in y.ticks() {
        let at = y.place(tick);
        let colour = if y.is_zero(tick) { "#888" } else { "#ddd" };
        put(
            &mut svg,
            format_args!(
                "<line x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"{colour}\"/>"
            ),
        );
        let label = ((left - 8.0, at + 4.5), "end", y.label(tick));
        anchored(&mut svg, label);
    }
    horizontal(&mut svg, chart, frame, x);
    put(
        &mut svg,
        format_args!("<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#888\"/>"),
    );
    let below = ((left + right) / 2.0, height.min(bottom + 44.0) - 6.0);
    anchored(&mut svg, (below, "middle", chart.x.name.clone()));
    put(
        &mut svg,
        format_args!(
            "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            1.4 * size,
            (top + bottom) / 2.0,
            escape(&chart.y.name)
        ),
    );
    svg
}

/// Tick marks and numbers of the horizontal axis, or the names it comes with: long ones are cut, and a number that has no
/// room beside the one before it is left out.
fn horizontal(svg: &mut String, chart: &Chart, frame: &Frame, x: &Axis) {
    let numbered = || x.ticks().iter().map(|tick| (*tick, x.label(*tick)));
    let labels: Vec<(f64, String)> = match chart.x.ticks.is_empty() {
        true => numbered().collect(),
        false => chart.x.ticks.clone(),
    };
    let room = (frame.right - frame.left) / labels.len().max(1) as f64 / LETTER;
    let mut taken = f64::NEG_INFINITY;
    for (tick, label) in labels {
        let at = x.place(tick);
        put(
            svg,
            format_args!(
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{}\" y2=\"{}\" stroke=\"#888\"/>",
                frame.bottom,
                frame.bottom + 5.0
            ),
        );
        let label = match label.parse::<f64>() {
            Ok(_) => label,
            Err(_) => shorten(&label, (room as usize).max(2)),
        };
        let half = LETTER * label.chars().count() as f64 / 2.0;
        if at - half >= taken {
            anchored(svg, ((at, frame.bottom + 20.0), "middle", label));
            taken = at + half + LETTER;
        }
    }
}

fn anchored(svg: &mut String, ((x, y), anchor, text): ((f64, f64), &str, String)) {
    put(
        svg,
        format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escape(&text)
        ),
    );
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
        legend_entry(svg, series, i, (NAMES, at));
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

/// A line in the look of a series, and its name, which starts at (x, y).
pub(super) fn legend_entry(svg: &mut String, series: &Series, place: usize, (x, y): (f64, f64)) {
    let (colour, dash) = style(series, place);
    put(
        svg,
        format_args!(
            "<line x1=\"{}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"3\" stroke-dasharray=\"{dash}\"/>",
            x - 36.0,
            x - 8.0
        ),
    );
    put(
        svg,
        format_args!(
            "<text x=\"{x}\" y=\"{}\">{}</text>",
            y + 4.5,
            escape(&shorten(&series.name, NAME_LENGTH))
        ),
    );
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
