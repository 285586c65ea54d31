//! `cbwk-gpu calibrate`.

use std::io::Write;

use serde_json::json;

use super::args::{CalibrateArgs, TableFormat};
use super::runner::results_folder;
use super::{machine, progress, resources};
use cbwk_gpu::config::Study;
use cbwk_gpu::error::InputError;
use cbwk_gpu::experiment::{CoverageSetting, Streams, coverage, growing_sizes};
use cbwk_gpu::oracle::OracleConfig;
use cbwk_gpu::report;
use cbwk_gpu::results::CoverageRow;

/// Sizes of data sets, one per line of the table.
const SIZES: usize = 8;

/// Runs the command.
pub fn calibrate(args: &CalibrateArgs) -> anyhow::Result<()> {
    let document = machine::open_study(args.study.as_deref(), args.preset.as_deref())?;
    let study = Study::from_document(&document)?;
    let checked = study.check_own();
    checked.map_err(|invalid| document.locate(&invalid))?;
    let setting = CoverageSetting {
        delta: args.delta.unwrap_or(study.delta),
        episodes: study.episodes,
        sizes: growing_sizes(
            args.observations
                .map_or(study.episodes * study.world.task().horizon() / 2, |n| {
                    n as usize
                })
                .max(1),
            SIZES,
        ),
        repetitions: args.repetitions as usize,
    };
    let task = study.world.task();
    let mut oracles: Vec<(String, OracleConfig)> = Vec::new();
    for (name, oracle) in study.oracles() {
        let tight = oracle.tight(task);
        oracles.push((name.clone(), oracle.clone()));
        // The same oracle with tight bounds is added, unless the study has it.
        if let Some(tight) = tight.filter(|tight| study.oracles().iter().all(|o| o.1 != tight)) {
            oracles.push((format!("{name}, {} bounds", tight.bounds()), tight));
        }
    }
    if oracles.is_empty() {
        let message = "found no policy with an oracle; accepted: a study with one";
        return Err(InputError::option("STUDY", message).into());
    }
    let threads = machine::set_threads(args.threads)?;
    for (_, oracle) in &oracles {
        let needed = setting.memory(study.world.task(), oracle, threads);
        resources::check_memory(&study.name, needed, "fewer --observations or --threads")?;
    }
    let folder = match &args.out {
        Some(path) => Some(results_folder(Some(path), args.force, &study.name)?),
        None => None,
    };
    let streams = Streams::new(args.seed.unwrap_or(study.seed));
    let mut found: Vec<CoverageRow> = Vec::new();
    let bar = progress::bar(
        args.quiet,
        (oracles.len() * setting.repetitions) as u64,
        "data sets",
    );
    for (name, oracle) in &oracles {
        let rows = coverage(&study.world, oracle, &setting, &streams, &|| bar.inc(1));
        found.extend(rows.iter().map(|row| CoverageRow::new(name, row)));
    }
    bar.finish_and_clear();
    if let Some(folder) = &folder {
        let title = format!("{}: bounds of the oracles as data grow", study.name);
        folder.write_rows("coverage.csv", found.clone())?;
        let chart = report::coverage::coverage_chart(&title, setting.delta, &found);
        report::write_picture(folder, "coverage", &chart.svg())?;
        let chart = report::coverage::width_chart(&title, &found);
        report::write_picture(folder, "width", &chart.svg())?;
    }
    let mut out = std::io::stdout().lock();
    if args.format == TableFormat::Json {
        let lines: Vec<_> = found.iter().map(as_json).collect();
        writeln!(
            out,
            "{:#}",
            json!({ "delta": setting.delta, "repetitions": setting.repetitions, "coverage": lines })
        )?;
        return Ok(());
    }
    let style = args.format.style();
    let mut text = style.prose(&format!(
        "{}: {} data sets with actions at random, bounds at delta = {}",
        study.name, setting.repetitions, setting.delta
    ));
    for rows in report::coverage::by_oracle(&found) {
        // An empty line separates tables even if prose is a comment.
        text.push('\n');
        text += &style.prose(&format!("{}\n\n", rows[0].oracle));
        text += &report::coverage::table(rows, style);
    }
    let level = 100.0 * (1.0 - setting.delta);
    let mut notes = format!(
        "\nfactor: about what radius_scale may be multiplied with to cover all pairs in {level}% of data sets\n\
         at one time only: \"at all times\" is what a learner needs, and what tight bounds promise\n"
    );
    if let Some(folder) = folder {
        notes += &format!("files in {}\n", folder.path().display());
    }
    write!(out, "{text}{}", style.prose(&notes))?;
    Ok(())
}

fn as_json(row: &CoverageRow) -> serde_json::Value {
    json!({
        "oracle": row.oracle,
        "observations": row.observations,
        "pairs_covered": row.pairs_covered,
        "all_covered": row.all_covered,
        "always_covered": row.always_covered,
        "width": row.width,
        "error": row.error,
        "factor": row.factor,
    })
}
