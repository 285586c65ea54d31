//! Episodic contextual bandits with knapsacks under conversion models: learn how customers convert while spending a budget
//! that is refilled every episode. "The paper" is W. C. Cheung and Z. Li, *Episodic Contextual Bandits with Knapsacks under
//! Conversion Models* (2025).
//!
//! # The problem
//!
//! An episode has H steps and a budget B_t. At step h a context theta ~ Lambda_h arrives (or nobody does); the decision
//! maker picks an action a with known reward r(theta, a) and cost d(theta, a), and the customer accepts with an unknown
//! probability rho(theta, a). Only accepted actions earn and spend. If rho and Lambda are known, the best expected reward
//! solves the Bellman equation
//!
//! ```text
//! u[h](b) = E over theta of max over feasible a of  rho r + rho u[h+1](b - d) + (1 - rho) u[h+1](b),   opt_t = u[1](B_t)
//! ```
//!
//! *Mimic-Opt-DP* learns over T episodes: it reserves some episodes for contexts (s_t), uses the others for conversions
//! (d_t), turns d_t into bounds lcb <= rho <= ucb with a confidence-bound oracle, and plans with *Optimistic-DP*, the
//! same recursion with ucb on rewards, lcb on consumption and s_t in place of Lambda. Its regret, the sum of opt_t minus
//! the reward earned, grows sub-linearly in T.
//!
//! # Notation
//!
//! | here | paper | meaning |
//! | --- | --- | --- |
//! | `horizon`, `episodes` | H, T | steps in an episode, episodes |
//! | `budget`, `b_t` | b, B_t | units left, units at the start of episode t |
//! | `rho`, `ucb`, `lcb` | ρ, UCB, LCB | conversion probability and its bounds |
//! | `cost`, `cost_max` | d(θ, a), L | units an accepted action consumes |
//! | `u_hat` | Û | value-to-go table |
//! | `s_t`, `d_t`, reserved episodes | S_t, D_t, J_t | unlabeled contexts, labeled data, episodes that teach contexts |
//! | `opt_t`, fluid bound | opt_t, UB_t | best expected reward, its linear relaxation |
//!
//! Steps and episodes are 1-based in files and messages, 0-based in arrays. Action 0 is the null action.
//!
//! # What to read next
//!
//! The [`guide`] describes every command, key and file of the program.
//!
//! A [`task`] is what a decision maker knows, a [`world`] is what is true, and [`results`] are what was written. No learner
//! sees a world.
//!
//! ```text
//! config -> experiment(task, world, policies) -> records -> results -> report
//! real customers -> learner(task, oracle, dp)            log -> history -> task, world, offers
//! ```
//!
//! Start with [`policy::MimicOptDp`] (Algorithm 1), [`dp::optimistic_dp`] (Algorithm 2 word for word) and
//! [`learner::Learner`] for live use. [`oracle::Coupled`], [`oracle::beta_binomial`] and [`oracle::likelihood_mixture`] go
//! beyond the paper.
//!
//! # Which modules are stable
//!
//! [`task`], [`oracle`], [`dp`], [`fluid`], [`policy`], [`learner`], [`world`], [`experiment`], [`config`] and [`error`] are the
//! library; their changes follow semantic versioning. The other modules are internal to the program. They are public because
//! the command line and the Python package use them, and may change in any release.
//!
//! ```
//! use cbwk_gpu::dp::cpu::Dense;
//! use cbwk_gpu::experiment;
//! use cbwk_gpu::config::{Document, Study, preset};
//!
//! let text = preset("paper-auction").unwrap().text;
//! let mut document = Document::parse("paper-auction.toml".as_ref(), text)?;
//! document.set_whole("study", "replications", 2, "--replications");
//! let study = Study::from_document(&document)?;
//! let outcome = experiment::run(&study, &mut Dense, &mut ())?;
//! assert!((outcome.optimum.table.start(5) - 9.214368).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod config;
pub mod dp;
pub mod error;
pub mod experiment;
pub mod files;
pub mod fluid;
pub mod guide;
pub mod history;
pub mod learner;
pub mod oracle;
pub mod policy;
#[cfg(feature = "report")]
pub mod report;
pub mod results;
#[cfg(feature = "report")]
pub mod runs;
#[cfg(feature = "serve")]
pub mod serve;
pub mod shop;
pub mod statistics;
pub mod task;
pub mod world;
