//! The command line: arguments become a checked study, the study runs, errors become exit codes.

mod args;
mod calibrate;
mod data;
mod devices;
mod evaluate;
mod failure;
mod fit;
mod import;
mod interrupt;
mod machine;
mod plan;
mod presets;
mod progress;
mod report;
mod reproduce;
mod resources;
mod run;
mod sample_sizes;
mod simulate;
mod solve;
mod sweep;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use interrupt::Interrupted;

/// Parses the command line, runs it, and says how it went: 0 done, 1 failed, 2 wrong usage or input, 3 the asked
/// backend cannot run here.
#[expect(clippy::print_stderr, reason = "errors go to standard error")]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            if error.use_stderr() {
                eprintln!("{}", failure::printable(&one_line(&error.to_string())));
                return ExitCode::from(2);
            }
            // Help and version are answers, not errors; a closed pipe is nobody's fault.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
    };
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let start = if error.is::<Interrupted>() {
                ""
            } else {
                "error: "
            };
            eprintln!("{start}{}", failure::in_words(&error));
            ExitCode::from(failure::exit_code(&error))
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    match &cli.command {
        Command::Simulate(args) => simulate::simulate(args),
        Command::Solve(args) => solve::solve(args),
        Command::Calibrate(args) => calibrate::calibrate(args),
        Command::Report(args) => report::report(args),
        Command::Reproduce(args) => reproduce::reproduce(args),
        Command::Import(args) => import::import(args),
        Command::Fit(args) => fit::fit(args),
        Command::Plan(args) => plan::plan(args),
        Command::Evaluate(args) => evaluate::evaluate(args),
        Command::Devices => devices::devices(),
        Command::Presets(args) => presets::presets(args),
    }
}

/// A usage error without the usage: `--help` has that.
fn one_line(text: &str) -> String {
    let message = text.split("\n\nUsage:").next().unwrap_or(text);
    let message = message
        .split("\n\nFor more information")
        .next()
        .unwrap_or(message);
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
