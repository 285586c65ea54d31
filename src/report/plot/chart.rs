//! A line chart. `frame` draws what is around the lines.

use super::Scale;
use super::axis::{Axis, Ends};
use super::frame::{self, Frame};
use super::svg::Svg;
use crate::report::extremes;

/// The most points of a series that are marked.
const MARKED: usize = 24;

/// A picture of series over a common x.
#[derive(Debug, Clone)]
pub struct Chart {
    pub(in crate::report) title: String,
    pub(in crate::report) x: AxisSpec,
    pub(in crate::report) y: AxisSpec,
    pub(in crate::report) series: Vec<Series>,
}

/// The name and the scale of an axis.
#[derive(Debug, Clone)]
pub struct AxisSpec {
    pub name: String,
    pub scale: Scale,
    /// Whether a linear axis must include zero.
    pub from_zero: bool,
    /// Whether values are whole numbers, such as episodes or steps.
    pub whole: bool,
    /// Values and names of the ticks; empty for round numbers.
    pub ticks: Vec<(f64, String)>,
    /// A range that the axis must include, so that several charts can share it.
    pub covers: Option<(f64, f64)>,
}

/// One line of a chart.
#[derive(Debug, Clone)]
pub struct Series {
    pub name: String,
    /// A second, smaller line in the legend.
    pub note: Option<String>,
    /// Points by rising x.
    pub points: Vec<Point>,
    /// Index of the colour and of the dash; by default the index of the series.
    pub style: Option<(usize, usize)>,
}

/// A point of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Lower and upper end of the band there.
    pub band: Option<(f64, f64)>,
}

impl AxisSpec {
    /// A linear axis that includes zero.
    pub fn linear(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            scale: Scale::Linear,
            from_zero: true,
            whole: false,
            ticks: Vec::new(),
            covers: None,
        }
    }

    /// A linear axis over whole numbers, from the first to the last.
    pub fn whole(name: impl Into<String>) -> Self {
        Self {
            from_zero: false,
            whole: true,
            ..Self::linear(name)
        }
    }

    /// A logarithmic axis.
    pub fn log(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            scale: Scale::Log,
            from_zero: false,
            ..Self::linear("")
        }
    }

    /// A logarithmic axis over whole numbers.
    pub fn log_whole(name: impl Into<String>) -> Self {
        Self {
            whole: true,
            ..Self::log(name)
        }
    }

    fn range(&self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let usable = |v: &f64| v.is_finite() && (self.scale == Scale::Linear || *v > 0.0);
        let zero = (self.scale == Scale::Linear && self.from_zero).then_some(0.0);
        let covers = self.covers.into_iter().flat_map(|(low, high)| [low, high]);
        let (low, high) = extremes(values.chain(covers).filter(usable).chain(zero));
        if low <= high { (low, high) } else { (0.0, 1.0) }
    }
}

impl Point {
    /// A point without a band.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, band: None }
    }

    /// With a band, unless an end is non-finite.
    pub fn with_band(self, lower: f64, upper: f64) -> Self {
        let band = (lower.is_finite() && upper.is_finite()).then_some((lower, upper));
        Self { band, ..self }
    }

    fn ends(&self) -> (f64, f64) {
        self.band.unwrap_or((self.y, self.y))
    }
}

impl Series {
    /// A series with the default style.
    pub fn new(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self {
            name: name.into(),
            note: None,
            points,
            style: None,
        }
    }

    /// With a second line in the legend.
    pub fn with_note(self, note: impl Into<String>) -> Self {
        Self {
            note: Some(note.into()),
            ..self
        }
    }

    /// With the indices of a colour and a dash.
    pub fn with_style(self, colour: usize, dash: usize) -> Self {
        Self {
            style: Some((colour, dash)),
            ..self
        }
    }
}

impl Chart {
    /// The picture as SVG text.
    pub fn svg(&self) -> String {
        let mut svg = self.drawn(&Frame::wide(self));
        frame::legend(&mut svg, self);
        svg.close()
    }

    /// A small picture without a legend, one of several.
    pub(in crate::report) fn small_svg(&self) -> String {
        self.drawn(&Frame::small()).close()
    }

    /// Smallest and largest value of the vertical axis.
    pub(in crate::report) fn y_range(&self) -> (f64, f64) {
        let points = self.series.iter().flat_map(|s| &s.points);
        // On a logarithmic axis a band that reaches zero would need infinite room.
        let values = points.flat_map(|p| match self.y.scale {
            Scale::Linear => [p.ends().0, p.ends().1],
            Scale::Log => [p.ends().0.max(p.y / 5.0), p.ends().1],
        });
        self.y.range(values)
    }

    fn drawn(&self, frame: &Frame) -> Svg {
        let points = self.series.iter().flat_map(|s| &s.points);
        let x = Axis::new(
            (self.x.scale, self.x.whole),
            Ends::Tight,
            self.x.range(points.map(|p| p.x)),
            (frame.left, frame.right),
            (frame.right - frame.left) / 70.0,
        );
        let y = Axis::new(
            (self.y.scale, false),
            Ends::Round,
            self.y_range(),
            (frame.bottom, frame.top),
            (frame.bottom - frame.top) / frame.spacing,
        );
        let mut svg = frame::open(self, frame, &x, &y);
        for (i, series) in self.series.iter().enumerate() {
            draw(&mut svg, series, i, &x, &y);
        }
        svg
    }
}

/// Draws the band, the line, and marks if the points are few; in pieces if some values cannot be shown.
fn draw(svg: &mut Svg, series: &Series, index: usize, x: &Axis, y: &Axis) {
    let (colour, dash) = frame::style(series, index);
    let at = |px: f64, py: f64| format!("{:.1},{:.1}", x.place(px), y.place(py));
    let shows = |p: &Point| x.shows(p.x) && y.shows(p.y);
    let pieces = series.points.split(|p| !shows(p));
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        if piece.iter().any(|p| p.band.is_some()) {
            // A band that leaves the range ends at the axis.
            let upper = piece.iter().map(|p| at(p.x, p.ends().1));
            let lower = piece.iter().rev().map(|p| at(p.x, p.ends().0));
            let band = upper.chain(lower).collect::<Vec<_>>().join(" ");
            svg.put(format_args!(
                "<polygon points=\"{band}\" fill=\"{colour}\" fill-opacity=\"0.18\"/>"
            ));
        }
        let line: Vec<String> = piece.iter().map(|p| at(p.x, p.y)).collect();
        svg.put(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
            line.join(" ")
        ));
    }
    if series.points.len() > MARKED {
        return;
    }
    for p in series.points.iter().filter(|p| shows(p)) {
        let (px, py) = (x.place(p.x), y.place(p.y));
        if let Some((lower, upper)) = p.band {
            let (low, high) = (y.place(lower), y.place(upper));
            svg.put(format_args!(
                "<line x1=\"{px:.1}\" x2=\"{px:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
            ));
        }
        svg.put(format_args!(
            "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
        ));
    }
}
