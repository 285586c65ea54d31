//! A study: a world, the policies to compare on it, and how often to run them.

use std::sync::Arc;

use crate::error::Invalid;
use crate::oracle::OracleConfig;
use crate::policy::MakePolicy;
use crate::task::OwnPart;
use crate::world::World;

/// A study to run.
#[derive(Debug, Clone)]
pub struct Study {
    /// Its name in results and plots.
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
    /// Number of rows for estimating the optimum of a continuous law.
    pub optimum_rows: usize,
    /// Whether to evaluate expected rewards of plans of any size.
    pub expected: bool,
    /// Whether records keep every action, so [`Replay`](super::Replay) can reconstruct every step.
    pub trace: bool,
    /// Name of the reference policy for paired differences; by default the clairvoyant, else the first.
    pub reference: Option<String>,
    /// The policies to compare, with distinct names.
    pub policies: Vec<NamedPolicy>,
}

/// A built-in policy, or your own, with its name in the results.
#[derive(Clone)]
pub struct NamedPolicy {
    /// Name in tables and files; it determines the policy's random stream.
    pub name: String,
    /// Makes the policy in each replication.
    pub maker: Arc<dyn MakePolicy>,
}

impl NamedPolicy {
    /// Names a policy.
    pub fn new(name: impl Into<String>, maker: impl MakePolicy + 'static) -> Self {
        Self {
            name: name.into(),
            maker: Arc::new(maker),
        }
    }
}

impl std::fmt::Debug for NamedPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "NamedPolicy({:?})", self.name)
    }
}

impl Study {
    /// Checks that the study can run.
    pub fn check(&self) -> Result<(), Invalid> {
        for (field, count) in [
            ("study.episodes", self.episodes),
            ("study.replications", self.replications),
        ] {
            if count == 0 {
                return Err(Invalid::new(field, count, "a whole number from 1"));
            }
        }
        if self.optimum_rows < 2 {
            let found = self.optimum_rows;
            let accepted = "a whole number from 2";
            return Err(Invalid::new("study.optimum_rows", found, accepted));
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            let accepted = "a number between 0 and 1";
            return Err(Invalid::new("study.delta", self.delta, accepted));
        }
        if self.expected && !self.world.task().is_finite() {
            let found = "true with a continuous context law";
            let accepted = "false, or a finite law: expected rewards are sums over its contexts";
            return Err(Invalid::new("study.expected", found, accepted));
        }
        let reach = self.world.budgets().episodes().unwrap_or(usize::MAX);
        if reach < self.episodes {
            return Err(Invalid::new(
                "budget.path",
                format!("budgets for {reach} episodes"),
                format!("budgets for {} episodes", self.episodes),
            ));
        }
        if self.policies.is_empty() {
            return Err(Invalid::new("policies", "nothing", "at least one policy"));
        }
        let names = || self.policies.iter().map(|policy| &policy.name);
        let second = (0..)
            .zip(names())
            .find(|(i, name)| names().take(*i).any(|n| n == *name));
        if let Some((i, name)) = second {
            return Err(Invalid::new(
                format!("policies[{}].name", i + 1),
                format!("a second policy called `{name}`"),
                "a different name for every policy",
            ));
        }
        if let Some(name) = self
            .reference
            .as_ref()
            .filter(|name| !names().any(|n| n == *name))
        {
            let known: Vec<&str> = names().map(String::as_str).collect();
            let accepted = format!("a policy of the study: {}", known.join(", "));
            return Err(Invalid::new(
                "study.reference",
                format!("`{name}`"),
                accepted,
            ));
        }
        Ok(())
    }

    /// The parts that are own code, each with its place in the study.
    pub fn own(&self) -> Vec<(String, OwnPart<'_>)> {
        let world = self.world.own().map(|part| (part.what.to_string(), part));
        let policies = self.policies.iter().enumerate().filter_map(|(i, policy)| {
            let part = policy.maker.own()?;
            let inner = if part.what == "oracle" { ".oracle" } else { "" };
            Some((format!("policies[{}]{inner}", i + 1), part))
        });
        world.chain(policies).collect()
    }

    /// Refuses a study with own code that this program does not have.
    pub fn check_own(&self) -> Result<(), Invalid> {
        let parts = self.own();
        parts.iter().try_for_each(|(place, part)| part.check(place))
    }

    /// The distinct oracles of the policies, named by kind, and also by policy if several have the same kind.
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
}
