//! Data that break careless numerics: for every oracle, bounds stay bounds.

mod common;

use std::sync::Arc;

use cbwk_gpu::dp::Link;
use cbwk_gpu::oracle::{
    Bounds, GlmParameters, GpParameters, KernelParameters, LabeledData, LogisticParameters,
    NeuralParameters, OracleSpec,
};
use cbwk_gpu::task::{ApplicationSpec, Context, KernelSpec};
use cbwk_gpu::world::{BudgetSpec, ContextsSpec, ConversionSpec, LawSpec, World, WorldSpec};

/// Prices 1 to 4; contexts of every size that occurs below.
fn instance() -> Arc<World> {
    let values = [[0.0, 0.0], [1.0, 1.0], [1e3, -1e3], [1e-8, 0.0]];
    let spec = WorldSpec {
        horizon: 2,
        budget: BudgetSpec::Constant { value: 1 },
        application: ApplicationSpec::Pricing {
            prices: vec![1.0, 2.0, 3.0, 4.0],
        },
        reward_max: None,
        contexts: ContextsSpec {
            law: LawSpec::Finite {
                values: values.iter().map(|v| v.to_vec()).collect(),
                weights: None,
            },
            no_arrival: vec![],
            types: None,
            features: None,
        },
        conversion: ConversionSpec::Armed {
            probabilities: vec![0.5; 4],
        },
    };
    Arc::new(spec.check().unwrap())
}

/// Every oracle, with its defaults and with radii and ridges that are far too small. The last entry says whether
/// 100,000 observations are within its reach.
fn oracles() -> Vec<(OracleSpec, bool)> {
    let kernel = |nu| KernelSpec {
        nu,
        length: vec![0.5],
    };
    let glm = |link, lambda| {
        OracleSpec::Glm(GlmParameters {
            link,
            lambda,
            gamma: Some(0.5),
            kappa: None,
            radius_scale: 1.0,
        })
    };
    let logistic = |lambda| {
        OracleSpec::Logistic(LogisticParameters {
            lambda,
            gamma: Some(0.5),
            ..LogisticParameters::default()
        })
    };
    let gp = |nu, lambda| {
        OracleSpec::Gp(GpParameters {
            kernel: kernel(nu),
            lambda,
            beta: None,
            radius_scale: 0.1,
        })
    };
    let neural = |full, lambda| {
        OracleSpec::Neural(NeuralParameters {
            full,
            lambda,
            steps: 30,
            width: 8,
            ..NeuralParameters::default()
        })
    };
    vec![
        (OracleSpec::Armed { radius_scale: 1.0 }, true),
        (OracleSpec::ArmedByStep { radius_scale: 1e-9 }, true),
        (glm(Link::Linear, None), true),
        (glm(Link::Linear, Some(1e-12)), true),
        (glm(Link::Logistic, Some(1e-12)), true),
        (logistic(1.0), true),
        (logistic(1e-12), true),
        (
            OracleSpec::Kernel(KernelParameters {
                kernel: kernel(None),
                lambda: None,
                norm_bound: 1.0,
                beta: None,
                radius_scale: 1.0,
            }),
            false,
        ),
        (gp(Some(2.5), 0.25), false),
        (gp(Some(1.7), 2e-9), false),
        (neural(true, 0.1), true),
        (neural(false, 1e-12), true),
    ]
}

type Draw = fn(usize) -> ([f64; 2], usize, bool);

const SETS: [(&str, usize, Draw); 9] = [
    ("one observation", 1, |_| ([0.5, 0.5], 1, true)),
    ("separable", 300, |n| {
        ([(n % 7) as f64, 0.0], 1 + n % 4, n % 7 > 3)
    }),
    ("all yes", 300, |n| {
        ([(n % 5) as f64 / 5.0, 1.0], 1 + n % 4, true)
    }),
    ("all no", 300, |n| {
        ([(n % 5) as f64 / 5.0, 1.0], 1 + n % 4, false)
    }),
    ("tiny features", 300, |n| {
        ([1e-8 * (n % 3) as f64, 1e-8], 1, n % 2 == 0)
    }),
    ("large features", 300, |n| {
        ([1e3 * (n % 3) as f64, -1e3], 1 + n % 4, n % 3 == 0)
    }),
    ("one input, both answers", 300, |n| {
        ([0.5, 0.5], 2, n % 2 == 0)
    }),
    ("collinear features", 300, |n| {
        let x = 1e3 * (n % 9) as f64;
        ([x, -x], 1, n % 2 == 0)
    }),
    ("many observations", 100_000, |n| {
        let x = (n % 97) as f64 / 97.0;
        ([x, 1.0 - x], 1 + n % 4, n % 3 == 0)
    }),
];

#[test]
fn bounds_stay_bounds_on_hard_data() {
    let instance = instance();
    for (spec, takes_many) in oracles() {
        for (name, count, draw) in SETS {
            // The kernel matrix of 100,000 observations has 10^10 entries: kernels stop at a few thousand.
            let count = if takes_many { count } else { count.min(600) };
            let config = spec.check("oracle", instance.task()).unwrap();
            let mut oracle = common::build(&config, &instance, 200, common::rng(1));
            let mut data = LabeledData::new(2);
            for n in 0..count {
                let (features, action, converted) = draw(n);
                let context = Context {
                    step: n % 2,
                    features: &features,
                    point: None,
                };
                data.push(&context, action, converted);
            }
            oracle.fit(&data, 0.1);
            let mut out = [Bounds::UNKNOWN; 4];
            let mut estimates = [f64::NAN; 4];
            for features in [[0.0, 0.0], [1.0, 1.0], [1e3, -1e3], [1e-8, 0.0]] {
                let context = Context {
                    step: 0,
                    features: &features,
                    point: None,
                };
                oracle.bounds(&context, &mut out);
                oracle.estimate(&context, &mut estimates);
                for (Bounds { lcb, ucb }, estimate) in out.iter().zip(estimates) {
                    let fine = 0.0 <= *lcb && lcb <= ucb && *ucb <= 1.0;
                    let inside = (0.0..=1.0).contains(&estimate);
                    assert!(
                        fine && inside,
                        "{name}, {spec:?}: {lcb}..{ucb} around {estimate} at {features:?}"
                    );
                }
            }
        }
    }
}
