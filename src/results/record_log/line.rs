//! One checksummed line, written and read.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files::sha256;

/// Digits of a checksum.
const DIGITS: usize = 16;

/// The line of a value, with its line break.
pub(super) fn line<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).expect("plain fields can be written");
    format!("{} {json}\n", checksum(json.as_bytes()))
}

/// The value of a line, if its checksum is right.
pub(super) fn parse<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(json(line)?).ok()
}

/// The JSON text of a line, if its checksum is right.
pub(super) fn json(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n")?;
    let (digits, rest) = line.split_at_checked(DIGITS)?;
    let json = rest.strip_prefix(b" ")?;
    (checksum(json).as_bytes() == digits).then_some(json)
}

fn checksum(json: &[u8]) -> String {
    let mut digits = sha256(json);
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_survives_and_any_flipped_bit_is_noticed() {
        let value = (7u64, vec![0.1 + 0.2, -0.0, 1e-300], "a\nb".to_string());
        let text = line(&value);
        assert_eq!(parse(text.as_bytes()), Some(value));
        for bit in 0..8 * text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(json(&bytes), None, "bit {bit}");
        }
        for end in 0..text.len() {
            assert_eq!(json(&text.as_bytes()[..end]), None, "{end} bytes");
        }
    }
}
