//! `wave.json`: the state of the current wave, replaced from time to time. It only saves time: if it is damaged or belongs to
//! another run, the wave starts again.

use std::path::Path;

use super::write::remove;
use super::{Origin, line};
use crate::error::OutputError;
use crate::experiment::WaveState;
use crate::files::{read_text, sha256};
use crate::results::ResultsFolder;
use crate::results::file::partial_name;

/// The name of the file.
pub const WAVE: &str = "wave.json";

/// Replaces the file.
pub fn write_wave(
    folder: &ResultsFolder,
    origin: &Origin,
    state: &WaveState,
) -> Result<(), OutputError> {
    let text = line::line(&(of_origin(origin), state));
    folder.write(WAVE, text.as_bytes())
}

/// The saved wave of an earlier run of the same origin, if it is valid.
pub fn read_wave(folder: &Path, origin: &Origin) -> Option<WaveState> {
    let bytes = read_text(&folder.join(WAVE)).ok()?;
    let (from, state): (String, WaveState) = line::parse(bytes.as_bytes())?;
    (from == of_origin(origin)).then_some(state)
}

/// Removes the file, and what an interrupted write left of it.
pub fn remove_wave(folder: &ResultsFolder) -> Result<(), OutputError> {
    let path = folder.path().join(WAVE);
    remove(&partial_name(&path))?;
    remove(&path)
}

fn of_origin(origin: &Origin) -> String {
    let text = serde_json::to_string(origin);
    sha256(text.expect("plain fields can be written").as_bytes())
}
