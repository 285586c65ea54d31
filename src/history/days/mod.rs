//! Days that differ: their arrivals as rows, the columns that describe a whole day, and the groups of days that plans
//! distinguish. A group of days has a law of contexts of its own; acceptance is shared.

mod columns;
mod drift;
mod grow;
mod moods;
mod rows;

use serde::{Deserialize, Serialize};

use super::encoding::Encoding;
use super::law::EmpiricalLaw;
use super::log::LabeledLog;
use super::raw::{self, Raw};

pub(super) use columns::day_columns;
pub use drift::{Drift, ageing};
pub(super) use grow::grow;
pub use moods::{Moods, Z_LIMIT};
pub use rows::Days;

/// In a group of days, steps with fewer arrivals than this take the contexts of all its steps.
const POOLED_IN_GROUPS: u64 = 40;

/// What a fit found about the days of a log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DaysFile {
    /// Columns that are constant within days and differ between them.
    #[serde(default)]
    pub columns: Vec<String>,
    /// The groups of days.
    #[serde(default)]
    pub tree: DayTree,
    /// Whether days differ beyond their columns.
    #[serde(default)]
    pub moods: Moods,
    /// Whether acceptance changes over the calendar; `None` if the log is too short to tell.
    #[serde(default)]
    pub drift: Option<Drift>,
}

impl DaysFile {
    /// Days after which an offer counts half in the fit.
    pub fn half_life(&self) -> Option<f64> {
        self.drift.and_then(|drift| drift.half_life)
    }

    /// What the tests found, with what it means for a plan.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.moods.words();
        if let Some(half_life) = self.half_life() {
            warnings.push(format!("acceptance changes over the calendar: an offer counts half after {half_life:.0} days, and plans are for the last days of the log"));
        }
        warnings
    }
}

/// Groups of days, as a tree of questions about the columns of a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DayTree {
    /// A question with two answers.
    Split {
        /// The column.
        column: String,
        /// The days of the first part.
        first: Part,
        /// Both parts in words, such as `weekend 0` and `weekend 1`.
        words: [String; 2],
        /// The parts.
        parts: Box<[DayTree; 2]>,
    },
    /// A group.
    Group {
        /// Its number, from 0.
        group: usize,
        /// Its days in the log.
        days: u64,
    },
}

/// The days for which a split is answered with yes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// A number up to this.
    UpTo(f64),
    /// One of these levels; the empty one is a missing value.
    Levels(Vec<String>),
}

impl Part {
    /// Whether a value belongs to the part. A missing number does not.
    fn has(&self, value: Raw) -> bool {
        match self {
            Self::UpTo(most) => match value {
                Raw::Number(x) => x <= *most,
                Raw::Text(text) => raw::number(text).is_some_and(|x| x <= *most),
                Raw::Missing => false,
            },
            Self::Levels(levels) => levels.contains(&value.to_string()),
        }
    }
}

impl Default for DayTree {
    fn default() -> Self {
        Self::Group { group: 0, days: 0 }
    }
}

impl DayTree {
    /// The group of a day, of which one customer's features are known.
    pub fn group_of(&self, encoding: &Encoding, theta: &[f64]) -> usize {
        match self {
            Self::Group { group, .. } => *group,
            Self::Split {
                column,
                first,
                parts,
                ..
            } => {
                let yes = encoding.value(column, theta).is_some_and(|x| first.has(x));
                parts[usize::from(!yes)].group_of(encoding, theta)
            }
        }
    }

    /// Every group in words with its number of days, in their order; a single group has no words.
    pub fn groups(&self) -> Vec<(String, u64)> {
        match self {
            Self::Group { days, .. } => vec![(String::new(), *days)],
            Self::Split { words, parts, .. } => {
                let of_part = |(own, part): (&String, &Self)| {
                    let groups = part.groups().into_iter();
                    let joined = groups.map(|(words, days)| match words.is_empty() {
                        true => (own.clone(), days),
                        false => (format!("{own}, {words}"), days),
                    });
                    joined.collect::<Vec<_>>()
                };
                words.iter().zip(parts.iter()).flat_map(of_part).collect()
            }
        }
    }

    /// The columns that splits ask for, each once.
    pub fn columns(&self) -> Vec<&str> {
        let Self::Split { column, parts, .. } = self else {
            return Vec::new();
        };
        let mut columns = vec![column.as_str()];
        for name in parts.iter().flat_map(Self::columns) {
            if !columns.contains(&name) {
                columns.push(name);
            }
        }
        columns
    }

    /// The numbers at which a column is split.
    pub fn limits(&self, name: &str) -> Vec<f64> {
        let Self::Split {
            column,
            first,
            parts,
            ..
        } = self
        else {
            return Vec::new();
        };
        let own = match first {
            Part::UpTo(most) if column == name => Some(*most),
            _ => None,
        };
        let below = parts.iter().flat_map(|part| part.limits(name));
        own.into_iter().chain(below).collect()
    }

    /// The group of each day of a log. A day without arrivals belongs to the group with the fewest.
    pub(super) fn of_log(&self, encoding: &Encoding, log: &LabeledLog) -> Vec<usize> {
        let count = self.groups().len();
        let episodes = log.episodes();
        let mut groups: Vec<Option<usize>> = vec![None; episodes.len()];
        let mut arrivals = vec![(0, 0); count];
        for (group, episode) in groups.iter_mut().zip(episodes) {
            if let Some(i) = episode.arrivals.clone().next() {
                let own = self.group_of(encoding, log.theta(i));
                *group = Some(own);
                arrivals[own].0 += episode.arrivals.len();
                arrivals[own].1 += 1;
            }
        }
        let mean = |group: &usize| arrivals[*group].0 * 1000 / arrivals[*group].1.max(1);
        let quietest = (0..count).min_by_key(mean).unwrap_or_default();
        let groups = groups.into_iter();
        groups.map(|group| group.unwrap_or(quietest)).collect()
    }
}

/// The law of each group of days.
pub(super) fn laws(
    log: &LabeledLog,
    horizon: usize,
    pooled_below: u64,
    group_of_day: &[usize],
    groups: usize,
) -> Vec<EmpiricalLaw> {
    let pooled_below = match groups {
        1 => pooled_below,
        _ => pooled_below.min(POOLED_IN_GROUPS),
    };
    let law =
        |group| EmpiricalLaw::of_days(log, horizon, pooled_below, |day| group_of_day[day] == group);
    (0..groups).map(law).collect()
}
