//! What is resumed must be the same study, made by the same program in the same way: the first key that differs is named.

use std::path::Path;

use crate::config::{Document, StudyFile};
use crate::error::InputError;
use crate::results::Origin;

/// The study of a folder under way or finished.
pub fn read_study(folder: &Path) -> Result<StudyFile, InputError> {
    StudyFile::from_document(&Document::read(&folder.join("study.toml"))?)
}

/// Refuses a study other than the one that a folder was begun with.
pub fn refuse_other_study(
    study: &StudyFile,
    begun: &StudyFile,
    folder: &Path,
) -> Result<(), InputError> {
    let Some((key, found, accepted)) = study.difference(begun) else {
        return Ok(());
    };
    Err(InputError::File {
        file: folder.to_path_buf(),
        message: format!("{key}: found {found}; accepted: {accepted}, as the run was begun with"),
    })
}

/// Refuses records that were made by other means, or for another study or shard.
pub(super) fn refuse_other_origin(
    file: &Path,
    found: &Origin,
    begun: &Origin,
) -> Result<(), InputError> {
    let refused = |message: String| InputError::File {
        file: file.to_path_buf(),
        message,
    };
    if let Some(difference) = found.difference(begun) {
        let (key, found, accepted) = (difference.key, difference.found, difference.accepted);
        let message =
            format!("{key}: found {found}; accepted: {accepted}, as the run was begun with");
        return Err(refused(message));
    }
    if found.shard != begun.shard {
        let name = |origin: &Origin| {
            origin
                .shard
                .map_or("a whole study".into(), |s| s.to_string())
        };
        let message = format!(
            "shard: found {}; accepted: {}, as the run was begun with",
            name(found),
            name(begun)
        );
        return Err(refused(message));
    }
    if found.study != begun.study {
        let message =
            "study.toml: found another text than the run was begun with; accepted: that one";
        return Err(refused(message.into()));
    }
    Ok(())
}
