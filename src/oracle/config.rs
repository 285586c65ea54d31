//! Oracles whose parameters are checked: built once per replication, and asked for their properties before that. What
//! differs by kind is in the oracles' own files.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::{BoundFacts, Oracle, OracleSpec, Sides, Truth, posterior};
use crate::error::{Invalid, shown};
use crate::task::{Kernel, KernelSpec, OwnPart, Task};

/// What the parameters of an oracle say of it, whatever the task.
#[derive(Default)]
pub(super) struct Profile {
    /// Its kind, as study files name it.
    pub kind: &'static str,
    /// Where its bounds come from, as study files name it.
    pub bounds: &'static str,
    /// What its bounds are like.
    pub facts: BoundFacts,
    /// Whether [`Oracle::draw`] draws.
    pub posterior: bool,
    /// The same kind with tight bounds that hold at all times, if it has others.
    pub tight: Option<OracleSpec>,
    /// Parameters that must be positive: name, value if set, and a limit that it must exceed.
    pub numbers: Vec<(&'static str, Option<f64>, f64)>,
}

/// The parameters of an oracle.
pub(super) trait Parameters {
    /// What they say of it.
    fn profile(&self) -> Profile;

    /// The oracle without data.
    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid>;

    /// What its bounds for a task are like.
    fn facts(&self, _task: &Task) -> BoundFacts {
        self.profile().facts
    }

    /// The kernel of phi, if it has one.
    fn kernel(&self) -> Option<&KernelSpec> {
        None
    }

    /// Further checks; `field` is the oracle's place in the study.
    fn check(&self, _field: &str, _task: &Task) -> Result<(), Invalid> {
        Ok(())
    }

    /// See [`OracleConfig::derived`].
    fn derived(&self, _task: &Task, _episodes: usize) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Whether it stores each observation.
    fn stores_data(&self) -> bool {
        true
    }
}

/// What an oracle is built from besides its parameters.
pub(super) struct Build<'a> {
    pub task: &'a Task,
    pub episodes: usize,
    pub start: ChaCha8Rng,
    pub truth: Option<&'a Arc<dyn Truth>>,
    pub sides: Sides,
    /// The checked kernel, if the oracle has one.
    pub kernel: Option<Kernel>,
}

/// Parameters beyond this, or below its inverse, would switch learning off or lose all digits.
const PARAMETER_LIMIT: f64 = 1e12;

/// Parameters that replace a value of the theory.
const OVERRIDES: [&str; 3] = ["gamma", "kappa", "beta"];

/// A checked oracle, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub struct OracleConfig {
    spec: OracleSpec,
    facts: BoundFacts,
    kernel: Option<Kernel>,
}

impl OracleConfig {
    pub(super) fn check(spec: OracleSpec, field: &str, task: &Task) -> Result<Self, Invalid> {
        for (name, value, above) in spec.parameters().profile().numbers {
            let fits = |x: f64| x > above && (1.0 / PARAMETER_LIMIT..=PARAMETER_LIMIT).contains(&x);
            let Some(wrong) = value.filter(|x| !fits(*x)) else {
                continue;
            };
            let accepted = match above {
                0.0 => "a positive number".to_string(),
                _ => format!("a number above {above}"),
            };
            let accepted =
                format!("{accepted}, of a size up to {PARAMETER_LIMIT:e} and not below 1e-12");
            let field = format!("{field}.{name}");
            return Err(Invalid::new(field, shown(wrong), accepted));
        }
        spec.parameters().check(field, task)?;
        let kernel = spec.parameters().kernel().map(|kernel| {
            let field = format!("{field}.kernel");
            kernel.check(&field, task.phi_dimension())
        });
        let facts = spec.parameters().facts(task);
        Ok(Self {
            kernel: kernel.transpose()?,
            facts,
            spec,
        })
    }

    /// An oracle without data for a study of `episodes` episodes; `start` draws its initial state. `known` needs the truth
    /// and is refused without it. With [`Sides::Upper`] only upper bounds need to hold.
    pub fn build(
        &self,
        task: &Task,
        episodes: usize,
        start: ChaCha8Rng,
        truth: Option<&Arc<dyn Truth>>,
        sides: Sides,
    ) -> Result<Box<dyn Oracle>, Invalid> {
        self.spec.parameters().build(Build {
            task,
            episodes,
            start,
            truth,
            sides,
            kernel: self.kernel.clone(),
        })
    }

    /// Its kind, as study files name it.
    pub fn kind(&self) -> &'static str {
        self.spec.parameters().profile().kind
    }

    /// Where its bounds come from, as study files name it.
    pub fn bounds(&self) -> &'static str {
        self.spec.parameters().profile().bounds
    }

    /// Parameters that are not set and follow from the study, with their values.
    pub fn derived(&self, task: &Task, episodes: usize) -> Vec<(&'static str, f64)> {
        self.spec.parameters().derived(task, episodes)
    }

    /// The same kind of oracle with tight bounds that hold at all times, if there are any and it has others.
    pub fn tight(&self, task: &Task) -> Option<OracleConfig> {
        let spec = self.spec.parameters().profile().tight?;
        spec.check("oracle", task).ok()
    }

    /// Parameters of the radius that were set by hand, so that bounds are not those of the theory.
    pub fn set_by_hand(&self) -> Vec<&'static str> {
        let by_hand = |name: &str, value: f64| match name {
            "radius_scale" => value < 1.0,
            _ => OVERRIDES.contains(&name),
        };
        let numbers = self.spec.parameters().profile().numbers.into_iter();
        let set = numbers.filter(|(name, value, _)| value.is_some_and(|x| by_hand(name, x)));
        set.map(|(name, ..)| name).collect()
    }

    /// What its bounds are like.
    pub fn facts(&self) -> BoundFacts {
        self.facts
    }

    /// The own code that it is, if it is any.
    pub fn own(&self) -> Option<OwnPart<'_>> {
        self.spec.own()
    }

    /// Whether [`Oracle::draw`] draws.
    pub fn has_posterior(&self) -> bool {
        self.spec.parameters().profile().posterior
    }

    /// Refuses an oracle without a posterior; `field` is its place in the study.
    pub(crate) fn check_posterior(&self, field: &str) -> Result<(), Invalid> {
        if self.has_posterior() {
            return Ok(());
        }
        let accepted =
            "an oracle with a posterior to draw from: armed, armed-by-step, tabular or logistic";
        Err(Invalid::new(format!("{field}.kind"), self.kind(), accepted))
    }

    /// About the bytes it holds after so many observations, with so many contexts watched.
    pub fn bytes(&self, task: &Task, observations: usize, watched: usize) -> usize {
        if self.kernel.is_some() {
            return posterior::bytes(task, observations, watched);
        }
        // phi and the label of each observation, and two numbers during a fit.
        let per_observation = match self.spec.parameters().stores_data() {
            true => 8 * (task.dimension() + 4),
            false => 0,
        };
        observations.saturating_mul(per_observation)
    }
}
