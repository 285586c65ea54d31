//! Errors, one type per layer, with messages that a user can act on.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// A description of the world or of a policy that the model cannot accept (layer: model, oracle, policy).
///
/// `field` is a path into the study file, such as `conversion.probabilities[2]`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: found {found}; accepted: {accepted}")]
pub struct Invalid {
    /// Path of the offending field, in the notation of the study file.
    pub field: String,
    /// What was found there.
    pub found: String,
    /// What would be accepted instead.
    pub accepted: String,
}

impl Invalid {
    /// Builds the error.
    pub fn new(
        field: impl Into<String>,
        found: impl ToString,
        accepted: impl Into<String>,
    ) -> Self {
        Self {
            field: excerpt(&field.into()),
            found: excerpt(&readable(&found.to_string())),
            accepted: accepted.into(),
        }
    }
}

/// Rewrites long numbers with exponents: 1e308 has 309 digits.
fn readable(text: &str) -> String {
    const LONG: usize = 25;
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut readable = String::new();
    for part in text.split_inclusive(|c| !is_number(c)) {
        let number = part.trim_end_matches(|c| !is_number(c));
        match number.parse::<f64>() {
            Ok(x) if number.len() > LONG => readable += &format!("{x:e}"),
            _ => readable += number,
        }
        readable += &part[number.len()..];
    }
    readable
}

/// A number for messages, with an exponent if it is very large or very small.
pub fn shown(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        size if (1e-6..1e16).contains(&size) => x.to_string(),
        _ => format!("{x:e}"),
    }
}

/// The beginning of a text, for messages: it may come from anywhere and be of any length.
pub fn excerpt(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into(),
    }
}

/// Escapes control characters, so that a message stays on one line of a terminal.
pub fn printable(text: &str) -> String {
    let escaped = |c: char| match c.is_control() {
        true => c.escape_default().collect(),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// An input file or option that cannot be used (layer: study). Always one line, always exit code 2.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InputError {
    /// The file could not be read at all.
    #[error("{}: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why, in the operating system's words.
        reason: String,
    },
    /// A place in the file is wrong.
    #[error("{}:{line}: {message}", file.display())]
    At {
        /// The file.
        file: PathBuf,
        /// 1-based line.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// The file as a whole is wrong, so there is no line to name.
    #[error("{}: {message}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A command-line option is wrong.
    #[error("{option}: {message}")]
    Option {
        /// The option, as typed.
        option: String,
        /// What is wrong.
        message: String,
    },
}

impl InputError {
    /// A mistake at a 1-based line of a file.
    pub fn at(file: &Path, line: usize, message: impl Into<String>) -> Self {
        Self::At {
            file: file.to_path_buf(),
            line,
            message: message.into(),
        }
    }

    /// A mistake at a byte of a file's text.
    pub fn at_byte(file: &Path, text: &str, byte: usize, message: impl Into<String>) -> Self {
        let line = text[..byte.min(text.len())].matches('\n').count() + 1;
        Self::at(file, line, message)
    }

    /// A mistake in a file or folder as a whole.
    pub fn in_file(file: &Path, message: impl Into<String>) -> Self {
        Self::File {
            file: file.to_path_buf(),
            message: message.into(),
        }
    }

    /// A wrong command-line option.
    pub fn option(option: &str, message: impl Into<String>) -> Self {
        Self::Option {
            option: option.into(),
            message: message.into(),
        }
    }

    /// A file that could not be opened or read.
    pub fn unreadable(file: &Path, error: &std::io::Error) -> Self {
        Self::Unreadable {
            file: file.to_path_buf(),
            reason: format!("cannot be read ({error})"),
        }
    }
}

/// A path that results cannot be written to (layer: results).
#[derive(Debug, Error)]
pub enum OutputError {
    /// The folder holds results of an earlier run.
    #[error("{}: already holds results ({found}); choose another folder", folder.display())]
    Occupied {
        /// The requested folder.
        folder: PathBuf,
        /// The file found in it.
        found: String,
    },
    /// Another run has locked the folder.
    #[error("{}: another run is writing to this folder; choose another, or wait until it ends", folder.display())]
    Busy {
        /// The requested folder.
        folder: PathBuf,
    },
    /// The file or folder cannot be created or written.
    #[error("{}: cannot be written ({reason})", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        reason: std::io::Error,
    },
}

impl OutputError {
    /// A path that could not be written.
    pub fn unwritable(path: &Path, reason: std::io::Error) -> Self {
        Self::Unwritable {
            path: path.to_path_buf(),
            reason,
        }
    }

    /// Whether the path was wrong from the start; a full disk is not.
    pub fn is_wrong_input(&self) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        !matches!(self, Self::Unwritable { reason, .. }
            if matches!(reason.kind(), StorageFull | QuotaExceeded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_written_with_exponents() {
        let found = |x: &str| Invalid::new("x", x, "y").found;
        assert_eq!(found(&1e308.to_string()), "1e308");
        assert_eq!(found(&(-2.5e-300).to_string()), "-2.5e-300");
        assert_eq!(found(&"x".repeat(60_000)).len(), 203);
        let sum = format!("mu.phi = {} (or so)", 1.5e200);
        assert_eq!(found(&sum), "mu.phi = 1.5e200 (or so)");
        for text in ["0.1", "-3", "1.2.3", "a list of 2", "0.30000000000000004"] {
            assert_eq!(found(text), text);
        }
    }
}
