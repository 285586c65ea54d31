//! How much room there is on the screen.

use terminal_size::{Width, terminal_size_of};

/// Columns of the terminal that standard output is; without end where it is a file or a pipe.
pub fn width() -> usize {
    let size = terminal_size_of(std::io::stdout());
    size.map_or(usize::MAX, |(Width(columns), _)| usize::from(columns))
}
