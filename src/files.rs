//! Helpers for files: safe names, checksums, and JSON with readable errors.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::error::Category;
use sha2::{Digest, Sha256};

use crate::error::InputError;

/// Most bytes of a name: file systems allow 255, and a number may be appended.
const NAME_BYTES: usize = 200;

/// A text as the name of one file or folder: no separators, no hidden names, no character that some system forbids.
pub fn safe_name(text: &str) -> String {
    let forbidden = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
    let name: String = text
        .chars()
        .map(|c| if forbidden(c) { '-' } else { c })
        .collect();
    let name = name.trim_start_matches(|c: char| ".- ".contains(c));
    let name = shortened(name).trim_end_matches(['.', ' ']);
    match name {
        "" => "study".into(),
        name => name.into(),
    }
}

/// A name cut to the length that file systems allow.
pub fn shortened(name: &str) -> &str {
    let fits = |end: &usize| *end <= NAME_BYTES;
    let ends = name.char_indices().map(|(i, c)| i + c.len_utf8());
    &name[..ends.take_while(fits).last().unwrap_or(0)]
}

/// Largest file that is read into memory as a whole, in bytes.
const TEXT_LIMIT: u64 = 1 << 30;

/// Opens a file for reading. Devices are refused: some never end.
pub fn open(file: &Path) -> io::Result<File> {
    let opened = File::open(file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = opened.metadata()?.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return Err(io::Error::other("a device, not a file"));
        }
    }
    Ok(opened)
}

/// A file as text, up to a size that no sensible file has.
pub fn read_text(file: &Path) -> Result<String, InputError> {
    let read = || -> io::Result<String> {
        let mut text = String::new();
        let mut source = open(file)?.take(TEXT_LIMIT + 1);
        source.read_to_string(&mut text)?;
        match text.len() as u64 > TEXT_LIMIT {
            true => Err(io::Error::other("larger than 1 GiB")),
            false => Ok(text),
        }
    };
    read().map_err(|error| InputError::unreadable(file, &error))
}

/// The content of a JSON file.
pub(crate) fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T, InputError> {
    json(file, &read_text(file)?)
}

/// The SHA-256 of a file in hexadecimal digits, as `sha256sum` prints it.
pub fn sha256_of_file(file: &Path) -> io::Result<String> {
    let mut file = open(file)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(digits(&hasher.finalize())),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// The SHA-256 of bytes.
pub fn sha256(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

fn digits(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses the text of a JSON file. Errors name the line and the field.
fn json<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, InputError> {
    let named = |field: &str, error: &serde_json::Error| {
        let line = error.line();
        let place = format!(" at line {line} column {}", error.column());
        let what = error.to_string().replace(&place, "");
        let message = match error.classify() {
            Category::Data if field != "." => format!("{field}: {}", plainly(&what)),
            Category::Data => plainly(&what),
            _ => what,
        };
        InputError::at(file, line, message)
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let found = serde_path_to_error::deserialize(&mut json);
    let found = found.map_err(|error| named(&error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| named(".", &error))?;
    Ok(found)
}

/// A message of the JSON parser in the wording of this program.
fn plainly(message: &str) -> String {
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("{key}: found nothing; accepted: a file of this program");
    }
    let found = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| message.strip_prefix(start));
    match found.and_then(|rest| rest.split_once(", expected ")) {
        Some((found, accepted)) => {
            let accepted = match accepted {
                "f64" => "a number",
                "u32" | "u64" | "usize" => "a whole number",
                other => other,
            };
            format!("found {found}; accepted: {accepted}")
        }
        None => message.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_errors_name_the_line_and_the_field() {
        for (text, expected) in [
            (
                "{\n\"a\": [1.5, null]}",
                "x.json:2: a[1]: found null; accepted: a number",
            ),
            (
                "{\"b\": 1}",
                "x.json:1: `a`: found nothing; accepted: a file of this program",
            ),
            ("{\"a\": []}\n}", "x.json:2: trailing characters"),
            ("{\"a\": [", "x.json:1: EOF while parsing a list"),
        ] {
            #[derive(Debug, serde::Deserialize)]
            #[allow(dead_code, reason = "only its mistakes matter")]
            struct Numbers {
                a: Vec<f64>,
            }
            let error = json::<Numbers>(Path::new("x.json"), text).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn safe_names_cannot_leave_the_folder() {
        for (text, expected) in [
            ("paper-auction, K = 4", "paper-auction, K = 4"),
            ("../../x", "x"),
            ("/tmp/x", "tmp-x"),
            ("C:\\x", "C--x"),
            ("..", "study"),
            ("", "study"),
            (".hidden", "hidden"),
            ("größe 語", "größe 語"),
            ("a\nb\u{7}", "a-b-"),
            ("x...", "x"),
        ] {
            assert_eq!(safe_name(text), expected, "{text:?}");
        }
        assert_eq!(safe_name(&"語".repeat(100)).len(), 198);
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_read() {
        for device in ["/dev/zero", "/dev/null"] {
            let error = read_text(Path::new(device)).unwrap_err();
            assert!(
                error.to_string().contains("a device, not a file"),
                "{error}"
            );
        }
    }

    /// FIPS 180-2, appendix B.1.
    #[test]
    fn the_checksum_is_sha_256() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("abc");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(sha256_of_file(&file).unwrap(), expected);
    }
}
