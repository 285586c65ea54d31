//! An oracle of your own beside ours, in one study. Here: frequencies with Wilson intervals, per action.
//! Run with `cargo run --release --example own_oracle`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::experiment::{self, NamedPolicy, Study};
use cbwk_gpu::oracle::{Bounds, LabeledData, Oracle, OracleSpec};
use cbwk_gpu::policy::{InitialRows, LearnerSpec, Policy, PolicySetting, PolicySpec, Start};
use cbwk_gpu::task::{ApplicationSpec, Context};
use cbwk_gpu::world::{BudgetSpec, ContextsSpec, ConversionSpec, LawSpec, WorldSpec};

/// Acceptances and offers of each action.
#[derive(Debug, Default)]
struct Wilson {
    counts: Vec<(f64, f64)>,
    z: f64,
}

impl Oracle for Wilson {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        self.counts.clear();
        for seen in data.since(0) {
            self.counts
                .resize(self.counts.len().max(seen.action), (0.0, 0.0));
            let (accepted, offers) = &mut self.counts[seen.action - 1];
            *accepted += f64::from(u8::from(seen.converted));
            *offers += 1.0;
        }
        self.z = (2.0 * (1.0 / delta).ln()).sqrt();
    }

    fn bounds(&self, _context: &Context, out: &mut [Bounds]) {
        for (bounds, &(s, n)) in out.iter_mut().zip(&self.counts).filter(|(_, c)| c.1 > 0.0) {
            let (p, z) = (s / n, self.z);
            let center = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
            let radius = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
            *bounds = Bounds::around(center, radius);
        }
        let unseen = |a: usize| self.counts.get(a).is_none_or(|c| c.1 == 0.0);
        let unknown = out.iter_mut().enumerate().filter(|(a, _)| unseen(*a));
        unknown.for_each(|(_, bounds)| *bounds = Bounds::UNKNOWN);
    }

    fn estimate(&self, _context: &Context, out: &mut [f64]) {
        out.fill(0.5);
        for (estimate, (s, n)) in out.iter_mut().zip(&self.counts).filter(|(_, c)| c.1 > 0.0) {
            *estimate = s / n;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let world = Arc::new(world().check()?);
    let ours = PolicySpec::Learner {
        settings: LearnerSpec::PAPER,
        initial: InitialRows::Drawn(0),
        log: None,
        oracle: OracleSpec::Armed { radius_scale: 1.0 },
    };
    let settings = LearnerSpec::PAPER.check("own", Wilson::default().facts(), 0)?;
    let own = move |setting: &PolicySetting, start: Start| -> Box<dyn Policy> {
        let (task, oracle) = (Arc::clone(&setting.task), Box::new(Wilson::default()));
        Box::new(settings.learner(task, oracle, setting.delta, start.choices))
    };
    let study = Study {
        name: "own oracle".into(),
        policies: vec![
            NamedPolicy::new("armed", ours.check("ours", world.task())?),
            NamedPolicy::new("wilson", own),
        ],
        world,
        episodes: 200,
        replications: 20,
        seed: 1,
        delta: 0.1,
        optimum_rows: 1000,
        expected: false,
        trace: false,
        reference: None,
    };
    let outcome = experiment::run(&study, &mut Cpu::default(), &mut ())?;
    for policy in &outcome.policies {
        let last = policy.regret.cumulative.last().expect("there are episodes");
        let (mean, error) = (last.mean, last.standard_error);
        println!("{:<8} regret {mean:.1} (s.e. {error:.1})", policy.name);
    }
    Ok(())
}

/// The paper's auction: values 1 to 5, bids 1 to 4.
fn world() -> WorldSpec {
    WorldSpec {
        horizon: 24,
        budget: BudgetSpec::Constant { value: 5 },
        application: ApplicationSpec::Auction {
            bids: vec![1, 2, 3, 4],
        },
        reward_max: None,
        contexts: ContextsSpec {
            law: LawSpec::Finite {
                values: (1..=5).map(|theta| vec![f64::from(theta)]).collect(),
                weights: None,
            },
            no_arrival: vec![],
            types: None,
            features: None,
        },
        conversion: ConversionSpec::Armed {
            probabilities: vec![0.2, 0.4, 0.6, 0.8],
        },
    }
}
