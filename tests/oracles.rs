//! Confidence-bound oracles against independent computations, and their coverage by simulation.

mod common;
#[path = "common/logistic_cases.rs"]
mod logistic_cases;

use std::sync::Arc;

use approx::assert_abs_diff_eq;
use cbwk_gpu::dp::Link;
use cbwk_gpu::oracle::sigmoid;
use cbwk_gpu::oracle::{
    Armed, Bounds, Glm, GlmParameters, LabeledData, Logistic, LogisticParameters, Oracle,
    OracleSpec, penalised_logistic_mle, project_onto_unit_ball,
};
use cbwk_gpu::task::{ApplicationSpec, Context};
use cbwk_gpu::world::{BudgetSpec, ContextsSpec, ConversionSpec, LawSpec, World, WorldSpec};
use logistic_cases::{CASES, Case};
use nalgebra::{Matrix2, Vector2};
use rand::RngExt;

fn context(step: usize, features: &[f64]) -> Context<'_> {
    Context {
        step,
        features,
        point: None,
    }
}

/// Prices 1 to 4 on the unit box of the case's dimension.
fn pricing(theta: usize) -> Arc<World> {
    let spec = WorldSpec {
        horizon: 3,
        budget: BudgetSpec::Constant { value: 1 },
        application: ApplicationSpec::Pricing {
            prices: vec![1.0, 2.0, 3.0, 4.0],
        },
        reward_max: None,
        contexts: ContextsSpec {
            law: LawSpec::Box {
                low: vec![0.0; theta],
                high: vec![1.0; theta],
            },
            no_arrival: vec![],
            types: None,
            features: None,
        },
        conversion: ConversionSpec::Logistic {
            weights: vec![0.5; theta + 1],
        },
    };
    Arc::new(spec.check().unwrap())
}

fn labeled(case: &Case) -> LabeledData {
    let theta = case.mle.len() - 1;
    let mut data = LabeledData::new(theta);
    for (phi, &label) in case.phi.iter().zip(case.labels) {
        data.push(&context(0, &phi[..theta]), phi[theta] as usize, label == 1);
    }
    data
}

#[test]
fn penalised_estimates_agree_with_scikit_learn() {
    for case in CASES {
        let labels: Vec<f64> = case.labels.iter().map(|&y| f64::from(y)).collect();
        let mu =
            penalised_logistic_mle(&case.phi.concat(), &labels, 1.0, &vec![0.0; case.mle.len()]);
        for (mine, theirs) in mu.iter().zip(case.mle) {
            assert_abs_diff_eq!(mine, theirs, epsilon = 1e-12);
        }
    }
}

#[test]
fn projections_agree_with_slsqp() {
    let mut projected = 0;
    for case in CASES {
        let Some(expected) = case.projected else {
            continue;
        };
        projected += 1;
        let mu = project_onto_unit_ball(&case.phi.concat(), 1.0, case.mle);
        for (mine, theirs) in mu.iter().zip(expected) {
            assert_abs_diff_eq!(mine, theirs, epsilon = 1e-9);
        }
    }
    assert_eq!(projected, 4);
}

/// In two dimensions the whole disc can be searched: no point of a fine grid of it has a smaller objective than the
/// projection, and the best point of the grid is next to it.
#[test]
fn projections_beat_a_fine_grid_of_the_disc() {
    let mut rng = common::rng(6);
    for case in 0..8 {
        let count = 5 + 20 * case;
        let phi: Vec<[f64; 2]> = (0..count)
            .map(|_| [0, 1].map(|_| 4.0 * rng.random::<f64>() - 2.0))
            .collect();
        let lambda = if case % 2 == 0 { 1.0 } else { 0.1 };
        let mle = [1.5 + 0.5 * case as f64, -0.8 * case as f64];
        let psi = |mu: Vector2<f64>| {
            let sum = phi
                .iter()
                .map(|p| Vector2::from(*p) * sigmoid(Vector2::from(*p).dot(&mu)));
            lambda * mu + sum.sum::<Vector2<f64>>()
        };
        let target = psi(mle.into());
        let objective = |mu: Vector2<f64>| {
            let mut w = Matrix2::identity() * lambda;
            for p in &phi {
                let p = Vector2::from(*p);
                let f = sigmoid(p.dot(&mu));
                w += f * (1.0 - f) * p * p.transpose();
            }
            let residual = psi(mu) - target;
            residual.dot(&(w.try_inverse().unwrap() * residual))
        };
        let found = project_onto_unit_ball(&phi.concat(), lambda, &mle);
        let found = Vector2::new(found[0], found[1]);
        assert!(found.norm() <= 1.0 + 1e-12);
        let grid = (0..=100).flat_map(|r| {
            (0..600).map(move |angle| {
                let angle = f64::from(angle) / 600.0 * std::f64::consts::TAU;
                f64::from(r) / 100.0 * Vector2::new(angle.cos(), angle.sin())
            })
        });
        let best = grid
            .min_by(|x, y| objective(*x).total_cmp(&objective(*y)))
            .unwrap();
        assert!(
            objective(found) <= objective(best) * (1.0 + 1e-12),
            "case {case}"
        );
        assert!(
            (found - best).norm() < 0.02,
            "case {case}: {found} and {best}"
        );
    }
}

#[test]
fn logistic_bounds_agree_with_numpy() {
    for case in CASES {
        let theta = case.mle.len() - 1;
        let parameters = LogisticParameters {
            gamma: Some(0.5),
            kappa: Some(8.0),
            ..LogisticParameters::default()
        };
        let mut oracle = Logistic::new(pricing(theta).task(), parameters);
        oracle.fit(&labeled(case), 0.05);
        let mut out = [Bounds::UNKNOWN; 4];
        for (phi, [estimate, radius, lcb, ucb]) in case.queries {
            oracle.bounds(&context(0, &phi[..theta]), &mut out);
            let found = out[phi[theta] as usize - 1];
            assert_abs_diff_eq!(found.lcb, lcb, epsilon = 1e-9);
            assert_abs_diff_eq!(found.ucb, ucb, epsilon = 1e-9);
            assert_abs_diff_eq!(estimate + radius, ucb, epsilon = 1e-9);
        }
    }
}

/// gamma from the formula: the figures' N, d and delta = 0.05 give 13.7297891721475 for N = 12 and 16.0493588368479 for
/// N = 40 at lambda = 1, d = 3; a scale that makes the radius narrow shows the number.
#[test]
fn the_default_gamma_is_the_papers() {
    for case in CASES.iter().filter(|case| case.mle.len() == 3) {
        let gamma = if case.labels.len() == 12 {
            13.7297891721475
        } else {
            16.0493588368479
        };
        let bounds_with = |gamma| {
            let parameters = LogisticParameters {
                gamma,
                kappa: Some(8.0),
                radius_scale: 1e-3,
                ..LogisticParameters::default()
            };
            let mut oracle = Logistic::new(pricing(2).task(), parameters);
            oracle.fit(&labeled(case), 0.05);
            let mut out = [Bounds::UNKNOWN; 4];
            oracle.bounds(&context(0, &[0.3, 0.7]), &mut out);
            out
        };
        for (by_default, given) in bounds_with(None).iter().zip(bounds_with(Some(gamma))) {
            assert!(by_default.ucb > by_default.lcb);
            assert_abs_diff_eq!(by_default.ucb, given.ucb, epsilon = 1e-12);
        }
    }
}

/// The generalized linear oracle on the 40 observations of the third data set, delta = 0.05, a hundredth of the radius.
///
/// Recipe: mu from `sklearn.linear_model.Ridge(alpha=lambda, fit_intercept=False, solver="cholesky")` with lambda = 2.5,
/// and from `LogisticRegression(C=1/(lambda*kappa), fit_intercept=False, solver="newton-cholesky", tol=1e-14)` with
/// lambda = 3, kappa = 0.1; V, gamma (4.976568790870154 and 35.011551569195696) and bounds in NumPy.
#[test]
fn glm_bounds_agree_with_scikit_learn() {
    #[rustfmt::skip]
    let figures = [
        (Link::Linear, 2.5, None, [
            ([0.3, 0.7], 1, 0.30360091482345075, 0.3214706011814372),
            ([0.9, 0.1], 2, 0.22091600372749481, 0.24945871501246214),
            ([0.5, 0.5], 4, 0.00547059441733767, 0.030927603107693703),
        ]),
        (Link::Logistic, 3.0, Some(0.1), [
            ([0.3, 0.7], 1, 0.4639724518579709, 0.5866679172088307),
            ([0.9, 0.1], 2, 0.17590922816348376, 0.3696586869011349),
            ([0.5, 0.5], 4, 0.0, 0.09621440773730304),
        ]),
    ];
    for (link, lambda, kappa, queries) in figures {
        let parameters = GlmParameters {
            link,
            lambda: Some(lambda),
            gamma: None,
            kappa,
            radius_scale: 0.01,
        };
        let mut oracle = Glm::new(pricing(2).task(), parameters, 200);
        oracle.fit(&labeled(&CASES[2]), 0.05);
        let mut out = [Bounds::UNKNOWN; 4];
        for (theta, action, lcb, ucb) in queries {
            oracle.bounds(&context(0, &theta), &mut out);
            assert_abs_diff_eq!(out[action - 1].lcb, lcb, epsilon = 1e-10);
            assert_abs_diff_eq!(out[action - 1].ucb, ucb, epsilon = 1e-10);
        }
    }
}

/// Without overrides lambda is the paper's: 4 d ln(1 + T / d^2) / kappa^2 = 37.7413160955431 for T = 200, d = 3.
#[test]
fn the_default_lambda_of_glm_is_the_papers() {
    let with = |lambda| {
        let parameters = GlmParameters {
            link: Link::Linear,
            lambda,
            gamma: Some(0.5),
            kappa: None,
            radius_scale: 1.0,
        };
        let mut oracle = Glm::new(pricing(2).task(), parameters, 200);
        oracle.fit(&labeled(&CASES[2]), 0.05);
        let mut out = [Bounds::UNKNOWN; 4];
        oracle.bounds(&context(0, &[0.3, 0.7]), &mut out);
        out[0]
    };
    let (by_default, given) = (with(None), with(Some(37.7413160955431)));
    assert_abs_diff_eq!(by_default.ucb, given.ucb, epsilon = 1e-12);
    assert!(by_default.ucb > by_default.lcb && by_default.ucb < 1.0);
}

/// Refitting as data arrive, in 2,000 updates, gives what one fit on all data gives.
#[test]
fn growing_data_and_all_data_at_once_agree() {
    let instance = pricing(2);
    let glm = |link| {
        OracleSpec::Glm(GlmParameters {
            link,
            lambda: Some(1.0),
            gamma: Some(0.5),
            kappa: None,
            radius_scale: 1.0,
        })
    };
    let logistic = LogisticParameters {
        gamma: Some(0.5),
        kappa: Some(8.0),
        ..LogisticParameters::default()
    };
    let specs = [
        OracleSpec::Armed { radius_scale: 1.0 },
        OracleSpec::ArmedByStep { radius_scale: 1.0 },
        glm(Link::Linear),
        glm(Link::Logistic),
        OracleSpec::Logistic(logistic),
    ];
    let mut rng = common::rng(8);
    for spec in specs {
        let config = spec.check("oracle", instance.task()).unwrap();
        let build = || common::build(&config, &instance, 200, common::rng(1));
        let (mut grown, mut at_once) = (build(), build());
        let mut data = LabeledData::new(2);
        for n in 0..2000 {
            let theta: [f64; 2] = [rng.random(), rng.random()];
            let action = rng.random_range(1..=4usize);
            // A true parameter outside the unit ball, so that the projection is at work.
            let rho = sigmoid(2.0 * theta[0] + theta[1] - action as f64);
            data.push(&context(n % 3, &theta), action, rng.random::<f64>() < rho);
            grown.fit(&data, 0.05);
        }
        at_once.fit(&data, 0.05);
        let (mut x, mut y) = ([Bounds::UNKNOWN; 4], [Bounds::UNKNOWN; 4]);
        for theta in [[0.1, 0.9], [0.5, 0.5], [1.0, 0.0]] {
            grown.bounds(&context(0, &theta), &mut x);
            at_once.bounds(&context(0, &theta), &mut y);
            for (x, y) in x.iter().zip(&y) {
                assert_abs_diff_eq!(x.lcb, y.lcb, epsilon = 1e-9);
                assert_abs_diff_eq!(x.ucb, y.ucb, epsilon = 1e-9);
                assert_ne!(*x, Bounds::UNKNOWN);
            }
        }
    }
}

/// Three actions, N = 5 observations: action 1 accepted 2 of 3, action 2 accepted 0 of 2, action 3 untried. delta = 0.5,
/// |A| = 4: the radius is sqrt(ln(2*5*4/0.5) / m) = sqrt(ln 80 / m), far too wide; a tenth of it is
/// 0.1 sqrt(4.382026634673881 / 3) = 0.1208584107495748 and 0.1 sqrt(4.382026634673881 / 2) = 0.14802071873.
#[test]
fn armed_bounds_by_hand() {
    let mut data = LabeledData::new(1);
    for (action, converted) in [(1, true), (2, false), (1, true), (1, false), (2, false)] {
        data.push(&context(0, &[0.0]), action, converted);
    }
    let mut out = [Bounds::UNKNOWN; 3];
    let mut wide = Armed::stationary(3, 1.0);
    wide.fit(&data, 0.5);
    wide.bounds(&context(0, &[0.0]), &mut out);
    assert_eq!(out, [Bounds::UNKNOWN; 3]);
    let mut narrow = Armed::stationary(3, 0.1);
    narrow.fit(&data, 0.5);
    narrow.bounds(&context(0, &[0.0]), &mut out);
    assert_abs_diff_eq!(out[0].lcb, 2.0 / 3.0 - 0.1208584107495748, epsilon = 1e-12);
    assert_abs_diff_eq!(out[0].ucb, 2.0 / 3.0 + 0.1208584107495748, epsilon = 1e-12);
    assert_eq!(out[1].lcb, 0.0);
    assert_abs_diff_eq!(out[1].ucb, 0.14802071873007983, epsilon = 1e-12);
    assert_eq!(out[2], Bounds::UNKNOWN);
}

/// By step, the same data are one group per step and the logarithm gains a factor H: ln(2*5*2*4/0.5) = ln 160.
#[test]
fn armed_by_step_bounds_by_hand() {
    let mut data = LabeledData::new(1);
    for (step, action, converted) in [
        (0, 1, true),
        (1, 1, false),
        (0, 1, false),
        (1, 2, true),
        (0, 1, true),
    ] {
        data.push(&context(step, &[0.0]), action, converted);
    }
    let mut oracle = Armed::by_step(3, 2, 0.1);
    oracle.fit(&data, 0.5);
    let mut out = [Bounds::UNKNOWN; 3];
    oracle.bounds(&context(0, &[9.0]), &mut out);
    let radius = 0.1 * (160f64.ln() / 3.0).sqrt();
    assert_abs_diff_eq!(out[0].ucb, 2.0 / 3.0 + radius, epsilon = 1e-12);
    assert_eq!(out[1], Bounds::UNKNOWN);
    oracle.bounds(&context(1, &[9.0]), &mut out);
    assert_abs_diff_eq!(out[0].ucb, 0.1 * 160f64.ln().sqrt(), epsilon = 1e-12);
    assert_abs_diff_eq!(out[1].lcb, 1.0 - 0.1 * 160f64.ln().sqrt(), epsilon = 1e-12);
}

#[test]
fn every_oracle_starts_from_ignorance_and_refuses_bad_parameters() {
    let instance = pricing(2);
    let specs = [
        OracleSpec::Armed { radius_scale: 1.0 },
        OracleSpec::ArmedByStep { radius_scale: 1.0 },
        OracleSpec::Logistic(LogisticParameters::default()),
        OracleSpec::Known,
    ];
    for spec in specs {
        let config = spec.check("oracle", instance.task()).unwrap();
        let mut oracle = common::build(&config, &instance, 200, common::rng(1));
        let mut out = [Bounds { lcb: 0.5, ucb: 0.5 }; 4];
        oracle.bounds(&context(1, &[0.2, 0.4]), &mut out);
        assert_eq!(out, [Bounds::UNKNOWN; 4], "{oracle:?}");
        if spec != OracleSpec::Known {
            oracle.fit(&LabeledData::new(2), 0.1);
            oracle.bounds(&context(1, &[0.2, 0.4]), &mut out);
            assert_eq!(out, [Bounds::UNKNOWN; 4], "{oracle:?} without data");
        }
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let parameters = LogisticParameters {
            lambda: bad,
            ..LogisticParameters::default()
        };
        let error = OracleSpec::Logistic(parameters)
            .check("policies[1].oracle", instance.task())
            .unwrap_err();
        assert_eq!(error.field, "policies[1].oracle.lambda");
    }
}
