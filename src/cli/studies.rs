//! The studies of `simulate`: one, or those of all points of a sweep, each with a folder of its own.

use std::path::Path;

use super::machine;
use cbwk_gpu::config::{Document, StudyFile, SweepPoint};
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::results::{ResultsFolder, SweepIndex, SweptPoint};
use cbwk_gpu::runs::StudyData;

/// One study, or the studies of a sweep in the order of its points.
pub struct Studies {
    pub index: Option<SweepIndex>,
    pub files: Vec<StudyFile>,
}

impl Studies {
    /// The studies of a study file.
    pub fn of_document(document: &Document) -> Result<Self, InputError> {
        let Some(sweep) = document.sweep()? else {
            let files = vec![runnable(document, StudyFile::from_document(document)?)?];
            return Ok(Self { index: None, files });
        };
        let file = |point: &SweepPoint| runnable(&point.document, StudyFile::of_point(point)?);
        let files = sweep.points.iter().map(file);
        let files: Vec<StudyFile> = files.collect::<Result<_, _>>()?;
        let point = |point: &SweepPoint| SweptPoint {
            label: point.label.clone(),
            values: point.values.clone(),
        };
        let name = &files[0].study.name;
        let index = SweepIndex {
            title: format!("{name}: {} points", sweep.combinations),
            points: sweep.points.iter().map(point).collect(),
            keys: sweep.keys,
        };
        let index = Some(index);
        Ok(Self { index, files })
    }

    /// The studies of a sweep in a folder, to resume it; `change` applies options.
    pub fn of_folder(
        folder: &Path,
        index: SweepIndex,
        change: impl Fn(&mut Document),
    ) -> Result<Self, InputError> {
        let study = |point: &SweptPoint| {
            let mut document = Document::read(&folder.join(&point.label).join("study.toml"))?;
            change(&mut document);
            StudyFile::from_document(&document)
        };
        let files: Vec<StudyFile> = index.points.iter().map(study).collect::<Result<_, _>>()?;
        if files.is_empty() {
            let message = "found no points; accepted: a sweep of this program";
            return Err(InputError::in_file(&folder.join(SweepIndex::FILE), message));
        }
        let index = Some(index);
        Ok(Self { index, files })
    }

    /// Makes the folder and those of all points, with the studies and their data. The data are read first: they may be in
    /// a folder that is cleared. `sweep.json` comes last.
    pub fn prepare(
        &self,
        folder: impl FnOnce() -> Result<ResultsFolder, OutputError>,
        overwrite: bool,
    ) -> anyhow::Result<(ResultsFolder, Vec<ResultsFolder>)> {
        let data = StudyData::read(&self.files)?;
        let folder = folder()?;
        let folders = match &self.index {
            None => vec![folder.clone()],
            Some(index) => {
                let inner = |point: &SweptPoint| folder.inner(&point.label, overwrite);
                let folders = index.points.iter().map(inner);
                folders.collect::<Result<_, _>>()?
            }
        };
        for (file, folder) in self.files.iter().zip(&folders) {
            // A resumed run has them.
            if !folder.path().join("study.toml").is_file() {
                data.write(file, folder)?;
            }
        }
        if let Some(index) = &self.index {
            match SweepIndex::read(folder.path())? {
                None => folder.write(SweepIndex::FILE, index.text().as_bytes())?,
                Some(begun) if begun == *index => {}
                Some(_) => {
                    let message =
                        "sweep: found other points; accepted: those that the run was begun with";
                    return Err(InputError::in_file(folder.path(), message).into());
                }
            }
        }
        Ok((folder, folders))
    }

    /// Notes which point of a sweep begins.
    pub fn announce(&self, number: usize, quiet: bool) {
        if let Some(index) = &self.index {
            let (count, label) = (self.files.len(), &index.points[number].label);
            machine::note(quiet, &format!("study {} of {count}: {label}", number + 1));
        }
    }

    /// The number of finished points of a sweep, for the message of an early end.
    pub fn finished(&self, number: usize, folder: &Path) -> Option<String> {
        let (count, place) = (self.files.len(), folder.display());
        let text = format!("; {number} of {count} studies are finished in {place}");
        self.index.is_some().then_some(text)
    }
}

/// Refuses a study with own code, which this program cannot run, before anything is written.
fn runnable(document: &Document, file: StudyFile) -> Result<StudyFile, InputError> {
    let checked = file.study.check_own();
    checked.map_err(|invalid| document.locate(&invalid))?;
    Ok(file)
}
