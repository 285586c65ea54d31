//! A study: a world, the policies to compare on it, and how often to run them.

use std::sync::Arc;

use crate::error::Invalid;
use crate::oracle::OracleConfig;
use crate::policy::MakePolicy;
use crate::world::World;

/// What to run.
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
    /// Whether records keep every action, from which [`Replay`](super::Replay) tells every step.
    pub trace: bool,
    /// The policy that paired differences are taken to, by name; by default the clairvoyant, else the first.
    pub reference: Option<String>,
    /// The policies to compare, with distinct names.
    pub policies: Vec<NamedPolicy>,
}

/// A policy with the name it has in the results: one of this program's, or one of your own.
#[derive(Clone)]
pub struct NamedPolicy {
    /// Name in tables and files; its random stream follows from it.
    pub name: String,
    /// Makes it in each replication.
    pub maker: Arc<dyn MakePolicy>,
}

impl NamedPolicy {
    /// A policy under a name.
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
    /// Whether the study can run.
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
                "a name of its own for every policy",
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
}
