//! Reconstructs every step of a finished replication from the actions in its record. Contexts and acceptance uniforms follow
//! from the seed.

use super::{Environment, Record, Streams, Study};
use crate::policy::Policy;
use crate::task::{Context, Task};

/// Reconstructs the steps of a traced study's records.
#[derive(Debug)]
pub struct Replay<'s> {
    study: &'s Study,
    streams: Streams,
}

/// One step of an episode.
#[derive(Debug, Clone, Copy)]
pub struct Step<'c> {
    /// Episode, 0-based.
    pub episode: usize,
    /// Step, 0-based.
    pub step: usize,
    /// Units left before the step.
    pub budget: u32,
    /// The arrival, its action and outcome; `None` if nobody arrived.
    pub arrival: Option<TracedArrival<'c>>,
}

/// An arrival with its action and outcome.
#[derive(Debug, Clone, Copy)]
pub struct TracedArrival<'c> {
    /// The context.
    pub context: Context<'c>,
    /// The action; 0 is the null action.
    pub action: usize,
    /// Whether the offer was accepted.
    pub accepted: bool,
}

/// The actions of a record do not fit the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch;

impl<'s> Replay<'s> {
    /// A replay of the study's records.
    pub fn new(study: &'s Study) -> Self {
        Self {
            study,
            streams: Streams::new(study.seed),
        }
    }

    /// Calls `visit` with every step in order; `budgets` are those of the episodes. Returns a mismatch if an action is
    /// infeasible or rewards differ from the record.
    pub fn steps<E: From<Mismatch>>(
        &self,
        budgets: &[u32],
        record: &Record,
        mut visit: impl FnMut(&Step) -> Result<(), E>,
    ) -> Result<(), E> {
        let world = &self.study.world;
        let number = record.replication as u64;
        let mut environment = Environment::new(world, &self.streams, number);
        let mut scripted = Scripted {
            task: world.task(),
            actions: record.actions.iter(),
            accepted: Vec::new(),
            fits: true,
        };
        for (episode, (&b_t, recorded)) in budgets.iter().zip(&record.episodes).enumerate() {
            scripted.accepted.clear();
            let outcome = environment.play(world, &mut scripted, b_t);
            let same = outcome.reward.to_bits() == recorded.reward.to_bits();
            if !scripted.fits || !same || outcome.spent != recorded.spent {
                return Err(Mismatch.into());
            }
            let outcomes = environment.actions().iter().zip(&scripted.accepted);
            let mut arrivals = environment.contexts().iter().zip(outcomes).peekable();
            for step in 0..world.task().horizon() {
                let arrival = arrivals.next_if(|(context, _)| context.step == step);
                visit(&Step {
                    episode,
                    step,
                    budget: environment.left()[step],
                    arrival: arrival.map(|(context, (action, accepted))| TracedArrival {
                        context,
                        action: *action as usize,
                        accepted: *accepted,
                    }),
                })?;
            }
        }
        match scripted.actions.next() {
            None => Ok(()),
            Some(_) => Err(Mismatch.into()),
        }
    }
}

/// A policy that replays recorded actions and remembers their outcomes; plays the null action if one does not fit.
#[derive(Debug)]
struct Scripted<'a> {
    task: &'a Task,
    actions: std::slice::Iter<'a, u32>,
    accepted: Vec<bool>,
    fits: bool,
}

impl Policy for Scripted<'_> {
    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let action = self.actions.next().map(|action| *action as usize);
        let possible = |action: &usize| {
            *action == 0
                || *action <= self.task.actions() && self.task.feasible(context, *action, budget)
        };
        let action = action.filter(possible);
        self.fits &= action.is_some();
        action.unwrap_or(0)
    }

    fn observe(&mut self, _context: &Context, _action: usize, converted: bool) {
        self.accepted.push(converted);
    }
}
