//! A shop of your own: the learner asks for prices, your environment answers. Here the environment is a toy; yours is a
//! web site, a till, an ad exchange. Run with `cargo run --release --example live`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::learner::{Learner, LearnerSettings};
use cbwk_gpu::oracle::Armed;
use cbwk_gpu::task::{ApplicationSpec, TaskSpec};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Ten units a day, 40 customers a day, four prices. One feature: whether the customer is a regular.
    let prices = vec![1.0, 2.0, 3.0, 4.0];
    let task = TaskSpec::new(40, 10, ApplicationSpec::Pricing { prices }, 1).check()?;
    let oracle = Box::new(Armed::stationary(task.actions(), 1.0));
    let settings = LearnerSettings::default();
    let mut shop = Learner::new(task, oracle, settings, Box::new(Cpu::default()))?;

    let mut luck = ChaCha8Rng::seed_from_u64(1);
    for day in 1..=300 {
        shop.begin(10)?;
        for hour in 1..=40 {
            let regular = f64::from(u8::from(luck.random_bool(0.3)));
            let offer = shop.decide(hour, &[regular])?;
            if let Some(price) = offer.value {
                let accepted = luck.random_bool(0.6 / price);
                shop.observe(accepted)?;
            }
        }
        let earned = shop.end()?;
        if day % 50 == 0 {
            println!("day {day}: earned {}, sold {}", earned.reward, earned.spent);
        }
    }
    Ok(())
}
