//! Refusals: a resumed run must have the same study, the same program and the same options; the first difference is named.

use std::path::Path;

use crate::config::{Document, StudyFile};
use crate::error::{InputError, Invalid};
use crate::experiment::{Shard, Study};
use crate::results::{Origin, RecordLog};

/// The study of a folder, finished or not.
pub(crate) fn read_study(folder: &Path) -> Result<StudyFile, InputError> {
    StudyFile::from_document(&Document::read(&folder.join("study.toml"))?)
}

fn refuse(file: &Path, difference: Option<Invalid>) -> Result<(), InputError> {
    match difference {
        None => Ok(()),
        Some(difference) => {
            let message = format!("{difference}, as the run was begun with");
            Err(InputError::in_file(file, message))
        }
    }
}

/// Refuses a study other than the one of the folder.
pub(super) fn refuse_other_study(
    study: &StudyFile,
    begun: &StudyFile,
    folder: &Path,
) -> Result<(), InputError> {
    refuse(folder, study.difference(begun))
}

/// Refuses records of another program, backend, study or shard.
pub(super) fn refuse_other_origin(
    file: &Path,
    found: &Origin,
    begun: &Origin,
) -> Result<(), InputError> {
    refuse(file, found.difference(begun))?;
    if found.shard != begun.shard {
        let (found, begun) = (shard_name(found.shard), shard_name(begun.shard));
        return refuse(file, Some(Invalid::new("shard", found, begun)));
    }
    if found.study != begun.study {
        let message =
            "study.toml: found another text than the run was begun with; accepted: that one";
        return Err(InputError::in_file(file, message));
    }
    Ok(())
}

/// A shard in messages.
pub(super) fn shard_name(shard: Option<Shard>) -> String {
    shard.map_or("a whole study".into(), |shard| shard.to_string())
}

/// Refuses records of policies that the study lacks, or of replications outside the shard.
pub(super) fn refuse_foreign(study: &Study, log: &RecordLog) -> Result<(), InputError> {
    let all = 0..study.replications;
    let shard = log.origin.shard;
    let share = shard.map_or(all, |shard| shard.share(study.replications));
    for policy in log.policies() {
        if study.policies.iter().all(|known| known.name != policy) {
            let message = format!("found records of `{policy}`; accepted: the study's policies");
            return Err(InputError::in_file(&log.path, message));
        }
        if let Some(other) = log.finished(policy).find(|r| !share.contains(r)) {
            let (other, first, last) = (other + 1, share.start + 1, share.end);
            let message =
                format!("found replication {other} of `{policy}`; accepted: {first} to {last}");
            return Err(InputError::in_file(&log.path, message));
        }
    }
    Ok(())
}
