//! The command line: arguments, output and exit codes.

mod args;
mod backup;
mod calibrate;
mod colour;
mod compare;
mod devices;
mod evaluate;
mod failure;
mod fit;
mod import;
mod interrupt;
mod log;
mod long;
mod long_args;
mod machine;
mod machine_args;
mod offer;
mod pilot;
mod plan;
mod presets;
mod progress;
mod report;
mod reprice;
mod reproduce;
mod resources;
mod runner;
mod sample_sizes;
mod serve;
mod serve_args;
mod serve_http;
mod serve_shops;
mod shell;
mod show;
mod simulate;
mod slurm;
mod solve;
mod studies;
mod task_args;
mod terminal;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::thread::Builder;

use clap::{CommandFactory, FromArgMatches};

use args::{Cli, Command};
use cbwk_gpu::error::printable;
use cbwk_gpu::report::style::folded;
use interrupt::Interrupted;
use long_args::ClusterCommand;

/// Stack of the thread that runs the command. It is stated, so that a limit for the process's first thread does not matter.
const STACK: usize = 8 << 20;

/// Runs the command line on a thread of its own.
pub fn main() -> ExitCode {
    let thread = Builder::new().name("command".into()).stack_size(STACK);
    match thread.spawn(command) {
        // The message of a panic has been printed.
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(101)),
        Err(error) => {
            say(&format!(
                "error no thread can be started ({error}); see ulimit -u and -v"
            ));
            ExitCode::FAILURE
        }
    }
}

/// Parses and runs the command line. Exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 the requested backend cannot
/// run here.
fn command() -> ExitCode {
    let asked = colour::asked();
    let matches = Cli::command().color(asked).try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // A missing command prints the help, with the exit code of wrong usage.
            let helps =
                error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
            if helps {
                say(&error.to_string());
                return ExitCode::from(2);
            }
            if error.use_stderr() {
                colour::choose(asked);
                let line = printable(&one_line(&error.to_string()));
                let line = line.strip_prefix("error: ").unwrap_or(&line);
                say(&format!("{} {line}", colour::word("error")));
                return ExitCode::from(2);
            }
            // Help and version are not errors, nor is a closed pipe.
            return match error.print() {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => ExitCode::FAILURE,
                _ => ExitCode::SUCCESS,
            };
        }
    };
    colour::choose(cli.color);
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let text = failure::in_words(&error);
            match error.is::<Interrupted>() {
                true => say(&text),
                false => say(&format!("{} {text}", colour::word("error"))),
            }
            ExitCode::from(failure::exit_code(&error))
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    match &cli.command {
        Command::Simulate(args) => simulate::simulate(args),
        Command::Merge(args) => long::merge(args),
        Command::Status(args) => long::status(args),
        Command::Verify(args) => long::verify(args),
        Command::Backup(args) => backup::backup(args),
        Command::Repair(args) => long::repair(args),
        Command::Cluster(ClusterCommand::Slurm(args)) => long::slurm(args),
        Command::Solve(args) => solve::solve(args),
        Command::Calibrate(args) => calibrate::calibrate(args),
        Command::Report(args) => report::report(args),
        Command::Compare(args) => compare::compare(args),
        Command::Reproduce(args) => reproduce::reproduce(args),
        Command::Import(args) => import::import(args),
        Command::Fit(args) => fit::fit(args),
        Command::Plan(args) => plan::plan(args),
        Command::Offer(args) => offer::offer(args),
        Command::Evaluate(args) => evaluate::evaluate(args),
        Command::Serve(args) => serve::serve(args),
        Command::Pilot(args) => pilot::pilot(args),
        Command::Reprice(args) => reprice::reprice(args),
        Command::Devices => devices::devices(),
        Command::Presets(args) => presets::presets(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}

/// A usage error on one line, without the usage.
fn one_line(text: &str) -> String {
    let message = text.split("\n\nUsage:").next().unwrap_or(text);
    let message = message
        .split("\n\nFor more information")
        .next()
        .unwrap_or(message);
    let part = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = message.split("\n\n").map(part);
    let parts = parts.map(|part| part.trim_start_matches("tip: ").to_string());
    parts.collect::<Vec<_>>().join("; ")
}

/// Whether the cause is a closed pipe on standard output.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &std::io::Error| error.kind() == ErrorKind::BrokenPipe;
    error.chain().any(|cause| match cause.downcast_ref() {
        Some(error) => broken(error),
        None => match cause.downcast_ref().map(csv::Error::kind) {
            Some(csv::ErrorKind::Io(error)) => broken(error),
            _ => false,
        },
    })
}

/// Prints to standard error, wrapped to the width of a terminal. Errors are ignored.
fn say(text: &str) {
    let width = terminal::width_of_errors();
    for line in text.lines() {
        let _ = writeln!(std::io::stderr(), "{}", folded(line, width, 0));
    }
}
