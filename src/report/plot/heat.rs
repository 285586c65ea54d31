//! Heat maps over (step, budget): the mean offers of several plans on one colour scale.

use super::Scale;
use super::axis::{Axis, Ends};
use super::ramp::colour;
use super::svg::{Svg, shorten};
use crate::report::extremes;
use crate::results::{MeanOffer, OfferMap};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 56.0;
const PANEL: (f64, f64) = (310.0, 210.0);
const GAP: (f64, f64) = (36.0, 66.0);
/// Left end and width of the colour scale.
const SCALE: (f64, f64) = (LEFT + 2.0 * PANEL.0 + GAP.0 + 32.0, 16.0);
const NO_OFFER: &str = "#d9d9d9";

/// Mean offers of several plans over the same steps and budgets.
#[derive(Debug, Clone)]
pub struct HeatMap<'a> {
    pub title: String,
    /// Label of the colour scale.
    pub quantity: String,
    /// The steps and budgets of all panels.
    pub cells: &'a OfferMap,
    pub panels: Vec<(String, &'a [MeanOffer])>,
}

/// The mean of the offers that are made; `None` if none is.
fn mean_offer(offer: &MeanOffer) -> Option<f64> {
    (offer.share > 1e-12).then(|| offer.mean_action / offer.share)
}

impl HeatMap<'_> {
    /// The picture as SVG text.
    pub fn svg(&self) -> String {
        let rows = self.panels.len().div_ceil(2);
        let height = TOP + 24.0 + rows as f64 * (PANEL.1 + GAP.1) + 10.0;
        let mut svg = Svg::page(WIDTH, height, &self.title);
        let bold = "font-size=\"16\" font-weight=\"bold\"";
        text(&mut svg, (LEFT, 30.0), bold, &self.title);
        let range = self.range();
        for (i, (name, offers)) in self.panels.iter().enumerate() {
            let (column, row) = ((i % 2) as f64, (i / 2) as f64);
            let x = LEFT + column * (PANEL.0 + GAP.0);
            let y = TOP + 24.0 + row * (PANEL.1 + GAP.1);
            self.panel(&mut svg, (x, y), name, offers, range);
            if i % 2 == 0 {
                let at = (LEFT - 44.0, y + PANEL.1 / 2.0);
                upright(&mut svg, at, "budget left (units)");
            }
        }
        self.scale(&mut svg, range);
        svg.close()
    }

    /// Smallest and largest mean offer of all panels.
    fn range(&self) -> (f64, f64) {
        let offers = self.panels.iter().flat_map(|(_, offers)| *offers);
        let (low, high) = extremes(offers.filter_map(mean_offer));
        if low < high {
            (low, high)
        } else if low.is_finite() {
            (low - 0.5, low + 0.5)
        } else {
            (0.0, 1.0)
        }
    }

    fn panel(
        &self,
        svg: &mut Svg,
        (x, y): (f64, f64),
        name: &str,
        offers: &[MeanOffer],
        (low, high): (f64, f64),
    ) {
        let (steps, budgets) = (&self.cells.steps, &self.cells.budgets);
        let (width, height) = PANEL;
        let cell = (
            width / steps.len() as f64,
            height / budgets.len().max(1) as f64,
        );
        let bold = "font-weight=\"bold\"";
        text(svg, (x, y - 10.0), bold, &shorten(name, 40));
        svg.put(format_args!(
            "<g shape-rendering=\"crispEdges\" transform=\"translate({x} {y})\">"
        ));
        for b in 0..budgets.len() {
            let top = height - (b + 1) as f64 * cell.1;
            let fill = |h: usize| match mean_offer(&offers[h * budgets.len() + b]) {
                Some(mean) => colour((mean - low) / (high - low)),
                None => NO_OFFER.into(),
            };
            // Neighbours of one colour are one rectangle.
            let mut start = 0;
            for h in 1..=steps.len() {
                if h == steps.len() || fill(h) != fill(start) {
                    svg.put(format_args!(
                        "<rect x=\"{:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{}\"/>",
                        start as f64 * cell.0,
                        (h - start) as f64 * cell.0,
                        cell.1,
                        fill(start)
                    ));
                    start = h;
                }
            }
        }
        svg.put("</g>");
        svg.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#888\"/>"
        ));
        let bottom = y + height;
        let middle = "text-anchor=\"middle\"";
        for (h, step) in round_places(steps, 8) {
            let at = (x + (h + 0.5) * cell.0, bottom + 17.0);
            text(svg, at, middle, &step.to_string());
        }
        let shown: Vec<usize> = budgets.iter().map(|b| *b as usize).collect();
        for (b, budget) in round_places(&shown, 6) {
            let at = (x - 8.0, bottom - (b + 0.5) * cell.1 + 4.5);
            text(svg, at, "text-anchor=\"end\"", &budget.to_string());
        }
        text(svg, (x + width / 2.0, bottom + 37.0), middle, "step");
    }

    /// The colour scale beside the first row of panels.
    fn scale(&self, svg: &mut Svg, range: (f64, f64)) {
        let (x, width) = SCALE;
        let (top, height) = (TOP + 24.0, PANEL.1);
        let slices = 64;
        for i in 0..slices {
            let share = (f64::from(i) + 0.5) / f64::from(slices);
            let y = top + height * (1.0 - f64::from(i + 1) / f64::from(slices));
            svg.put(format_args!(
                "<rect x=\"{x}\" y=\"{y:.2}\" width=\"{width}\" height=\"{:.2}\" fill=\"{}\" shape-rendering=\"crispEdges\"/>",
                height / f64::from(slices) + 0.3,
                colour(share)
            ));
        }
        let page = (top + height, top);
        let axis = Axis::new((Scale::Linear, false), Ends::Tight, range, page, 5.0);
        for &tick in axis.ticks() {
            let at = (x + width + 6.0, axis.place(tick) + 4.5);
            text(svg, at, "", &axis.label(tick));
        }
        let at = (x + width + 62.0, top + height / 2.0);
        upright(svg, at, &self.quantity);
        let mut offers = self.panels.iter().flat_map(|(_, offers)| *offers);
        if offers.any(|offer| mean_offer(offer).is_none()) {
            let y = top + height + 14.0;
            svg.put(format_args!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"12\" fill=\"{NO_OFFER}\"/>"
            ));
            text(svg, (x + width + 6.0, y + 10.5), "", "no offer");
        }
    }
}

/// About `limit` round numbers, and the first value, with their positions in a rising list of whole numbers. A number
/// that the list lacks lies between two positions.
fn round_places(values: &[usize], limit: usize) -> Vec<(f64, usize)> {
    let (Some(&first), Some(&last)) = (values.first(), values.last()) else {
        return Vec::new();
    };
    let mut steps = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10usize.pow(power)));
    let step = steps.find(|step| last - first < limit * step).unwrap_or(1);
    let mut round: Vec<usize> = (first.div_ceil(step) * step..=last).step_by(step).collect();
    if round.first().is_none_or(|m| 2 * (m - first) > step) {
        round.insert(0, first);
    }
    let place = |m: usize| {
        let after = values.partition_point(|value| *value < m);
        let before = after.saturating_sub(1);
        match values[after] - values[before] {
            0 => after as f64,
            gap => before as f64 + (m - values[before]) as f64 / gap as f64,
        }
    };
    round.into_iter().map(|m| (place(m), m)).collect()
}

fn text(svg: &mut Svg, (x, y): (f64, f64), attributes: &str, content: &str) {
    svg.text(
        format_args!("x=\"{x:.1}\" y=\"{y:.1}\" {attributes}"),
        content,
    );
}

/// Text that runs upwards, centred at a point.
fn upright(svg: &mut Svg, (x, y): (f64, f64), content: &str) {
    let turned = format!("transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\"");
    text(svg, (0.0, 0.0), &turned, content);
}

#[cfg(test)]
mod tests {
    use super::round_places;

    #[test]
    fn labels_are_round_and_few() {
        let labels = |values: Vec<usize>, limit| -> Vec<usize> {
            let places = round_places(&values, limit);
            places.into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels((1..=24).collect(), 6), [1, 5, 10, 15, 20]);
        assert_eq!(labels((1..=12).collect(), 7), [2, 4, 6, 8, 10, 12]);
        assert_eq!(labels((1..=3).collect(), 6), [1, 2, 3]);
        assert_eq!(labels(vec![1, 34, 67, 100], 3), [1, 50, 100]);
        // A number that a thinned axis lacks lies between two cells.
        assert_eq!(round_places(&[1, 2, 3], 6), [(0.0, 1), (1.0, 2), (2.0, 3)]);
        let between = 1.0 + 16.0 / 33.0;
        let thinned = round_places(&[1, 34, 67, 100], 3);
        assert_eq!(thinned, [(0.0, 1), (between, 50), (3.0, 100)]);
        assert_eq!(labels(vec![7], 5), [7]);
        assert!(labels(vec![], 5).is_empty());
    }
}
