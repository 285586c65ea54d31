//! Plans in the background, and holds that expire.

use std::sync::Arc;
use std::sync::mpsc::{TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use super::record::{PlanRecord, ReleaseRecord};
use super::threads::{Threads, Work};
use super::{Live, Request};
use crate::learner::{Learner, LearnerError};

/// A learner that has planned, and how long that took.
pub type Planned = (Learner, Result<(), LearnerError>, Duration);

/// Where work is done beside the answers, and who is told when it is done.
pub type Background = (Threads, Arc<dyn Fn() + Send + Sync>);

/// Tells on drop, so also after a panic.
struct Tell(Arc<dyn Fn() + Send + Sync>);

impl Drop for Tell {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl Live {
    /// From now on plans are made by these threads; `wake` is called after each.
    pub(super) fn serve_with(&mut self, plans: Threads, wake: Arc<dyn Fn() + Send + Sync>) {
        self.background = Some((plans, wake));
    }

    /// Does work in the background; at once if there is none.
    pub(super) fn in_background(&self, work: Work) {
        match &self.background {
            None => work(),
            Some((threads, wake)) => {
                let tell = Tell(Arc::clone(wake));
                threads.run(Box::new(move || {
                    let _tell = tell;
                    work();
                }));
            }
        }
    }

    pub(super) fn start_planning(&mut self) {
        let Some(mut learner) = self.learner.take() else {
            return;
        };
        let (sender, receiver) = sync_channel(1);
        self.planner = Some(receiver);
        let fresh = Arc::clone(&self.fresh);
        self.in_background(Box::new(move || {
            let start = Instant::now();
            if learner.is_amended() {
                // The oracle has learnt from what is corrected now.
                let made = fresh().and_then(|fresh| learner.amended(fresh));
                learner = made.expect("the same learner was made before");
            }
            let planned = learner.replan();
            // While nobody waits: the next `begin` answers with it.
            learner.expected(0);
            let _ = sender.send((learner, planned, start.elapsed()));
        }));
    }

    /// Whether a plan is being made.
    pub fn is_planning(&self) -> bool {
        self.planner.is_some()
    }

    /// Whether a request can only be answered once a plan is made.
    pub(super) fn must_wait(&self, request: &Request) -> bool {
        match request {
            Request::Begin(begin) => {
                self.is_planning() && self.book.episode(&begin.episode).is_none()
            }
            // They change data that the plan is being made from.
            Request::Cancel(_) | Request::Correct(_) | Request::Forget(_) => self.is_planning(),
            _ => false,
        }
    }

    /// Takes the learner back if its plan is ready, and releases units whose hold has expired.
    pub fn poll(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        self.release_due();
        if let Some(planner) = &self.planner {
            match planner.try_recv() {
                Ok(back) => self.take_back(back),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => panic!("the plan could not be made"),
            }
        }
    }

    /// The learner, once its plan is made.
    pub(super) fn wait_for_planner(&mut self) -> &mut Learner {
        if let Some(planner) = &self.planner {
            let back = planner.recv().expect("the plan could not be made");
            self.take_back(back);
        }
        self.learner.as_mut().expect("the planner returned it")
    }

    fn take_back(&mut self, (mut learner, planned, time): Planned) {
        self.planner = None;
        self.planned = Some((self.now_ms, time));
        let fit = learner.policy().last_fit();
        let pending = std::mem::take(&mut self.pending_outcomes);
        for (id, offer, accepted) in &pending {
            let observed = learner.observe_offer(*offer, *accepted);
            debug_assert!(observed.is_ok(), "each outcome is observed once");
            if let (Ok(settled), Some(decision)) =
                (observed, self.book.decisions.get_mut(id.as_str()))
            {
                decision.row = settled.row;
            }
        }
        self.learner = Some(learner);
        pending.iter().for_each(|(id, ..)| self.forget_late(id));
        // A plan that failed is tried again after the next episode; until then the old one stays.
        if planned.is_ok() {
            self.book.plans += 1;
            self.book.due = false;
            let plan = self.book.plans;
            self.write("plan", &PlanRecord { plan, fit });
        }
        self.snapshot_if_due();
    }

    /// When the next hold expires, in milliseconds since 1970.
    pub(super) fn next_hold(&self) -> Option<u64> {
        self.book.holds.first().map(|(until, _)| *until)
    }

    /// After a start: if the machine's clock was set back in the meantime, no hold lasts longer than it was given.
    pub(super) fn limit_holds(&mut self) {
        self.now_ms = super::engine::now_ms();
        if let Some(ms) = self.settings.hold_ms {
            let latest = self.now_ms + ms;
            let holds = std::mem::take(&mut self.book.holds).into_iter();
            self.book.holds = holds.map(|(until, id)| (until.min(latest), id)).collect();
        }
    }

    pub(super) fn release_due(&mut self) {
        while let Some((until, id)) = self.book.holds.first().cloned() {
            if until > self.now_ms {
                return;
            }
            self.book.holds.pop_first();
            let offer = self.book.decisions.get(&id).map_or(0, |d| d.offer);
            let learner = self.learner.as_mut().filter(|l| l.waits(offer));
            if learner.is_some_and(|learner| learner.release(offer).is_ok()) {
                self.write("release", &ReleaseRecord { id: id.into() });
            }
        }
    }
}
