//! The exact shortcuts against the dense solver on the same problem, and what is chosen without being told.

use std::hint::black_box;

use cbwk_gpu::dp::cpu::{Cpu, Strategy};
use cbwk_gpu::dp::{Backend, PlanRequest, Precision, Problem};
use criterion::Criterion;

use crate::Group;
use crate::problems::{ArmedBounds, Size, coefficients, problem};

pub fn run(c: &mut Criterion, lines: &mut Vec<String>) {
    let mut group = Group::new(c, "structured");
    for contexts in [50, 1000, 20_000, 1_000_000] {
        auction(&mut group, contexts, lines);
    }
    for (budget, contexts) in [(5, 100), (20, 2000), (100, 2000)] {
        shared(&mut group, budget, contexts, lines);
    }
}

fn size(horizon: usize, budget: u32, contexts: usize, actions: usize) -> Size {
    Size {
        horizon,
        budget,
        contexts,
        actions,
    }
}

/// 20 bids; plans as a learner asks for them, bounds included.
fn auction(group: &mut Group, contexts: usize, lines: &mut Vec<String>) {
    let size = size(4, 40, contexts, 20);
    let instance = size.auction();
    let sample = instance.law_sample(false).expect("a finite law");
    let source = ArmedBounds::new(20);
    let request = PlanRequest {
        sample: &sample,
        source: &source,
        budget_max: instance.task().budget_max(),
        reward_max: instance.task().reward_max(),
    };
    let strategy = Strategy::AuctionEnvelope;
    compare(group, "auction", &size, strategy, lines, &mut |cpu| {
        black_box(cpu.plan(&[request]).expect("planned"));
    });
}

/// A finite law that serves all steps, as many as budgets.
fn shared(group: &mut Group, budget: u32, contexts: usize, lines: &mut Vec<String>) {
    let size = size(budget as usize, budget, contexts, 8);
    let instance = size.pricing();
    let sample = instance.law_sample(false).expect("a finite law");
    let coefficients = coefficients(&sample);
    let problem: Problem = problem(&instance, &sample, &coefficients);
    let strategy = Strategy::SharedEnvelope;
    compare(group, "shared", &size, strategy, lines, &mut |cpu| {
        black_box(cpu.solve(&[problem]).expect("solved"));
    });
}

fn compare(
    group: &mut Group,
    name: &str,
    size: &Size,
    strategy: Strategy,
    lines: &mut Vec<String>,
    solve: &mut (dyn FnMut(&mut Cpu) + Send),
) {
    let mut times = Vec::new();
    let mut chosen = String::new();
    for forced in [Some(Strategy::Dense), Some(strategy), None] {
        let mut cpu = Cpu::new(forced, Precision::F64);
        let way = forced.map_or("auto", Strategy::name);
        times.extend(group.best(&format!("{name}-{}/{way}", size.id()), 1, || {
            solve(&mut cpu);
        }));
        chosen = cpu.used().keys().map(|s| s.name()).collect();
    }
    if let [dense, shortcut, auto] = times[..] {
        lines.push(format!(
            "{name} {}: dense {:.3} ms, {strategy} {:.1}x; auto takes {chosen}, {:.2} of dense's time",
            size.id(),
            1e3 * dense,
            dense / shortcut,
            auto / dense,
        ));
    }
}
