//! The width of the terminal.

use terminal_size::{Height, Width, terminal_size_of};

/// Columns of the terminal at standard output; unlimited for a file or a pipe.
pub fn width() -> usize {
    columns(terminal_size_of(std::io::stdout()))
}

/// The same for standard error.
pub fn width_of_errors() -> usize {
    columns(terminal_size_of(std::io::stderr()))
}

fn columns(size: Option<(Width, Height)>) -> usize {
    size.map_or(usize::MAX, |(Width(columns), _)| usize::from(columns))
}
