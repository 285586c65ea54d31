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

/// Writes a page for the program and one for each of its commands.
pub fn man(args: &ManArgs) -> anyhow::Result<()> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(|error| OutputError::unwritable(folder, error))?;
    let mut command = Cli::command();
    command.build();
    let whole = command.clone();
    let commands = std::iter::once(&whole).chain(whole.get_subcommands());
    let mut count = 0;
    for command in commands.filter(|command| command.get_name() != "help") {
        let name = match command.get_name() {
            "cbwk-gpu" => "cbwk-gpu".to_string(),
            name => format!("cbwk-gpu-{name}"),
        };
        let page = clap_mangen::Man::new(command.clone()).title(&name);
        let mut text = Vec::new();
        page.render(&mut text)?;
        write_whole(&folder.join(format!("{name}.1")), &text)?;
        count += 1;
    }
    let place = folder.display();
    writeln!(std::io::stdout().lock(), "{count} pages in {place}")?;
    Ok(())
}
