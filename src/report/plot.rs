//! `regret.svg`: mean cumulative regret per policy with its band, drawn without any library so that the file is small,
//! self-contained and the same everywhere.

use std::fmt::Write;

use crate::sim::RegretSummary;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 500.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 436.0;

/// Points drawn per curve at the most.
const POINTS: usize = 800;

/// Okabe and Ito's palette, which colour-blind readers can tell apart; dashes help in print.
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];
const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];

/// A data range mapped to a stretch of the page.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    step: f64,
}

impl Axis {
    /// Covers `low..=high` in about `count` round steps.
    fn new(low: f64, high: f64, from: f64, to: f64, count: f64) -> Self {
        let span = if high > low { high - low } else { 1.0 };
        let raw = span / count;
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .iter()
            .map(|m| m * power)
            .find(|step| *step >= raw * (1.0 - 1e-9))
            .unwrap_or(10.0 * power);
        Self {
            low: (low / step).floor() * step,
            high: ((low + span) / step).ceil() * step,
            from,
            to,
            step,
        }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> + '_ {
        let count = ((self.high - self.low) / self.step).round() as usize;
        (0..=count).map(|i| self.low + i as f64 * self.step)
    }

    fn label(&self, value: f64) -> String {
        let decimals = (-self.step.log10().floor()).clamp(0.0, 6.0) as usize;
        let decimals = if (self.step * 10f64.powi(decimals as i32)).fract().abs() > 1e-9 {
            decimals + 1
        } else {
            decimals
        };
        let text = format!("{value:.decimals$}");
        if text
            .trim_start_matches('-')
            .chars()
            .all(|c| c == '0' || c == '.')
        {
            "0".into()
        } else {
            text
        }
    }
}

/// The picture as SVG text.
pub fn regret(title: &str, names: &[&str], regrets: &[RegretSummary]) -> String {
    let episodes = regrets.first().map_or(1, |r| r.cumulative.len());
    let all = || regrets.iter().flat_map(|r| &r.cumulative);
    let ends = |x: f64, mean: f64| if x.is_nan() { mean } else { x };
    let low = all().map(|p| ends(p.lower(), p.mean)).fold(0.0, f64::min);
    let high = all().map(|p| ends(p.upper(), p.mean)).fold(0.0, f64::max);
    let x = Axis::new(0.0, episodes as f64, LEFT, RIGHT, 8.0);
    let x = Axis {
        high: episodes as f64,
        ..x
    };
    let y = Axis::new(low, high, BOTTOM, TOP, 7.0);
    let mut svg = String::new();
    frame(&mut svg, title, &x, &y);
    let shown: Vec<usize> = {
        let stride = episodes.div_ceil(POINTS).max(1);
        let mut shown: Vec<usize> = (0..episodes).step_by(stride).collect();
        if shown.last() != Some(&(episodes - 1)) {
            shown.push(episodes - 1);
        }
        shown
    };
    for (i, regret) in regrets.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let at =
            |t: usize, value: f64| format!("{:.1},{:.1}", x.place((t + 1) as f64), y.place(value));
        let curve = &regret.cumulative;
        let upper = shown
            .iter()
            .map(|&t| at(t, ends(curve[t].upper(), curve[t].mean)));
        let lower = shown
            .iter()
            .rev()
            .map(|&t| at(t, ends(curve[t].lower(), curve[t].mean)));
        let band: Vec<String> = upper.chain(lower).collect();
        let line: Vec<String> = shown.iter().map(|&t| at(t, curve[t].mean)).collect();
        put(
            &mut svg,
            format_args!(
                "<polygon points=\"{}\" fill=\"{colour}\" fill-opacity=\"0.18\"/>",
                band.join(" ")
            ),
        );
        put(
            &mut svg,
            format_args!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>",
                line.join(" "),
                dash(i)
            ),
        );
    }
    legend(&mut svg, names, regrets);
    svg.push_str("</svg>\n");
    svg
}

/// Background, title, grid, axes and their names.
fn frame(svg: &mut String, title: &str, x: &Axis, y: &Axis) {
    put(
        svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\" role=\"img\">"
        ),
    );
    put(svg, format_args!("<title>{}</title>", escape(title)));
    put(
        svg,
        format_args!("<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>"),
    );
    put(
        svg,
        format_args!(
            "<text x=\"{LEFT}\" y=\"30\" font-size=\"16\" font-weight=\"bold\">{}</text>",
            escape(title)
        ),
    );
    for value in y.ticks() {
        let at = y.place(value);
        let colour = if value.abs() < 1e-9 * y.step {
            "#888"
        } else {
            "#ddd"
        };
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
                y.label(value)
            ),
        );
    }
    for value in x.ticks().filter(|value| *value <= x.high) {
        let at = x.place(value);
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
                x.label(value)
            ),
        );
    }
    put(
        svg,
        format_args!("<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"#888\"/>"),
    );
    put(
        svg,
        format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">episode</text>",
            (LEFT + RIGHT) / 2.0,
            BOTTOM + 44.0
        ),
    );
    put(
        svg,
        format_args!(
            "<text transform=\"translate(24 {}) rotate(-90)\" text-anchor=\"middle\">cumulative regret (mean, band of 3 standard errors)</text>",
            (TOP + BOTTOM) / 2.0
        ),
    );
}

/// Names in the order of the final regrets, largest on top, as the curves end.
fn legend(svg: &mut String, names: &[&str], regrets: &[RegretSummary]) {
    let last = |i: usize| regrets[i].cumulative.last().map_or(0.0, |p| p.mean);
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by(|&a, &b| last(b).total_cmp(&last(a)));
    for (row, &i) in order.iter().enumerate() {
        let at = TOP + 14.0 + row as f64 * 40.0;
        let colour = COLOURS[i % COLOURS.len()];
        let (from, to) = (RIGHT + 22.0, RIGHT + 50.0);
        put(
            svg,
            format_args!(
                "<line x1=\"{from}\" x2=\"{to}\" y1=\"{at}\" y2=\"{at}\" stroke=\"{colour}\" stroke-width=\"3\" stroke-dasharray=\"{}\"/>",
                dash(i)
            ),
        );
        put(
            svg,
            format_args!(
                "<text x=\"{}\" y=\"{}\">{}</text>",
                to + 8.0,
                at + 4.5,
                escape(&shorten(names[i]))
            ),
        );
        put(
            svg,
            format_args!(
                "<text x=\"{}\" y=\"{}\" font-size=\"11\" fill=\"#666\">final {:.1}</text>",
                to + 8.0,
                at + 19.0,
                last(i)
            ),
        );
    }
}

fn dash(i: usize) -> &'static str {
    DASHES[i % DASHES.len()]
}

/// A name that fits beside the plot.
fn shorten(name: &str) -> String {
    if name.chars().count() <= 20 {
        return name.into();
    }
    name.chars().take(19).chain(['…']).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn put(svg: &mut String, line: std::fmt::Arguments) {
    writeln!(svg, "{line}").expect("writing to a string");
}
