//! `cbwk-gpu fit`.

use std::io::Write;

use super::args::TableFormat;
use super::machine;
use super::progress::Spinner;
use super::task_args::FitArgs;
use cbwk_gpu::history::fit::FitSettings;
use cbwk_gpu::report::own_data::{fit_page, fit_tables};
use cbwk_gpu::results::write_whole;
use cbwk_gpu::shop::TaskFolder;

/// Runs the command.
pub fn fit(args: &FitArgs) -> anyhow::Result<()> {
    machine::set_threads(args.threads)?;
    let folder = TaskFolder::open(&args.folder)?;
    let spinner = Spinner::start(false, "fitting");
    let fitted = folder.fit(FitSettings {
        keep_thin: args.keep_thin,
        pooled_below: args.pooled_below,
        day: args.day.clone(),
        no_day: args.no_day.clone(),
    })?;
    drop(spinner);
    folder.write_fit(&fitted)?;
    let page = fit_page(&folder.name(), &fitted.file);
    write_whole(&folder.place("fit.html"), page.as_bytes())?;
    let mut out = std::io::stdout().lock();
    if args.format == TableFormat::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(&fitted.file)?)?;
        return Ok(());
    }
    let style = args.format.style();
    let files = format!(
        "\nmodel.json, study.toml and fit.html in {}",
        args.folder.display()
    );
    write!(out, "{}", fit_tables(&fitted.file, style))?;
    write!(out, "{}", style.prose(&files))?;
    Ok(())
}
