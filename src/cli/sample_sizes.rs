//! `cbwk-gpu solve --sample-sizes`: how the error of the estimate of opt falls with the number of rows.

use std::io::Write;

use serde_json::json;

use super::args::{SolveArgs, TableFormat};
use super::progress;
use cbwk_gpu::config::Instance;
use cbwk_gpu::dp::Backend;
use cbwk_gpu::experiment::{Streams, study_estimates};
use cbwk_gpu::report::estimation::{self, Estimation};
use cbwk_gpu::results::{EstimationRow, csv_text, write_whole};
use cbwk_gpu::task::ContextRows;

/// Runs the study; `rows` replace the context law.
pub fn study(
    args: &SolveArgs,
    name: &str,
    instance: &Instance,
    rows: Option<ContextRows>,
    backend: &mut dyn Backend,
) -> anyhow::Result<()> {
    let world = &instance.world;
    let optimum = super::solve::optimum(instance, rows, backend)?;
    let budget = world.task().budget_max();
    let opt = optimum.table.start(budget);
    let mut sizes: Vec<usize> = args.sample_sizes.iter().map(|m| *m as usize).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let repeats = args.repeats as usize;
    let estimates = (sizes.len() * repeats) as u64;
    let bar = progress::bar(args.machine.quiet, estimates, "estimates");
    let study = study_estimates(
        world,
        opt,
        &sizes,
        repeats,
        &Streams::new(instance.seed),
        backend,
        &|| bar.inc(1),
    )?;
    bar.finish_and_clear();
    let how = optimum
        .estimate
        .as_ref()
        .map_or("exact".to_string(), |estimate| {
            let error = estimate.standard_error[budget as usize];
            format!(
                "itself estimated from {} rows, standard error {error:.6}",
                estimate.rows
            )
        });
    let rows = study.sizes.iter().map(|size| {
        let (bias, rms) = (size.bias(opt), size.rms_error(opt));
        EstimationRow {
            rows: size.rows,
            opt,
            mean_estimate: opt + bias.mean,
            bias_standard_error: bias.standard_error,
            rms_error: rms.mean,
            rms_standard_error: rms.standard_error,
            reported_error: size.reported_error,
        }
    });
    let estimation = Estimation {
        rows: rows.collect(),
        slope: study.slope(),
    };
    if let Some(path) = &args.out {
        write_whole(path, &csv_text(estimation.rows.clone()))?;
    }
    if let Some(path) = &args.plot {
        let title = format!("{name}: opt from M rows, budget {budget}, {repeats} repeats");
        let picture = estimation::chart(&title, &estimation).svg();
        write_whole(path, picture.as_bytes())?;
    }
    let mut out = std::io::stdout().lock();
    match args.machine.format {
        TableFormat::Json => {
            let sizes = study.sizes.iter().map(|size| {
                json!({
                    "rows": size.rows,
                    "bias": size.bias(opt).mean,
                    "rms_error": size.rms_error(opt).mean,
                    "reported_error": size.reported_error,
                    "estimates": size.estimates,
                })
            });
            let object = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "instance": name,
                "budget": budget,
                "opt": opt,
                "exact": optimum.estimate.is_none(),
                "slope": study.slope().map(|s| s.mean),
                "slope_standard_error": study.slope().map(|s| s.standard_error),
                "sizes": sizes.collect::<Vec<_>>(),
            });
            writeln!(out, "{object:#}")?;
        }
        format => {
            let headline = format!(
                "{name}: opt {opt:.6} ({how}) at budget {budget}, {repeats} estimates per sample size"
            );
            write!(
                out,
                "{}",
                estimation::table(&headline, &estimation, format.style())
            )?;
        }
    }
    Ok(())
}
