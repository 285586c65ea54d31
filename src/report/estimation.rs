//! The error of estimates of opt against the number of rows: table and picture.

use std::fmt::Write;

use super::plot::{AxisName, Chart, Point, Series, banded};
use super::table::align;
use crate::results::EstimationRow;
use crate::statistics::{BAND, MeanAndError};

/// Estimates for several numbers of rows M.
#[derive(Debug, Clone)]
pub struct Estimation {
    /// By rising M.
    pub rows: Vec<EstimationRow>,
    /// The slope of ln(root mean squared error) on ln M, where there is one.
    pub slope: Option<MeanAndError>,
}

/// For people, with the fitted slope below.
pub fn table(headline: &str, study: &Estimation) -> String {
    let header = [
        "rows M",
        "mean estimate",
        "bias",
        "+- 3 s.e.",
        "rms error",
        "reported error",
    ];
    let rows = study.rows.iter().map(|row| {
        [
            row.rows.to_string(),
            format!("{:.5}", row.mean_estimate),
            format!("{:+.5}", row.mean_estimate - row.opt),
            format!("{:.5}", BAND * row.bias_standard_error),
            format!("{:.5}", row.rms_error),
            format!("{:.5}", row.reported_error),
        ]
    });
    let mut text = format!("{headline}\n\n");
    align(&mut text, &header.map(String::from), rows);
    if let Some(slope) = study.slope {
        let (mean, error) = (slope.mean, slope.standard_error);
        writeln!(
            text,
            "\nrms error falls as M^{mean:.3} (standard error {error:.3}); the law is M^-0.5"
        )
        .expect("writing to a string");
    }
    text
}

/// Both errors on logarithmic axes, beside the law 1 / sqrt(M) through the middle of the points.
pub fn chart(title: &str, study: &Estimation) -> Chart {
    let sizes = || study.rows.iter().map(|row| row.rows as f64);
    let rms = study.rows.iter().map(|row| {
        let value = MeanAndError {
            mean: row.rms_error,
            standard_error: row.rms_standard_error,
        };
        banded(row.rows as f64, &value)
    });
    let rms: Vec<Point> = rms.collect();
    let reported = study
        .rows
        .iter()
        .map(|row| Point::new(row.rows as f64, row.reported_error));
    let count = rms.len().max(1) as f64;
    let level = rms.iter().map(|p| p.y.ln() + 0.5 * p.x.ln()).sum::<f64>() / count;
    let law = sizes().map(|m| Point::new(m, (level - 0.5 * m.ln()).exp()));
    let slope = study.slope.map_or(String::new(), |s| {
        format!("slope {:.3} ({:.3})", s.mean, s.standard_error)
    });
    Chart {
        title: title.into(),
        x: AxisName::log("unlabeled rows M"),
        y: AxisName::log("error of the estimate of opt (rms, band of 3 s.e.)"),
        series: vec![
            Series::new("rms error", rms).with_note(slope),
            Series::new("reported error", reported.collect()).with_note("mean standard error"),
            Series::new("1 / sqrt(M)", law.collect())
                .with_note("the law")
                .with_style(6, 2),
        ],
    }
}
