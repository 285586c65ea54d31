//! The kernel and Gaussian-process oracles against scikit-learn and against dense linear algebra; the neural oracle on a
//! truth that no linear model fits.

mod common;
#[path = "common/gp_cases.rs"]
mod gp_cases;

use std::f64::consts::PI;
use std::sync::Arc;

use approx::assert_abs_diff_eq;
use cbwk_gpu::oracle::{
    Bounds, GpParameters, KernelMixtureParameters, KernelOracle, KernelParameters, LabeledData,
    Neural, NeuralParameters, Oracle, OracleSpec,
};
use cbwk_gpu::task::{Context, KernelSpec};
use cbwk_gpu::world::World;
use gp_cases::CASES;
use nalgebra::{Cholesky, DMatrix, DVector};
use rand::RngExt;

const PRICES: [f64; 4] = [0.5, 1.0, 1.5, 2.0];

/// The preset's instance: prices 0.5 to 2 on a 20 x 20 grid, demand with bumps.
fn instance() -> Arc<World> {
    common::study("smooth-pricing", |_| {}).world
}

fn context(features: &[f64]) -> Context<'_> {
    Context {
        step: 0,
        features,
        point: None,
    }
}

/// The data that scikit-learn was given.
fn formula_data() -> LabeledData {
    let mut data = LabeledData::new(2);
    for n in 1..=60usize {
        let x = n as f64;
        let theta = [(0.37 * x) % 1.0, (0.61 * x + 0.13) % 1.0];
        data.push(&context(&theta), n % 4 + 1, (7 * n) % 10 < 4);
    }
    data
}

fn kernel(nu: Option<f64>) -> KernelSpec {
    KernelSpec {
        nu,
        length: vec![0.3, 0.5, 1.2],
    }
}

fn gp(instance: &World, nu: Option<f64>, lambda: f64, beta: Option<f64>) -> KernelOracle {
    let parameters = GpParameters {
        kernel: kernel(nu),
        lambda,
        beta,
        radius_scale: 1.0,
    };
    let kernel = kernel(nu).check("kernel", 3).unwrap();
    KernelOracle::gaussian_process(instance.task(), kernel, &parameters)
}

#[test]
fn posteriors_agree_with_scikit_learn() {
    let instance = instance();
    for (nu, lambda, log_determinant, moments) in CASES {
        let mut oracle = gp(&instance, nu, lambda, None);
        oracle.fit(&formula_data(), 0.1);
        let mine = [[0.1, 0.2], [0.7, 0.9]]
            .map(|theta| oracle.moments(&theta))
            .concat();
        for (mine, theirs) in mine.iter().zip(&moments) {
            assert_abs_diff_eq!(mine.0, theirs.0, epsilon = 1e-10);
            assert_abs_diff_eq!(mine.1, theirs.1, epsilon = 1e-10);
        }
        if lambda > 1.0 {
            let parameters = KernelParameters {
                kernel: kernel(nu),
                lambda: Some(lambda),
                norm_bound: 1.3,
                beta: None,
                radius_scale: 1.0,
            };
            let checked = kernel(nu).check("kernel", 3).unwrap();
            let mut oracle = KernelOracle::new(instance.task(), checked, &parameters, 200);
            oracle.fit(&formula_data(), 0.05);
            let gain = oracle.information_gain();
            assert_abs_diff_eq!(2.0 * gain, log_determinant, epsilon = 1e-9);
            // beta = C + 1/2 sqrt(2 (gain + 1 + ln(1/delta))), bounds = mean +- beta deviation.
            let beta = 1.3 + 0.5 * (2.0 * (0.5 * log_determinant + 1.0 + 20f64.ln())).sqrt();
            let mut out = [Bounds::UNKNOWN; 4];
            oracle.bounds(&context(&[0.7, 0.9]), &mut out);
            for (bounds, (mean, deviation)) in out.iter().zip(&moments[4..]) {
                let by_hand = Bounds::around(*mean, beta * deviation);
                assert_abs_diff_eq!(bounds.lcb, by_hand.lcb, epsilon = 1e-9);
                assert_abs_diff_eq!(bounds.ucb, by_hand.ucb, epsilon = 1e-9);
            }
        }
    }
}

/// |A| = 5, |Theta| = 400, t = 61: beta = 2 ln(2000 * 61^2 pi^2 / (6 * 0.1)).
#[test]
fn the_radius_of_gp_is_the_papers() {
    let instance = instance();
    let beta = 2.0 * (2000.0 * 61.0 * 61.0 * PI * PI / 0.6_f64).ln();
    let (mut default, mut given) = (
        gp(&instance, None, 0.001, None),
        gp(&instance, None, 0.001, Some(beta)),
    );
    let (mut x, mut y) = ([Bounds::UNKNOWN; 4], [Bounds::UNKNOWN; 4]);
    for oracle in [&mut default, &mut given] {
        oracle.fit(&formula_data(), 0.1);
    }
    // At a data point, where the interval is narrow enough to be seen.
    let theta = [0.37 * 3.0 % 1.0, (0.61 * 3.0 + 0.13) % 1.0];
    default.bounds(&context(&theta), &mut x);
    given.bounds(&context(&theta), &mut y);
    assert_eq!(x, y);
    assert!(x[3].ucb - x[3].lcb < 0.9, "{x:?}");
}

/// 1,500 observations in steps of an episode against one dense solve that merges nothing, for contexts that are watched from
/// the start, from the middle, and not at all.
#[test]
fn merged_and_growing_columns_equal_a_dense_solve() {
    for (nu, lambda) in [
        (Some(1.5), 0.25),
        (None, 0.25),
        (None, 8.0),
        (Some(2.5), 1e-4),
    ] {
        merged_equals_dense(nu, lambda);
    }
}

fn merged_equals_dense(nu: Option<f64>, lambda: f64) {
    const COUNT: usize = 1500;
    let instance = instance();
    let mut rng = common::rng(5);
    let checked = || kernel(nu).check("kernel", 3).unwrap();
    let parameters = KernelMixtureParameters {
        kernel: kernel(nu),
        lambda,
        norm_bound: 1.0,
        radius_scale: 1.0,
    };
    let mut oracle = KernelOracle::mixture(instance.task(), checked(), &parameters);
    let (early, late, never) = ([0.25, 0.5], [0.8, 0.1], [0.4, 0.6]);
    oracle.watch(&context(&early));
    let mut data = LabeledData::new(2);
    let (mut inputs, mut labels) = (Vec::new(), Vec::new());
    for n in 0..COUNT {
        // On a coarse grid, so that inputs repeat.
        let theta = [0, 1].map(|_| f64::from(rng.random_range(0..=8u8)) / 8.0);
        let (action, converted) = (rng.random_range(1..=4usize), rng.random::<f64>() < 0.4);
        data.push(&context(&theta), action, converted);
        inputs.push([theta[0], theta[1], PRICES[action - 1]]);
        labels.push(f64::from(u8::from(converted)));
        if n % 24 == 0 {
            oracle.fit(&data, 0.1);
        }
        if n == COUNT / 2 {
            oracle.watch(&context(&late));
            // A context that is also observed.
            oracle.watch(&context(&[0.5, 0.25]));
        }
    }
    oracle.fit(&data, 0.1);
    let k = checked();
    let matrix = DMatrix::from_fn(COUNT, COUNT, |i, j| {
        k.at(&inputs[i], &inputs[j]) + if i == j { lambda } else { 0.0 }
    });
    let factor = Cholesky::new(matrix).unwrap();
    let diagonal = factor.l_dirty().diagonal();
    let log_determinant: f64 = diagonal.iter().map(|x| (x * x / lambda).ln()).sum();
    assert_abs_diff_eq!(
        2.0 * oracle.information_gain(),
        log_determinant,
        epsilon = 1e-9 * log_determinant
    );
    // sqrt(C^2 + (ln det + 2 ln(1/delta)) / (4 lambda)).
    let beta = (1.0 + (log_determinant + 2.0 * 10f64.ln()) / (4.0 * lambda)).sqrt();
    let solved = factor.solve(&DVector::from_vec(labels));
    let mut out = [Bounds::UNKNOWN; 4];
    for theta in [early, late, never, [0.5, 0.25]] {
        oracle.bounds(&context(&theta), &mut out);
        for (action, (mean, deviation)) in oracle.moments(&theta).into_iter().enumerate() {
            let phi = [theta[0], theta[1], PRICES[action]];
            let column = DVector::from_fn(COUNT, |i, _| k.at(&inputs[i], &phi));
            let variance = 1.0 - column.dot(&factor.solve(&column));
            assert_abs_diff_eq!(mean, column.dot(&solved), epsilon = 1e-9);
            assert_abs_diff_eq!(deviation, variance.sqrt(), epsilon = 1e-9);
            let bounds = Bounds::around(mean, beta * deviation);
            assert_abs_diff_eq!(out[action].ucb, bounds.ucb, epsilon = 1e-9);
            assert_abs_diff_eq!(out[action].lcb, bounds.lcb, epsilon = 1e-9);
        }
    }
}

#[test]
fn wrong_parameters_are_refused_by_name() {
    let grid = instance();
    let continuous = common::study("rush-hour-pricing", |_| {}).world;
    assert!(!continuous.contexts().is_finite());
    let smooth = |lambda, norm_bound, beta| {
        OracleSpec::Kernel(KernelParameters {
            kernel: kernel(None),
            lambda,
            norm_bound,
            beta,
            radius_scale: 1.0,
        })
    };
    let process = |length: Vec<f64>| {
        OracleSpec::Gp(GpParameters {
            kernel: KernelSpec { nu: None, length },
            lambda: 0.25,
            beta: None,
            radius_scale: 1.0,
        })
    };
    let neural = |width, depth| {
        OracleSpec::Neural(NeuralParameters {
            width,
            depth,
            ..NeuralParameters::default()
        })
    };
    let field = |spec: OracleSpec, instance| spec.check("o", instance).unwrap_err().field;
    assert_eq!(field(smooth(Some(1.0), 1.0, None), grid.task()), "o.lambda");
    assert_eq!(field(smooth(None, 0.0, None), grid.task()), "o.norm_bound");
    assert_eq!(field(smooth(None, 1.0, Some(-1.0)), grid.task()), "o.beta");
    assert_eq!(
        field(process(vec![1.0, 2.0]), grid.task()),
        "o.kernel.length"
    );
    assert_eq!(field(process(vec![1.0]), continuous.task()), "o.kind");
    assert_eq!(field(neural(7, 2), grid.task()), "o.width");
    assert_eq!(field(neural(64, 4), grid.task()), "o.full");
}

/// After 4,000 observations the network tells the two good corners from the two bad ones, with both kinds of Z.
#[test]
fn the_network_learns_an_interaction() {
    let instance = common::study("nonlinear-pricing", |_| {}).world;
    let mut rng = common::rng(3);
    let mut data = LabeledData::new(2);
    let mut episode = cbwk_gpu::task::EpisodeContexts::new(instance.task().dimension());
    while data.len() < 4000 {
        instance.contexts().draw(&mut rng, &mut episode);
        for context in episode.iter() {
            let action = rng.random_range(1..=4usize);
            let rho = instance.rho(&context, action);
            data.push(&context, action, rng.random::<f64>() < rho);
        }
    }
    for full in [true, false] {
        let parameters = NeuralParameters {
            full,
            ..NeuralParameters::default()
        };
        let mut oracle = Neural::new(instance.task(), parameters, common::rng(1));
        oracle.fit(&data, 0.1);
        let at = |theta: [f64; 2]| {
            let (mut estimates, mut bounds) = ([0.0; 4], [Bounds::UNKNOWN; 4]);
            oracle.estimate(&context(&theta), &mut estimates);
            oracle.bounds(&context(&theta), &mut bounds);
            assert!(bounds[0].lcb < estimates[0] && estimates[0] < bounds[0].ucb);
            let truth = instance.rho(&context(&theta), 1);
            (estimates[0], truth)
        };
        for theta in [[0.1, 0.1], [0.9, 0.9], [0.1, 0.9], [0.9, 0.1]] {
            let (estimate, truth) = at(theta);
            assert_abs_diff_eq!(estimate, truth, epsilon = 0.2);
        }
        assert!(at([0.1, 0.1]).0 > at([0.1, 0.9]).0 + 0.3);
        assert!(at([0.9, 0.9]).0 > at([0.9, 0.1]).0 + 0.3);
    }
}
