//! Everything around the lines of a chart: title, grid, axes and their names, legend.

use super::axis::Axis;
use super::chart::{Chart, Series};
use super::svg::{Svg, shorten};

pub(super) const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 500.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 56.0;

/// Width and height of a small chart.
pub(super) const SMALL: (f64, f64) = (330.0, 250.0);

/// Where the plot is on the page.
#[derive(Debug)]
pub(super) struct Frame {
    size: (f64, f64),
    /// Font size and most characters of the title.
    title: (f64, usize),
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// Approximate distance between the ticks of the vertical axis.
    pub spacing: f64,
}

impl Frame {
    /// A chart with its legend on the right.
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

    /// One of several small charts, without a legend.
    pub fn small() -> Self {
        Self {
            size: SMALL,
            title: (13.0, 46),
            left: 62.0,
            right: SMALL.0 - 12.0,
            top: 30.0,
            bottom: SMALL.1 - 46.0,
            spacing: 36.0,
        }
    }
}

/// Approximate width of a letter.
const LETTER: f64 = 7.0;

/// Where the names of the legend start, and how many characters fit.
const NAMES: f64 = RIGHT + 58.0;
pub(crate) const NAME_LENGTH: usize = 24;
const NOTE_LENGTH: usize = 26;

/// Okabe and Ito's palette, which colour-blind readers can distinguish; dashes help in print.
pub(crate) const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];
pub(crate) const DASHES: [&str; 5] = ["none", "7 3", "2 3", "9 3 2 3", "14 4"];

/// Colour and dash of the series with this index.
pub(super) fn style(series: &Series, index: usize) -> (&'static str, &'static str) {
    let (colour, dash) = series.style.unwrap_or((index, index));
    (COLOURS[colour % COLOURS.len()], DASHES[dash % DASHES.len()])
}

/// Starts the picture: everything but the series and the legend.
pub(super) fn open(chart: &Chart, frame: &Frame, x: &Axis, y: &Axis) -> Svg {
    let (left, right, top, bottom) = (frame.left, frame.right, frame.top, frame.bottom);
    let (width, height) = frame.size;
    let (size, length) = frame.title;
    let mut svg = Svg::page(width, height, &chart.title);
    svg.text(
        format_args!(
            "x=\"{left}\" y=\"{}\" font-size=\"{size}\" font-weight=\"bold\"",
            1.9 * size
        ),
        &shorten(&chart.title, length),
    );
    for &tick in y.ticks() {
        let at = y.place(tick);
        let colour = if y.is_zero(tick) { "#888" } else { "#ddd" };
        svg.put(format_args!(
            "<line x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"{colour}\"/>"
        ));
        anchored(&mut svg, (left - 8.0, at + 4.5), "end", &y.label(tick));
    }
    horizontal_axis(&mut svg, chart, frame, x);
    svg.put(format_args!(
        "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#888\"/>"
    ));
    let below = ((left + right) / 2.0, height.min(bottom + 44.0) - 6.0);
    anchored(&mut svg, below, "middle", &chart.x.name);
    svg.text(
        format_args!(
            "transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\"",
            1.4 * size,
            (top + bottom) / 2.0
        ),
        &chart.y.name,
    );
    svg
}

/// Tick marks and labels of the horizontal axis. Long names are cut; a label without room beside the one before it is
/// left out.
fn horizontal_axis(svg: &mut Svg, chart: &Chart, frame: &Frame, x: &Axis) {
    let numbered = || x.ticks().iter().map(|tick| (*tick, x.label(*tick)));
    let labels: Vec<(f64, String)> = match chart.x.ticks.is_empty() {
        true => numbered().collect(),
        false => chart.x.ticks.clone(),
    };
    let room = (frame.right - frame.left) / labels.len().max(1) as f64 / LETTER;
    let mut taken = f64::NEG_INFINITY;
    for (tick, label) in labels {
        let (at, bottom) = (x.place(tick), frame.bottom);
        svg.put(format_args!(
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{}\" stroke=\"#888\"/>",
            bottom + 5.0
        ));
        let label = match label.parse::<f64>() {
            Ok(_) => label,
            Err(_) => shorten(&label, (room as usize).max(2)),
        };
        let half = LETTER * label.chars().count() as f64 / 2.0;
        if at - half >= taken {
            anchored(svg, (at, bottom + 20.0), "middle", &label);
            taken = at + half + LETTER;
        }
    }
}

fn anchored(svg: &mut Svg, (x, y): (f64, f64), anchor: &str, text: &str) {
    svg.text(
        format_args!("x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\""),
        text,
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

/// The legend, ordered by last value, largest on top, like the ends of the curves.
pub(super) fn legend(svg: &mut Svg, chart: &Chart) {
    let last = |i: usize| chart.series[i].points.last().map_or(f64::MIN, |p| p.y);
    let mut order: Vec<usize> = (0..chart.series.len()).collect();
    order.sort_by(|&a, &b| last(b).total_cmp(&last(a)));
    let mut at = TOP + 14.0;
    for i in order {
        let series = &chart.series[i];
        legend_entry(svg, series, i, (NAMES, at));
        if let Some(note) = &series.note {
            let y = at + 19.0;
            svg.text(
                format_args!("x=\"{NAMES}\" y=\"{y}\" font-size=\"11\" fill=\"#666\""),
                &shorten(note, NOTE_LENGTH),
            );
        }
        at += row_height(series);
    }
}

/// A line in the style of a series, and its name, which starts at (x, y).
pub(super) fn legend_entry(svg: &mut Svg, series: &Series, index: usize, (x, y): (f64, f64)) {
    let (colour, dash) = style(series, index);
    svg.put(format_args!(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"3\" stroke-dasharray=\"{dash}\"/>",
        x - 36.0,
        x - 8.0
    ));
    let name = shorten(&series.name, NAME_LENGTH);
    svg.text(format_args!("x=\"{x}\" y=\"{}\"", y + 4.5), &name);
}
