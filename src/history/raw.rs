//! Cells of raw files: missing values, numbers, yes and no. Import, plans and the live service share these rules.

use crate::task::NUMBER_LIMIT;

/// A raw value of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Raw<'a> {
    /// Not known.
    Missing,
    /// A number.
    Number(f64),
    /// A text, possibly a number in digits.
    Text(&'a str),
}

impl<'a> Raw<'a> {
    /// A cell of a file; words such as NA stand for a missing value.
    pub fn cell(text: &'a str) -> Self {
        let text = text.trim();
        match is_missing(text) {
            true => Self::Missing,
            false => Self::Text(text),
        }
    }

    /// A level of a category; the empty one is a missing value.
    pub(super) fn level(level: &'a str) -> Self {
        match level {
            "" => Self::Missing,
            level => Self::Text(level),
        }
    }
}

impl std::fmt::Display for Raw<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Missing => Ok(()),
            Self::Number(x) => write!(f, "{x}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Words for a missing value, in any case.
const MISSING: [&str; 6] = ["na", "n/a", "nan", "null", "?", "-"];

/// Whether a trimmed cell is a missing value.
fn is_missing(text: &str) -> bool {
    text.is_empty() || (text.len() <= 4 && MISSING.iter().any(|m| text.eq_ignore_ascii_case(m)))
}

/// The number in a trimmed cell, if its size is accepted.
pub fn number(text: &str) -> Option<f64> {
    let x: f64 = text.parse().ok()?;
    (x.abs() <= NUMBER_LIMIT).then_some(x)
}

/// Likewise, where the decimal separator may be a comma.
pub fn number_with_comma(text: &str) -> Option<f64> {
    match text.bytes().filter(|b| *b == b',').count() {
        1 if !text.contains('.') => number(&text.replace(',', ".")),
        _ => number(text),
    }
}

/// The yes or no in a trimmed cell.
pub fn flag(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(&["1", "true", "yes", "y", "t", "1.0"]) {
        return Some(true);
    }
    is(&["0", "false", "no", "n", "f", "0.0"]).then_some(false)
}

/// The whole number from 0 in a trimmed cell; `3.0` is accepted.
pub fn whole(text: &str) -> Option<u32> {
    if let Ok(x) = text.parse() {
        return Some(x);
    }
    let x = number(text).filter(|x| x.fract() == 0.0)?;
    (0.0..=f64::from(u32::MAX)).contains(&x).then_some(x as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_have_several_spellings() {
        for text in ["", " ", "NA", "n/a", "NaN", "NULL", "?", "-"] {
            assert_eq!(Raw::cell(text), Raw::Missing, "{text:?}");
        }
        for text in ["none", "0", "unknown", "-1"] {
            assert_eq!(Raw::cell(text), Raw::Text(text));
        }
    }

    #[test]
    fn numbers_and_flags() {
        assert_eq!(number("2.5e1"), Some(25.0));
        for wrong in ["inf", "NaN", "1e60", "2,5", "12 €", ""] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
        assert_eq!(number_with_comma("2,50"), Some(2.5));
        assert_eq!(number_with_comma("1,234.5"), None);
        assert_eq!(
            (flag("Yes"), flag("0"), flag("maybe")),
            (Some(true), Some(false), None)
        );
        assert_eq!(
            (whole("3.0"), whole("3.5"), whole("-1")),
            (Some(3), None, None)
        );
    }
}
