//! An axis: maps a range of data to the page, linearly or by logarithms, with round ticks.

/// How values are placed on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal differences are equally far apart.
    #[default]
    Linear,
    /// Equal ratios are equally far apart; only positive values are shown.
    Log,
}

/// Where the range of an axis ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// At the data.
    Tight,
    /// At the next ticks.
    Round,
}

#[derive(Debug)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    step: f64,
    ticks: Vec<f64>,
}

impl Axis {
    /// Maps the values of `range` to `page`, with about `count` ticks; if `whole`, only at whole numbers.
    pub fn new(
        (scale, whole): (Scale, bool),
        ends: Ends,
        range: (f64, f64),
        page: (f64, f64),
        count: f64,
    ) -> Self {
        let (low, high, step, mut ticks) = match scale {
            Scale::Linear => linear(ends, range, count, whole),
            Scale::Log => logarithmic(ends, range, count),
        };
        ticks.retain(|tick| !whole || tick.fract() == 0.0);
        Self {
            scale,
            low,
            high,
            from: page.0,
            to: page.1,
            step,
            ticks,
        }
    }

    /// The position of a value on the page; values outside the range are moved to its end.
    pub fn place(&self, value: f64) -> f64 {
        let at = |x: f64| match self.scale {
            Scale::Linear => x,
            Scale::Log => x.max(f64::MIN_POSITIVE).ln(),
        };
        let value = value.clamp(self.low, self.high);
        let share = (at(value) - at(self.low)) / (at(self.high) - at(self.low));
        self.from + share * (self.to - self.from)
    }

    /// Whether the axis can show a value.
    pub fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    pub fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    pub fn label(&self, tick: f64) -> String {
        match self.scale {
            Scale::Linear => linear_label(tick, self.step),
            Scale::Log => log_label(tick),
        }
    }

    /// Whether a tick is at zero.
    pub fn is_zero(&self, tick: f64) -> bool {
        self.scale == Scale::Linear && tick.abs() < 1e-9 * self.step
    }
}

/// Relative rounding error that ticks tolerate.
const SLACK: f64 = 1e-9;

type Range = (f64, f64, f64, Vec<f64>);

fn linear(ends: Ends, (low, high): (f64, f64), count: f64, whole: bool) -> Range {
    let span = if high > low { high - low } else { 1.0 };
    let raw = span / count;
    let power = 10f64.powf(raw.log10().floor());
    let mut steps = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|m| m * power);
    let fits = |step: &f64| *step >= raw * (1.0 - SLACK) && (!whole || step.fract() == 0.0);
    let step = steps.find(fits).unwrap_or(10.0 * power);
    let step = if whole { step.max(1.0) } else { step };
    let (start, end) = (low / step, (low + span) / step);
    let (first, last) = match ends {
        Ends::Round => (start.floor(), end.ceil()),
        Ends::Tight => ((start - SLACK).ceil(), (end + SLACK).floor()),
    };
    let ticks = (0..=(last - first) as usize).map(|i| (first + i as f64) * step);
    let (low, high) = match ends {
        Ends::Round => (first * step, last * step),
        Ends::Tight => (low, low + span),
    };
    (low, high, step, ticks.collect())
}

fn logarithmic(ends: Ends, (low, high): (f64, f64), count: f64) -> Range {
    let low = low.max(f64::MIN_POSITIVE);
    let high = if high > low { high } else { 10.0 * low };
    let decades = (high / low).log10();
    // Few decades have ticks at 1, 2, 5; many only at some powers of ten.
    let (digits, stride): (&[f64], i32) = if decades < count / 3.0 {
        (&[1.0, 2.0, 5.0], 1)
    } else {
        (&[1.0], (decades / count).ceil().max(1.0) as i32)
    };
    let powers = (low.log10().floor() as i32 - 1)..=(high.log10().ceil() as i32 + 1);
    let all: Vec<f64> = powers
        .filter(|power| power % stride == 0)
        .flat_map(|power| digits.iter().map(move |d| d * 10f64.powi(power)))
        .collect();
    let (low, high) = match ends {
        Ends::Tight => (low, high),
        Ends::Round => {
            let below = all.iter().rev().find(|t| **t <= low * (1.0 + SLACK));
            let above = all.iter().find(|t| **t >= high * (1.0 - SLACK));
            (*below.unwrap_or(&low), *above.unwrap_or(&high))
        }
    };
    let shown = |t: &f64| *t >= low * (1.0 - SLACK) && *t <= high * (1.0 + SLACK);
    (low, high, 1.0, all.into_iter().filter(shown).collect())
}

/// A tick with the decimals of the step.
fn linear_label(tick: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    let more = (step * 10f64.powi(decimals as i32)).fract().abs() > 1e-9;
    let text = format!("{tick:.*}", decimals + usize::from(more));
    let is_zero = |c: char| c == '0' || c == '.';
    if text.trim_start_matches('-').chars().all(is_zero) {
        "0".into()
    } else {
        text
    }
}

fn log_label(tick: f64) -> String {
    if (1e-4..1e7).contains(&tick) {
        // Removes rounding errors of the product.
        format!("{}", format!("{tick:.3e}").parse::<f64>().unwrap_or(tick))
    } else {
        format!("{tick:.0e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, ends: Ends, range: (f64, f64), count: f64) -> Axis {
        Axis::new((scale, false), ends, range, (0.0, 100.0), count)
    }

    fn labels(scale: Scale, ends: Ends, low: f64, high: f64) -> Vec<String> {
        let axis = axis(scale, ends, (low, high), 6.0);
        axis.ticks().iter().map(|t| axis.label(*t)).collect()
    }

    #[test]
    fn ticks_are_round_and_within_the_range() {
        use Ends::{Round, Tight};
        use Scale::{Linear, Log};
        assert_eq!(
            labels(Linear, Round, 0.0, 11.0),
            ["0", "2", "4", "6", "8", "10", "12"]
        );
        assert_eq!(
            labels(Linear, Tight, 3.0, 8.0),
            ["3", "4", "5", "6", "7", "8"]
        );
        assert_eq!(
            labels(Linear, Round, -0.3, 0.7),
            ["-0.4", "-0.2", "0", "0.2", "0.4", "0.6", "0.8"]
        );
        assert_eq!(
            labels(Log, Tight, 10.0, 1e5),
            ["10", "100", "1000", "10000", "100000"]
        );
        assert_eq!(
            labels(Log, Round, 0.03, 0.4),
            ["0.02", "0.05", "0.1", "0.2", "0.5"]
        );
        assert_eq!(
            labels(Log, Tight, 1e-8, 1e-5),
            ["1e-8", "1e-7", "1e-6", "1e-5"]
        );
    }

    #[test]
    fn whole_numbers_have_no_ticks_between_them() {
        let labels = |scale, low, high| -> Vec<String> {
            let axis = Axis::new((scale, true), Ends::Tight, (low, high), (0.0, 1.0), 8.0);
            axis.ticks().iter().map(|t| axis.label(*t)).collect()
        };
        assert_eq!(labels(Scale::Linear, 1.0, 4.0), ["1", "2", "3", "4"]);
        assert_eq!(labels(Scale::Linear, 1.0, 20.0), ["5", "10", "15", "20"]);
        assert_eq!(labels(Scale::Log, 0.7, 3.0), ["1", "2"]);
    }

    #[test]
    fn places_are_proportional() {
        let linear = axis(Scale::Linear, Ends::Tight, (2.0, 4.0), 4.0);
        assert_eq!(linear.place(3.0), 50.0);
        let log = axis(Scale::Log, Ends::Tight, (1.0, 100.0), 4.0);
        approx::assert_relative_eq!(log.place(10.0), 50.0, epsilon = 1e-9);
        // Values outside the range stay on the page; values without a logarithm are not shown.
        assert_eq!(log.place(-1.0), 0.0);
        assert!(!log.shows(0.0) && linear.shows(0.0) && !linear.shows(f64::NAN));
    }
}
