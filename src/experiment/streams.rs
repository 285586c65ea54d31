//! Random streams by name: ChaCha8 keyed by (seed, replication, purpose), never by thread.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// What a stream is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Contexts of the episodes; all policies of a replication meet the same.
    Contexts,
    /// Acceptance uniforms; shared likewise.
    Acceptance,
    /// Starting budgets; one sequence per study.
    Budgets,
    /// Unlabeled rows at the start; shared by the policies of a replication.
    InitialRows,
    /// Rows from which the optimum of a continuous law is estimated; one sample per study.
    Optimum,
    /// What oracles start from; shared by the policies of a replication.
    Oracle,
    /// Contexts on which the offers of large or continuous laws are averaged; one sample per study.
    Offers,
    /// A policy's own randomness, by its place in the study.
    Policy(u64),
}

/// The streams of one study.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// All streams of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream of a replication (0-based) for a purpose.
    pub fn of(&self, replication: u64, purpose: Purpose) -> ChaCha8Rng {
        let (tag, number) = match purpose {
            Purpose::Contexts => (1, 0),
            Purpose::Acceptance => (2, 0),
            Purpose::Budgets => (3, 0),
            Purpose::InitialRows => (4, 0),
            Purpose::Optimum => (5, 0),
            Purpose::Policy(number) => (6, number),
            Purpose::Oracle => (7, 0),
            Purpose::Offers => (8, 0),
        };
        let mut key = [0; 32];
        for (bytes, word) in key
            .chunks_exact_mut(8)
            .zip([self.seed, replication, tag, number])
        {
            bytes.copy_from_slice(&u64::to_le_bytes(word));
        }
        ChaCha8Rng::from_seed(key)
    }

    /// The stream of the whole study for a purpose.
    pub fn of_study(&self, purpose: Purpose) -> ChaCha8Rng {
        self.of(0, purpose)
    }
}
