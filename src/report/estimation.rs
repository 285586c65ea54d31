//! The error of estimates of opt against the number of rows: table, CSV and picture.

use std::fmt::Write;

use super::plot::{AxisName, Chart, Point, Series, banded};
use super::table::align;
use crate::experiment::EstimationStudy;

/// For people, with the fitted slope below.
pub fn table(headline: &str, study: &EstimationStudy) -> String {
    let header = [
        "rows M",
        "mean estimate",
        "bias",
        "+- 3 s.e.",
        "rms error",
        "reported error",
    ];
    let rows = study.sizes.iter().map(|size| {
        let bias = size.bias(study.opt);
        [
            size.rows.to_string(),
            format!("{:.5}", study.opt + bias.mean),
            format!("{:+.5}", bias.mean),
            format!("{:.5}", 3.0 * bias.standard_error),
            format!("{:.5}", size.rms_error(study.opt).mean),
            format!("{:.5}", size.reported_error),
        ]
    });
    let mut text = format!("{headline}\n\n");
    align(&mut text, &header.map(String::from), rows);
    if let Some(slope) = study.slope() {
        let (mean, error) = (slope.mean, slope.standard_error);
        writeln!(
            text,
            "\nrms error falls as M^{mean:.3} (standard error {error:.3}); the law is M^-0.5"
        )
        .expect("writing to a string");
    }
    text
}

/// For programs.
pub fn csv(study: &EstimationStudy) -> String {
    let mut text = String::from(
        "rows,opt,mean_estimate,bias_standard_error,rms_error,rms_standard_error,reported_error\n",
    );
    for size in &study.sizes {
        let (bias, rms) = (size.bias(study.opt), size.rms_error(study.opt));
        writeln!(
            text,
            "{},{},{},{},{},{},{}",
            size.rows,
            study.opt,
            study.opt + bias.mean,
            bias.standard_error,
            rms.mean,
            rms.standard_error,
            size.reported_error
        )
        .expect("writing to a string");
    }
    text
}

/// Both errors on logarithmic axes, beside the law 1 / sqrt(M) through the middle of the points.
pub fn chart(title: &str, study: &EstimationStudy) -> Chart {
    let sizes = || study.sizes.iter().map(|size| size.rows as f64);
    let rms: Vec<Point> = study
        .sizes
        .iter()
        .map(|size| banded(size.rows as f64, &size.rms_error(study.opt)))
        .collect();
    let reported = study
        .sizes
        .iter()
        .map(|s| Point::new(s.rows as f64, s.reported_error));
    let count = rms.len().max(1) as f64;
    let level = rms.iter().map(|p| p.y.ln() + 0.5 * p.x.ln()).sum::<f64>() / count;
    let law = sizes().map(|m| Point::new(m, (level - 0.5 * m.ln()).exp()));
    let slope = study.slope().map_or(String::new(), |s| {
        format!("slope {:.3} ({:.3})", s.mean, s.standard_error)
    });
    Chart {
        title: title.into(),
        x: AxisName::log("unlabeled rows M"),
        y: AxisName::log("error of the estimate of opt (rms, band of 3 s.e.)"),
        series: vec![
            Series::new("rms error", rms.clone()).with_note(slope),
            Series::new("reported error", reported.collect()).with_note("mean standard error"),
            Series::new("1 / sqrt(M)", law.collect())
                .with_note("the law")
                .with_style(6, 2),
        ],
    }
}
