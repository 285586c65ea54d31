//! Fits compared with other software, and the evaluation of plans with the rest of the program.

mod common;
#[path = "common/own_data.rs"]
mod own_data;

use std::path::Path;
use std::sync::Arc;

use cbwk_gpu::config::{Document, Instance};
use cbwk_gpu::dp::cpu::{Cpu, Dense};
use cbwk_gpu::experiment::Evaluator;
use cbwk_gpu::history::OfferKind;
use cbwk_gpu::history::evaluate::{Judge, Play, multinomial};
use cbwk_gpu::history::fit::{
    EXACT, FitSettings, Fitted, Fitter, ModelKind, OfferData, Uncertainty,
};
use cbwk_gpu::history::plan::{OfferPlan, PlanKind};
use cbwk_gpu::oracle::Known;
use cbwk_gpu::policy::Plan;
use cbwk_gpu::shop::TaskFolder;
use cbwk_gpu::world::{Optimum, World};
use own_data::{logged, shop, spec, task_folder};
use tempfile::tempdir;

/// 240 offers by arithmetic: 24 days of ten steps, a number x, a category c, prices 1, 2 and 4.
fn arithmetic_log() -> String {
    let mut text = String::from("day,hour,x,c,price,bought\n");
    for i in 0..240u64 {
        let x = ((i * 37) % 101) as f64 / 50.0 - 1.0;
        let c = ["a", "b", "c"][(i % 3) as usize];
        let price = [1.0, 2.0, 4.0][((i * 7 + i / 5) % 3) as usize];
        let eta = 0.5 + x - 0.6 * price + if c == "b" { 0.4 } else { 0.0 };
        let luck = ((i * i * 31 + 17 * i) % 97) as f64 / 97.0;
        let bought = u8::from(luck < 1.0 / (1.0 + f64::exp(-eta)));
        text += &format!("{},{},{x},{c},{price},{bought}\n", i / 10 + 1, i % 10 + 1);
    }
    text
}

fn arithmetic(folder: &Path) -> TaskFolder {
    let mut spec = spec(10);
    spec.budget = cbwk_gpu::history::BudgetSource::Constant(5);
    task_folder(folder, &arithmetic_log(), &spec)
}

fn close(found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len());
    for (x, y) in found.iter().zip(wanted) {
        assert!((x - y).abs() < tolerance, "{found:?}\n{wanted:?}");
    }
}

/// From scikit-learn 1.9.1 and statsmodels 0.15.0 on the same 240 offers. Columns are scaled by their own mean and
/// (population) deviation, categories are one-hot without the first:
///
/// ```text
/// X = [z(x), c == "b", c == "c"]; s = z(price); fit(D) = LogisticRegression(C=1, tol=1e-15, solver="newton-cholesky")
/// logistic fit([X, s])   categories fit([X, s, price == 1, price == 2, price == 4])   interactions fit([X, s, X s])
/// without a penalty: statsmodels.api.Logit(y, add_constant([X, s])).fit(tol=1e-14), its params and bse
/// ```
#[test]
fn coefficients_are_those_of_scikit_learn_and_statsmodels() {
    let folder = tempdir().unwrap();
    let task = arithmetic(folder.path());
    let log = task.log().unwrap();
    assert_eq!(log.accepted(), 102);
    let values = task.task.application().action_values();
    let data = OfferData::new(&log, true, &task.file.action, values);
    let fit = |kind, lambda| Fitter::new(kind, &data).fit(lambda, None, None, EXACT);
    for (kind, wanted) in [
        (
            ModelKind::Logistic,
            &[
                -0.538839362545,
                0.504200532367,
                0.437624156229,
                0.117831626903,
                -0.542317719553,
            ][..],
        ),
        (
            ModelKind::Categories,
            &[
                -0.587679813582,
                0.502251272938,
                0.435341852761,
                0.117421704325,
                -0.455082715362,
                0.061331592419,
                0.157261680107,
                -0.218593272525,
            ],
        ),
        (
            ModelKind::Interactions,
            &[
                -0.574381408263,
                0.520904851965,
                0.491170358999,
                0.140526721627,
                -0.716426718558,
                0.076012298063,
                0.411467066828,
                0.069743786805,
            ],
        ),
    ] {
        close(&fit(kind, 1.0).coefficients, wanted, 1e-10);
    }
    let fitter = Fitter::new(ModelKind::Logistic, &data);
    let plain = fitter.fit(0.0, None, None, EXACT);
    let wanted = [
        -0.573903905654,
        0.515719366278,
        0.495623327615,
        0.156977765318,
        -0.555516862438,
    ];
    close(&plain.coefficients, &wanted, 1e-8);
    let errors = Uncertainty::new(&fitter, &data, &plain, 0.0, None)
        .standard_errors()
        .unwrap();
    let wanted = [
        0.243927685096,
        0.143734736949,
        0.340477526033,
        0.343998218727,
        0.153029442587,
    ];
    close(&errors, &wanted, 1e-8);
    // Weights count as copies: two of each with twice the penalty change nothing.
    let weighted = fitter.fit(2.0, Some(&vec![2.0; data.len()]), None, EXACT);
    let once = fitter.fit(1.0, None, None, EXACT);
    close(&weighted.coefficients, &once.coefficients, 1e-10);
}

/// From scikit-learn 1.9.1: LogisticRegression(C=1, tol=1e-14).fit([t, t^2, X], price).predict_proba, t = hour scaled into
/// [-1/2, 1/2].
#[test]
fn multinomial_probabilities_are_those_of_scikit_learn() {
    let folder = tempdir().unwrap();
    let task = arithmetic(folder.path());
    let log = task.log().unwrap();
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for (i, arrival) in log.arrivals().iter().enumerate() {
        let t = f64::from(arrival.step) / 9.0 - 0.5;
        rows.extend([1.0, t, t * t]);
        rows.extend_from_slice(&log.theta(i)[1..]);
        labels.push(arrival.action as usize - 1);
    }
    let beta = multinomial(&rows, 6, &labels, 3);
    let wanted = [
        [0.490808612477, 0.312271260869, 0.196920126654],
        [0.477269949332, 0.328222898778, 0.194507151890],
        [0.464724048306, 0.346676146307, 0.188599805387],
        [0.406465206759, 0.355118379852, 0.238416413389],
    ];
    for (row, wanted) in rows.chunks_exact(6).zip(wanted) {
        let eta = |class: &[f64]| class.iter().zip(row).map(|(b, x)| b * x).sum::<f64>().exp();
        let parts: Vec<f64> = beta.chunks_exact(6).map(eta).collect();
        let sum: f64 = parts.iter().sum();
        let found: Vec<f64> = parts.iter().map(|p| p / sum).collect();
        close(&found, &wanted, 1e-6);
    }
}

/// The world of the study file that a fit has written, as `solve` and `simulate` read it.
fn written_world(folder: &TaskFolder, fitted: &Fitted) -> Arc<World> {
    folder.write_fit(fitted).unwrap();
    let document = Document::read(&folder.place("study.toml")).unwrap();
    Instance::from_document(&document).unwrap().world
}

/// Plan and evaluation in the log's own world, three ways: the evaluation's own, the plan command's, and the study file's.
fn assert_one_world(folder: &TaskFolder, fitted: &Fitted, tolerance: f64) {
    let world = written_world(folder, fitted);
    let optimum = Optimum::exact(&world, &mut Dense).unwrap().unwrap();
    let kind = PlanKind::Estimates;
    let plan = OfferPlan::make(&folder.file, fitted, kind, None, &mut Cpu::default()).unwrap();
    let judge = Judge::new(fitted, Arc::clone(&plan.task));
    assert_eq!(judge.laws.thinned(), None);
    let (all, model) = (vec![1.0; fitted.log.episodes().len()], &fitted.fit.model);
    let own = judge.plan(&all, model.clone());
    for h in 0..plan.task.horizon() {
        close(own.tables[0].row(h), optimum.table.row(h), tolerance);
        close(plan.tables[0].row(h), optimum.table.row(h), tolerance);
    }
    // In its own world of independent steps the plan earns its value; a fixed price earns what the rest of the program
    // computes.
    let independent = |play| judge.independent(&all, model, play);
    let start = plan.task.budget_max() as usize;
    let value = own.tables[0].row(0)[start];
    close(&[independent(Play::Plan(&own))], &[value], tolerance);
    let evaluator = Evaluator::new(&world, false).unwrap();
    for action in 1..=plan.task.actions() {
        let wanted = evaluator.expected_rewards(Plan::Fixed(action))[start];
        close(&[independent(Play::Fixed(action))], &[wanted], tolerance);
    }
    // The plan of half of the episodes, evaluated in the world of all.
    let half = |e: usize| f64::from(u8::from(e.is_multiple_of(2)));
    let weights: Vec<f64> = (0..fitted.log.episodes().len()).map(half).collect();
    let other = judge.plan(&weights, judge.model(&weights));
    let truth = cbwk_gpu::history::fit::SomeActions {
        model: other.model.clone(),
        actions: fitted.planned(),
    };
    let oracle = Known::fitted(Arc::new(truth));
    let wanted = evaluator.expected_rewards(Plan::Greedy {
        oracle: &oracle,
        u_hat: &other.tables[0],
    });
    let found = independent(Play::Plan(&other));
    close(&[found], &[wanted[start]], tolerance);
}

#[test]
fn a_folder_has_one_world() {
    let folder = tempdir().unwrap();
    let world = shop(4, [1.0, -0.5, -0.8], 1.2);
    let task = logged(folder.path(), &world, 120, 3);
    // Steps with their own contexts, and steps with those of all.
    for pooled_below in [0, 90, 200] {
        let settings = FitSettings {
            pooled_below,
            ..FitSettings::default()
        };
        assert_one_world(&task, &task.fit(settings).unwrap(), 1e-9);
    }
}

#[test]
fn a_folder_has_one_world_where_costs_differ() {
    let folder = tempdir().unwrap();
    // Procurement: wages instead of prices.
    let raw = arithmetic_log();
    for kind in [OfferKind::Procurement, OfferKind::Auction] {
        let mut spec = spec(10);
        spec.budget = cbwk_gpu::history::BudgetSource::Constant(8);
        spec.kind = kind;
        let raw = match kind {
            OfferKind::Auction => raw.replace("-0.", "0."),
            _ => raw.clone(),
        };
        if kind == OfferKind::Auction {
            spec.features = Some(vec!["x".into()]);
        }
        let task = task_folder(folder.path(), &raw, &spec);
        let fitted = task.fit(FitSettings::default()).unwrap();
        assert_one_world(&task, &fitted, 1e-9);
    }
}
