//! The error of estimates of opt by the number of rows: table and chart.

use super::plot::{AxisSpec, Chart, Point, Series, banded};
use super::style::{Style, Table, fixed, with_band};
use crate::results::EstimationRow;
use crate::statistics::{BAND, MeanAndError};

/// Estimates for several numbers of rows M.
#[derive(Debug, Clone)]
pub struct Estimation {
    /// Sorted by M.
    pub rows: Vec<EstimationRow>,
    /// The slope of ln(root mean squared error) on ln M.
    pub slope: Option<MeanAndError>,
}

/// The table, with the fitted slope below.
pub fn table(headline: &str, study: &Estimation, style: Style) -> String {
    let mut table = Table::new([
        "rows M",
        "mean estimate",
        "bias",
        "+- 3 s.e.",
        "rms error",
        "reported error",
    ]);
    for row in &study.rows {
        table.push([
            row.rows.to_string(),
            fixed(row.mean_estimate, 5),
            format!("{:+.5}", row.mean_estimate - row.opt),
            fixed(BAND * row.bias_standard_error, 5),
            fixed(row.rms_error, 5),
            fixed(row.reported_error, 5),
        ]);
    }
    let mut text = style.prose(&format!("{headline}\n\n")) + &table.text(style);
    if study.slope.is_some() {
        let (law, slope) = ("the law is M^-0.5", with_band(study.slope, 3));
        let note = format!("\nrms error falls as M^e with e = {slope} (3 standard errors); {law}");
        text += &style.prose(&note);
    }
    text
}

/// Both errors on logarithmic axes, with the law 1 / sqrt(M) fitted through the points.
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
        x: AxisSpec::log("unlabeled rows M"),
        y: AxisSpec::log("error of the estimate of opt (rms, band of 3 s.e.)"),
        series: vec![
            Series::new("rms error", rms).with_note(slope),
            Series::new("reported error", reported.collect()).with_note("mean standard error"),
            Series::new("1 / sqrt(M)", law.collect())
                .with_note("the law")
                .with_style(6, 2),
        ],
    }
}
