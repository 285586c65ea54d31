//! Algorithm 1 for one real decision maker. A [`Learner`] knows a [`crate::task::Task`] and its own observations, no world.
//!
//! ```
//! use cbwk_gpu::dp::cpu::Cpu;
//! use cbwk_gpu::learner::{Learner, LearnerSettings};
//! use cbwk_gpu::oracle::Armed;
//! use cbwk_gpu::task::{ApplicationSpec, TaskSpec};
//!
//! // Three units a day, at most ten customers, two prices, one feature per customer.
//! let prices = vec![1.0, 2.0];
//! let task = TaskSpec::new(10, 3, ApplicationSpec::Pricing { prices }, 1).check()?;
//! let oracle = Box::new(Armed::stationary(task.actions(), 1.0));
//! let mut shop = Learner::new(task, oracle, LearnerSettings::default(), Box::new(Cpu::default()))?;
//! shop.begin(3)?;
//! let offer = shop.decide(1, &[0.4])?;
//! assert_eq!(offer.value, Some(2.0)); // Nothing is known yet: an optimist asks for the most.
//! shop.observe(true)?;
//! assert_eq!(shop.budget(), Some(2));
//! let day = shop.end()?;
//! assert_eq!((day.reward, day.spent), (2.0, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod books;
mod error;
pub(crate) mod journal;
#[allow(
    clippy::module_inception,
    reason = "the file of the struct that names the room"
)]
mod learner;
pub mod live;
mod offer;
mod state;
mod teach;

pub use books::OutsideSale;
pub use error::LearnerError;
pub use learner::{Learner, LearnerSettings};
pub use offer::{Day, Labeled, Offer, Settled};
pub use state::LearnerState;
