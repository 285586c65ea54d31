//! A study: a checked description of an world, of policies, and of how often to run them; its TOML form and the
//! presets that come with the program.

mod document;
mod paper;
mod presets;
mod read;
mod section;
mod sweep;
mod task_folder;

use std::path::Path;
use std::sync::Arc;

use crate::error::{InputError, Invalid};
use crate::oracle::OracleConfig;
use crate::policy::MakePolicy;
use crate::task::{ContextRows, Task};
use crate::world::World;
use read::context_rows::FeatureNames;
use section::Section;

pub use document::Document;
pub use paper::{COMPARED, Panel};
pub use presets::{PRESETS, Preset, nearest_preset, preset};
pub use sweep::{Sweep, SweepPoint, SweepValue};
pub use task_folder::{LOG_FILE, TASK_FILE, TaskFolder};

/// The most episodes or replications a study may have.
const COUNT_LIMIT: u64 = 100_000_000;

/// A checked study, ready to run.
#[derive(Debug, Clone)]
pub struct Study {
    /// What results and pictures call it.
    pub name: String,
    /// The world.
    pub world: Arc<World>,
    /// T.
    pub episodes: usize,
    /// Independent repetitions.
    pub replications: usize,
    /// Seed of all random streams.
    pub seed: u64,
    /// Confidence parameter.
    pub delta: f64,
    /// Rows from which the optimum of a continuous law is estimated.
    pub optimum_rows: usize,
    /// Whether to evaluate expected rewards whatever the size of the plans.
    pub expected: bool,
    /// The policies to compare, with distinct names.
    pub policies: Vec<NamedPolicy>,
    /// The study file with every default filled in; it reproduces the run.
    pub resolved: toml::Table,
}

/// A policy with the name it has in the results.
#[derive(Clone)]
pub struct NamedPolicy {
    /// Name in tables and files.
    pub name: String,
    /// Makes it in each replication.
    pub maker: Arc<dyn MakePolicy>,
}

impl std::fmt::Debug for NamedPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "NamedPolicy({:?})", self.name)
    }
}

/// The settings of `[study]`.
struct Settings {
    name: String,
    horizon: usize,
    episodes: usize,
    replications: usize,
    seed: u64,
    delta: f64,
    optimum_rows: usize,
    expected: bool,
}

impl Study {
    /// The different oracles of the policies, named by kind, and by policy where kinds are not enough.
    pub fn oracles(&self) -> Vec<(String, &OracleConfig)> {
        let mut found: Vec<(&NamedPolicy, &OracleConfig)> = Vec::new();
        for policy in &self.policies {
            if let Some(oracle) = policy.maker.oracle()
                && found.iter().all(|(_, other)| *other != oracle)
            {
                found.push((policy, oracle));
            }
        }
        let alike = |kind: &str| found.iter().filter(|(_, o)| o.kind() == kind).count();
        let name = |policy: &NamedPolicy, kind: &str| match alike(kind) {
            1 => kind.to_string(),
            _ => format!("{kind} of {}", policy.name),
        };
        let named = found.iter().map(|(p, o)| (name(p, o.kind()), *o));
        named.collect()
    }

    /// Reads and checks a whole study. A sweep is left aside: [`Document::sweep`] has its points.
    pub fn from_document(document: &Document) -> Result<Self, InputError> {
        let mut root = Section::root(document);
        let settings = settings(&mut root)?;
        let mut names = FeatureNames::default();
        let spec = read::world(&mut root, settings.horizon, &mut names)?;
        let policies = read::policies(&mut root, &spec, &mut names)?;
        root.ignore("sweep");
        let resolved = root.finish()?;
        let check = || -> Result<_, Invalid> {
            let world = spec.check()?;
            let reach = world.budgets().episodes().unwrap_or(usize::MAX);
            if reach < settings.episodes {
                return Err(Invalid::new(
                    "budget.path",
                    format!("budgets for {reach} episodes"),
                    format!("budgets for {} episodes", settings.episodes),
                ));
            }
            let named = check_policies(policies, world.task())?;
            Ok((world, named))
        };
        let (world, policies) = check().map_err(|invalid| document.locate(&invalid))?;
        Ok(Self {
            name: settings.name,
            world: Arc::new(world),
            episodes: settings.episodes,
            replications: settings.replications,
            seed: settings.seed,
            delta: settings.delta,
            optimum_rows: settings.optimum_rows,
            expected: settings.expected,
            policies,
            resolved,
        })
    }
}

/// The world of a study file with the settings that an estimate of opt needs.
#[derive(Debug)]
pub struct Instance {
    /// The world.
    pub world: Arc<World>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Rows from which the optimum of a continuous law is estimated.
    pub optimum_rows: usize,
    names: FeatureNames,
}

impl Instance {
    /// Reads and checks only the world of a study file: what concerns learning is ignored.
    pub fn from_document(document: &Document) -> Result<Self, InputError> {
        let mut root = Section::root(document);
        let settings = settings(&mut root)?;
        let mut names = FeatureNames::default();
        let spec = read::world(&mut root, settings.horizon, &mut names)?;
        root.sections("policies")?;
        root.ignore("sweep");
        root.finish()?;
        let world = spec.check().map_err(|invalid| document.locate(&invalid))?;
        Ok(Self {
            world: Arc::new(world),
            seed: settings.seed,
            optimum_rows: settings.optimum_rows,
            names,
        })
    }

    /// Reads context rows from a file and checks that they can be contexts of this world.
    pub fn read_rows(&self, file: &Path) -> Result<ContextRows, InputError> {
        let horizon = self.world.task().horizon();
        let rows = read::context_rows::read(file, horizon, &mut self.names.clone())?;
        let checked = self.world.check_rows(&rows);
        checked.map_err(|invalid| InputError::File {
            file: file.to_path_buf(),
            message: invalid.to_string(),
        })?;
        Ok(rows)
    }
}

fn settings(root: &mut Section) -> Result<Settings, InputError> {
    let mut s = root.section("study")?;
    let default_name = s.document().name();
    let settings = Settings {
        name: s.text_or("name", &default_name)?,
        horizon: read::horizon(&mut s)?,
        episodes: s.whole_or("episodes", 1..=COUNT_LIMIT, 200)? as usize,
        replications: s.whole_or("replications", 1..=COUNT_LIMIT, 50)? as usize,
        seed: s.whole_or("seed", 0..=i64::MAX as u64, 1)?,
        delta: s.number_or("delta", 0.1)?,
        optimum_rows: s.whole_or("optimum_rows", 2..=COUNT_LIMIT, 20_000)? as usize,
        expected: s.flag_or("expected", false)?,
    };
    if !(settings.delta > 0.0 && settings.delta < 1.0) {
        let found = Invalid::new("study.delta", settings.delta, "a number between 0 and 1");
        return Err(s.document().locate(&found));
    }
    let resolved = s.finish()?;
    root.resolve("study", resolved);
    Ok(settings)
}

fn check_policies(
    policies: Vec<(String, crate::policy::PolicySpec)>,
    task: &Task,
) -> Result<Vec<NamedPolicy>, Invalid> {
    if policies.is_empty() {
        return Err(Invalid::new(
            "policies",
            "nothing",
            "at least one [[policies]] table",
        ));
    }
    let mut named: Vec<NamedPolicy> = Vec::new();
    for (i, (name, spec)) in policies.into_iter().enumerate() {
        let field = format!("policies[{}]", i + 1);
        if named.iter().any(|other| other.name == name) {
            return Err(Invalid::new(
                format!("{field}.name"),
                format!("a second policy called `{name}`"),
                "a name of its own for every policy",
            ));
        }
        let maker = Arc::new(spec.check(&field, task)?);
        named.push(NamedPolicy { name, maker });
    }
    Ok(named)
}
