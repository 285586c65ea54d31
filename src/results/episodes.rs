//! `episodes.csv`, as the experiment's sink: every record becomes lines, every finished wave is on disk.

use std::path::Path;

use super::records::EpisodeRow;
use super::{GrowingRows, ResultsFolder};
use crate::error::OutputError;
use crate::experiment::{Record, Sink, SinkError, Yardstick, cumulative_regret};

/// The growing file.
#[derive(Debug)]
pub struct EpisodesFile {
    rows: GrowingRows<EpisodeRow>,
    written: usize,
    kept: usize,
}

impl EpisodesFile {
    /// Starts the file of a folder.
    pub fn start(folder: &ResultsFolder) -> Result<Self, OutputError> {
        Ok(Self {
            rows: GrowingRows::start(folder, "episodes.csv")?,
            written: 0,
            kept: 0,
        })
    }

    /// Where the lines are until the file is complete.
    pub fn partial(&self) -> &Path {
        self.rows.partial()
    }

    /// How many replications, of all policies together, are on disk.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// The file is complete.
    pub fn finish(self) -> Result<(), OutputError> {
        self.rows.finish()
    }
}

impl Sink for EpisodesFile {
    fn replication(&mut self, yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        for row in episode_rows(yardstick, record) {
            self.rows.append(&row)?;
        }
        self.written += 1;
        Ok(())
    }

    fn wave(&mut self) -> Result<(), SinkError> {
        self.rows.sync()?;
        self.kept = self.written;
        Ok(())
    }
}

/// The lines of a record.
pub fn episode_rows<'r>(
    yardstick: &'r Yardstick,
    record: &'r Record,
) -> impl Iterator<Item = EpisodeRow> + 'r {
    let opt = &yardstick.opt;
    let episodes = record.episodes.iter();
    let cumulative = cumulative_regret(episodes.clone().map(|e| e.reward), opt);
    let lines = episodes.zip(cumulative).enumerate();
    lines.map(move |(t, (episode, cumulative_regret))| EpisodeRow {
        policy: record.policy.clone(),
        replication: record.replication + 1,
        episode: t + 1,
        b_t: yardstick.budgets[t],
        reward: episode.reward,
        opt: opt[t],
        regret: opt[t] - episode.reward,
        cumulative_regret,
        spent: episode.spent,
        expected_regret: episode.expected.map(|expected| opt[t] - expected),
    })
}
