//! `cbwk-gpu reprice`.

use std::io::Write;

use super::task_args::RepriceArgs;
use cbwk_gpu::shop::TaskFolder;

/// Runs the command.
pub fn reprice(args: &RepriceArgs) -> anyhow::Result<()> {
    let folder = TaskFolder::open(&args.folder)?;
    let change = folder.plan_reprice(args.prices.as_deref(), args.budget)?;
    let mut out = std::io::stdout().lock();
    for note in &change.notes {
        writeln!(out, "{note}")?;
    }
    out.flush()?;
    if !args.dry_run {
        folder.reprice(&change)?;
        writeln!(out, "\ntask in {}", args.folder.display())?;
    }
    Ok(())
}
