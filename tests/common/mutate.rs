//! Wrong inputs made from right ones: flipped bits, cut and spliced texts, extreme numbers, words in the wrong place. The same
//! seed gives the same inputs.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// Numbers that break programs.
const NUMBERS: [&str; 26] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "-9223372036854775808",
    "1e15",
    "1e16",
    "1e308",
    "-1e308",
    "1e400",
    "5e-324",
    "nan",
    "inf",
    "-inf",
    "0.1",
    "99999999999999999999999999",
];

/// Pieces that mean something to TOML, CSV or JSON.
const PIECES: [&str; 18] = [
    "[", "]", "[[", "]]", "{", "}", "\"", "'", ",", "\n", "\r\n", "=", ".", "#", "\u{feff}", "\0",
    "语", "null",
];

/// One wrong input: a text of the corpus with up to four changes.
pub fn mutated(rng: &mut ChaCha8Rng, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut text = pick(rng, corpus).clone();
    for _ in 0..rng.random_range(1..=4) {
        change(rng, &mut text, corpus);
    }
    text
}

fn pick<'t, T>(rng: &mut ChaCha8Rng, list: &'t [T]) -> &'t T {
    &list[rng.random_range(0..list.len())]
}

fn change(rng: &mut ChaCha8Rng, text: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    if text.is_empty() {
        text.extend_from_slice(pick(rng, &PIECES).as_bytes());
        return;
    }
    let place = rng.random_range(0..text.len());
    match rng.random_range(0..12) {
        0 => text[place] ^= 1 << rng.random_range(0..8),
        1 => text[place] = rng.random(),
        2 => text.truncate(place),
        3 => {
            let piece = pick(rng, &PIECES).as_bytes().to_vec();
            text.splice(place..place, piece);
        }
        4 => {
            // The start of one and the end of another.
            let other = pick(rng, corpus);
            let from = rng.random_range(0..=other.len());
            text.truncate(place);
            text.extend_from_slice(&other[from..]);
        }
        5 => {
            let end = rng
                .random_range(place..text.len().min(place + 40) + 1)
                .min(text.len());
            text.drain(place..end);
        }
        6..=8 => {
            let numbers = words(text, |b| b.is_ascii_digit() || b"+-.eE".contains(&b));
            let number = pick(rng, &NUMBERS).as_bytes().to_vec();
            replace_one(rng, text, numbers, number);
        }
        9 => {
            // A word of the corpus in the place of another.
            let other = pick(rng, corpus);
            let found = words(other, is_word);
            if found.is_empty() {
                return;
            }
            let word = other[pick(rng, &found).clone()].to_vec();
            let places = words(text, is_word);
            replace_one(rng, text, places, word);
        }
        _ => lines(rng, text),
    }
}

/// Removes, doubles or swaps lines.
fn lines(rng: &mut ChaCha8Rng, text: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = text
        .split_inclusive(|b| *b == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let (a, b) = (
        rng.random_range(0..lines.len()),
        rng.random_range(0..lines.len()),
    );
    match rng.random_range(0..3) {
        0 => {
            lines.remove(a);
        }
        1 => {
            let line = lines[a].clone();
            lines.insert(b, line);
        }
        _ => lines.swap(a, b),
    }
    *text = lines.concat();
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || b"_-".contains(&byte)
}

/// Runs of such bytes.
fn words(text: &[u8], part: impl Fn(u8) -> bool) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    for (i, byte) in text.iter().chain(std::iter::once(&b'\n')).enumerate() {
        match (part(*byte), start) {
            (true, None) => start = Some(i),
            (false, Some(first)) => {
                found.push(first..i);
                start = None;
            }
            _ => {}
        }
    }
    found
}

fn replace_one(
    rng: &mut ChaCha8Rng,
    text: &mut Vec<u8>,
    places: Vec<std::ops::Range<usize>>,
    by: Vec<u8>,
) {
    if !places.is_empty() {
        let place = pick(rng, &places).clone();
        text.splice(place, by);
    }
}
