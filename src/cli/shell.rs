//! `cbwk-gpu completions` and `cbwk-gpu man`: both follow from the arguments themselves.

use std::io::Write;

use clap::CommandFactory;

use super::args::{Cli, CompletionsArgs, ManArgs};
use cbwk_gpu::error::OutputError;
use cbwk_gpu::results::write_whole;

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut command = Cli::command();
    let name = command.get_name().to_string();
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut text);
    std::io::stdout().lock().write_all(&text)?;
    Ok(())
}

/// Writes a page for the program and one for each of its commands and theirs.
pub fn man(args: &ManArgs) -> anyhow::Result<()> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(|error| OutputError::unwritable(folder, error))?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect(&command, "cbwk-gpu".into(), &mut pages);
    for (name, command) in &pages {
        let mut text = Vec::new();
        let page = clap_mangen::Man::new(command.clone()).title(name);
        page.render(&mut text)?;
        write_whole(&folder.join(format!("{name}.1")), &text)?;
    }
    let (count, place) = (pages.len(), folder.display());
    writeln!(std::io::stdout().lock(), "{count} pages in {place}")?;
    Ok(())
}

/// A command and those below it, by the names of their pages.
fn collect(command: &clap::Command, name: String, pages: &mut Vec<(String, clap::Command)>) {
    for part in command.get_subcommands() {
        collect(part, format!("{name}-{}", part.get_name()), pages);
    }
    pages.push((name, command.clone()));
}
