//! The ways to solve a problem on the CPU, by name, and what each asks of the problem.

use std::fmt;

use crate::dp::{BackendError, ContextSample};

/// A way to solve Optimistic-DP. All give the same values to rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strategy {
    /// Every (step, budget, context, action); serves every problem.
    Dense,
    /// Auctions whose bounds do not depend on the context: envelopes in theta.
    AuctionEnvelope,
    /// Unit cost: envelopes in the gap, context by context.
    GapEnvelope,
    /// Unit cost and contexts that serve several steps: one envelope in the gap for all of them.
    SharedEnvelope,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 4] = [
        Self::Dense,
        Self::AuctionEnvelope,
        Self::GapEnvelope,
        Self::SharedEnvelope,
    ];

    /// Its name for users and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::AuctionEnvelope => "auction-envelope",
            Self::GapEnvelope => "gap-envelope",
            Self::SharedEnvelope => "shared-envelope",
        }
    }

    /// What a problem must have.
    pub fn needs(self) -> &'static str {
        match self {
            Self::Dense => "nothing",
            Self::AuctionEnvelope => "an auction whose bounds do not depend on the context",
            Self::GapEnvelope => "actions that all cost 1",
            Self::SharedEnvelope => {
                "actions that all cost 1 and a list of contexts that serves several steps (a finite law, not rows)"
            }
        }
    }

    /// The error of a problem that has not what the strategy needs.
    pub fn refused(self) -> BackendError {
        BackendError::Structure {
            strategy: self.name(),
            needs: self.needs(),
        }
    }

    /// Whether a sample of contexts allows it. [`Strategy::AuctionEnvelope`] asks something of the bounds as well.
    pub fn suits(self, sample: &ContextSample) -> bool {
        match self {
            Self::Dense => true,
            Self::AuctionEnvelope => sample.bids().is_some(),
            Self::GapEnvelope => sample.has_unit_cost(),
            Self::SharedEnvelope => sample.has_unit_cost() && sample.lists() < sample.horizon(),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
