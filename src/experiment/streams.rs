//! Named random streams: ChaCha8 keyed by (seed, replication, purpose), never by thread.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// The purpose of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose<'n> {
    /// Contexts of the episodes; shared by the policies of a replication.
    Contexts,
    /// Acceptance uniforms; shared by the policies of a replication.
    Acceptance,
    /// Starting budgets; one sequence per study.
    Budgets,
    /// Unlabeled rows at the start; shared by the policies of a replication.
    InitialRows,
    /// Rows for estimating the optimum of a continuous law; one sample per study.
    Optimum,
    /// Initialisation of oracles; shared by the policies of a replication.
    Oracle,
    /// Contexts for averaging the offers of large or continuous laws; one sample per study.
    Offers,
    /// Random offers of a logging policy.
    LoggedOffers,
    /// A policy's own randomness, by its name, so it does not depend on the other policies of the study.
    Policy(&'n str),
}

/// The independent random-number streams of one study.
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
            Purpose::LoggedOffers => (6, 0),
            Purpose::Oracle => (7, 0),
            Purpose::Offers => (8, 0),
            Purpose::Policy(name) => (9, number_of(name)),
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

/// The first 64 bits of a name's SHA-256.
fn number_of(name: &str) -> u64 {
    let digest = Sha256::digest(name);
    u64::from_le_bytes(std::array::from_fn(|i| digest[i]))
}
