//! Tables as text: columns for a terminal, Markdown, or a LaTeX tabular (package booktabs).

use std::fmt::Write;
use std::ops::Range;

use crate::error::Invalid;
use crate::statistics::{BAND, MeanAndError};

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Padded columns, split into several parts if they are wider than a line.
    Plain {
        /// Characters of a line.
        width: usize,
    },
    /// A Markdown table.
    Markdown,
    /// A LaTeX tabular.
    Latex,
}

/// A table: the first column holds names, the others numbers.
#[derive(Debug, Clone, Default)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<T: Into<String>>(header: impl IntoIterator<Item = T>) -> Self {
        Self {
            header: header.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row with a cell for every column.
    pub fn push<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.header.len(), "a cell for every column");
        self.rows.push(cells);
    }

    /// The same with the columns of these names only, in their order, after the first one. A name is that of the header in
    /// small letters with hyphens (`final-regret`), without what follows `+-`; `over` is the difference to the reference. The
    /// error beside a number comes with it.
    pub fn select(self, names: &[String]) -> Result<Self, Invalid> {
        if names.is_empty() {
            return Ok(self);
        }
        let is_error = |column: &usize| self.header[*column].starts_with("+-");
        let name = |column: usize| {
            let plain = self.header[column].split(" +-").next().unwrap_or_default();
            let first = plain.split(' ').next().unwrap_or_default();
            match first {
                "over" => first.to_string(),
                _ => plain.replace(' ', "-").to_lowercase(),
            }
        };
        let numbers = (1..self.header.len()).filter(|column| !is_error(column));
        let mut chosen = vec![0];
        for wanted in names {
            let found = numbers.clone().find(|&column| name(column) == *wanted);
            let Some(found) = found else {
                let known: Vec<String> = numbers.map(name).collect();
                let accepted = format!("some of {}", known.join(", "));
                return Err(Invalid::new("columns", format!("`{wanted}`"), accepted));
            };
            chosen.push(found);
            chosen.extend(Some(found + 1).filter(|c| *c < self.header.len() && is_error(c)));
        }
        let cells = |row: &Vec<String>| chosen.iter().map(|&c| row[c].clone()).collect();
        Ok(Self {
            header: cells(&self.header),
            rows: self.rows.iter().map(cells).collect(),
        })
    }

    /// The table's text.
    pub fn text(&self, style: Style) -> String {
        let mut text = String::new();
        let written = match style {
            Style::Plain { width } => self.plain(&mut text, width),
            Style::Markdown => self.markdown(&mut text),
            Style::Latex => self.latex(&mut text),
        };
        written.expect("writing to a string");
        text
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.header).chain(&self.rows)
    }

    /// The first column is left-aligned and starts every part; numbers are right-aligned.
    fn plain(&self, text: &mut String, room: usize) -> std::fmt::Result {
        let width = |column: usize| {
            let cells = self.lines().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        for (number, part) in self.parts(&widths, room).into_iter().enumerate() {
            if number > 0 {
                writeln!(text)?;
            }
            for row in self.lines() {
                let mut line = format!("{:<1$}", row[0], widths[0]);
                for column in part.clone() {
                    write!(line, "   {:>1$}", row[column], widths[column])?;
                }
                writeln!(text, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }

    /// Ranges of columns that fit beside the first one; an error stays beside its number.
    fn parts(&self, widths: &[usize], room: usize) -> Vec<Range<usize>> {
        let count = widths.len();
        let is_error = |column: &usize| self.header[*column].starts_with("+-");
        let end = |start: usize| (start + 1..count).find(|c| !is_error(c)).unwrap_or(count);
        let size = |columns: Range<usize>| widths[columns].iter().map(|w| w + 3).sum::<usize>();
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut start = 1;
        while start < count {
            let next = start..end(start);
            start = next.end;
            match parts.last_mut() {
                Some(part) if widths[0] + size(part.start..next.end) <= room => part.end = next.end,
                _ => parts.push(next),
            }
        }
        if parts.is_empty() {
            parts.push(1..1);
        }
        parts
    }

    fn markdown(&self, text: &mut String) -> std::fmt::Result {
        for (number, row) in self.lines().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            writeln!(text, "| {} |", cells.join(" | "))?;
            if number == 0 {
                let numbers = " ---: |".repeat(row.len() - 1);
                writeln!(text, "| --- |{numbers}")?;
            }
        }
        Ok(())
    }

    fn latex(&self, text: &mut String) -> std::fmt::Result {
        let numbers = "r".repeat(self.header.len() - 1);
        writeln!(text, "\\begin{{tabular}}{{l{numbers}}}\n\\toprule")?;
        for (number, row) in self.lines().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| latex(cell)).collect();
            writeln!(text, "{} \\\\", cells.join(" & "))?;
            if number == 0 {
                writeln!(text, "\\midrule")?;
            }
        }
        writeln!(text, "\\bottomrule\n\\end{{tabular}}")
    }
}

impl Style {
    /// Text around a table; comments in LaTeX.
    pub fn prose(self, text: &str) -> String {
        let mut prose = String::new();
        for line in text.lines() {
            match self {
                Self::Latex => writeln!(prose, "{}", format!("% {line}").trim_end()),
                Self::Plain { width } => writeln!(prose, "{}", folded(line, width, 0)),
                Self::Markdown => writeln!(prose, "{line}"),
            }
            .expect("writing to a string");
        }
        prose
    }
}

/// Wraps a line at spaces; continuation lines are indented.
pub fn folded(line: &str, width: usize, indent: usize) -> String {
    let (mut text, mut used, mut begun) = (String::new(), 0, false);
    // Spaces stay with the word before them, so that columns stay aligned.
    for word in line.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if begun && length > 0 && used + length > width {
            text.truncate(text.trim_end().len());
            write!(text, "\n{:indent$}", "").expect("writing to a string");
            used = indent;
        }
        text += word;
        used += word.chars().count();
        begun |= length > 0;
    }
    text
}

/// Escapes text for LaTeX; `+-` and minus signs become mathematical ones.
fn latex(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '|' => escaped.push_str("\\textbar{}"),
            // After the end of a row these would start an option.
            '[' | '*' => escaped.extend(['{', c, '}']),
            c => escaped.push(c),
        }
    }
    let escaped = escaped.replace("+-", "$\\pm$");
    match escaped.strip_prefix('-') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("$-${rest}"),
        _ => escaped,
    }
}

/// A number with fixed decimals; zero has no sign, and NaN is a dash.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        return "-".into();
    }
    let text = format!("{value:.decimals$}");
    let is_zero = |c: char| c == '0' || c == '.';
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(is_zero) => rest.into(),
        _ => text,
    }
}

/// Decimals of a column: more than usual if all of its numbers are below 1.
pub fn decimals(numbers: impl IntoIterator<Item = f64>, usual: usize) -> usize {
    let largest = numbers
        .into_iter()
        .fold(0.0, |most: f64, x| most.max(x.abs()));
    match largest > 0.0 && largest < 1.0 {
        true => usual + (-largest.log10()).ceil().min(12.0) as usize,
        false => usual,
    }
}

/// A count with its noun: `1 thread`, `2 threads`.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// A mean and the half-width of its band in two cells.
pub fn band_cells(value: Option<MeanAndError>, decimals: usize) -> [String; 2] {
    let known = value.unwrap_or(MeanAndError {
        mean: f64::NAN,
        standard_error: f64::NAN,
    });
    [known.mean, BAND * known.standard_error].map(|x| fixed(x, decimals))
}

/// A mean and the half-width of its band in one cell.
pub fn with_band(value: Option<MeanAndError>, decimals: usize) -> String {
    match band_cells(value, decimals) {
        [mean, band] if band == "-" => mean,
        [mean, band] => format!("{mean} +- {band}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["policy", "+- 3 s.e."]);
        table.push(["a_b | c", "-1.5"]);
        table.push(["50%", "0.25 +- 0.10"]);
        table
    }

    #[test]
    fn tables_in_three_styles() {
        let plain = "policy       +- 3 s.e.\na_b | c           -1.5\n50%       0.25 +- 0.10\n";
        let wide = Style::Plain { width: usize::MAX };
        assert_eq!(table().text(wide), plain);
        let markdown = "| policy | +- 3 s.e. |\n| --- | ---: |\n| a_b \\| c | -1.5 |\n| 50% | 0.25 +- 0.10 |\n";
        assert_eq!(table().text(Style::Markdown), markdown);
        let latex = "\\begin{tabular}{lr}\n\\toprule\npolicy & $\\pm$ 3 s.e. \\\\\n\\midrule\n\
                     a\\_b \\textbar{} c & $-$1.5 \\\\\n50\\% & 0.25 $\\pm$ 0.10 \\\\\n\\bottomrule\n\\end{tabular}\n";
        assert_eq!(table().text(Style::Latex), latex);
        assert_eq!(Style::Latex.prose("a\n\nb"), "% a\n%\n% b\n");
        // A bracket would start an option of the row before it.
        assert_eq!(super::latex("[1 2] <3"), "{[}1 2] \\textless{}3");
    }

    #[test]
    fn wide_tables_and_text_are_wrapped() {
        let mut table = Table::new(["policy", "regret", "+- 3 s.e.", "slope"]);
        table.push(["a", "1.0", "0.5", "0.9"]);
        let parts = "policy   regret   +- 3 s.e.\na           1.0         0.5\n\npolicy   slope\na          0.9\n";
        assert_eq!(table.text(Style::Plain { width: 30 }), parts);
        // A number and its error stay together at any width.
        assert_eq!(table.text(Style::Plain { width: 1 }), parts);
        let lines = table.text(Style::Plain { width: 35 });
        assert_eq!(lines.lines().count(), 2, "{lines}");
        assert_eq!(
            folded("name  one two three", 13, 6),
            "name  one two\n      three"
        );
        assert_eq!(folded("  immeasurable", 4, 0), "  immeasurable");
        let prose = Style::Plain { width: 9 }.prose("one two three\n\nfour");
        assert_eq!(prose, "one two\nthree\n\nfour\n");
    }

    #[test]
    fn columns_by_choice() {
        let table = || {
            let mut table = Table::new([
                "policy",
                "final regret",
                "+- 3 s.e.",
                "over a",
                "slope +- 3 s.e.",
            ]);
            table.push(["a", "1", "2", "3", "4"]);
            table
        };
        let plain = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            let table = table().select(&names);
            table.map(|table| table.text(Style::Markdown))
        };
        let found = plain(&["slope", "final-regret"]).unwrap();
        assert!(
            found.starts_with("| policy | slope +- 3 s.e. | final regret | +- 3 s.e. |"),
            "{found}"
        );
        assert!(found.ends_with("| a | 4 | 1 | 2 |\n"), "{found}");
        assert!(plain(&["over"]).unwrap().ends_with("| a | 3 |\n"));
        let error = plain(&["regret"]).unwrap_err();
        assert_eq!(error.accepted, "some of final-regret, over, slope");
    }

    #[test]
    fn zero_has_no_sign() {
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-0.0, 0), "0");
        assert_eq!(fixed(-0.06, 1), "-0.1");
        assert_eq!(fixed(f64::NAN, 1), "-");
        let value = MeanAndError {
            mean: 1.0,
            standard_error: 0.5,
        };
        assert_eq!(with_band(Some(value), 2), "1.00 +- 1.50");
        assert_eq!(with_band(None, 2), "-");
    }
}
