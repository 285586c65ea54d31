//! Cells of raw files: what is missing, what is a number, what is a yes. Import, plans and the live service read values by
//! these rules and no others.

use crate::task::NUMBER_LIMIT;

/// A raw value of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Raw<'a> {
    /// Nothing is known.
    Missing,
    /// A number.
    Number(f64),
    /// A text, which may spell a number.
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
}

/// Words for a missing value, in any case.
const MISSING: [&str; 6] = ["na", "n/a", "nan", "null", "?", "-"];

/// Whether a trimmed cell says that nothing is known.
pub fn is_missing(text: &str) -> bool {
    text.is_empty() || (text.len() <= 4 && MISSING.iter().any(|m| text.eq_ignore_ascii_case(m)))
}

/// The number that a trimmed cell spells, of a size that the program accepts.
pub fn number(text: &str) -> Option<f64> {
    let x: f64 = text.parse().ok()?;
    (x.abs() <= NUMBER_LIMIT).then_some(x)
}

/// Likewise where decimals may stand after a comma.
pub fn number_with_comma(text: &str) -> Option<f64> {
    match text.bytes().filter(|b| *b == b',').count() {
        1 if !text.contains('.') => number(&text.replace(',', ".")),
        _ => number(text),
    }
}

/// The yes or no that a trimmed cell spells.
pub fn flag(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(&["1", "true", "yes", "y", "t", "1.0"]) {
        return Some(true);
    }
    is(&["0", "false", "no", "n", "f", "0.0"]).then_some(false)
}

/// A whole number from 0 that a trimmed cell spells; 3.0 is one too.
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
