//! `cbwk-gpu report`.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::args::ReportArgs;
use super::progress::Spinner;
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::report::html::{Report, SweepReport};
use cbwk_gpu::results::{Results, write_whole};

/// Runs the command.
pub fn report(args: &ReportArgs) -> anyhow::Result<()> {
    for (i, folder) in args.folders.iter().enumerate() {
        let real = std::fs::canonicalize(folder).ok();
        let same = |other: &PathBuf| real.is_some() && std::fs::canonicalize(other).ok() == real;
        if args.folders[..i].iter().any(same) {
            let message = "the same folder twice; accepted: each results folder once";
            return Err(InputError::option(&folder.display().to_string(), message).into());
        }
    }
    let spinner = Spinner::start(false, "reading and drawing");
    let report = read(args)?;
    let page = page_path(args)?;
    if let Some(folder) = page
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        std::fs::create_dir_all(folder).map_err(|error| OutputError::unwritable(folder, error))?;
    }
    let stem = page.file_stem().unwrap_or_default().to_string_lossy();
    let mut beside = Vec::new();
    let pictures = match &report {
        Page::Runs(report) => report.pictures(),
        Page::Sweep(report) => report.pictures(),
    };
    for (name, svg, png) in pictures {
        for (kind, content) in [("svg", svg.as_bytes()), ("png", &png)] {
            let file = page.with_file_name(format!("{stem}-{name}.{kind}"));
            write_whole(&file, content)?;
            beside.extend(file.file_name().map(PathBuf::from));
        }
    }
    let text = match &report {
        Page::Runs(report) => report.page(&beside),
        Page::Sweep(report) => report.page(&beside),
    };
    write_whole(&page, text.as_bytes())?;
    drop(spinner);
    let mut out = std::io::stdout().lock();
    writeln!(out, "report in {}", page.display())?;
    writeln!(out, "pictures beside it: {}", names(&beside))?;
    Ok(())
}

/// The content of a page.
enum Page {
    Runs(Report),
    Sweep(SweepReport),
}

fn read(args: &ReportArgs) -> Result<Page, InputError> {
    if let [folder] = args.folders.as_slice()
        && !folder.join("run.json").is_file()
        && folder.join("overview.csv").is_file()
    {
        return Ok(Page::Sweep(SweepReport::read(folder)?));
    }
    let runs = args.folders.iter().map(|folder| {
        let results = Results::read(folder)?;
        results.check_sums()?;
        Ok(results)
    });
    Ok(Page::Runs(Report::new(runs.collect::<Result<_, _>>()?)))
}

/// The path of the page: `--out` if it names an HTML file, else `report.html` in `--out`, in the folder of the results, or in
/// the folder `report` for several.
fn page_path(args: &ReportArgs) -> Result<PathBuf, InputError> {
    let folder = match &args.out {
        Some(out) if is_html(out) && !out.is_dir() => return Ok(out.clone()),
        Some(out) if is_another_file(out) => {
            let out = out.display();
            let message = format!("found {out}; accepted: FILE.html, or a folder (`{out}/`)");
            return Err(InputError::option("--out", message));
        }
        Some(out) => out.clone(),
        None if args.folders.len() == 1 => args.folders[0].clone(),
        None => PathBuf::from("report"),
    };
    Ok(folder.join("report.html"))
}

/// Whether a path that does not exist looks like a file of another kind: its ending has a letter.
fn is_another_file(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let as_typed = path.as_os_str().to_string_lossy();
    !path.exists()
        && !as_typed.ends_with(std::path::is_separator)
        && ending.chars().any(char::is_alphabetic)
}

fn is_html(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm"))
}

fn names(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    names.join(", ")
}
