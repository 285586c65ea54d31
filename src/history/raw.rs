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

/// Signs and codes of currencies.
const SIGNS: [&str; 8] = ["$", "€", "£", "¥", "₹", "₩", "₺", "₽"];
const CODES: [&str; 10] = [
    "EUR", "USD", "GBP", "CHF", "JPY", "CAD", "AUD", "SEK", "NOK", "DKK",
];

/// The number in a trimmed cell that may have a currency, separated thousands or a decimal comma: `€12.50`, `1.234,50 EUR`.
/// A single comma is decimal, except before three digits if `comma` is false: `1,234` may then be either.
pub fn amount(text: &str, comma: bool) -> Option<f64> {
    if let Some(x) = number(text) {
        return Some(x);
    }
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let text = without_currency(text.trim());
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let count = |separator: char| text.matches(separator).count();
    let decimal = match (count(','), count('.')) {
        (1, 0) if comma || !is_grouped(text, ',') => ',',
        (1, 0) => return None,
        (_, 0) | (0, 1) => '.',
        (0, _) => ',',
        _ if text.rfind(',') > text.rfind('.') => ',',
        _ => '.',
    };
    let thousands = if decimal == ',' { '.' } else { ',' };
    let (whole, fraction) = text.rsplit_once(decimal).unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let separators = [thousands, '\'', '’', ' ', '\u{a0}', '\u{202f}'];
    let used = separators.into_iter().find(|s| whole.contains(*s));
    if !digits(fraction) || used.is_some_and(|separator| !is_grouped(whole, separator)) {
        return None;
    }
    let whole = used.map_or(whole.to_string(), |separator| whole.replace(separator, ""));
    let whole = Some(whole).filter(|whole| digits(whole))?;
    number(&format!("{whole}.{fraction}")).map(|x| sign * x)
}

fn without_currency(text: &str) -> &str {
    let mut words = SIGNS.iter().chain(&CODES);
    let bare = words.find_map(|word| text.strip_prefix(word).or_else(|| text.strip_suffix(word)));
    bare.unwrap_or(text).trim()
}

/// Whether groups of three digits follow the first one, which has one to three.
fn is_grouped(text: &str, separator: char) -> bool {
    let mut groups = text.split(separator);
    let first = groups.next().map_or(0, str::len);
    (1..=3).contains(&first) && groups.all(|group| group.len() == 3)
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
    number(text).and_then(whole_number)
}

/// A whole number from 0.
pub fn whole_number(x: f64) -> Option<u32> {
    let fits = x.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&x);
    fits.then_some(x as u32)
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
        for (text, comma, x) in [
            ("2,50", true, 2.5),
            ("2,50", false, 2.5),
            ("1,234", true, 1.234),
            ("1,234.5", true, 1234.5),
            ("1.234,50 EUR", false, 1234.5),
            ("-€ 12.50", false, -12.5),
            ("12 €", false, 12.0),
            ("$1,234,567", false, 1_234_567.0),
            ("CHF 1'234.50", false, 1234.5),
            ("1 234,5", true, 1234.5),
        ] {
            assert_eq!(amount(text, comma), Some(x), "{text}");
        }
        for wrong in [
            "1,234",
            "12,34,56",
            "€",
            "12 apples",
            "1,23,4.5",
            "EUR",
            "1.2.3",
            "--5",
            "$-",
        ] {
            assert_eq!(amount(wrong, false), None, "{wrong}");
        }
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
