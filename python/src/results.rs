//! Results of a study, in memory and as the folder of the command line.

use std::path::{Path, PathBuf};

use cbwk_gpu::config::StudyFile;
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::report;
use cbwk_gpu::report::comparison::Comparison;
use cbwk_gpu::results::{CsvReader, EpisodeRow, Results, ResultsFolder};
use cbwk_gpu::statistics::Band;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{EpisodeColumns, summary};
use crate::errors::{of_input, of_output, refused, wrong};

/// A data file of a study: its name in the folder and its content.
pub type DataCopy = (String, Vec<u8>);

/// Results of a run, or read from a folder.
#[pyclass(frozen, module = "cbwk._native")]
#[derive(Debug)]
pub struct RunResults {
    results: Results,
    episodes: EpisodeColumns,
    data: Vec<DataCopy>,
    /// Notes of the study's check.
    pub notes: Vec<String>,
}

impl RunResults {
    /// The results of a run.
    pub fn new(
        results: Results,
        episodes: EpisodeColumns,
        data: Vec<DataCopy>,
        notes: Vec<String>,
    ) -> Self {
        Self {
            results,
            episodes,
            data,
            notes,
        }
    }

    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Self, InputError> {
        let results = Results::read(folder)?;
        let mut episodes = EpisodeColumns::default();
        for line in CsvReader::<EpisodeRow, _>::open(&folder.join("episodes.csv"))? {
            episodes.push(line?.row);
        }
        let mut data = Vec::new();
        let copies = std::fs::read_dir(folder.join("data")).into_iter().flatten();
        for copy in copies.flatten() {
            let path = copy.path();
            let content = std::fs::read(&path);
            let content = content.map_err(|error| InputError::unreadable(&path, &error))?;
            let name = copy.file_name();
            data.push((format!("data/{}", name.to_string_lossy()), content));
        }
        Ok(Self::new(results, episodes, data, Vec::new()))
    }

    fn write(&self, folder: &Path) -> Result<(), OutputError> {
        let folder = ResultsFolder::prepare(folder, false)?;
        write_study(&folder, &self.data, &self.results.study.text)?;
        folder.write_rows("episodes.csv", self.episodes.rows())?;
        write_rest(&folder, self.results.clone())
    }
}

/// The data files of a study, read before they can change.
pub fn read_data(file: &StudyFile) -> Result<Vec<DataCopy>, InputError> {
    let files = file.data().iter();
    files
        .map(|file| Ok((file.name.clone(), file.read()?)))
        .collect()
}

/// Writes the files that a folder has from the start.
pub fn write_study(
    folder: &ResultsFolder,
    data: &[DataCopy],
    text: &str,
) -> Result<(), OutputError> {
    for (name, content) in data {
        folder.write(name, content)?;
    }
    folder.write("study.toml", text.as_bytes())
}

/// Writes the files of the end, except the episodes.
fn write_rest(folder: &ResultsFolder, mut results: Results) -> Result<(), OutputError> {
    results.write_tables(folder)?;
    let picture = report::plot::regret(&results).svg();
    report::write_picture(folder, "regret", &picture)?;
    results.write_run(folder)
}

#[pymethods]
impl RunResults {
    /// Reads the folder of a finished study.
    #[staticmethod]
    fn load(py: Python, folder: PathBuf) -> PyResult<Self> {
        py.detach(|| Self::read(&folder)).map_err(of_input)
    }

    /// Writes the folder of the command line.
    fn save(&self, py: Python, folder: PathBuf) -> PyResult<()> {
        let written = py.detach(|| self.write(&folder));
        written.map_err(|error| of_output(&error))
    }

    /// `episodes.csv` by column.
    fn episodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.episodes.arrays(py)
    }

    /// `summary.csv` by column.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        summary(py, &self.results)
    }

    /// `run.json`.
    fn run_json(&self) -> String {
        self.results.run.text()
    }

    /// `study.toml`.
    fn study_toml(&self) -> String {
        self.results.study.text.clone()
    }

    /// The study's name.
    fn name(&self) -> String {
        self.results.study.name.clone()
    }

    /// `regret.svg`.
    fn svg(&self, py: Python) -> String {
        py.detach(|| report::plot::regret(&self.results).svg())
    }

    /// The table that the command line prints.
    fn table(&self) -> String {
        report::table::study(
            &self.results,
            report::style::Style::Plain { width: usize::MAX },
            &[],
        )
        .expect("all columns are known")
    }

    /// Final regrets of all pairs of some policies compared, as JSON; `policies` empty is all.
    fn comparison(&self, policies: Vec<String>, band: &str) -> PyResult<String> {
        let band = match band {
            "3se" => Band::ThreeErrors,
            "normal" => Band::Normal,
            "bootstrap" => Band::Bootstrap,
            other => {
                let accepted = "3se, normal, bootstrap";
                return Err(refused("band", format!("`{other}`"), accepted));
            }
        };
        let found = Comparison::new(&self.results.run, &policies, band).map_err(wrong)?;
        serde_json::to_string(&found).map_err(wrong)
    }

    /// Notes of the study's check.
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}
