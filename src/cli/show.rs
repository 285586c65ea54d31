//! Results on standard output: as a table for people, or as JSON.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use super::args::TableFormat;
use cbwk_gpu::error::InputError;
use cbwk_gpu::report;
use cbwk_gpu::results::{Results, Run, SweepIndex};

/// What a command has computed.
pub enum Shown<'a> {
    Study(&'a Results),
    Sweep(&'a SweepIndex, &'a [Run]),
}

/// Prints results, with all columns or some; the last line of a table names their folder.
pub fn show(
    shown: Shown,
    format: TableFormat,
    columns: &[String],
    last: &str,
) -> anyhow::Result<()> {
    let style = format.style();
    let table = match (shown, format) {
        (Shown::Study(results), TableFormat::Json) => return print(&results.run.text()),
        (Shown::Sweep(_, runs), TableFormat::Json) => {
            return print(&json_list(runs.iter().map(Run::text)));
        }
        (Shown::Study(results), _) => report::table::study(results, style, columns),
        (Shown::Sweep(index, runs), _) => report::overview::table(index, runs, style, columns),
    };
    let table = table.map_err(|invalid| {
        let message = format!("found {}; accepted: {}", invalid.found, invalid.accepted);
        InputError::option("--columns", message)
    })?;
    print(&(table + &style.prose(&format!("\n{last}"))))
}

pub fn print(text: &str) -> anyhow::Result<()> {
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

/// Texts of JSON objects as a list.
pub fn json_list(objects: impl Iterator<Item = String>) -> String {
    format!("[{}]\n", objects.collect::<Vec<_>>().join(","))
}

/// `FOLDER (TIME)`.
pub fn place_and_time(folder: &Path, time: Duration) -> String {
    format!("{} ({:.2} s)", folder.display(), time.as_secs_f64())
}
