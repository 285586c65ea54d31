//! Colours of the first words on standard error.

use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::ColorChoice;

static COLOURS: OnceLock<bool> = OnceLock::new();

/// Decides once whether to use colours: as requested, else by terminal and NO_COLOR.
pub fn choose(choice: ColorChoice) {
    let wanted = || {
        let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        std::io::stderr().is_terminal() && !forbidden
    };
    let colours = match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => wanted(),
    };
    COLOURS.get_or_init(|| colours);
}

/// `error`, `warning` or `note` with its colon.
pub fn word(word: &str) -> String {
    let code = match word {
        "error" => "1;31",
        "warning" => "1;33",
        _ => "1;36",
    };
    match COLOURS.get() {
        Some(true) => format!("\u{1b}[{code}m{word}:\u{1b}[0m"),
        _ => format!("{word}:"),
    }
}

/// The value of `--color` before the command line is parsed: help is printed while parsing.
pub fn asked() -> ColorChoice {
    let mut choice = ColorChoice::Auto;
    let args = std::env::args_os().skip(1);
    let mut args = args.map(|arg| arg.to_string_lossy().into_owned());
    while let Some(arg) = args.next() {
        let value = match arg.strip_prefix("--color=") {
            Some(value) => Some(value.to_string()),
            None if arg == "--color" => args.next(),
            None => None,
        };
        choice = match value.as_deref() {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            _ => choice,
        };
    }
    choice
}
