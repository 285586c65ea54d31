//! The command line: arguments become a checked study, the study runs, errors become exit codes.

mod args;
mod devices;
mod machine;
mod simulate;
mod solve;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::dp::BackendError;
use crate::error::{InputError, OutputError};
use crate::study::{PRESETS, preset};
use args::{Cli, Command};

/// Parses the command line, runs it, and says how it went: 0 done, 1 failed, 2 wrong usage or input, 3 the asked
/// backend cannot run here.
#[expect(clippy::print_stderr, reason = "errors go to standard error")]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, not errors; a closed pipe is nobody's fault.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(exit_code(&error))
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    match &cli.command {
        Command::Simulate(args) => simulate::simulate(args),
        Command::Solve(args) => solve::solve(args),
        Command::Devices => devices::devices(),
        Command::Presets { name } => presets(name.as_deref()),
    }
}

fn presets(name: Option<&str>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let Some(name) = name else {
        let width = PRESETS.iter().map(|p| p.name.len()).max().unwrap_or(0);
        for preset in PRESETS {
            writeln!(out, "{:<width$}  {}", preset.name, preset.title())?;
        }
        return Ok(());
    };
    // The same message as for --preset where the name is unknown.
    machine::open_study(None, Some(name))?;
    if let Some(preset) = preset(name) {
        out.write_all(preset.text.as_bytes())?;
    }
    Ok(())
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<InputError>() || error.is::<OutputError>() {
        2
    } else if error.is::<BackendError>() {
        3
    } else {
        1
    }
}
