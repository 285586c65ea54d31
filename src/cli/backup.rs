//! `cbwk-gpu backup`.

use std::io::Write;

use super::machine;
use super::serve_shops::folders_of;
use super::task_args::BackupArgs;
use cbwk_gpu::shop::{BackupError, TaskFolder};

/// Runs the command.
pub fn backup(args: &BackupArgs) -> anyhow::Result<()> {
    machine::set_threads(None)?;
    let found = folders_of(std::slice::from_ref(&args.folder))?;
    let mut out = std::io::stdout().lock();
    for (name, folder) in &found.shops {
        let to = match found.single {
            true => args.to.clone(),
            false => args.to.join(name),
        };
        let backed_up = TaskFolder::open(folder)?.back_up(&to);
        let (backup, checks) = backed_up.map_err(|error| match error {
            BackupError::Input(error) => error.into(),
            BackupError::Output(error) => error.into(),
            replay @ BackupError::Replay(_) => anyhow::Error::from(replay),
        })?;
        writeln!(
            out,
            "{}: {} files, {} bytes of the journal; {}",
            to.display(),
            backup.files.len(),
            backup.journal_bytes,
            checks.join("; ")
        )?;
    }
    Ok(())
}
