//! A policy of your own beside ours, on common random numbers. Here: a bid that rises while the budget lasts longer than
//! the episode. Run with `cargo run --release --example own_policy`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use cbwk_gpu::config::{Document, Study, preset};
use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::experiment::{self, NamedPolicy};
use cbwk_gpu::policy::{Policy, PolicySetting, Start};
use cbwk_gpu::task::{Context, Task};

/// Offers the dearest action that the budget per remaining step allows.
#[derive(Debug)]
struct Pacing {
    task: Arc<Task>,
}

impl Policy for Pacing {
    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let left = (self.task.horizon() - context.step) as f64;
        let rate = 3.0 * f64::from(budget) / left;
        let affordable = |a: &usize| {
            self.task.feasible(context, *a, budget)
                && f64::from(self.task.cost(context, *a)) <= rate.max(1.0)
        };
        let mut dearest_first = (1..=self.task.actions()).rev();
        dearest_first.find(affordable).unwrap_or(0)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = preset("paper-auction").expect("a preset").text;
    let mut document = Document::parse("paper-auction.toml".as_ref(), text)?;
    let compared = ["tight-opt-dp", "myopic", "clairvoyant"].map(String::from);
    document.choose_policies(&compared, "--policy");
    let mut study = Study::from_document(&document)?;
    study.policies.push(NamedPolicy::new(
        "pacing",
        |setting: &PolicySetting, _: Start| -> Box<dyn Policy> {
            let task = Arc::clone(&setting.task);
            Box::new(Pacing { task })
        },
    ));
    let outcome = experiment::run(&study, &mut Cpu::default(), &mut ())?;
    for policy in &outcome.policies {
        println!(
            "{:<14} {:.1}% of opt",
            policy.name,
            100.0 * policy.regret.share_of_opt
        );
    }
    Ok(())
}
