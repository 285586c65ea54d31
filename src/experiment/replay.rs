//! Every step of a finished replication, told again from the actions of its record: contexts and luck follow from the seed, so
//! a record needs nothing else.

use super::{Environment, Record, Streams, Study};
use crate::policy::Policy;
use crate::task::{Context, Task};

/// Tells the steps of records of a traced study.
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
    /// Units left before it.
    pub budget: u32,
    /// Who arrived, and what came of it; `None` where nobody did.
    pub arrival: Option<Arrival<'c>>,
}

/// An arrival.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'c> {
    /// The context.
    pub context: Context<'c>,
    /// The action; 0 is the null action.
    pub action: usize,
    /// Whether it was accepted.
    pub accepted: bool,
}

/// The actions of a record are not those of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch;

impl<'s> Replay<'s> {
    /// Of the records of a study.
    pub fn new(study: &'s Study) -> Self {
        Self {
            study,
            streams: Streams::new(study.seed),
        }
    }

    /// Hands every step to `visit`, in order; budgets are those of the episodes. Actions that cannot have been taken, or that
    /// bring other rewards than the record has, are a mismatch.
    pub fn steps<E: From<Mismatch>>(
        &self,
        budgets: &[u32],
        record: &Record,
        mut visit: impl FnMut(&Step) -> Result<(), E>,
    ) -> Result<(), E> {
        let world = &self.study.world;
        let number = record.replication as u64;
        let mut environment = Environment::new(world, &self.streams, number);
        let mut given = Given {
            task: world.task(),
            actions: record.actions.iter(),
            accepted: Vec::new(),
            fits: true,
        };
        for (episode, (&b_t, recorded)) in budgets.iter().zip(&record.episodes).enumerate() {
            given.accepted.clear();
            let outcome = environment.play(world, &mut given, b_t);
            let same = outcome.reward.to_bits() == recorded.reward.to_bits();
            if !given.fits || !same || outcome.spent != recorded.spent {
                return Err(Mismatch.into());
            }
            let outcomes = environment.actions().iter().zip(&given.accepted);
            let mut arrivals = environment.contexts().iter().zip(outcomes).peekable();
            for step in 0..world.task().horizon() {
                let arrival = arrivals.next_if(|(context, _)| context.step == step);
                visit(&Step {
                    episode,
                    step,
                    budget: environment.left()[step],
                    arrival: arrival.map(|(context, (action, accepted))| Arrival {
                        context,
                        action: *action as usize,
                        accepted: *accepted,
                    }),
                })?;
            }
        }
        match given.actions.next() {
            None => Ok(()),
            Some(_) => Err(Mismatch.into()),
        }
    }
}

/// A policy that takes given actions, as far as they can be taken, and remembers what came of them.
#[derive(Debug)]
struct Given<'a> {
    task: &'a Task,
    actions: std::slice::Iter<'a, u32>,
    accepted: Vec<bool>,
    fits: bool,
}

impl Policy for Given<'_> {
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
